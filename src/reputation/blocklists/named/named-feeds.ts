/** Feeds that the operator names: a choice of the blocklist under a name of its own, as rows of the store. */

import { capacities } from '../../../config.ts';
import type { Clock } from '../../../core/clock.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { addWithinBounds, commitOnce, withValue } from '../../../storage/change.ts';
import { namedFeedKey, namedFeedPrefix } from '../../../storage/keys.ts';
import {
  type Decoded,
  flag,
  list,
  oneOf,
  record,
  text,
  time,
  u8,
  u32,
  varint,
} from '../../../storage/record.ts';
import { pagesUnder, type Store, StoreUnavailableError } from '../../../storage/store.ts';
import { maliciousScore } from '../../check/score.ts';

/** Names of sets in firewalls are made of it: `pc-NAME4-next` is as long as ipset takes. */
export const feedNameShape = /^(?=.{1,20}$)[a-z](-?[a-z0-9])*$/;
/** Names under /feeds/ that mean something else. */
const reservedFeedNames: readonly string[] = ['blocklist', 'anon-exits', 'changes', 'default'];
/** The most entries of a named feed: the worst. */
export const namedEntriesMax = 100_000;

export type NamedFeed = Decoded<typeof rows.decode>;

const rows = record(1, {
  name: text,
  /** Bit n for category n; 0: any. */
  categories: u32,
  /** Names of lists; none: any. */
  lists: list(text),
  /** Entries must have been reported, or be on a list loaded, within this time; 0: any time. */
  maxAgeMs: time,
  /** 25..100 */
  minimumScore: u8,
  family: oneOf(['both', 'IPv4', 'IPv6']),
  /** Two-letter codes; none: all. */
  countries: list(text),
  /** All countries but these. */
  isExcept: flag,
  /** As few networks as cover the same addresses, where a form says nothing of each entry. */
  collapsed: flag,
  /** Entries at most: the worst. */
  limit: varint,
  /** Milliseconds since 1970. */
  addedAt: time,
});

/** The blocklist itself, for the forms that are not built ahead: the worst of it. */
const wholeFeed: NamedFeed = {
  name: 'blocklist',
  categories: 0,
  lists: [],
  maxAgeMs: 0,
  minimumScore: maliciousScore,
  family: 'both',
  countries: [],
  isExcept: false,
  collapsed: false,
  limit: namedEntriesMax,
  addedAt: 0,
};

export async function listNamedFeeds(store: Pick<Store, 'scan'>): Promise<NamedFeed[]> {
  const found: NamedFeed[] = [];
  for await (const page of pagesUnder(store, namedFeedPrefix())) {
    found.push(...page.flatMap(({ value }) => rows.decode(value) ?? []));
  }
  return found;
}

/** `conflict`: the name is taken; `capacity_exceeded`. */
export async function addNamedFeed(store: Store, feed: NamedFeed): Promise<Result<NamedFeed>> {
  const { name } = feed;
  if (reservedFeedNames.includes(name)) {
    return fail('conflict', `'${name}' is a feed that is always there: take another name`);
  }
  const key = namedFeedKey(name);
  return addWithinBounds(store, [{ rows: 'feeds' }], async (held) => {
    if ((await store.get(key)) !== undefined) {
      return fail('conflict', `there is a feed '${name}' already: remove it first`, 'name');
    }
    if ((await listNamedFeeds(store)).length >= capacities.namedFeeds) {
      const most = capacities.namedFeeds;
      return fail('capacity_exceeded', `there are ${most} named feeds, which is the most`);
    }
    const done = await commitOnce(store, {
      check: [{ key, version: null }, ...held.check],
      set: [{ key, value: rows.encode(feed) }, ...held.set],
    });
    noteChange(store);
    return withValue(done, feed);
  });
}

/** Returns what it was. `not_found` without such a feed. */
export async function removeNamedFeed(store: Store, name: string): Promise<Result<NamedFeed>> {
  const key = namedFeedKey(name);
  const found = await store.get(key);
  const feed = found && rows.decode(found.value);
  if (feed === undefined) return fail('not_found', `there is no named feed '${name}'`);
  const done = await store.commit({ del: [key] });
  noteChange(store);
  return done.ok ? ok(feed) : fail('store_unavailable');
}

/** Counts the changes of this process, which its readers see at once. */
const changes = new WeakMap<object, number>();
const changesOf = (store: object) => changes.get(store) ?? 0;

function noteChange(store: object): void {
  changes.set(store, changesOf(store) + 1);
}

/** A feed that was named on another node is known here so soon. */
const namesKeptMs = 1_000;

/**
 * Keeps the named feeds for a moment, so that requests for strange names read no store. While the store does not
 * answer those that were known last are served, as the blocklist is.
 */
export function createNamedFeedCache({
  store,
  clock,
}: {
  readonly store: Pick<Store, 'scan'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}) {
  let known: ReadonlyMap<string, NamedFeed> = new Map();
  let reading: Promise<void> | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let changesRead = 0;

  const isOld = () =>
    clock.monotonicMs() - readAtMs > namesKeptMs || changesOf(store) !== changesRead;

  async function read(): Promise<void> {
    const changesNow = changesOf(store);
    const startMs = clock.monotonicMs();
    try {
      const feeds = [wholeFeed, ...(await listNamedFeeds(store))];
      known = new Map(feeds.map((feed) => [feed.name, feed]));
      readAtMs = startMs;
      changesRead = changesNow;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || known.size === 0) throw error;
      // Nobody waits for the same answer again at once.
      readAtMs = clock.monotonicMs();
      changesRead = changesNow;
    }
  }

  /** Reads again where something changed meanwhile. */
  async function readAll(): Promise<void> {
    do await read();
    while (changesOf(store) !== changesRead);
  }

  async function all(): Promise<ReadonlyMap<string, NamedFeed>> {
    if (isOld()) {
      reading ??= readAll().finally(() => {
        reading = undefined;
      });
      await reading;
    }
    return known;
  }

  return {
    find: async (name: string) => (await all()).get(name),
    all: async () => [...(await all()).values()],
    count: () => Math.max(0, known.size - 1),
  };
}
