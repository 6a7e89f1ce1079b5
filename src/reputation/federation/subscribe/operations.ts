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
import {
  argument,
  choice,
  flag,
  textOf,
  wholeNumber,
} from '../../../contracts/operation-parameters.ts';
import { dateText } from '../../../core/dates.ts';
import { OperatorError } from '../../../core/errors.ts';
import { fail } from '../../../core/result.ts';
import { createSemaphore } from '../../../core/scheduling.ts';
import { columnsOr, counted, grouped } from '../../../core/text-table.ts';
import { dayMs, minuteMs } from '../../../core/time.ts';
import { formatNetwork } from '../../../ip/prefix.ts';
import { createEventId } from '../../../storage/journal/define-event.ts';
import { peerCursorKey } from '../../../storage/keys.ts';
import type { MemoryReading } from '../../check/operations.ts';
import {
  type Download,
  openDestinations,
  PeerHostError,
  plainHost,
  sameHost,
  sourceFault,
  startDownload,
} from '../../lists/import/download.ts';
import { escapeControls } from '../../lists/import/rows.ts';
import { listSubscriptions } from '../../lists/subscriptions/subscriptions.ts';
import { peerCleared, peerSet } from '../../state/events.ts';
import { type FederationHead, faultOfHead, headFaults } from '../document/head.ts';
import { type FederationKey, hasKeyOf, parseKeyLine } from '../document/key.ts';
import { addressAt, chainStart, newAddress, rowCount } from '../document/segment.ts';
import { signingKeyOf } from '../publish/stored.ts';
import {
  createOverlap,
  figuresOf,
  networkRowsMax,
  type Overlap,
  type PeerFigures,
  stepInSlices,
} from './compare.ts';
import { openPeerReader, PeerFault, peerUrlFault } from './fetch.ts';
import { acceptHeld, budgetNearShare, type HeldRows, heldRowsOf, shownHash } from './notices.ts';
import {
  storePeer as addRow,
  changePeer,
  cursorRow,
  faultOfKey,
  findPeer,
  isNew,
  isOver,
  isSilent,
  listPeers,
  peerNameOf,
  readCursor,
  deletePeer as removeRow,
  type StoredPeer,
  termsOf,
} from './peers.ts';

interface PeerTools extends OperationTools, Pick<MemoryReading, 'withMemory'> {
  readonly masterKey: MasterKey;
}

const operation = operationsOn<PeerTools>();
const weights = ['0.25', '0.5', '0.75', '1'] as const;
const budgetMax = 1_000_000;
/** A source has this long to say where it leads to. */
const sourceMsMax = 5_000;

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
  help: 'peers of one owner are one vote; - for nobody',
  kept: true,
} as const;
const nobody = '-';
const ownerIn = (text: string) => (text.trim() === nobody ? '' : text);
const budget = {
  schema: v.optional(wholeNumber(0, budgetMax)),
  value: 'votes',
  help: 'votes that may be open while none was confirmed; 0: by its weight',
  kept: true,
} as const;
const named = argument(textOf(260), 'peer', 'name or number, as peer list shows them');

async function peerNamed({ store }: Pick<OperationTools, 'store'>, name: string) {
  const found = await findPeer(store, name);
  if (found === undefined) refuse(fail('not_found', `there is no peer '${name}'`));
  return found!;
}

/** A source of lists and a peer are two kinds of words: the blocklist of a peer holds ours come back. */
async function refuseSource(
  tools: OperationTools,
  url: string,
  signal: AbortSignal,
): Promise<void> {
  const { host } = new URL(url);
  const peerHosts = [plainHost(new URL(url))];
  const sources = (await listSubscriptions(tools.store)).map((one) => ({
    name: one.name,
    isRead: one.state === 'active',
    url: new URL(one.url),
    host: plainHost(new URL(one.url)),
  }));
  const same = await sameHost(peerHosts[0]!, [...new Set(sources.map((one) => one.host))]);
  const direct = sources.find((one) => one.host === same);
  if (direct !== undefined) {
    throw new OperatorError(
      `${host} is the source '${direct.name}': its list holds our own word come back. Remove the source first`,
    );
  }
  // One that says nothing now is refused when it is fetched.
  const destinations = openDestinations({
    allowPrivate: tools.config.sourceAllowPrivate,
    peerHosts,
  });
  const asked = { signal, destinations, timeoutMs: sourceMsMax, deadlineMs: sourceMsMax };
  await Promise.all(
    sources
      .filter((one) => one.isRead)
      .map(async (one) => {
        const opened = await startDownload(one.url, asked).catch((error: unknown) => error);
        if (opened instanceof PeerHostError) {
          throw new OperatorError(
            `the source '${one.name}' leads to ${host}: its list holds our own word come back. Remove the source first`,
          );
        }
        if (!(opened instanceof Error)) await (opened as Download).close();
      }),
  );
}

/** A key of this server's name is its own, or one that it had or that a copy of it made. */
function refuseOwn(
  signer: Pick<FederationKey, 'name' | 'line'> | undefined,
  { name, line }: Pick<FederationKey, 'name' | 'line'>,
): void {
  if (signer !== undefined && (signer.name === name || hasKeyOf(signer.line, line))) {
    throw new OperatorError(`${name} is this server itself: its word would be its own come back`);
  }
}

/** From so many peers of more than half a weight on, three captured ones are too likely. */
const heavyPeersMany = 8;
const agreeOfMany = 4;
const agreeAdvice =
  'Eight peers or more have a weight above 0.5. Set FEDERATION_AGREE=4: at 3, three captured ones of 0.75 block an address.';

/** Returns whether the operator should ask for more agreement. @param peers as they are then */
function needsAgreement(
  { config }: Pick<OperationTools, 'config'>,
  peers: readonly Pick<StoredPeer, 'weight' | 'isOwn'>[],
): boolean {
  const heavy = peers.filter(({ weight: quarters, isOwn }) => !isOwn && quarters > 2);
  const blocks = config.federationBlocks && config.federationAgree < agreeOfMany;
  return blocks && heavy.length >= heavyPeersMany;
}

/** One at a time: a snapshot may have a million rows. */
const previews = createSemaphore({ runningMax: 1, waitingMax: 1 });
const previewMsMax = minuteMs;

/** Reads the rows that would come, and compares them with what is here. @returns the reason, where nobody can tell */
async function overlapOf(
  tools: PeerTools,
  reader: ReturnType<typeof openPeerReader>,
  head: FederationHead,
): Promise<Overlap | string> {
  const done = await previews
    .run(() =>
      tools.withMemory(async ({ peers }) => {
        const overlap = createOverlap(peers);
        const address = newAddress();
        if (head.snapshot !== undefined) {
          const rows = await reader.snapshot(head);
          await stepInSlices(rowCount(rows), (i) => overlap.add(addressAt(rows, i, address)));
        } else {
          const none = { seq: 0, chain: chainStart };
          const segments = await reader.segments(head, none);
          if (segments === undefined) return 'it has no snapshot yet';
          /** The place at which each address was named last. */
          const last = new Map<string, readonly [rows: Uint32Array, at: number]>();
          for (const { added, removed } of segments) {
            const nameAt = (rows: Uint32Array, i: number) =>
              formatNetwork(addressAt(rows, i, address));
            await stepInSlices(rowCount(added), (i) => last.set(nameAt(added, i), [added, i]));
            await stepInSlices(rowCount(removed), (i) => last.delete(nameAt(removed, i)));
          }
          const left = [...last.values()];
          await stepInSlices(left.length, (i) => overlap.add(addressAt(...left[i]!, address)));
        }
        return overlap.result();
      }),
    )
    .catch((error: unknown) => {
      if (error instanceof OperatorError) return error.message;
      throw error;
    });
  if (typeof done === 'string') return done;
  return done.ok ? done.value : 'another peer is being looked at: try again';
}

function overlapLines(overlap: Overlap): string[] {
  const { rows, reported, listed, good, goodExamples, resolvers, crowded } = overlap;
  return [
    `  ${counted(rows, 'row')} would come; your own reporters named ${grouped(reported)} of them, your lists and manual rules ${grouped(listed)}`,
    `  ${grouped(good)} are allowed, known good or special here and would change nothing${good === 0 ? '' : `: ${goodExamples.join(', ')}${good > goodExamples.length ? ' …' : ''}`}`,
    ...(resolvers === 0
      ? []
      : [`  ${grouped(resolvers)} are resolvers or root servers: ask its operator why`]),
    ...(crowded === 0
      ? []
      : [`  ${grouped(crowded)} would not count: of a /24 (IPv6 /48) ${networkRowsMax} rows do`]),
  ];
}

export const addPeer = operation({
  name: 'peer add',
  asksNode: true,
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
  async run(tools, input, call) {
    const { sourceAllowPrivate: allowPrivate } = tools.config;
    const fault = peerUrlFault(input.url, allowPrivate);
    if (fault !== undefined) throw new OperatorError(fault);
    const url = new URL(input.url).origin;
    const destination = await sourceFault(new URL(url), openDestinations({ allowPrivate }));
    if (destination !== undefined) throw new OperatorError(destination);
    const signer = await signingKeyOf(tools);
    const pinned = parseKeyLine(input.key)!;
    refuseOwn(signer, pinned);
    await refuseSource(tools, url, call.signal);
    const known = await listPeers(tools.store);
    const taken = faultOfKey(known, pinned.line);
    if (taken !== undefined) refuse(fail('conflict', taken));
    const now = tools.clock.now;
    const { signal } = call;
    const deadlineMs = previewMsMax;
    const reader = openPeerReader({ url, allowPrivate, signer, now, signal, deadlineMs });
    // The first of two that add each other is a stranger to the second until that has added it.
    let unread: string | null = null;
    const found = await reader
      .head(() => pinned)
      .catch((error: unknown) => {
        if (!(error instanceof OperatorError) || error instanceof PeerFault) throw error;
        unread = error.message;
        return undefined;
      });
    const head = found?.head;
    const refused = head && faultOfHead(head, undefined, now());
    if (refused !== undefined)
      throw new OperatorError(`its head is refused: ${headFaults[refused]}`);
    const about = {
      name: pinned.name,
      url,
      rows: head?.snapshot?.rows ?? 0,
      least: head?.least ?? null,
      licence: head === undefined ? null : escapeControls(head.licence),
      unread,
      advisesAgree: needsAgreement(tools, [
        ...known,
        { weight: 4 * Number(input.weight), isOwn: input.own },
      ]),
    };
    if (!input.yes) {
      const overlap = head && (await overlapOf(tools, reader, head));
      const isCompared = typeof overlap === 'object';
      const compared = {
        overlap: isCompared ? overlap : null,
        notCompared: isCompared ? null : (overlap ?? null),
      };
      return { ...about, ...compared, number: null };
    }
    const added = expect(
      await addRow(
        tools.store,
        {
          url,
          key: input.key,
          weight: 4 * Number(input.weight),
          owner: ownerIn(input.owner ?? ''),
          isOwn: input.own,
          budget: input.budget ?? 0,
          addedAt: now(),
        },
        (peer, all) => {
          const policy = policyOf(tools);
          const terms = termsOf(all, policy, now()).get(peer.number)!;
          return [peerSet.encode(createEventId(tools.clock, tools.random), terms)];
        },
      ),
    );
    return { ...about, overlap: null, notCompared: null, number: added.number };
  },
  undo: ({ number, name }) =>
    number === null ? undefined : { operation: 'peer remove', input: { peer: name } },
  outcome: ({ number }) => (number === null ? 'looked at' : 'added'),
  lines: (
    { name, rows, least, licence, unread, overlap, notCompared, advisesAgree, number },
    { own },
  ) => [
    unread === null
      ? `${name}: ${counted(rows, 'row')} in its snapshot, ${counted(least ?? 0, 'account')} or more behind each, licence ${licence}`
      : `${name}: not read yet: ${unread}`,
    ...(overlap === null ? [] : overlapLines(overlap)),
    ...(notCompared === null ? [] : [`  What is here of them can't be counted: ${notCompared}`]),
    ...(own ? ["It counts as staff: whoever takes it takes this server's list."] : []),
    ...(advisesAgree ? [agreeAdvice] : []),
    number === null
      ? 'Nothing is added yet: --yes adds it.'
      : `It is peer ${number}; the running server reads it within seconds.${own ? '' : ' It has half of its weight for 14 days.'}`,
  ],
});

function policyOf({ config }: Pick<OperationTools, 'config'>) {
  return { isPrivate: config.reputation === 'private', isAnchored: config.reputationAnchored };
}

const queries = queriesOn<OperationTools>();

export const listPeersNow = queries({
  name: 'peer list',
  purpose: 'peers with their state, weight and what waits',
  parameters: {},
  async run(tools) {
    const now = tools.clock.now();
    const peers = await listPeers(tools.store);
    return Promise.all(
      peers.map(async (peer) => {
        return { ...shown(peer, now), ...waitingOf(await heldRowsOf(tools.store, peer)) };
      }),
    );
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
      ...(one.counts ? [] : [`  ${one.name}: ${nothingCounts}`]),
      ...(one.held === null ? [] : [`  ${one.name}: held: ${one.held}; ${decisionOn(one.held)}`]),
      ...(one.heldHash === null ? [] : [`    ${waitingText(one)}`]),
      ...(one.failure === null ? [] : [`  ${one.name}: ${one.failure}`]),
    ]),
  ],
});

export const showPeer = queriesOn<MemoryReading>()({
  name: 'peer show',
  asksNode: true,
  purpose: 'what is known of a peer: its state, what waits, and what it is worth here',
  parameters: { peer: named },
  async run(tools, { peer: asked }, call) {
    const peer = await peerNamed(tools, asked);
    const now = tools.clock.now();
    const waiting = await heldRowsOf(tools.store, peer);
    const counted = await tools
      .withMemory(async ({ peers }) => {
        const {
          open = 0,
          limit = 0,
          refused = 0,
        } = peers.entries.peers.budget(peer.number, now) ?? {};
        const votes = { open: Math.round(open), limit: Math.floor(limit), refused };
        return { votes, figures: await figuresOf(peers, peer.number, now, call.signal) };
      })
      .catch((error: unknown) => {
        if (error instanceof OperatorError) return undefined;
        throw error;
      });
    return {
      ...shown(peer, now),
      ...waitingOf(waiting),
      votes: counted?.votes ?? null,
      figures: counted?.figures ?? null,
    };
  },
  lines: ({ heldRows, heldExamples, heldHash, heldChanged, votes, figures, ...one }) => [
    ...factLines(one),
    ...(heldHash === null ? [] : [waitingText({ heldRows, heldExamples, heldHash, heldChanged })]),
    ...(votes === null
      ? []
      : [
          `open votes: ${grouped(votes.open)} of ${grouped(votes.limit)}, ${grouped(votes.refused)} refused`,
          ...(votes.open < budgetNearShare * votes.limit
            ? []
            : [
                '  nearly used up: where you see far less than it, raise it with peer set --budget',
              ]),
        ]),
    ...(figures === null ? ['What it is worth here can’t be counted now.'] : figureLines(figures)),
  ],
});

/** Names the commands by which an operator ends a hold: nothing goes on behind another history. */
function decisionOn(held: string): string {
  if (held === 'strange key') return 'peer rekey';
  return held === 'two histories' ? 'peer accept' : 'peer accept or peer drop';
}

const stateWords = { new: 'not read yet', stale: 'out of date' } as const;
const nothingCounts = 'nothing that it said counts';

/** Says what is known of a peer, in the words of its screen. */
function factLines(one: ReturnType<typeof shown>): string[] {
  const state = one.state === 'new' || one.state === 'stale' ? stateWords[one.state] : one.state;
  const weight = `${one.weight}${one.isNew ? ', half of it in the first 14 days' : ''}`;
  const facts: readonly (readonly [string, string | null])[] = [
    ['peer', `${one.name}, number ${one.number}`],
    [
      'state',
      [
        ...(state === 'held' ? [] : [state]),
        ...(one.held === null ? [] : [`held: ${one.held}`]),
        ...(one.counts ? [] : [nothingCounts]),
      ].join('; '),
    ],
    ['not read', one.failure && `${one.failure}; tries that failed: ${grouped(one.failures)}`],
    ['address', one.url],
    ['key', one.key],
    ['weight', one.isOwn ? 'your own server: counts as staff' : weight],
    ['owner', one.owner],
    ['open votes at most', one.budget === null ? 'by its weight' : grouped(one.budget)],
    ['repeats', one.follows === null ? null : `peer ${one.follows}`],
    ['always a vote of its own', one.isIndependent ? 'yes' : null],
    ['new rows today', grouped(one.newToday)],
    ['rows on known good addresses', grouped(one.knownGood)],
    ['added', one.addedAt],
    ['last tried', one.triedAt ?? 'never'],
    ['last up to date', one.freshAt ?? 'never'],
    ['its head', one.headMadeAt && `number ${one.seq}, made ${one.headMadeAt}`],
    ['its signature ends', one.headEndsAt],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
}

/** Returns what waits of a peer, as it is shown. */
function waitingOf(waiting: HeldRows) {
  const { count: heldRows, examples: heldExamples, hasChanged: heldChanged } = waiting;
  const heldHash = waiting.hash === '' ? null : shownHash(waiting);
  return { heldRows, heldExamples, heldHash, heldChanged };
}

function waitingText(of: ReturnType<typeof waitingOf>) {
  const changed = of.heldChanged ? '; it is not what was accepted' : '';
  if (of.heldRows === 0) return `waiting: another history (--shown ${of.heldHash})${changed}`;
  const more = of.heldRows > of.heldExamples.length ? ' …' : '';
  return `waiting: new rows, for ${grouped(of.heldRows)} in question, such as ${of.heldExamples.join(', ')}${more} (--shown ${of.heldHash})${changed}`;
}

function figureLines(of: PeerFigures): string[] {
  return [
    `rows: ${grouped(of.rows)}, ${grouped(of.votes)} with a vote, ${grouped(of.confirmed)} confirmed by yours`,
    `named by your reporters too: ${grouped(of.shared)}; the peer was first ${counted(of.peerFirst, 'time')}, yours ${grouped(of.oursFirst)}`,
    `of its rows score 50 or more: ${grouped(of.suspectWithout)} without it, ${grouped(of.suspect)} with it`,
    `of its rows score 75 or more: ${grouped(of.maliciousWithout)} without it, ${grouped(of.malicious)} with it`,
  ];
}

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
    async run(tools, { peer }) {
      const { number } = await peerNamed(tools, peer);
      const now = tools.clock.now();
      return shown(expect(await changePeer(tools.store, number, (one) => change(one, now))), now);
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
  // Another time than that of a peer never read: a poll under way sees that it was asked for meanwhile.
  (_, now) => ({ state: 'active', dueAt: now }),
  'peer pause',
);

/** Returns why an operator can't decide on rows that wait. */
function faultOfDecision({ held }: StoredPeer): string | undefined {
  if (held === 'none') return 'nothing of it is held';
  return held === 'strange key' ? 'it has another key: peer rekey' : undefined;
}

export const acceptPeer = operation({
  name: 'peer accept',
  purpose: 'take the rows that were held, as they were shown',
  parameters: {
    peer: named,
    shown: {
      schema: v.optional(textOf(64)),
      value: 'hash',
      help: 'only if what waits still has the hash that peer list shows',
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { peer, shown: seen }) {
    const found = await peerNamed(tools, peer);
    return shown(
      expect(await acceptHeld(tools.store, found, faultOfDecision, seen)),
      tools.clock.now(),
    );
  },
  outcome: () => 'accepted',
  lines: ({ name }) => [
    `${name}: the running server takes what was held within seconds; should the peer say something else by then, that waits anew`,
  ],
});

export const dropHeld = operation({
  name: 'peer drop',
  purpose: 'leave out the rows that were held, and go on behind them',
  parameters: { peer: named },
  audit: 'required',
  async run(tools, { peer }) {
    const { number } = await peerNamed(tools, peer);
    const cursor = await readCursor(tools.store, number);
    if (cursor === undefined) refuse(fail('conflict', 'it was not read yet'));
    const { readSeq, readChain } = cursor!;
    const behind = { seq: readSeq, chain: readChain, readSeq, readChain };
    const done = await changePeer(
      tools.store,
      number,
      (one) =>
        faultOfDecision(one) ??
        (one.held === 'two histories'
          ? 'nothing goes on behind another history: peer accept reads it whole, peer remove ends it'
          : { held: 'none', dueAt: 0 }),
      { set: [cursorRow(number, behind)] },
    );
    return shown(expect(done), tools.clock.now());
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
  async run(tools, { peer, weight: heavy, owner: of, budget: votes, independent }) {
    const { number } = await peerNamed(tools, peer);
    const done = await changePeer(tools.store, number, (one) => ({
      weight: heavy === undefined ? one.weight : 4 * Number(heavy),
      owner: of === undefined ? one.owner : ownerIn(of),
      budget: votes ?? one.budget,
      isIndependent: independent === undefined ? one.isIndependent : independent === 'yes',
    }));
    const changed = shown(expect(done), tools.clock.now());
    const advisesAgree = heavy !== undefined && needsAgreement(tools, await listPeers(tools.store));
    return { ...changed, advisesAgree };
  },
  outcome: ({ state }) => state,
  lines: ({ name, weight: heavy, owner: of, budget: votes, isIndependent, advisesAgree }) => [
    `${name}: weight ${heavy}${of === null ? '' : `, owner ${of}`}${votes === null ? '' : `, ${counted(votes, 'vote')}`}${isIndependent ? ', independent' : ''}`,
    ...(advisesAgree ? [agreeAdvice] : []),
  ],
});

export const rekeyPeer = operation({
  name: 'peer rekey',
  purpose: 'pin a new key, and begin with what it publishes from the start',
  parameters: { peer: named, key },
  audit: 'required',
  async run(tools, { peer, key: line }) {
    const { number } = await peerNamed(tools, peer);
    const others = (await listPeers(tools.store)).filter((one) => one.number !== number);
    refuseOwn(await signingKeyOf(tools), parseKeyLine(line)!);
    const taken = faultOfKey(others, line);
    if (taken !== undefined) refuse(fail('conflict', taken));
    const none = {
      headSeq: 0,
      headChain: '',
      headMadeAt: 0,
      headEndsAt: 0,
      freshAt: 0,
      acceptedSeq: 0,
    };
    const done = await changePeer(
      tools.store,
      number,
      () => ({ ...none, key: line, held: 'none', failures: 0, failure: '', dueAt: 0 }),
      { del: [peerCursorKey(number)] },
    );
    return shown(expect(done), tools.clock.now());
  },
  outcome: () => 'pinned',
  lines: ({ name }) => [`${name}: the new key is pinned; it is read whole`],
});

export const removePeer = operation({
  name: 'peer remove',
  purpose: 'take its word no more, as if it had never been',
  parameters: { peer: named },
  audit: 'required',
  async run(tools, { peer }) {
    const found = await peerNamed(tools, peer);
    const event = peerCleared.encode(createEventId(tools.clock, tools.random), {
      peer: found.number,
    });
    expect(await removeRow(tools.store, found.number, [event]));
    return shown(found, tools.clock.now());
  },
  outcome: () => 'removed',
  lines: ({ name }) => [`${name}: removed, and all that it said with it`],
});

/** Returns a peer as it is shown. */
export function shown(peer: StoredPeer, now: number) {
  const date = (ms: number) => (ms === 0 ? null : dateText(ms));
  return {
    number: peer.number,
    name: peerNameOf(peer),
    url: peer.url,
    key: peer.key,
    state: stateOf(peer, now),
    counts: !isSilent(peer, now),
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
    // The counts are those of the day on which it was read last.
    newToday: peer.day === Math.floor(now / dayMs) ? peer.newToday : 0,
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
  // Its word counts no more, whatever of it waits besides.
  if (isOver(peer, now)) return 'stale';
  if (peer.held !== 'none') return 'held';
  if (peer.failures > 0) return 'failing';
  return peer.freshAt === 0 ? 'new' : 'active';
}
