/**
 * Reads what Dovecot says of a login, as its policy client writes it: a JSON object with `remote`,
 * and in reports with `success` and `policy_reject`. Who logs in and the hash of the password are
 * not read.
 */

import { fail, ok, type Result } from '../../core/result.ts';

export interface LoginAttempt {
  /** As sent; empty when the client has no address. */
  readonly remote: string;
  /** The login failed, and not because this policy refused it. */
  readonly isFailure: boolean;
}

const noObject = fail('bad_request', 'the body must be a JSON object, as Dovecot sends it');
const noRemote = fail(
  'bad_request',
  'the body has no "remote": auth_policy_request_attributes must have remote=%{rip}',
);

export function readAttempt(body: Uint8Array): Result<LoginAttempt> {
  let given: unknown;
  try {
    // Bytes that are no text are in the names of attackers: the address counts all the same.
    given = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8'));
  } catch {
    return noObject;
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return noObject;
  const { remote, success, policy_reject: isRefused } = given as Record<string, unknown>;
  if (typeof remote !== 'string') return noRemote;
  return ok({ remote, isFailure: success === false && isRefused !== true });
}
