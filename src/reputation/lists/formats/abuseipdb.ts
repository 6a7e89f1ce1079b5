/**
 * Reads the AbuseIPDB blacklist in each form of the service, recognised by its beginning: JSON
 * (`{"meta":…,"data":[{"ipAddress","abuseConfidenceScore",…}]}`), CSV with a header, or plain
 * text with one address a line. JSON and CSV bring their own scores; plain text has none, so its
 * rows take the list's confidence.
 */

import { maxLineBytesDefault, type TextReader } from '../import/lines.ts';
import { BrokenList, type FormatOptions, type ListFormat, type RowSink } from '../import/rows.ts';
import { csv } from './csv.ts';
import { plain } from './plain.ts';

export const abuseipdb: ListFormat = (sink, options) => {
  let head = '';
  let reader: TextReader | undefined;

  return {
    push(text) {
      if (reader !== undefined) {
        reader.push(text);
        return;
      }
      head += text;
      reader = chooseReader(head, false, sink, options);
      if (reader === undefined) return;
      reader.push(head);
      head = '';
    },
    end() {
      reader ??= chooseReader(head, true, sink, options);
      if (head !== '') reader?.push(head);
      reader?.end();
    },
  };
};

/** Returns undefined until the head decides it: at the first bracket, or at the end of the first line with text. */
function chooseReader(
  head: string,
  isWhole: boolean,
  sink: RowSink,
  options: FormatOptions,
): TextReader | undefined {
  const text = head.trimStart();
  const isJson = text.startsWith('{') || text.startsWith('[');
  if (isJson) return jsonReader(sink);
  const line = /^[^#\s][^\r\n]*[\r\n]/m.exec(text)?.[0] ?? (isWhole ? text : undefined);
  if (line !== undefined) return line.includes(',') ? csv(sink, options) : plain(sink, options);
  if (head.length > 4 * maxLineBytesDefault) throw new BrokenList('no line of a list at its start');
  return undefined;
}

function jsonReader(sink: RowSink): TextReader {
  return readJsonElements({
    element(text, number) {
      const reason = element(text, sink);
      if (reason !== undefined) sink.bad(number, reason, text);
    },
    overlong: (head, number) => sink.bad(number, 'element too long', head),
  });
}

function element(text: string, sink: RowSink): string | undefined {
  let row: { ipAddress?: unknown; abuseConfidenceScore?: unknown };
  try {
    row = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  const score = row.abuseConfidenceScore;
  if (typeof row.ipAddress !== 'string') return 'no "ipAddress"';
  if (typeof score !== 'number' || !(score >= 0 && score <= 100)) {
    return '"abuseConfidenceScore" is not a number from 0 to 100';
  }
  return sink.entry(row.ipAddress, Math.round(score));
}

interface ElementSink {
  /** Receives the text of one object; `number` counts from 1 over the whole text. */
  element(text: string, number: number): void;
  /** Receives a text, with its quotes, that is itself an element; absent: those are passed over. */
  text?(text: string, number: number): void;
  /** Receives the first bytes of an object over the bound. */
  overlong(head: string, number: number): void;
}

/** Bound on one element, bytes. */
const elementBytesMax = 16_384;
const depthMax = 32;

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * Finds the objects that are elements of an array in a JSON text that arrives in pieces, and hands
 * each over as text; nothing else is kept, so memory is bounded by one element. Brackets and
 * strings are followed exactly; what stands between the elements is not validated further.
 * `end` throws `BrokenList` when the text stops before its brackets are closed.
 */
export function readJsonElements(sink: ElementSink): TextReader {
  /** Closing byte of every bracket that is open. */
  const closers: number[] = [];
  let inString = false;
  let escaped = false;
  let number = 0;
  /** Depth at which the current element began; 0 when there is none. */
  let elementDepth = 0;
  let carry = '';
  let dropping = false;
  /** The element is a text. */
  let isText = false;
  let started = false;

  function keep(text: string): void {
    if (dropping) return;
    carry += text;
    if (carry.length > elementBytesMax) {
      carry = carry.slice(0, elementBytesMax);
      dropping = true;
    }
  }

  function opens(code: number): boolean {
    if (started && closers.length === 0) throw new BrokenList('text follows the end of the JSON');
    const begins =
      elementDepth === 0 && code === openBrace && closers[closers.length - 1] === closeBracket;
    closers.push(code + 2); // '[' + 2 is ']' and '{' + 2 is '}'
    if (closers.length > depthMax) throw new BrokenList('the JSON is nested too deeply');
    started = true;
    if (begins) elementDepth = closers.length;
    return begins;
  }

  /** True when the bracket ends the current element. */
  function closes(code: number): boolean {
    if (closers.pop() !== code) throw new BrokenList('the brackets of the JSON do not match');
    return elementDepth > 0 && closers.length === elementDepth - 1;
  }

  function finish(): void {
    number++;
    if (dropping) sink.overlong(carry, number);
    else if (isText) sink.text?.(carry, number);
    else sink.element(carry, number);
    isText = false;
    carry = '';
    dropping = false;
    elementDepth = 0;
  }

  return {
    push(text) {
      let from = 0; // start of the part of `text` that belongs to the current element
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        if (inString) {
          if (escaped) escaped = false;
          else if (code === backslash) escaped = true;
          else if (code === quote) {
            inString = false;
            if (!isText) continue;
            keep(text.slice(from, i + 1));
            finish();
          }
        } else if (code === quote) {
          inString = true;
          if (sink.text === undefined || elementDepth > 0) continue;
          if (closers[closers.length - 1] !== closeBracket) continue;
          isText = true;
          from = i;
        } else if (code === openBrace || code === openBracket) {
          if (opens(code)) from = i;
        } else if ((code === closeBrace || code === closeBracket) && closes(code)) {
          keep(text.slice(from, i + 1));
          finish();
        }
      }
      if (elementDepth > 0 || isText) keep(text.slice(from));
    },
    end() {
      if (closers.length > 0 || inString) throw new BrokenList('the JSON ends early');
    },
  };
}
