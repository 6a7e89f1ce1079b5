/**
 * Requests and anonymous reports that wait for the operator's decision: one row for each address, bounded
 * in number, each kept for a while.
 *
 * A request of better standing replaces the one for the same address: one from the address itself comes
 * first, then one of a signed-in person, then any other. One network (IPv4 /24, IPv6 /48) has
 * `perNetworkMax` rows at most. At `max` a row of the lowest standing is evicted, of the network that has
 * most of these, the oldest first; a new one whose own network has most, or whose standing is lower than
 * all there are, is refused. The bounds hold under concurrent requests.
 *
 * Of the network only a keyed hash is kept: it shows that two rows are of the same one, no more.
 */

import { createHmac } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs } from '../../core/time.ts';
import { type IpFamily, readIp } from '../../ip/address.ts';
import { textOfEmbedded } from '../../ip/embedded-ipv4.ts';
import { networksOf } from '../../ip/networks.ts';
import { addWithinBounds, type BoundedRows, commitOnce, withValue } from '../../storage/change.ts';
import {
  anonymousReportKey,
  anonymousReportPrefix,
  type Key,
  removalKey,
  removalPrefix,
} from '../../storage/keys.ts';
import { bareRecord, fixed, flag, oneOf, text, time, u32 } from '../../storage/record.ts';
import { pagesUnder, type Store } from '../../storage/store.ts';
import { createAllowlist } from '../ranges/operator-ranges.ts';
import type { TakenReport } from '../reports/store/report-rows.ts';
import { createReportStore } from '../reports/store/report-store.ts';

/** The lowest first. */
const standings = ['anyone', 'signed_in', 'from_address'] as const;
export type AskerStanding = (typeof standings)[number];

interface Asker {
  readonly standing: AskerStanding;
  /** Mark of the client's network, see `networkTags`. */
  readonly network: Uint8Array;
}

const queueBounds = { max: 1_000, perNetworkMax: 20 } as const;
const tagBytes = 8;
/** The tag of a row that is of a network of its own. */
export const unknownNetwork: Uint8Array = new Uint8Array(tagBytes);
const anyone: Asker = { standing: 'anyone', network: unknownNetwork };

/** Fields of the asker at the end of a row. */
const askerFields = { standing: oneOf<AskerStanding>(standings), network: fixed(tagBytes) };

/** @param key of this service. @returns the tag of a client's network */
export function networkTags(key: Uint8Array): (clientIp: string) => Uint8Array {
  return (clientIp) =>
    createHmac('sha256', key)
      .update(networksOf(textOfEmbedded(clientIp)).neighbourhood)
      .digest()
      .subarray(0, tagBytes);
}

export function isBetter(standing: AskerStanding, than: AskerStanding): boolean {
  return standings.indexOf(standing) > standings.indexOf(than);
}

interface KeptAsker extends Asker {
  readonly at: number;
}

interface QueueOptions {
  readonly store: Pick<Store, 'commit' | 'get' | 'scan'>;
  readonly clock: Clock;
  /** Rows at one time. */
  readonly max?: number;
  readonly perNetworkMax?: number;
}

const keptMs = 90 * dayMs;

/** @param rows how a row is written, and where: the address is the text of its key. */
function createAddressQueue<T extends KeptAsker>(
  options: QueueOptions,
  rows: {
    readonly name: BoundedRows;
    readonly codec: { encode(row: T): Uint8Array; decode(bytes: Uint8Array): T | undefined };
    readonly keyOf: (address: string) => Key;
    readonly prefix: () => Key;
  },
) {
  const { store, clock, max, perNetworkMax } = { ...queueBounds, ...options };
  const { codec, keyOf, prefix } = rows;

  async function all() {
    const found: (T & { readonly address: string })[] = [];
    for await (const page of pagesUnder(store, prefix())) {
      for (const { key, value } of page) {
        const row = codec.decode(value);
        const address = Buffer.from(key.subarray(1, -1)).toString('utf8');
        if (row !== undefined) found.push({ ...row, address });
      }
    }
    return found.sort((a, b) => a.at - b.at);
  }

  /** Returns the rows without the asker, the oldest first. */
  async function list() {
    return (await all()).map(({ standing: _standing, network: _network, ...row }) => row);
  }

  async function load(address: string) {
    const key = keyOf(address);
    const entry = await store.get(key);
    const row = entry && codec.decode(entry.value);
    return { row, check: { key, version: entry?.version ?? null } };
  }

  /**
   * Adds a row. An existing row stays, unless the new one has a better standing. `capacity_exceeded` at a bound.
   * @param from without one: anybody, from a network of its own
   * @param at the time of the request, now by default: a restored one keeps its own
   */
  function add(
    address: string,
    row: Omit<T, keyof KeptAsker>,
    from: Asker = anyone,
    at = clock.now(),
  ): Promise<Result<void>> {
    return addWithinBounds(store, [{ rows: rows.name }], async (held) => {
      const there = await load(address);
      if (there.row !== undefined && !isBetter(from.standing, there.row.standing)) {
        return ok(undefined);
      }
      const others = (await all()).filter((other) => other.address !== address);
      const out = makeRoom(others, { ...from, address }, { max, perNetworkMax });
      if (!out.ok) return out;
      // One that was decided meanwhile has left its place.
      const del = out.value.map((one) => keyOf(one.address));
      const value = codec.encode({ ...row, ...from, at } as unknown as T);
      const set = { key: there.check.key, value, expiresAt: at + keptMs };
      const done = await commitOnce(store as Store, {
        check: [there.check, ...held.check],
        set: [set, ...held.set],
        del,
      });
      return withValue(done, undefined);
    });
  }

  /** `not_found` when there is none. */
  async function remove(address: string): Promise<Result<T>> {
    const { row } = await load(address);
    if (row === undefined) return fail('not_found', `nothing waits for ${address}`);
    const done = await store.commit({ del: [keyOf(address)] });
    return done.ok ? ok(row) : fail('store_unavailable');
  }

  return { find: async (address: string) => (await load(address)).row, list, add, remove };
}

type AddressAsker = Asker & { readonly address: string };
type Other = AddressAsker & KeptAsker;

/**
 * Returns which of the others are evicted for a new one: none or one.
 * @param others oldest first
 */
function makeRoom(
  others: readonly Other[],
  asker: AddressAsker,
  { max, perNetworkMax }: { max: number; perNetworkMax: number },
): Result<readonly Other[]> {
  const network = nameOf(asker);
  const near = others.filter((one) => nameOf(one) === network);
  if (near.length >= perNetworkMax) {
    const lower = lowest(near);
    if (isBetter(asker.standing, lower[0]!.standing)) return ok([lower[0]!]);
    const detail = `There are ${perNetworkMax} requests of this network already: ask again later.`;
    return fail('capacity_exceeded', detail);
  }
  if (others.length < max) return ok([]);
  const full = fail('capacity_exceeded', `There are ${max} requests already: ask again later.`);
  const lower = lowest(others);
  const { standing } = lower[0] ?? { standing: 'from_address' };
  if (lower.length === 0 || isBetter(standing, asker.standing)) return full;
  const counts = new Map<string, number>();
  for (const one of lower) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const isAlike = standing === asker.standing;
  if (isAlike && (counts.get(network) ?? 0) >= most) return full;
  return ok([lower.find((one) => counts.get(nameOf(one)) === most)!]);
}

function lowest(rows: readonly Other[]): Other[] {
  const standing = standings.find((one) => rows.some((row) => row.standing === one));
  return rows.filter((row) => row.standing === standing);
}

/** An older row is of a network of its own. */
function nameOf({ network, address }: AddressAsker): string {
  return Buffer.compare(network, unknownNetwork) === 0
    ? address
    : Buffer.from(network).toString('hex');
}

/** A request to take back what is said of an address. Who asked is not kept. */
export interface Removal extends Asker {
  readonly at: number;
  /** In the words of who asked. */
  readonly reason: string;
  /** It was asked for from the address itself. */
  readonly fromAddress: boolean;
  /** By somebody with a verified account; else with a solved challenge. */
  readonly signedIn: boolean;
}

export type Removals = ReturnType<typeof createRemovals>;

export const reasonLengths = { min: 10, max: 1_000 } as const;

const removalRow = bareRecord<Removal>({
  at: time,
  reason: text,
  fromAddress: flag,
  signedIn: flag,
  ...askerFields,
});

export function standingOfAsker(from: Pick<Removal, 'fromAddress' | 'signedIn'>): AskerStanding {
  if (from.fromAddress) return 'from_address';
  return from.signedIn ? 'signed_in' : 'anyone';
}

/** Reads the reason that was typed; undefined: too short or too long. Control characters become spaces. */
export function readReason(typed: string): string | undefined {
  const reason = typed.replace(/\p{C}+/gu, ' ').trim();
  const { length } = Array.from(reason);
  return length < reasonLengths.min || length > reasonLengths.max ? undefined : reason;
}

export function createRemovals(options: QueueOptions) {
  const rows = { name: 'removals', keyOf: removalKey, prefix: removalPrefix } as const;
  return createAddressQueue<Removal>(options, { ...rows, codec: removalRow });
}

/**
 * What somebody without an account, or without a key, says of an address. It counts for nothing until an
 * operator reports the address. Who sent it is not kept.
 */
export interface AnonymousReport extends Asker {
  readonly at: number;
  /** Bit n for category n. */
  readonly categories: number;
  /** As a report's; empty when there was none. */
  readonly comment: string;
}

export type AnonymousReports = ReturnType<typeof createAnonymousReports>;

const anonymousReportRow = bareRecord<AnonymousReport>({
  at: time,
  categories: u32,
  comment: text,
  ...askerFields,
});

export function createAnonymousReports(options: QueueOptions) {
  const rows = { name: 'tips', keyOf: anonymousReportKey, prefix: anonymousReportPrefix } as const;
  return createAddressQueue<AnonymousReport>(options, { ...rows, codec: anonymousReportRow });
}

const reportsPerStep = 10_000;

/** More reports than these are not read into memory: retracting them can't be undone. */
const undoReportsMax = 100;

export interface VotesInMemory {
  /** Present in a server: returns the network of an account's vote on an address, 0 without one. */
  readonly networkOfVote?: (account: string, family: IpFamily, words: Uint32Array) => number;
}

interface RetractingParts extends VotesInMemory {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

interface AcceptedRemoval {
  /** The number of reports that went. */
  readonly removed: number;
  readonly request: Removal;
  /** The reports that went; undefined where they can't be put back: too many, or some of them only counted. */
  readonly reports: readonly TakenReport[] | undefined;
  /** The address was put on the allowlist, where it was not before. */
  readonly isNewRule: boolean;
}

/**
 * Grants a request: what was said of the address is taken back, at no cost of trust. The request goes
 * last, so that one that was cut short can be granted again.
 * @param given canonical
 * @param allow put it on the allowlist too, so that no list blocks it
 * @returns `not_found` without a request
 */
export async function acceptRemoval(
  parts: RetractingParts,
  given: string,
  allow: boolean,
): Promise<Result<AcceptedRemoval>> {
  const removals = createRemovals(parts);
  const isKept = (await removals.find(given)) !== undefined;
  const address = isKept ? given : textOfEmbedded(given);
  const request = await removals.find(address);
  if (request === undefined) return fail('not_found', `there is no request for ${address}`);
  const gone = await retractAll(parts, address);
  if (!gone.ok) return gone;
  let isNewRule = false;
  if (allow) {
    const allowed = await createAllowlist(parts).add(address, 'asked for its removal');
    if (!allowed.ok) return allowed;
    isNewRule = allowed.value.former === undefined;
  }
  const done = await removals.remove(address);
  return done.ok ? ok({ ...gone.value, request, isNewRule }) : done;
}

/** Retracts all reports of an address, at no cost of trust. */
export async function retractAll(
  parts: RetractingParts,
  address: string,
): Promise<Result<Pick<AcceptedRemoval, 'removed' | 'reports'>>> {
  const reports = createReportStore(parts);
  const { family, words } = readIp(address)!;
  const kept: TakenReport[] = [];
  let removed = 0;
  async function retract(said: readonly { readonly account: string }[]): Promise<Result<void>> {
    for (const account of new Set(said.map((one) => one.account))) {
      const gone = await reports.withdraw(account, family, words, false);
      if (!gone.ok) return gone;
      removed += gone.value.removed;
    }
    return ok(undefined);
  }
  for (;;) {
    const found = await reports.list(family, words, 0, reportsPerStep);
    if (kept.length <= undoReportsMax) {
      for (const report of found.slice(0, undoReportsMax + 1)) {
        const network = parts.networkOfVote?.(report.account, family, words);
        kept.push({ ...report, network });
      }
    }
    const before = removed;
    const done = await retract(found);
    if (!done.ok) return done;
    if (found.length < reportsPerStep || removed === before) break;
  }
  for await (const page of reports.tails(family, words)) {
    const done = await retract(page);
    if (!done.ok) return done;
  }
  // Reports of a tail have no rows of their own.
  const isWhole = removed === kept.length && kept.length <= undoReportsMax;
  return ok({ removed, reports: isWhole ? kept : undefined });
}
