/** Bodies and answers of the internal listener. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { macHeader, macOf } from './signed.ts';
import type { Strangers } from './strangers.ts';

/** Undefined when it is too long, or breaks off. What says that it is too long is not read. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return undefined;
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > bytesMax) return undefined;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(pieces);
}

/** To whom it may be: it says nothing of what was wrong. */
export function refuse(response: ServerResponse, strangers: Pick<Strangers, 'refuse'>): void {
  strangers.refuse(response.req.socket);
  response.writeHead(403, { Connection: 'close' }).end();
}

export function seal(
  response: ServerResponse,
  key: Uint8Array,
  nonce: string,
  bytes: Uint8Array,
): void {
  const mac = macOf(key, `answer ${nonce}`, bytes);
  response.writeHead(200, { [macHeader]: mac, 'Content-Length': bytes.length }).end(bytes);
}

/** Resolves when the other end has the answer or is gone; one that does not read it is sent away. */
export async function sent(response: ServerResponse, msMax: number): Promise<void> {
  if (response.closed) return;
  const timer = setTimeout(() => response.destroy(), msMax);
  timer.unref();
  await new Promise<void>((resolve) => response.once('close', resolve));
  clearTimeout(timer);
}
