/**
 * A large text body, written in pieces by work that yields between them. The bytes end up in
 * shared memory: another thread that sends them gets them without a copy.
 */

import { createScheduler } from '../../core/scheduling.ts';

const pieceCharsMax = 64 * 1024;

export function createBodyWriter() {
  const pieces: Uint8Array[] = [];
  let text = '';
  let bytes = 0;

  function encode(): void {
    if (text === '') return;
    const piece = Buffer.from(text);
    bytes += piece.length;
    pieces.push(piece);
    text = '';
  }

  return {
    add(more: string): void {
      text += more;
      if (text.length >= pieceCharsMax) encode();
    },
    /** All that was added, as UTF-8. Nothing may be added afterwards. */
    async finish(): Promise<Uint8Array> {
      encode();
      const body = new Uint8Array(new SharedArrayBuffer(bytes));
      const scheduler = createScheduler();
      let at = 0;
      for (const piece of pieces) {
        body.set(piece, at);
        at += piece.length;
        if (scheduler.shouldYield()) await scheduler.yield();
      }
      return body;
    },
  };
}

export type BodyWriter = ReturnType<typeof createBodyWriter>;
