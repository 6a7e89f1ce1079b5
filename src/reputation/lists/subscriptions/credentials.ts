/**
 * Stores the credentials of a source: a header of its own, or a user name and a password. They are sealed in a row
 * next to the source's, bound to its name and the origin of its URL, and opened only for a download: nothing shows
 * them again.
 */

import { type MasterKey, open, sealWithKey } from '../../../access/keys/master-key.ts';
import { OperatorError } from '../../../core/errors.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { sourceSecretKey } from '../../../storage/keys.ts';
import type { Store } from '../../../storage/store.ts';

/** Headers by their names, in lower case. */
export type SourceHeaders = Readonly<Record<string, string>>;

export const headerCharsMax = 2_000;
export const userCharsMax = 500;

const headerShape =
  /^([!#$%&'*+.^_`|~\w-]{1,64}):[\t ]*([\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)[\t ]*$/;
/** The download says these itself. */
const ownHeaders =
  /^(?:host|connection|content-.*|transfer-.*|te|trailer|upgrade|expect|accept|accept-encoding|user-agent|range|if-.*|proxy-.*|keep-alive)$/;

/** @throws OperatorError, which repeats nothing of it */
export function readCredentials(given: {
  readonly header?: string | undefined;
  readonly user?: string | undefined;
}): SourceHeaders | undefined {
  const { header = '', user = '' } = given;
  const found: Record<string, string> = {};
  if (header !== '') {
    const [, name, value] = headerShape.exec(header) ?? [];
    if (name === undefined) throw new OperatorError("--header is written 'X-Key: value', in ASCII");
    if (ownHeaders.test(name.toLowerCase())) {
      throw new OperatorError(`--header ${name}: the download has a value of its own there`);
    }
    found[name.toLowerCase()] = value!;
  }
  if (user !== '') {
    if (!/^[^:\p{C}]+:\P{C}+$/u.test(user)) {
      throw new OperatorError('--user is written name:password');
    }
    if (found.authorization !== undefined) {
      throw new OperatorError('--user and an Authorization header say the same: give one of them');
    }
    found.authorization = `Basic ${Buffer.from(user).toString('base64')}`;
  }
  return header === '' && user === '' ? undefined : found;
}

interface Source {
  readonly name: string;
  readonly url: string;
}

function contextOf({ name, url }: Source): string {
  return `source/${name}/${new URL(url).origin}`;
}

export function sealCredentials(
  masterKey: MasterKey,
  random: Random,
  source: Source,
  credentials: SourceHeaders,
): Uint8Array {
  return sealWithKey(masterKey, random, contextOf(source), JSON.stringify(credentials));
}

/** Returns what the source asks for, undefined if nothing, or why it can't be opened. */
export async function openCredentials(
  store: Pick<Store, 'get'>,
  masterKey: MasterKey,
  source: Source,
): Promise<Result<SourceHeaders | undefined>> {
  const found = await store.get(sourceSecretKey(source.name));
  if (found === undefined) return ok(undefined);
  const opened = open(masterKey, contextOf(source), found.value);
  if (opened.ok) return ok(JSON.parse(opened.value) as SourceHeaders);
  return fail('internal', 'its header or password was sealed with another master key');
}
