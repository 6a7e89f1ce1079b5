/** A log that keeps what it was told, for tests about loudness. */

import { Writable } from 'node:stream';
import { pino } from 'pino';
import type { Log } from '../../../src/core/log.ts';

export function memoryLog(): { log: Log; lines: { level: number; msg: string }[] } {
  const lines: { level: number; msg: string }[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)) as { level: number; msg: string });
      done();
    },
  });
  return { log: pino({ level: 'trace', base: null }, sink), lines };
}
