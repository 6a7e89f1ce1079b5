/**
 * Peers, servers of other owners that this one subscribes to, as rows of the store. The operator's acts and the polls
 * write the same row under a check: of two changes at once the second sees the first. A peer's position is a row of
 * its own, which a restored backup drops: then the peer is read from the start.
 *
 * Invariants: a number, 1 to 32, belongs to one peer at a time; a name and a key are unique. Only `termsOf` decides a
 * peer's weight in the journal: nothing while it is paused, out of date or signs with an unknown key, half in its
 * first 14 days.
 */

import { getDomain } from 'tldts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { dayMs } from '../../../core/time.ts';
import {
  addWithinBounds,
  commitOnce,
  retryOnConflict,
  withValue,
} from '../../../storage/change.ts';
import { peerCursorKey, peerKey, peerNotesKey, peerPrefix } from '../../../storage/keys.ts';
import {
  type Decoded,
  flag,
  list,
  oneOf,
  record,
  text,
  time,
  varint,
} from '../../../storage/record.ts';
import type { Commit, RowCheck, Store } from '../../../storage/store.ts';
import { plainHost } from '../../lists/import/download.ts';
import { type PeerTerms, peersMax } from '../../votes/peer-votes.ts';
import type { Policy } from '../../votes/quorum.ts';
import { budgetBaseOf } from '../../votes/votes.ts';
import { type FederationKey, hasKeyOf, parseKeyLine } from '../document/key.ts';

/** Why new rows of a peer wait for the operator. */
const holdReasons = [
  'none',
  'many new rows',
  'a resolver or root server',
  'allowed or known good addresses',
  'many rows of one network',
  'rows from the future',
  'two histories',
  'strange key',
] as const;
export type HoldReason = (typeof holdReasons)[number];

const peerStates = ['active', 'paused'] as const;

export type StoredPeer = Decoded<typeof rows.decode>;

/** The place up to which a peer was read. */
export type PeerCursor = Decoded<typeof cursors.decode>;

const rows = record(1, {
  number: varint,
  /** The origin of its federation paths, such as `https://b.example`. */
  url: text,
  /** The key that its heads are signed with, as a line; its name is the peer's. */
  key: text,
  /** Quarters of a whole weight, 1 to 4. */
  weight: varint,
  /** Peers of one owner are one vote; empty: by domain alone. */
  owner: text,
  isOwn: flag,
  /** Votes that may be open; 0: by its weight. */
  budget: varint,
  /** The operator's word: it is a vote of its own, whoever it seems to follow. */
  isIndependent: flag,
  addedAt: time,
  state: oneOf(peerStates),
  /** The peer that it was found to follow, 0 for none. */
  follows: varint,
  held: oneOf(holdReasons),
  /** The operator takes what waited up to here, if it is still that (notices.ts); 0: nothing. */
  acceptedSeq: varint,
  dueAt: time,
  triedAt: time,
  freshAt: time,
  failures: varint,
  /** Empty: the last try was good. */
  failure: text,
  /** The head that was taken last. */
  headSeq: varint,
  headChain: text,
  headMadeAt: time,
  headEndsAt: time,
  /** The UTC day of the counts, days since 1970, and what came on it. */
  day: varint,
  newToday: varint,
  goodToday: varint,
  goodEver: varint,
  /** New rows on up to 28 days before. */
  days: list(varint),
});

const cursors = record(1, {
  seq: varint,
  chain: text,
  /** Tombstones were taken up to there; the rows behind `seq` wait. */
  readSeq: varint,
  readChain: text,
});

export const notFetched = {
  follows: 0,
  held: 'none',
  acceptedSeq: 0,
  dueAt: 0,
  triedAt: 0,
  freshAt: 0,
  failures: 0,
  failure: '',
  headSeq: 0,
  headChain: '',
  headMadeAt: 0,
  headEndsAt: 0,
  day: 0,
  newToday: 0,
  goodToday: 0,
  goodEver: 0,
  days: [],
} as const;

export type PeerInput = Pick<
  StoredPeer,
  'url' | 'key' | 'weight' | 'owner' | 'isOwn' | 'budget' | 'addedAt'
>;

export async function listPeers(store: Pick<Store, 'scan'>): Promise<StoredPeer[]> {
  // They are few and small, and none expires: one page holds them all.
  const found = await store.scan(peerPrefix(), { limit: peersMax });
  return found.flatMap(({ value }) => rows.decode(value) ?? []);
}

/** Returns the hosts of all peers, in one spelling: no list may come from them. */
export async function hostsOfPeers(store: Pick<Store, 'scan'>): Promise<string[]> {
  return (await listPeers(store)).map(({ url }) => plainHost(new URL(url)));
}

/** Finds a peer by its name or number. */
export async function findPeer(store: Pick<Store, 'scan'>, named: string) {
  const peers = await listPeers(store);
  return peers.find((one) => String(one.number) === named || peerNameOf(one) === named);
}

export function keyOfPeer({ key }: Pick<StoredPeer, 'key'>): FederationKey {
  return parseKeyLine(key)!;
}

/** The name of its key, which no plus sign is in. */
export function peerNameOf(peer: Pick<StoredPeer, 'key'>): string {
  return peer.key.slice(0, peer.key.indexOf('+'));
}

export async function readCursor(store: Pick<Store, 'get'>, peer: number) {
  const found = await store.get(peerCursorKey(peer));
  return found && cursors.decode(found.value);
}

export function cursorRow(peer: number, cursor: PeerCursor) {
  return { key: peerCursorKey(peer), value: cursors.encode(cursor) };
}

/** Returns why a key can't be that of one more peer: its name is there, or the key itself under another name. */
export function faultOfKey(peers: readonly StoredPeer[], key: string): string | undefined {
  const name = peerNameOf({ key });
  if (peers.some((one) => peerNameOf(one) === name)) return `there is a peer ${name} already`;
  const twin = peers.find((one) => hasKeyOf(one.key, key));
  return twin && `the key is that of the peer ${peerNameOf(twin)}: two names are one vote`;
}

/** Adds a peer under the first free number. `conflict`: its name or its key is there. */
export function storePeer(
  store: Store,
  input: PeerInput,
  also: (peer: StoredPeer, all: readonly StoredPeer[]) => Commit['events'],
): Promise<Result<StoredPeer>> {
  return addWithinBounds(store, [{ rows: 'peers' }], async (held) => {
    const peers = await listPeers(store);
    const taken = faultOfKey(peers, input.key);
    if (taken !== undefined) return fail('conflict', taken);
    const numbers = new Set(peers.map(({ number }) => number));
    const number = Array.from({ length: peersMax }, (_, i) => i + 1).find((n) => !numbers.has(n));
    if (number === undefined) {
      return fail('capacity_exceeded', `there are ${peersMax} peers, which is the most`);
    }
    const peer: StoredPeer = {
      ...notFetched,
      ...input,
      number,
      isIndependent: false,
      state: 'active',
    };
    const done = await commitOnce(store, {
      check: [{ key: peerKey(number), version: null }, ...held.check],
      set: [{ key: peerKey(number), value: rows.encode(peer) }, ...held.set],
      events: also(peer, [...peers, peer]) ?? [],
    });
    return withValue(done, peer);
  });
}

/** @param change what is new, or why it can't be */
export function changePeer(
  store: Store,
  number: number,
  change: (peer: StoredPeer) => Partial<StoredPeer> | string,
  also: Pick<Commit, 'set' | 'del' | 'events'> = {},
): Promise<Result<StoredPeer>> {
  return retryOnConflict(async () => {
    const found = await readPeer(store, number);
    if (found === undefined) return fail('not_found', 'there is no such peer');
    const changed = change(found.peer);
    if (typeof changed === 'string') return fail('conflict', changed);
    const peer = { ...found.peer, ...changed };
    const done = await commitOnce(store, {
      ...also,
      check: [found.check],
      set: [{ key: peerKey(number), value: rows.encode(peer) }, ...(also.set ?? [])],
    });
    return withValue(done, peer);
  });
}

/** Returns a peer with the check that nobody has changed it since. */
export async function readPeer(
  store: Pick<Store, 'get'>,
  number: number,
): Promise<{ readonly peer: StoredPeer; readonly check: RowCheck } | undefined> {
  const key = peerKey(number);
  const found = await store.get(key);
  const peer = found && rows.decode(found.value);
  return peer && { peer, check: { key, version: found!.version } };
}

export async function deletePeer(
  store: Store,
  number: number,
  events: Commit['events'],
): Promise<Result<void>> {
  const done = await store.commit({
    del: [peerKey(number), peerCursorKey(number), peerNotesKey(number)],
    events: events ?? [],
  });
  return done.ok ? ok(undefined) : fail('store_unavailable');
}

/** A peer has half of its weight for so long. */
const newMs = 14 * dayMs;
/** A head that has been over for so long: its rows could not be taken back any more. */
const silentAfterMs = dayMs;
const budgetOfWhole = { public: 1_000, private: 5_000 } as const;

export function isNew({ addedAt }: StoredPeer, now: number): boolean {
  return now - addedAt < newMs;
}

/** Returns true for a peer whose head has been over for a day. */
export function isOver({ headEndsAt, freshAt }: StoredPeer, now: number): boolean {
  return freshAt !== 0 && now - headEndsAt > silentAfterMs;
}

/** Returns true for a peer whose word could not be taken back, which counts nothing. */
export function isSilent(peer: StoredPeer, now: number): boolean {
  return peer.state !== 'active' || peer.held === 'strange key' || isOver(peer, now);
}

/** Returns what the peers are worth now, by their groups. */
export function termsOf(
  peers: readonly StoredPeer[],
  policy: Policy,
  now: number,
): Map<number, PeerTerms> {
  const groups = groupsOf(peers);
  return new Map(
    peers.map((peer): [number, PeerTerms] => {
      const { number, weight, isOwn } = peer;
      const whole = (isOwn ? 4 : weight) * 6;
      const quarters = isSilent(peer, now) ? 0 : !isOwn && isNew(peer, now) ? whole / 2 : whole;
      const budget = budgetOf(peer, policy);
      return [number, { peer: number, quarters, group: groups.get(number)!, isOwn, budget }];
    }),
  );
}

export function budgetOf({ budget, isOwn, weight }: StoredPeer, policy: Policy): number {
  if (budget > 0) return budget;
  if (isOwn) return budgetBaseOf('staff', policy);
  return (budgetOfWhole[policy.isPrivate ? 'private' : 'public'] * weight) / 4;
}

/**
 * Returns the number of the first peer of each one's group: of one owner, of one domain, or that follow one
 * another.
 */
function groupsOf(peers: readonly StoredPeer[]): Map<number, number> {
  const first = new Map(peers.map(({ number }) => [number, number]));
  const root = (number: number): number => {
    const next = first.get(number)!;
    return next === number ? number : root(next);
  };
  function join(a: number, b: number): void {
    const [one, other] = [root(a), root(b)];
    first.set(Math.max(one, other), Math.min(one, other));
  }
  for (const peer of peers) {
    for (const other of peers) {
      if (other.number >= peer.number) continue;
      const isOwner = peer.owner !== '' && peer.owner === other.owner;
      if (isOwner || siteOf(peer) === siteOf(other)) join(peer.number, other.number);
    }
    if (peer.follows !== 0 && !peer.isIndependent && first.has(peer.follows)) {
      join(peer.number, peer.follows);
    }
  }
  return new Map(peers.map(({ number }) => [number, root(number)]));
}

/** Returns the registrable domain of a peer, its host with the port where there is none. */
function siteOf({ url }: StoredPeer): string {
  const { hostname, host } = new URL(url);
  return getDomain(hostname, { allowPrivateDomains: true }) ?? host;
}
