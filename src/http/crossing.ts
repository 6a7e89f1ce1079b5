/**
 * Requests and replies as they cross between threads: those of one turn as one flat list of texts and numbers,
 * small bodies behind one another in one buffer. Cloned as objects they take four times the processor time: each
 * field is written and read with its name, and each body gets memory of its own.
 */

import type { Header, Method, PackedReading, Reply, Request } from './request/message.ts';

/** `inPieces`: the body follows. */
export type ToOwner =
  | { readonly id: number; readonly request: Request; readonly inPieces?: true }
  | { readonly id: number; readonly piece: Uint8Array }
  | { readonly id: number; readonly isWhole: true }
  | { readonly id: number; readonly gone: true };
/** `taken`: bytes of the body that the handler has read. */
export type ToFront =
  | { readonly id: number; readonly reply: Reply }
  | { readonly id: number; readonly failed: 'internal' | 'store_unavailable' }
  | { readonly id: number; readonly taken: number };

/** Parts behind the number of their request or reply; all else is in it as the object that it is. */
type Parts = readonly unknown[];

export interface RequestsCrossing {
  readonly parts: Parts;
  /** Small bodies, in the order of their requests. */
  readonly bodies: Uint8Array;
}

/** A longer one crosses by itself, so that it is copied once. */
const smallBytesMax = 4_096;
const none = new Uint8Array(0);

function smallBytesOf(item: ToOwner): number {
  if (!('request' in item)) return 0;
  const { length } = item.request.body;
  return length > smallBytesMax ? 0 : length;
}

export function packToOwner(items: readonly ToOwner[]): RequestsCrossing {
  let bytes = 0;
  for (const item of items) bytes += smallBytesOf(item);
  const bodies = bytes === 0 ? none : new Uint8Array(bytes);
  const parts: unknown[] = [];
  let at = 0;
  for (const item of items) {
    if (!('request' in item)) {
      parts.push(item);
      continue;
    }
    const { method, path, param, query, headers, body, clientIp, id, trace, reading } =
      item.request;
    parts.push(item.id, item.inPieces, method, path, param, query, clientIp, id, trace, reading);
    if (body.length > smallBytesMax) parts.push(body);
    else {
      parts.push(body.length);
      bodies.set(body, at);
      at += body.length;
    }
    for (const name in headers) {
      const lines = headers[name]!;
      parts.push(name, lines.length === 1 ? lines[0] : lines);
    }
    parts.push(undefined);
  }
  return { parts, bodies };
}

export function unpackToOwner({ parts, bodies }: RequestsCrossing): ToOwner[] {
  const items: ToOwner[] = [];
  let at = 0;
  for (let i = 0; i < parts.length; ) {
    const id = parts[i++];
    if (typeof id !== 'number') {
      items.push(id as ToOwner);
      continue;
    }
    const inPieces = parts[i++] as true | undefined;
    const method = parts[i++] as Method;
    const path = parts[i++] as string;
    const param = parts[i++] as string;
    const query = parts[i++] as string;
    const clientIp = parts[i++] as string;
    const name = parts[i++] as string;
    const trace = parts[i++] as string | undefined;
    const reading = parts[i++] as PackedReading | undefined;
    let body = parts[i++] as number | Uint8Array;
    if (typeof body === 'number') {
      const start = at;
      at += body;
      body = bodies.subarray(start, at);
    }
    const headers: Record<string, readonly string[]> = {};
    for (let header = parts[i++]; header !== undefined; header = parts[i++]) {
      const lines = parts[i++] as string | readonly string[];
      headers[header as string] = typeof lines === 'string' ? [lines] : lines;
    }
    const request = {
      method,
      path,
      param,
      query,
      headers,
      body,
      clientIp,
      id: name,
      trace,
      reading,
    };
    items.push(inPieces ? { id, request, inPieces } : { id, request });
  }
  return items;
}

export function packToFront(items: readonly ToFront[]): Parts {
  const parts: unknown[] = [];
  for (const item of items) {
    if (!('reply' in item)) {
      parts.push(item);
      continue;
    }
    const { status, headers, body } = item.reply;
    parts.push(item.id, status, body, headers.length);
    for (const [name, value] of headers) parts.push(name, value);
  }
  return parts;
}

export function unpackToFront(parts: Parts): ToFront[] {
  const items: ToFront[] = [];
  for (let i = 0; i < parts.length; ) {
    const id = parts[i++];
    if (typeof id !== 'number') {
      items.push(id as ToFront);
      continue;
    }
    const status = parts[i++] as number;
    const body = parts[i++] as NonNullable<Reply['body']> | undefined;
    const headers: Header[] = [];
    for (let left = parts[i++] as number; left > 0; left--) {
      headers.push([parts[i++] as string, parts[i++] as string]);
    }
    items.push({ id, reply: body === undefined ? { status, headers } : { status, headers, body } });
  }
  return items;
}
