/**
 * Site keys: public names that a web site's pages carry, each belonging to an account. A site
 * key is no secret; it says whose API key may redeem a CAPTCHA receipt, and from which host
 * names receipts are given. Read from the store at each use, so a change counts at once in
 * every process. A revoked one is deleted: its id is never made again.
 */

import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Clock } from '../../core/clock.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { addWithinBounds, commitOnce, retryOnConflict, withValue } from '../../storage/change.ts';
import {
  accountKey,
  siteKeyByAccountKey,
  siteKeyByAccountPrefix,
  siteKeyKey,
  siteKeyPrefix,
} from '../../storage/keys.ts';
import {
  type Decoded,
  flag,
  list,
  oneOf,
  record,
  since,
  text,
  time,
} from '../../storage/record.ts';
import { pagesUnder, type Store } from '../../storage/store.ts';
import { decodeAccount } from '../accounts/records.ts';

export interface SiteKey extends Decoded<typeof rows.decode> {
  /** `pcs_` and 22 characters, 128 random bits. Public. */
  readonly id: string;
}

/** `puzzle`: a picture for everybody. */
export const leastLevels = ['puzzle', 'silent', 'easy', 'hard'] as const;
export type LeastLevel = (typeof leastLevels)[number];

export type SiteKeySettings = Pick<SiteKey, 'passesClean' | 'least'>;

interface SiteKeyInfo extends SiteKey {
  /** The mail address of its account; empty when the account was deleted. */
  readonly email: string;
}

const idPattern = /^pcs_[0-9A-Za-z_-]{22}$/;
const idBytes = 16;
export const siteKeysPerAccountMax = 100;
export const hostsMax = 20;
/** RFC 1035, 2.3.4, as text. */
const hostCharactersMax = 253;
const rows = record(
  3,
  {
    account: text,
    /** Milliseconds since 1970. */
    createdAt: time,
    /** Each stands for itself and its sub-domains, lower case, IDN as `xn--`. None: any host. */
    hosts: list(text),
    /** Visitors from a clean address get a receipt without a puzzle. */
    passesClean: flag,
    /** The level of challenge that visitors pass at least (captcha/work/levels.ts). */
    least: since(3, oneOf(leastLevels), 'puzzle'),
  },
  2,
);

/** A host name as a browser writes it, or undefined: no scheme, port, path or wildcard. IPv6 stands in brackets. */
export function normaliseHost(text: string): string | undefined {
  if (text.length > hostCharactersMax) return undefined;
  const name = text.trim().toLowerCase().replace(/\.$/, '');
  if (/^\[[0-9a-f:.]+\]$/.test(name)) {
    return isIP(name.slice(1, -1)) === 6 ? new URL(`http://${name}`).hostname : undefined;
  }
  // The conversion reads a host out of more than a host.
  if (/[^\p{L}\p{M}\p{N}._-]/u.test(name)) return undefined;
  const ascii = domainToASCII(name);
  const isName = /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
  // A number such as 127.1 means an address to a browser: only its plain form is meant as one.
  return isName.test(ascii) && isIP(ascii) === isIP(name) ? ascii : undefined;
}

/** Returns whether pages of this host get receipts. */
export function allowsHost(siteKey: Pick<SiteKey, 'hosts'>, hostname: string): boolean {
  const { hosts } = siteKey;
  return hosts.length === 0 || hosts.some((h) => hostname === h || hostname.endsWith(`.${h}`));
}

export function createSiteKeys(options: { store: Store; clock: Clock; random: Random }) {
  const { store, clock, random } = options;

  /** Returns undefined for a site key that is unknown, revoked or malformed. */
  async function find(id: string): Promise<SiteKey | undefined> {
    if (!idPattern.test(id)) return undefined;
    const entry = await store.get(siteKeyKey(id));
    return entry && decodeRow(id, entry.value);
  }

  async function idsOf(accountId: string): Promise<string[]> {
    const prefix = siteKeyByAccountPrefix(accountId);
    const ids: string[] = [];
    for await (const page of pagesUnder(store, prefix)) {
      ids.push(...page.map(({ key }) => textOf(key, prefix.length)));
    }
    return ids;
  }

  /** `unknown_account`; `conflict` when it is disabled or has 100; `invalid_parameter` for a host. */
  async function create(
    accountId: string,
    hosts: readonly string[],
    { passesClean = false, least = 'silent' }: Partial<SiteKeySettings> = {},
  ): Promise<Result<SiteKey>> {
    const names = normaliseHosts(hosts);
    if (!names.ok) return names;
    const bound = { rows: 'site_keys', account: accountId } as const;
    return await addWithinBounds(store, [bound], async (held) => {
      const key = accountKey(accountId);
      const entry = await store.get(key);
      const account = entry && decodeAccount(entry.value);
      if (!entry || !account) return fail('unknown_account', 'there is no such account');
      if (account.disabled) return fail('conflict', `${account.email} is disabled`);
      if ((await idsOf(accountId)).length >= siteKeysPerAccountMax) {
        return fail(
          'conflict',
          `${account.email} has ${siteKeysPerAccountMax} site keys; revoke one first`,
        );
      }
      const id = `pcs_${randomToken(random, idBytes)}`;
      const createdAt = clock.now();
      const made = { id, account: accountId, createdAt, hosts: names.value, passesClean, least };
      const done = await commitOnce(store, {
        check: [
          { key, version: entry.version },
          { key: siteKeyKey(id), version: null },
          ...held.check,
        ],
        set: [
          ...held.set,
          { key: siteKeyKey(id), value: rows.encode(made) },
          { key: siteKeyByAccountKey(accountId, id), value: new Uint8Array() },
        ],
      });
      return withValue(done, made);
    });
  }

  async function ofAccount(accountId: string): Promise<SiteKey[]> {
    const found = await Promise.all((await idsOf(accountId)).map(find));
    return found.filter((siteKey) => siteKey !== undefined);
  }

  /** All, oldest first. */
  async function list(): Promise<SiteKeyInfo[]> {
    const all: SiteKeyInfo[] = [];
    for await (const page of pagesUnder(store, siteKeyPrefix())) {
      for (const { key, value } of page) {
        const siteKey = decodeRow(textOf(key, 1), value);
        if (siteKey) all.push({ ...siteKey, email: await emailOf(siteKey.account) });
      }
    }
    return all.sort((a, b) => a.createdAt - b.createdAt);
  }

  async function emailOf(accountId: string): Promise<string> {
    const entry = await store.get(accountKey(accountId));
    return (entry && decodeAccount(entry.value)?.email) ?? '';
  }

  function unknown(id: string): Failure {
    const shown = id.slice(0, 40).replace(/\p{C}/gu, '?');
    return fail('unknown_key', `there is no site key ${shown}`);
  }

  /** Changes settings from the next request on. Fails with `unknown_key`. */
  async function set(id: string, settings: Partial<SiteKeySettings>): Promise<Result<SiteKey>> {
    return await retryOnConflict(async () => {
      const key = siteKeyKey(id);
      const entry = idPattern.test(id) ? await store.get(key) : undefined;
      const siteKey = entry && decodeRow(id, entry.value);
      if (entry === undefined || siteKey === undefined) return unknown(id);
      const changed = { ...siteKey, ...settings };
      const done = await commitOnce(store, {
        check: [{ key, version: entry.version }],
        set: [{ key, value: rows.encode(changed) }],
      });
      return withValue(done, changed);
    });
  }

  /** Revokes a site key and returns it. Fails with `unknown_key`. */
  async function revoke(id: string): Promise<Result<SiteKey>> {
    const siteKey = await find(id);
    if (siteKey === undefined) return unknown(id);
    const del = [siteKeyKey(id), siteKeyByAccountKey(siteKey.account, id)];
    return await retryOnConflict(async () => withValue(await commitOnce(store, { del }), siteKey));
  }

  return { create, set, find, ofAccount, list, revoke };
}

export type SiteKeys = ReturnType<typeof createSiteKeys>;

function normaliseHosts(hosts: readonly string[]): Result<readonly string[]> {
  if (hosts.length > hostsMax) {
    return fail('invalid_parameter', `a site key has at most ${hostsMax} host names`);
  }
  const names = new Set<string>();
  for (const host of hosts) {
    const name = normaliseHost(host);
    if (name === undefined) {
      const shown = host.slice(0, 80).replace(/\p{C}/gu, '?');
      return fail('invalid_parameter', `'${shown}' is not a host name, such as shop.example`);
    }
    names.add(name);
  }
  return ok([...names]);
}

/** The text part of a key that begins after `start` bytes and ends the key. */
function textOf(key: Uint8Array, start: number): string {
  return Buffer.from(key.subarray(start, -1)).toString('utf8');
}

function decodeRow(id: string, value: Uint8Array): SiteKey | undefined {
  const row = rows.decode(value);
  return row && { id, ...row };
}
