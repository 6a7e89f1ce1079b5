/**
 * A large text body, written in pieces by work that yields between them. The bytes end up in
 * shared memory: another thread that sends them gets them without a copy.
 */

import { createTurns } from '../../core/scheduling.ts';

export interface BodyWriter {
  add(text: string): void;
  /** All that was added, as UTF-8. Nothing may be added afterwards. */
  finish(): Promise<Uint8Array>;
}

const pieceCharsMax = 64 * 1024;

export function createBodyWriter(): BodyWriter {
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
    add(more) {
      text += more;
      if (text.length >= pieceCharsMax) encode();
    },
    async finish() {
      encode();
      const body = new Uint8Array(new SharedArrayBuffer(bytes));
      const turns = createTurns();
      let at = 0;
      for (const piece of pieces) {
        body.set(piece, at);
        at += piece.length;
        if (turns.isOver()) await turns.next();
      }
      return body;
    },
  };
}
