/**
 * @simplewebauthn/server on a thread of its own, that starts at the first ceremony and ends after a
 * quiet minute: loading it takes 100 ms and 15 MB, and most servers see a passkey now and then.
 * Beyond `waitingMax` calls that wait, a call rejects.
 */

import type * as Library from '@simplewebauthn/server';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import { openLoneThread } from '../../core/lone-thread.ts';

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

export function openPasskeyLibrary(): PasskeyLibrary {
  const worker = new URL('./passkey-library.worker.js', import.meta.url);
  const thread = openLoneThread<PasskeyCall, unknown>(worker, waitingMax);
  const calling = (name: Name) => async (options: unknown) =>
    (await thread.run({ name, options })) as never;
  return {
    generateRegistrationOptions: calling('generateRegistrationOptions'),
    verifyRegistrationResponse: calling('verifyRegistrationResponse'),
    generateAuthenticationOptions: calling('generateAuthenticationOptions'),
    verifyAuthenticationResponse: calling('verifyAuthenticationResponse'),
    table: { name: 'passkey_queue', used: thread.waiting, limit: waitingMax },
    close: thread.close,
  };
}
