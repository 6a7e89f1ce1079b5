/**
 * The name of a request: in its answer, in the body of its error, in the log, the same in every
 * thread. A trusted proxy may set it; other clients can't choose what is logged.
 */

import type { Random } from '../../core/random.ts';
import type { Head } from '../answer/head.ts';
import { requestIdPlaceholder } from './message.ts';

/** Nothing that a log, a page, JSON or a header would have to escape. */
const sane = /^[0-9A-Za-z][0-9A-Za-z._:=+/@-]{0,127}$/;
const idBytes = 8;

export function newRequestId(random: Random): string {
  return Buffer.from(random.bytes(idBytes)).toString('hex');
}

export function isValidRequestId(text: string): boolean {
  return sane.test(text);
}

/** Returns the head with the line of the request's id at its end. */
export function withRequestId(head: Head, id: string): Head {
  return `${head}\r\nX-Request-Id: ${id}` as Head;
}

const parent = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/** The trace id of a `traceparent` (W3C Trace Context, 2.2), or undefined when it is not valid. */
export function traceOf(line: string | undefined): string | undefined {
  if (line === undefined) return undefined;
  const [, version, trace, span, rest] = parent.exec(line) ?? [];
  if (trace === undefined || (version === '00' && rest !== undefined)) return undefined;
  return /^0+$/.test(trace) || /^0+$/.test(span!) ? undefined : trace;
}

const keptMax = 64;

/**
 * Bodies of errors as bytes, with the id where their placeholder stands. A flood of refusals says the same
 * again and again: what was made last with each head is kept, so that a refusal costs little more
 * than its sending. Without this, making the bytes of an error page took half of the time of a refusal.
 */
export function openErrorBodies(): (head: Head, body: string, id: string) => Uint8Array {
  const kept = new Map<Head, { readonly body: string; readonly parts: readonly Uint8Array[] }>();
  function partsOf(head: Head, body: string): readonly Uint8Array[] {
    const known = kept.get(head);
    if (known?.body === body) return known.parts;
    const at = body.indexOf(requestIdPlaceholder);
    const parts =
      at < 0
        ? [Buffer.from(body)]
        : [
            Buffer.from(body.slice(0, at)),
            Buffer.from(body.slice(at + requestIdPlaceholder.length)),
          ];
    if (known !== undefined || kept.size < keptMax) kept.set(head, { body, parts });
    return parts;
  }
  return (head, body, id) => {
    const [before, after] = partsOf(head, body);
    return after === undefined ? before! : Buffer.concat([before!, Buffer.from(id), after]);
  };
}
