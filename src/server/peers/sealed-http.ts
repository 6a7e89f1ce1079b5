/** Bodies and answers of the internal listener. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { macHeader, macOf } from '../../store/relay/signed.ts';

/** Undefined when it is too long, or breaks off. */
export async function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | undefined> {
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
export function refuse(response: ServerResponse): void {
  response.writeHead(403, { Connection: 'close' }).end();
}

export function seal(
  response: ServerResponse,
  key: Uint8Array,
  nonce: string,
  bytes: Uint8Array,
  status = 200,
): void {
  const mac = macOf(key, `answer ${nonce}`, bytes);
  response.writeHead(status, { [macHeader]: mac, 'Content-Length': bytes.length }).end(bytes);
}
