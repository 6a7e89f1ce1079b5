/**
 * @simplewebauthn/server on a thread of its own, that starts at the first ceremony and ends after a
 * quiet minute: loading it takes 100 ms and 15 MB, and most servers see a passkey now and then.
 * Beyond `waitingMax` calls that wait, a call rejects.
 */

import type * as Library from '@simplewebauthn/server';
import { Piscina } from 'piscina';
import type { BoundedTable } from '../../core/bounded-tables.ts';

type Name =
  | 'generateRegistrationOptions'
  | 'verifyRegistrationResponse'
  | 'generateAuthenticationOptions'
  | 'verifyAuthenticationResponse';

export interface PasskeyCall {
  readonly name: Name;
  readonly options: unknown;
}

export type PasskeyLibrary = Pick<typeof Library, Name> & {
  readonly table: BoundedTable;
  close(): Promise<void>;
};

const waitingMax = 256;
const idleTimeoutMs = 60_000;

export function openPasskeyLibrary(): PasskeyLibrary {
  const pool = new Piscina<PasskeyCall, unknown>({
    filename: new URL('./passkey-library.worker.js', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    maxQueue: waitingMax,
    idleTimeout: idleTimeoutMs,
    recordTiming: false,
  });
  let closed = false;
  const calling = (name: Name) => async (options: unknown) => {
    // A destroyed piscina pool would start threads anew.
    if (closed) throw new Error('the thread of the passkeys is closed');
    return (await pool.run({ name, options })) as never;
  };
  return {
    generateRegistrationOptions: calling('generateRegistrationOptions'),
    verifyRegistrationResponse: calling('verifyRegistrationResponse'),
    generateAuthenticationOptions: calling('generateAuthenticationOptions'),
    verifyAuthenticationResponse: calling('verifyAuthenticationResponse'),
    table: { name: 'passkey_queue', used: () => pool.queueSize, limit: waitingMax },
    async close() {
      closed = true;
      await pool.destroy();
    },
  };
}
