/**
 * Finds the objects that are elements of an array in a JSON text that arrives in pieces, and hands
 * each over as text; nothing else is kept, so memory is bounded by one element. Brackets and
 * strings are followed exactly; what stands between the elements is not validated further.
 */

import { BrokenList } from '../import/format.ts';
import type { TextReader } from '../import/lines.ts';

export interface ElementSink {
  /** Text of one object; `number` counts from 1 over the whole text. */
  element(text: string, number: number): void;
  /** An object over the bound: only its first bytes are known. */
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

/** `end` throws `BrokenList` when the text stops before its brackets are closed. */
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
    else sink.element(carry, number);
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
          else if (code === quote) inString = false;
        } else if (code === quote) {
          inString = true;
        } else if (code === openBrace || code === openBracket) {
          if (opens(code)) from = i;
        } else if ((code === closeBrace || code === closeBracket) && closes(code)) {
          keep(text.slice(from, i + 1));
          finish();
        }
      }
      if (elementDepth > 0) keep(text.slice(from));
    },
    end() {
      if (closers.length > 0 || inString) throw new BrokenList('the JSON ends early');
    },
  };
}
