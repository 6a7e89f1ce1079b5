/**
 * Response heads, rendered to one string: status line text and all fields in a single call
 * into the library (five `writeHeader` calls cost 0.95 µs more than one string). A `Head`
 * can only be made from checked parts, so no value can smuggle in a line of its own.
 */

import type { Random } from '../../core/random.ts';
import { type Header, requestIdPlaceholder } from '../request/message.ts';

declare const headBrand: unique symbol;
/** `200 OK\r\nName: value\r\nName: value`, without the final line end. */
export type Head = string & { readonly [headBrand]: true };

declare const fieldBrand: unique symbol;
/** `\r\nName: `, ready for a number. */
type NumberField = string & { readonly [fieldBrand]: true };

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

const tokenPattern = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const controlPattern = /[\x00-\x08\x0a-\x1f\x7f]/;
/** The library writes these itself; a second one would contradict it. */
const reserved = new Set(['content-length', 'transfer-encoding', 'connection', 'date']);

/** Names that were found good: the same few come with each answer. */
const goodNames = new Set<string>();
const goodNamesMax = 256;

/** Throws: a bad header is a bug of the route, and the caller answers 500 and logs it. */
function checkName(name: string): void {
  if (goodNames.has(name)) return;
  if (!tokenPattern.test(name)) throw new Error(`not a header name: ${JSON.stringify(name)}`);
  if (reserved.has(name.toLowerCase())) throw new Error(`header ${name} belongs to the transport`);
  if (goodNames.size < goodNamesMax) goodNames.add(name);
}

export function renderHead(status: number, headers: readonly Header[]): Head {
  const reason = reasons[status];
  if (reason === undefined) throw new Error(`status ${status} is not in use`);
  let text = `${status} ${reason}`;
  for (const [name, value] of headers) {
    checkName(name);
    // Never quote the value in the message: it may be a cookie.
    if (controlPattern.test(value)) throw new Error(`control character in header ${name}`);
    text += `\r\n${name}: ${value}`;
  }
  return text as Head;
}

/** Lines for the end of any head; '' for none. */
export function fieldsOf(headers: readonly Header[]): string {
  return renderHead(200, headers).slice('200 OK'.length);
}

export function numberField(name: string): NumberField {
  checkName(name);
  return `\r\n${name}: ` as NumberField;
}

/** Adds one numeric field. Only string concatenation: for hot routes. */
export function withNumber(head: Head, field: NumberField, value: number): Head {
  return (head + field + value) as Head;
}

/** 200 out of `200 OK\r\n…`. */
export function statusOfHead(head: Head): number {
  return Number(head.slice(0, 3));
}

// The name of a request: in its answer, in the body of its error, in the log, the same in every
// thread. A trusted proxy may set it; other clients can't choose what is logged.

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
