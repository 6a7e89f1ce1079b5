/**
 * Stores the state of publishing: the key, sealed by the master key; one row with the position and the signed head; a
 * row for each segment, packed; and snapshots in parts.
 *
 * Invariant: a segment and the row that counts it are one commit, checked against the row that was read, so no number
 * is used twice. The parts of a snapshot are written before the row that names them.
 */

import { type MasterKey, open, sealWithKey } from '../../../access/keys/master-key.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../../core/result.ts';
import {
  federationKeyKey,
  federationPublicationKey,
  federationSegmentKey,
  federationSegmentPrefix,
  federationSnapshotKey,
  federationSnapshotPrefix,
  type Key,
  readFederationSeq,
} from '../../../storage/keys.ts';
import { bytes, type Decoded, flag, record, text, time, varint } from '../../../storage/record.ts';
import { pagesUnder, type Store } from '../../../storage/store.ts';
import { makeSigningKey, type SigningKey, signingKey } from '../document/key.ts';
import { chainStart } from '../document/segment.ts';

const partBytes = 1_048_576;

const keyRows = record(1, {
  name: text,
  sealed: bytes,
  /** Milliseconds since 1970. */
  madeAt: time,
  /** The key that it follows; empty: none. */
  former: bytes,
  /** The former one signs until then. */
  formerUntil: time,
});

export interface FederationKeys {
  readonly key: SigningKey;
  /** The one that it follows, while that signs too. */
  readonly former: SigningKey | undefined;
  readonly formerUntil: number;
  readonly madeAt: number;
}

const contextOf = (name: string) => `federation/${name}`;

function openSealedKey(masterKey: MasterKey, name: string, sealed: Uint8Array): Result<SigningKey> {
  const seed = open(masterKey, contextOf(name), sealed);
  return seed.ok ? ok(signingKey(name, Buffer.from(seed.value, 'base64'))) : seed;
}

/** Undefined: no key was made yet. A key that another master key sealed is a failure. */
export async function readKeys(
  store: Pick<Store, 'get'>,
  masterKey: MasterKey,
  now: number,
): Promise<Result<FederationKeys> | undefined> {
  const found = await store.get(federationKeyKey());
  if (found === undefined) return undefined;
  const row = keyRows.decode(found.value);
  if (row === undefined) return fail('internal', 'the row of the federation key is damaged');
  const { name, madeAt, formerUntil } = row;
  const key = openSealedKey(masterKey, name, row.sealed);
  if (!key.ok) return key;
  const former =
    row.former.length === 0 || formerUntil <= now
      ? undefined
      : openSealedKey(masterKey, name, row.former);
  if (former?.ok === false) return former;
  return ok({ key: key.value, former: former?.value, formerUntil, madeAt });
}

/** Returns the key that signs what this server asks its peers for; undefined before it has one. */
export async function signingKeyOf(tools: {
  readonly store: Pick<Store, 'get'>;
  readonly masterKey: MasterKey;
  readonly clock: Pick<Clock, 'now'>;
}): Promise<SigningKey | undefined> {
  const keys = await readKeys(tools.store, tools.masterKey, tools.clock.now());
  return keys?.ok === true ? keys.value.key : undefined;
}

/**
 * Writes a new key in the place of the one that was there.
 * @param former signs too until then; undefined: nobody who pinned an older key can follow
 */
export async function writeKey(
  tools: { readonly store: Store; readonly masterKey: MasterKey; readonly random: Random },
  name: string,
  now: number,
  former: { readonly key: SigningKey; readonly until: number } | undefined,
): Promise<Result<SigningKey>> {
  const { store, masterKey, random } = tools;
  const key = makeSigningKey(name, random);
  const sealedOf = (one: SigningKey) =>
    sealWithKey(masterKey, random, contextOf(name), Buffer.from(one.seed).toString('base64'));
  const rowKey = federationKeyKey();
  const before = await store.get(rowKey);
  const value = keyRows.encode({
    name,
    sealed: sealedOf(key),
    madeAt: now,
    former: former === undefined ? new Uint8Array() : sealedOf(former.key),
    formerUntil: former?.until ?? 0,
  });
  const done = await store.commit({
    check: [{ key: rowKey, version: before?.version ?? null }],
    set: [{ key: rowKey, value }],
  });
  return done.ok ? ok(key) : failed(done.error);
}

function failed(error: 'check_failed' | 'store_unavailable'): Failure {
  return error === 'check_failed'
    ? fail('conflict', 'another process changed it at the same time: try again')
    : fail('store_unavailable');
}

export type Publication = Decoded<typeof publications.decode>;

export const nothingPublished: Publication = {
  isOn: false,
  seq: 0,
  chain: chainStart,
  oldest: 1,
  madeAt: 0,
  segmentBytes: 0,
  linesSince: 0,
  snapshotSeq: 0,
  snapshotSha256: '',
  snapshotBytes: 0,
  snapshotRows: 0,
  snapshotChain: '',
  snapshotAt: 0,
  formerSnapshot: 0,
  head: new Uint8Array(),
  headAt: 0,
  headKeys: '',
};

export const publications = record(1, {
  isOn: flag,
  /** Number of the last segment, ever: it only grows. */
  seq: varint,
  chain: text,
  /** The oldest segment that is served. */
  oldest: varint,
  /** Milliseconds since 1970; of the last segment or fresh begin. */
  madeAt: time,
  /** Bytes of the stored segments. */
  segmentBytes: varint,
  /** Lines of the segments behind the snapshot. */
  linesSince: varint,
  snapshotSeq: varint,
  snapshotSha256: text,
  snapshotBytes: varint,
  snapshotRows: varint,
  snapshotChain: text,
  /** 0: there is no snapshot. */
  snapshotAt: time,
  /** The one before, which is still served. */
  formerSnapshot: varint,
  /** The head as it was signed; empty: none is. */
  head: bytes,
  headAt: time,
  /** The ids of the keys that signed it. */
  headKeys: text,
});

interface ReadPublication {
  readonly publication: Publication;
  /** The check of a commit names it. */
  readonly version: number | null;
}

/** @throws Error when the row is damaged: a new one would give numbers twice */
export async function readPublication(store: Pick<Store, 'get'>): Promise<ReadPublication> {
  const found = await store.get(federationPublicationKey());
  if (found === undefined) return { publication: nothingPublished, version: null };
  const publication = publications.decode(found.value);
  if (publication === undefined) throw new Error('the row of what is published is damaged');
  return { publication, version: found.version };
}

type StoredSegment = Decoded<typeof segmentRows.decode>;

export const segmentRows = record(1, {
  madeAt: time,
  /** Unpacked. */
  bytes: varint,
  gzip: bytes,
});

export async function readSegment(
  store: Pick<Store, 'get'>,
  seq: number,
): Promise<StoredSegment | undefined> {
  const found = await store.get(federationSegmentKey(seq));
  return found && segmentRows.decode(found.value);
}

/** Yields the segments from `first` on, in their order. */
export async function* segmentsFrom(store: Pick<Store, 'scan'>, first: number) {
  const after = first > 1 ? federationSegmentKey(first - 1) : undefined;
  for await (const page of pagesUnder(store, federationSegmentPrefix(), { after, limit: 32 })) {
    for (const { key, value } of page) {
      const segment = segmentRows.decode(value);
      if (segment !== undefined) yield { seq: readFederationSeq(key), key, segment };
    }
  }
}

/** Returns the packed bytes of a snapshot; undefined when it is not there whole. */
export async function readSnapshot(
  store: Pick<Store, 'scan'>,
  seq: number,
): Promise<Uint8Array[] | undefined> {
  const parts: Uint8Array[] = [];
  for await (const page of pagesUnder(store, federationSnapshotPrefix(seq), { limit: 8 })) {
    for (const { value } of page) parts.push(Uint8Array.from(value));
  }
  return parts.length === 0 ? undefined : parts;
}

export function snapshotPartsOf(seq: number, gzip: Uint8Array): { key: Key; value: Uint8Array }[] {
  const parts: { key: Key; value: Uint8Array }[] = [];
  for (let from = 0; from < gzip.length; from += partBytes) {
    const value = gzip.subarray(from, from + partBytes);
    parts.push({ key: federationSnapshotKey(seq, parts.length), value });
  }
  return parts;
}

/** Yields the keys of the parts of all snapshots but those that are `kept`. */
export async function* strayParts(store: Pick<Store, 'scan'>, kept: readonly number[]) {
  for await (const page of pagesUnder(store, federationSnapshotPrefix(), { limit: 8 })) {
    for (const { key } of page) if (!kept.includes(readFederationSeq(key))) yield key;
  }
}
