/**
 * Stores what of a peer waits for the operator and what the operator has accepted, by the hash of the judged rows,
 * and notifies operators: rows are held, an unknown key signs, the head has expired, the key was rotated, or the
 * budget is nearly used. A row of the store says which notices were sent, with examples of the waiting rows.
 *
 * Invariants: each kind of notice is sent once each time that it begins, and at most once in 24 hours for each peer.
 * One that begins again earlier is sent after 24 hours, if it still applies. So a peer that flips costs five mails a
 * day at most.
 */

import { fail, type Result } from '../../../core/result.ts';
import { dayMs } from '../../../core/time.ts';
import { commitOnce, retryOnConflict, withValue } from '../../../storage/change.ts';
import { peerCursorKey, peerNotesKey, peerNotesPrefix } from '../../../storage/keys.ts';
import {
  type Decoded,
  flag,
  list,
  record,
  since,
  text,
  time,
  varint,
} from '../../../storage/record.ts';
import type { Store } from '../../../storage/store.ts';
import { peersMax } from '../../votes/peer-votes.ts';
import { changePeer, isOver, type StoredPeer } from './peers.ts';

/** A kind has its place in the stored rows: a new one comes at the end. */
export const noticeKinds = ['held', 'strange key', 'stale', 'rotated', 'budget'] as const;
export type NoticeKind = (typeof noticeKinds)[number];

/** A budget is nearly used from here on. */
export const budgetNearShare = 0.8;
const notifyAgainMs = dayMs;

/** Rows that wait for the operator. */
export interface HeldRows {
  /** The number of rows that are the reason. */
  readonly count: number;
  /** The first few, as text. */
  readonly examples: readonly string[];
  /**
   * The number up to which the peer says it, and the hash of that: the chain of segments, or of a snapshot its
   * SHA-256. Of another history it is what is read first of it; its rows are not counted.
   */
  readonly seq: number;
  readonly hash: string;
  /** It is not what the operator has accepted. */
  readonly hasChanged: boolean;
}

type PeerNotes = Decoded<typeof rows.decode>;

/** A node that can't read layout 2 treats the row as missing, and judges anew what was accepted. */
const rows = record(2, {
  /** Tells the peer from another one that gets its number later. */
  addedAt: time,
  /** By kind: when operators were notified last, ms since 1970, 0 for never. */
  notifiedAt: list(time),
  /** Bit n: operators were notified of kind n, and it goes on. */
  notified: varint,
  /** Its key rotated, and nobody was notified yet. */
  isRotated: flag,
  heldCount: varint,
  heldExamples: list(text),
  heldSeq: since(2, varint, 0),
  heldHash: since(2, text, ''),
  hasChanged: since(2, flag, false),
  /** The hash of what the operator has accepted, empty for nothing. */
  acceptedHash: since(2, text, ''),
});

const nothingNotified = {
  notifiedAt: [],
  notified: 0,
  isRotated: false,
  heldCount: 0,
  heldExamples: [],
  heldSeq: 0,
  heldHash: '',
  hasChanged: false,
  acceptedHash: '',
} as const;

function notesIn(value: Uint8Array | undefined, { addedAt }: StoredPeer): PeerNotes {
  const found = value && rows.decode(value);
  return found?.addedAt === addedAt ? found : { addedAt, ...nothingNotified };
}

const nothingHeld: HeldRows = { count: 0, examples: [], seq: 0, hash: '', hasChanged: false };

/** Returns the rows of a peer that wait, as they were when the hold began. */
export async function heldRowsOf(store: Pick<Store, 'get'>, peer: StoredPeer): Promise<HeldRows> {
  if (peer.held === 'none' || peer.held === 'strange key') return nothingHeld;
  const found = await store.get(peerNotesKey(peer.number));
  const { heldCount, heldExamples, heldSeq, heldHash, hasChanged } = notesIn(found?.value, peer);
  return { count: heldCount, examples: heldExamples, seq: heldSeq, hash: heldHash, hasChanged };
}

/** The part of a hash by which operators name what they were shown. */
const shownDigits = 12;

export function shownHash({ hash }: Pick<HeldRows, 'hash'>): string {
  return hash.slice(0, shownDigits);
}

/** Returns what the operator has accepted of a peer, undefined where nothing is to be taken. */
export async function acceptedOf(store: Pick<Store, 'get'>, peer: StoredPeer) {
  if (peer.acceptedSeq === 0) return undefined;
  const found = await store.get(peerNotesKey(peer.number));
  return { seq: peer.acceptedSeq, hash: notesIn(found?.value, peer).acceptedHash };
}

/**
 * Accepts what of a peer waits, and nothing that the peer says in its place.
 * @param shown what `shownHash` gave, when the operator saw it; undefined: what waits now
 */
export async function acceptHeld(
  store: Store,
  peer: StoredPeer,
  fault: (peer: StoredPeer) => string | undefined,
  shown?: string,
): Promise<Result<StoredPeer>> {
  const refused = fault(peer);
  if (refused !== undefined) return fail('conflict', refused);
  const waiting = await heldRowsOf(store, peer);
  if (shown !== undefined && shown !== shownHash(waiting)) {
    const examples = waiting.examples.length === 0 ? '' : `: ${waiting.examples.join(', ')}`;
    return fail('conflict', `what waits has changed since it was shown${examples}`);
  }
  const noted = await notePeer(store, peer, { acceptedHash: waiting.hash, hasChanged: false });
  if (!noted.ok) return noted;
  // Another history does not go on from here: it is read whole, and taken as far as it is the one that was shown.
  const also = peer.held === 'two histories' ? { del: [peerCursorKey(peer.number)] } : {};
  return changePeer(
    store,
    peer.number,
    (one) => fault(one) ?? { held: 'none', acceptedSeq: Math.max(1, waiting.seq), dueAt: 0 },
    also,
  );
}

/** Keeps of a peer what waits, or that its key rotated. */
export function notePeer(store: Store, peer: StoredPeer, change: Partial<PeerNotes>) {
  return retryOnConflict(async () => {
    const key = peerNotesKey(peer.number);
    const found = await store.get(key);
    const next = { ...notesIn(found?.value, peer), ...change };
    const check = [{ key, version: found?.version ?? null }];
    const done = await commitOnce(store, { check, set: [{ key, value: rows.encode(next) }] });
    return withValue(done, undefined);
  });
}

/** Returns the notices that are due, and the notes once they are sent; undefined where nothing changes. */
function dueNotices(
  notes: Pick<PeerNotes, 'notifiedAt' | 'notified' | 'isRotated'>,
  goesOn: ReadonlySet<NoticeKind>,
  now: number,
):
  | (Pick<PeerNotes, 'notifiedAt' | 'notified' | 'isRotated'> & { readonly due: NoticeKind[] })
  | undefined {
  const notifiedAt = noticeKinds.map((_, i) => notes.notifiedAt[i] ?? 0);
  let { notified, isRotated } = notes;
  const due: NoticeKind[] = [];
  for (const [i, kind] of noticeKinds.entries()) {
    const bit = 1 << i;
    const isWaiting = kind === 'rotated' ? isRotated : goesOn.has(kind) && (notified & bit) === 0;
    if (!goesOn.has(kind)) notified &= ~bit;
    // A clock that was set back must not keep it for long.
    const isSoon = notifiedAt[i]! <= now && now - notifiedAt[i]! < notifyAgainMs;
    if (!isWaiting || isSoon) continue;
    due.push(kind);
    notifiedAt[i] = now;
    if (kind === 'rotated') isRotated = false;
    else notified |= bit;
  }
  if (due.length === 0 && notified === notes.notified) return undefined;
  return { notifiedAt, notified, isRotated, due };
}

/** Returns the conditions of a peer that operators are notified of. */
function noticesOf(
  peer: StoredPeer,
  budget: { readonly open: number; readonly limit: number } | undefined,
  now: number,
): Set<NoticeKind> {
  const found = new Set<NoticeKind>();
  if (peer.state !== 'active') return found;
  if (peer.held === 'strange key') found.add('strange key');
  else if (peer.held !== 'none') found.add('held');
  if (isOver(peer, now)) found.add('stale');
  if (budget !== undefined && budget.limit > 0 && budget.open >= budgetNearShare * budget.limit) {
    found.add('budget');
  }
  return found;
}

/** Sends the notices that are due, of all peers. @param notify is called once the notice is noted as sent */
export async function sendNotices(
  store: Store,
  peers: readonly StoredPeer[],
  {
    now,
    budgetOf,
    notify,
  }: {
    readonly now: number;
    readonly budgetOf: (
      peer: StoredPeer,
    ) => { readonly open: number; readonly limit: number } | undefined;
    readonly notify: (peer: StoredPeer, kind: NoticeKind) => void;
  },
): Promise<void> {
  // One page holds those of all peers, as it holds the peers.
  const noted = await store.scan(peerNotesPrefix(), { limit: peersMax });
  const known = new Map(noted.map(({ key, ...row }) => [key[1]!, row]));
  for (const peer of peers) {
    const row = known.get(peer.number);
    const notes = notesIn(row?.value, peer);
    const next = dueNotices(notes, noticesOf(peer, budgetOf(peer), now), now);
    if (next === undefined) continue;
    const { due, ...change } = next;
    const key = peerNotesKey(peer.number);
    const done = await store.commit({
      check: [{ key, version: row?.version ?? null }],
      set: [{ key, value: rows.encode({ ...notes, ...change }) }],
    });
    // Another write was first: the next pass looks again.
    if (done.ok) for (const kind of due) notify(peer, kind);
  }
}
