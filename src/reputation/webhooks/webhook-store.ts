/**
 * Webhooks of accounts: their URLs, watched addresses and pending events. One row a hook, each change a
 * commit under a check of it: an event in the row is sent after a restart too, at least once.
 *
 * `webhookBounds` hold under concurrent requests; a part of `totalMax` is reserved for operators. When too
 * many events are pending the oldest is dropped, and counted.
 */

import { roleOf, roomFor } from '../../access/accounts/records.ts';
import { type MasterKey, open, sealWithKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { formatNetwork, parsePrefix } from '../../ip/prefix.ts';
import { typedAddress } from '../../ip/typed-address.ts';
import {
  addWithinBounds,
  type CommitAddition,
  checksOf,
  commitOnce,
  retryOnConflict,
  withValue,
} from '../../storage/change.ts';
import { erasureKey, type Key, webhookKey, webhookPrefix } from '../../storage/keys.ts';
import {
  bytes,
  type Decoded,
  group,
  list,
  oneOf,
  record,
  text,
  time,
  u8,
  u32,
} from '../../storage/record.ts';
import { type Commit, pagesUnder, type Store } from '../../storage/store.ts';

export const webhookBounds = {
  perAccountMax: 5,
  totalMax: 1_000,
  watchesMax: 20,
  waitingMax: 50,
  urlCharsMax: 1_000,
  /** Networks of more addresses than these are not watched. */
  shortestLength: { 4: 16, 6: 32 },
} as const;

const states = ['unknown', 'below', 'listed'] as const;

export interface Watch {
  /** An address or a network, canonical. */
  readonly prefix: string;
  readonly state: (typeof states)[number];
}

export interface WaitingEvent {
  readonly id: string;
  /** JSON as it is sent. */
  readonly body: string;
}

export type Webhook = Decoded<typeof rows.decode>;

export interface StoredWebhook extends Webhook {
  readonly id: string;
  readonly key: Key;
  readonly version: number;
}

const rows = record(1, {
  account: text,
  url: text,
  sealed: bytes,
  /** From this score on an address counts as listed. */
  threshold: u8,
  createdAt: time,
  watches: list(group<Watch>({ prefix: text, state: oneOf(states) })),
  /** Oldest first. */
  waiting: list(group<WaitingEvent>({ id: text, body: text })),
  /** Failed tries of the oldest event. */
  failures: u8,
  nextTryAt: time,
  /** 0: nothing was tried yet. */
  triedAt: time,
  /** Status of the last answer, or what failed in place of one. */
  outcome: text,
  delivered: u32,
  /** Events that were given up. */
  dropped: u32,
});

/** A pause between two tests: each is a request to somebody's server. */
const testPauseMs = 10_000;

export type Webhooks = ReturnType<typeof createWebhooks>;

/** The functions of the store alone, which need no key, no clock and no network. */
export function storedWebhooks(store: Store) {
  async function under(prefix: Key): Promise<StoredWebhook[]> {
    const found: StoredWebhook[] = [];
    for await (const page of pagesUnder(store, prefix)) {
      for (const { key, value, version } of page) {
        const hook = rows.decode(value);
        const [, id] = Buffer.from(key).toString('utf8', 1).split('\0');
        if (hook !== undefined) found.push({ ...hook, id: id!, key, version });
      }
    }
    return found.sort((a, b) => a.createdAt - b.createdAt);
  }

  async function find(account: string, id: string): Promise<StoredWebhook | undefined> {
    if (!/^[\w-]{1,32}$/.test(id)) return undefined;
    const key = webhookKey(account, id);
    const row = await store.get(key);
    const hook = row && rows.decode(row.value);
    return row && hook && { ...hook, id, key, version: row.version };
  }

  /** `not_found` also for somebody else's. @param also written in the commit that removes it */
  async function remove(
    account: string,
    id: string,
    also: Commit['set'] = [],
  ): Promise<Result<void>> {
    const hook = await find(account, id);
    if (hook === undefined) return fail('not_found');
    const done = await store.commit({ del: [hook.key], set: also });
    return done.ok ? ok(undefined) : fail('store_unavailable');
  }

  const list = (account: string) => under(webhookPrefix(account));
  return { list, all: () => under(webhookPrefix()), find, remove };
}

export function createWebhooks(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  /** Returns the fault of a hook's address; undefined when there is none. */
  faultOf: (url: URL) => Promise<string | undefined>;
  totalMax?: number;
}) {
  const { store, clock, random, masterKey } = options;
  const { list, all, find, remove } = storedWebhooks(store);

  /** The secret is shown this one time. `invalid_parameter` with its name, `capacity_exceeded`. */
  async function create(
    account: string,
    wanted: {
      readonly url: string;
      readonly threshold: number;
      readonly watches: readonly string[];
    },
    also: CommitAddition = {},
  ): Promise<Result<{ readonly id: string; readonly secret: string }>> {
    const { perAccountMax, totalMax, urlCharsMax } = { ...webhookBounds, ...options };
    const isUrl = wanted.url.length <= urlCharsMax && URL.canParse(wanted.url);
    if (!isUrl) return { ...fail('invalid_parameter'), parameter: 'url' };
    const url = new URL(wanted.url);
    const { threshold } = wanted;
    if (!Number.isInteger(threshold) || threshold < 1 || threshold > 100) {
      return { ...fail('invalid_parameter'), parameter: 'threshold' };
    }
    const watches = readWatches(wanted.watches);
    if (watches === undefined) return { ...fail('invalid_parameter'), parameter: 'watches' };
    const fault = await options.faultOf(url);
    if (fault !== undefined) return { ...fail('invalid_parameter', fault), parameter: 'url' };
    const role = await roleOf(store, account);
    const id = randomToken(random, 9);
    const secret = `whsec_${Buffer.from(random.bytes(32)).toString('base64')}`;
    const hook: Webhook = {
      account,
      url: url.href,
      threshold,
      createdAt: clock.now(),
      sealed: sealWithKey(masterKey, random, `webhook/${account}/${id}`, secret),
      watches: watches.map((prefix) => ({ prefix, state: 'unknown' })),
      waiting: [],
      failures: 0,
      nextTryAt: 0,
      triedAt: 0,
      outcome: '',
      delivered: 0,
      dropped: 0,
    };
    const bounds = [{ rows: 'webhooks', account } as const, { rows: 'webhooks' } as const];
    return addWithinBounds(store, bounds, async (held) => {
      if ((await list(account)).length >= perAccountMax) return fail('capacity_exceeded');
      if ((await all()).length >= roomFor(role, totalMax)) return fail('capacity_exceeded');
      const set = [{ key: webhookKey(account, id), value: rows.encode(hook) }];
      // A hook that is created while its account is deleted would be left behind.
      const notGone = { key: erasureKey(account), version: null };
      if ((await store.get(notGone.key)) !== undefined) return fail('unknown_account');
      const more = await checksOf(also);
      if (!more.ok) return more;
      const done = await commitOnce(store, {
        check: [...held.check, notGone, ...more.value],
        set: [...held.set, ...set, ...(also.set ?? [])],
      });
      return withValue(done, { id, secret });
    });
  }

  /** Writes the change that `next` returns, unless the hook is gone or `next` returns undefined. */
  function change(
    { account, id }: Pick<StoredWebhook, 'account' | 'id'>,
    next: (now: StoredWebhook) => Partial<Webhook> | undefined,
    over = store,
  ): Promise<Result<void>> {
    return retryOnConflict(async () => {
      const hook = await find(account, id);
      const changed = hook && next(hook);
      if (hook === undefined || changed === undefined) return ok(undefined);
      const { key, version } = hook;
      const done = await commitOnce(over, {
        check: [{ key, version }],
        set: [{ key, value: rows.encode({ ...hook, ...changed }) }],
      });
      return withValue(done, undefined);
    });
  }

  /** `too_many_attempts` while one waits or was just tried. */
  async function test(account: string, id: string): Promise<Result<void>> {
    const hook = await find(account, id);
    if (hook === undefined) return fail('not_found');
    const now = clock.now();
    const waits = hook.waiting.some(({ body }) => body.startsWith(testStart));
    // A last try in the future was made before the clock was set back.
    if (waits || Math.abs(now - hook.triedAt) < testPauseMs) return fail('too_many_attempts');
    return change(hook, (current) => ({
      ...withEvent(current, eventOf(random, 'test', now, {})),
      nextTryAt: now,
    }));
  }

  function secretOf({ account, id, sealed }: StoredWebhook): Result<string> {
    return open(masterKey, `webhook/${account}/${id}`, sealed);
  }

  return { ofAccount: list, all, create, remove, change, test, secretOf };
}

const removedAtOnce = 10;

/** Removes the webhooks of a deleted account. @throws when nothing can be written */
export async function removeWebhooks(store: Store, account: string): Promise<void> {
  for (;;) {
    const found = await store.scan(webhookPrefix(account), { limit: removedAtOnce });
    if (found.length === 0) return;
    const done = await store.commit({ del: found.map(({ key }) => key) });
    if (!done.ok) throw new Error('webhooks could not be removed');
  }
}

/** Returns an account's webhooks for its export: address, threshold and watched prefixes. */
export async function webhooksOf(store: Store, account: string) {
  const hooks = await storedWebhooks(store).list(account);
  return hooks.map(({ url, threshold, createdAt, watches }) => {
    return { url, threshold, createdAt, watches: watches.map(({ prefix }) => prefix) };
  });
}

/**
 * Returns the prefixes in canonical form, none twice; undefined when one is no address or network,
 * too large, or they are too many.
 */
function readWatches(texts: readonly string[]): string[] | undefined {
  const found = new Set<string>();
  for (const text of texts) {
    const prefix = parsePrefix(typedAddress(text));
    if (!prefix.ok) return undefined;
    if (prefix.value.length < webhookBounds.shortestLength[prefix.value.family]) return undefined;
    found.add(formatNetwork(prefix.value));
  }
  return found.size === 0 || found.size > webhookBounds.watchesMax ? undefined : [...found];
}

const testStart = '{"type":"test"';

export function eventOf(random: Random, type: string, now: number, data: object): WaitingEvent {
  const body = JSON.stringify({ type, timestamp: new Date(now).toISOString(), data });
  return { id: `msg_${randomToken(random, 15)}`, body };
}

/** Returns the change of a hook to which an event is added. */
export function withEvent(hook: Webhook, event: WaitingEvent): Partial<Webhook> {
  const waiting = [...hook.waiting, event];
  if (waiting.length <= webhookBounds.waitingMax) return { waiting };
  // The oldest may be under way: it is not tried again, and counts as dropped.
  return { waiting: waiting.slice(1), dropped: hook.dropped + 1, failures: 0 };
}
