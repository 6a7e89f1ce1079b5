/** Operations on peers: servers of other owners, or own further ones, whose word this server takes. */

import * as v from 'valibot';
import type { MasterKey } from '../../../access/keys/master-key.ts';
import {
  expect,
  type OperationTools,
  operationsOn,
  queriesOn,
  refuse,
} from '../../../contracts/operation.ts';
import { choice, flag, textOf, wholeNumber } from '../../../contracts/operation-parameters.ts';
import { dateText } from '../../../core/dates.ts';
import { OperatorError } from '../../../core/errors.ts';
import { fail } from '../../../core/result.ts';
import { columnsOr, grouped } from '../../../core/text-table.ts';
import { createEventId } from '../../../storage/journal/define-event.ts';
import { peerCursorKey } from '../../../storage/keys.ts';
import { openDestinations, sourceFault } from '../../lists/import/download.ts';
import { escapeControls } from '../../lists/import/rows.ts';
import { listSubscriptions } from '../../lists/subscriptions/subscriptions.ts';
import { peerCleared, peerSet } from '../../state/events.ts';
import { faultOfHead } from '../document/head.ts';
import { type FederationKey, parseKeyLine } from '../document/key.ts';
import { signingKeyOf } from '../publish/stored.ts';
import { openPeerReader, PeerFault, peerUrlFault } from './fetch.ts';
import {
  addPeer as addRow,
  changePeer,
  cursorRow,
  findPeer,
  isNew,
  isSilent,
  listPeers,
  nameOf,
  readCursor,
  removePeer as removeRow,
  type StoredPeer,
  termsOf,
} from './peers.ts';

interface PeerTools extends OperationTools {
  readonly masterKey: MasterKey;
}

const operation = operationsOn<PeerTools>();
const weights = ['0.25', '0.5', '0.75', '1'] as const;
const budgetMax = 1_000_000;

const key = {
  schema: v.pipe(
    textOf(400),
    v.check((text) => parseKeyLine(text) !== undefined, 'It is not the line of a key.'),
  ),
  value: 'line',
  help: 'the line that federation key prints on the other server; have it by another way than this address',
  kept: true,
} as const;
const weight = {
  value: 'weight',
  help: '0.25, 0.5, 0.75 or 1: how much of a member it is; half of it in the first 14 days',
  kept: true,
} as const;
const owner = {
  schema: v.optional(textOf(100)),
  value: 'name',
  help: 'peers of one owner are one vote',
  kept: true,
} as const;
const budget = {
  schema: v.optional(wholeNumber(0, budgetMax)),
  value: 'votes',
  help: 'votes that may be open while none was confirmed; 0: by its weight',
  kept: true,
} as const;
const named = {
  schema: textOf(260),
  value: 'peer',
  help: 'name or number, as peer list shows them',
  isArgument: true,
  kept: true,
} as const;

async function peerNamed({ store }: Pick<OperationTools, 'store'>, name: string) {
  const found = await findPeer(store, name);
  if (found === undefined) refuse(fail('not_found', `there is no peer '${name}'`));
  return found!;
}

/** A source of lists and a peer are two kinds of words: the blocklist of a peer holds ours come back. */
async function refuseSource(w: OperationTools, url: string): Promise<void> {
  const { host } = new URL(url);
  const same = (await listSubscriptions(w.store)).find((one) => new URL(one.url).host === host);
  if (same === undefined) return;
  throw new OperatorError(
    `${host} is the source '${same.name}': its list holds our own word come back. Remove the source first`,
  );
}

/** A key of this server's name is its own, or one that it had or that a copy of it made. */
function refuseOwn(signer: Pick<FederationKey, 'name'> | undefined, name: string): void {
  if (signer?.name === name) {
    throw new OperatorError(`${name} is this server itself: its word would be its own come back`);
  }
}

export const addPeer = operation({
  name: 'peer add',
  purpose: 'take the word of another server; without --yes it is looked at and nothing is kept',
  parameters: {
    url: {
      schema: textOf(300),
      value: 'url',
      help: 'its address, such as https://b.example',
      isArgument: true,
      kept: true,
    },
    key,
    weight: { ...weight, schema: v.optional(choice(weights), '0.5') },
    owner,
    own: {
      schema: flag,
      help: 'it is your own server and counts as staff: what it reports is blocked here, alone',
      kept: true,
    },
    budget,
    yes: { schema: flag, help: 'add it', kept: true },
  },
  audit: 'required',
  async run(w, input, call) {
    const { sourceAllowPrivate: allowPrivate } = w.config;
    const fault = peerUrlFault(input.url, allowPrivate);
    if (fault !== undefined) throw new OperatorError(fault);
    const url = new URL(input.url).origin;
    const destination = await sourceFault(new URL(url), openDestinations({ allowPrivate }));
    if (destination !== undefined) throw new OperatorError(destination);
    const signer = await signingKeyOf(w);
    const pinned = parseKeyLine(input.key)!;
    refuseOwn(signer, pinned.name);
    await refuseSource(w, url);
    const known = await listPeers(w.store);
    if (known.some((one) => nameOf(one) === pinned.name)) {
      refuse(fail('conflict', `there is a peer ${pinned.name} already`));
    }
    const now = w.clock.now;
    const reader = openPeerReader({ url, allowPrivate, signer, now, signal: call.signal });
    // The first of two that add each other is a stranger to the second until that has added it.
    let unread: string | null = null;
    const head = await reader.head(pinned).catch((error: unknown) => {
      if (!(error instanceof OperatorError) || error instanceof PeerFault) throw error;
      unread = error.message;
      return undefined;
    });
    const refused = head && faultOfHead(head, undefined, now());
    if (refused !== undefined) throw new OperatorError(`its head is refused (${refused})`);
    const about = {
      name: pinned.name,
      url,
      rows: head?.snapshot?.rows ?? 0,
      least: head?.least ?? null,
      licence: head === undefined ? null : escapeControls(head.licence),
      unread,
    };
    if (!input.yes) return { ...about, number: null, peers: known.length };
    const added = expect(
      await addRow(
        w.store,
        {
          url,
          key: input.key,
          weight: 4 * Number(input.weight),
          owner: input.owner ?? '',
          isOwn: input.own,
          budget: input.budget ?? 0,
          addedAt: now(),
        },
        (peer, all) => {
          const policy = policyOf(w);
          const terms = termsOf(all, policy, now()).get(peer.number)!;
          return [peerSet.encode(createEventId(w.clock, w.random), terms)];
        },
      ),
    );
    return { ...about, number: added.number, peers: known.length + 1 };
  },
  undo: ({ number, name }) =>
    number === null ? undefined : { operation: 'peer remove', input: { peer: name } },
  outcome: ({ number }) => (number === null ? 'looked at' : 'added'),
  lines: ({ name, rows, least, licence, unread, number, peers }, { own, weight: heavy }) => [
    unread === null
      ? `${name}: ${grouped(rows)} rows in its snapshot, ${least} accounts or more behind each, licence ${licence}`
      : `${name}: not read yet, it may have to add this server first. ${unread}`,
    ...(own ? ["It counts as staff: whoever takes it takes this server's list."] : []),
    ...(peers >= 8 && Number(heavy) > 0.5
      ? [
          'With eight peers or more of such weight set FEDERATION_AGREE=4: three captured ones block.',
        ]
      : []),
    number === null
      ? 'Nothing is added yet: --yes adds it.'
      : `It is peer ${number}; the running server reads it within seconds.${own ? '' : ' It has half of its weight for 14 days.'}`,
  ],
});

function policyOf({ config }: Pick<OperationTools, 'config'>) {
  return { isPrivate: config.reputation === 'private', isAnchored: config.reputationAnchored };
}

const looks = queriesOn<OperationTools>();

export const listPeersNow = looks({
  name: 'peer list',
  purpose: 'peers with their state, weight and what waits',
  parameters: {},
  async run(w) {
    const now = w.clock.now();
    return (await listPeers(w.store)).map((peer) => shown(peer, now));
  },
  lines: (peers) => [
    ...columnsOr(
      'there is no peer yet',
      ['peer', 'name', 'state', 'weight', 'head', 'new today', 'known good', 'from'],
      peers.map((one) => [
        String(one.number),
        one.name,
        one.state,
        one.isOwn ? 'own' : String(one.weight),
        one.headMadeAt ?? 'never',
        grouped(one.newToday),
        grouped(one.knownGood),
        one.url,
      ]),
    ),
    ...peers.flatMap((one) => [
      ...(one.held === null ? [] : [`  ${one.name}: held: ${one.held}; peer accept or peer drop`]),
      ...(one.failure === null ? [] : [`  ${one.name}: ${one.failure}`]),
    ]),
  ],
});

export const showPeer = looks({
  name: 'peer show',
  purpose: 'what is known of a peer',
  parameters: { peer: named },
  async run(w, { peer }) {
    return shown(await peerNamed(w, peer), w.clock.now());
  },
  lines: (one) =>
    Object.entries(one).map(([name, value]) => `${name}: ${value === null ? '-' : String(value)}`),
});

function act<const Name extends string>(
  name: Name,
  purpose: string,
  change: (peer: StoredPeer, now: number) => Partial<StoredPeer> | string,
  back?: string,
) {
  return operation({
    name,
    purpose,
    parameters: { peer: named },
    audit: 'required',
    async run(w, { peer }) {
      const { number } = await peerNamed(w, peer);
      const now = w.clock.now();
      return shown(expect(await changePeer(w.store, number, (one) => change(one, now))), now);
    },
    undo: ({ name: of }) =>
      back === undefined ? undefined : { operation: back, input: { peer: of } },
    outcome: ({ state }) => state,
    lines: ({ name: of, state }) => [`${of}: ${state}`],
  });
}

export const pausePeer = act(
  'peer pause',
  'read it no more; nothing that it said counts until it is resumed',
  () => ({ state: 'paused' }),
  'peer resume',
);
export const resumePeer = act(
  'peer resume',
  'read it again; what it said counts again',
  () => ({ state: 'active', dueAt: 0 }),
  'peer pause',
);

/** Returns why an operator can't decide on rows that wait. */
function faultOfDecision({ held }: StoredPeer): string | undefined {
  if (held === 'none') return 'nothing of it is held';
  return held === 'strange key' ? 'it has another key: peer rekey' : undefined;
}

export const acceptPeer = operation({
  name: 'peer accept',
  purpose: 'take the rows that were held, as they are',
  parameters: { peer: named },
  audit: 'required',
  async run(w, { peer }) {
    const { number, held } = await peerNamed(w, peer);
    // Another history does not go on from here: it is read whole.
    const also = held === 'two histories' ? { del: [peerCursorKey(number)] } : {};
    const done = await changePeer(
      w.store,
      number,
      (one) => faultOfDecision(one) ?? { held: 'none', acceptedSeq: one.headSeq, dueAt: 0 },
      also,
    );
    return shown(expect(done), w.clock.now());
  },
  outcome: () => 'accepted',
  lines: ({ name }) => [`${name}: the running server takes what was held within seconds`],
});

export const dropHeld = operation({
  name: 'peer drop',
  purpose: 'leave out the rows that were held, and go on behind them',
  parameters: { peer: named },
  audit: 'required',
  async run(w, { peer }) {
    const { number } = await peerNamed(w, peer);
    const cursor = await readCursor(w.store, number);
    if (cursor === undefined) refuse(fail('conflict', 'it was not read yet'));
    const { readSeq, readChain } = cursor!;
    const behind = { seq: readSeq, chain: readChain, readSeq, readChain };
    const done = await changePeer(
      w.store,
      number,
      (one) => faultOfDecision(one) ?? { held: 'none', dueAt: 0 },
      { set: [cursorRow(number, behind)] },
    );
    return shown(expect(done), w.clock.now());
  },
  outcome: () => 'dropped',
  lines: ({ name }) => [`${name}: what was held is left out`],
});

export const setPeer = operation({
  name: 'peer set',
  purpose: 'change the weight, owner, budget or independence of a peer',
  parameters: {
    peer: named,
    weight: { ...weight, schema: v.optional(choice(weights)) },
    owner,
    budget,
    independent: {
      schema: v.optional(choice(['yes', 'no'])),
      value: 'yes|no',
      help: 'a vote of its own, whoever it seems to follow',
      kept: true,
    },
  },
  audit: 'required',
  async run(w, { peer, weight: heavy, owner: of, budget: votes, independent }) {
    const { number } = await peerNamed(w, peer);
    const done = await changePeer(w.store, number, (one) => ({
      weight: heavy === undefined ? one.weight : 4 * Number(heavy),
      owner: of ?? one.owner,
      budget: votes ?? one.budget,
      isIndependent: independent === undefined ? one.isIndependent : independent === 'yes',
    }));
    return shown(expect(done), w.clock.now());
  },
  outcome: ({ state }) => state,
  lines: ({ name, weight: heavy }) => [`${name}: weight ${heavy}`],
});

export const rekeyPeer = operation({
  name: 'peer rekey',
  purpose: 'pin a new key, and begin with what it publishes from the start',
  parameters: { peer: named, key },
  audit: 'required',
  async run(w, { peer, key: line }) {
    const { number } = await peerNamed(w, peer);
    const others = (await listPeers(w.store)).filter((one) => one.number !== number);
    const { name } = parseKeyLine(line)!;
    refuseOwn(await signingKeyOf(w), name);
    if (others.some((one) => nameOf(one) === name)) {
      refuse(fail('conflict', `there is a peer ${name} already`));
    }
    const none = {
      headSeq: 0,
      headChain: '',
      headMadeAt: 0,
      headEndsAt: 0,
      freshAt: 0,
      acceptedSeq: 0,
    };
    const done = await changePeer(
      w.store,
      number,
      () => ({ ...none, key: line, held: 'none', failures: 0, failure: '', dueAt: 0 }),
      { del: [peerCursorKey(number)] },
    );
    return shown(expect(done), w.clock.now());
  },
  outcome: () => 'pinned',
  lines: ({ name }) => [`${name}: the new key is pinned; it is read whole`],
});

export const removePeer = operation({
  name: 'peer remove',
  purpose: 'take its word no more, as if it had never been',
  parameters: { peer: named },
  audit: 'required',
  async run(w, { peer }) {
    const found = await peerNamed(w, peer);
    const event = peerCleared.encode(createEventId(w.clock, w.random), { peer: found.number });
    expect(await removeRow(w.store, found.number, [event]));
    return shown(found, w.clock.now());
  },
  outcome: () => 'removed',
  lines: ({ name }) => [`${name}: removed, and all that it said with it`],
});

/** Returns a peer as it is shown. */
export function shown(peer: StoredPeer, now: number) {
  const date = (ms: number) => (ms === 0 ? null : dateText(ms));
  return {
    number: peer.number,
    name: nameOf(peer),
    url: peer.url,
    key: peer.key,
    state: stateOf(peer, now),
    weight: peer.weight / 4,
    isNew: isNew(peer, now),
    isOwn: peer.isOwn,
    owner: peer.owner || null,
    budget: peer.budget || null,
    isIndependent: peer.isIndependent,
    follows: peer.follows || null,
    held: peer.held === 'none' ? null : peer.held,
    addedAt: dateText(peer.addedAt),
    triedAt: date(peer.triedAt),
    freshAt: date(peer.freshAt),
    headMadeAt: date(peer.headMadeAt),
    headEndsAt: date(peer.headEndsAt),
    seq: peer.headSeq,
    newToday: peer.newToday,
    knownGood: peer.goodEver,
    failures: peer.failures,
    failure: peer.failure || null,
  };
}

/** Returns in one word how it stands with a peer. */
export function stateOf(
  peer: StoredPeer,
  now: number,
): 'paused' | 'held' | 'stale' | 'failing' | 'new' | 'active' {
  if (peer.state === 'paused') return 'paused';
  if (peer.held !== 'none') return 'held';
  if (isSilent(peer, now)) return 'stale';
  if (peer.failures > 0) return 'failing';
  return peer.freshAt === 0 ? 'new' : 'active';
}
