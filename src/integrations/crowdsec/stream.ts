/**
 * The decision stream: the list of the feeds, whole or what changed in it. Bodies are made once for all
 * clients that need the same and kept until the list changes, at most `keptMax` of them.
 *
 * A value never stands in both arrays: an entry counts where it changed last, and the list and its
 * changes are of one version.
 */

import { createGzip } from 'node:zlib';
import type { Clock } from '../../core/clock.ts';
import { CountsByKey } from '../../core/fair-share.ts';
import { createScheduler } from '../../core/scheduling.ts';
import { dayMs, minuteMs } from '../../core/time.ts';
import {
  type AgentDecision,
  type AgentDecisions,
  banMatches,
  byAgent,
  byReports,
  type DecisionAttribution,
  durationText,
  type Filter,
  filterName,
  listMatches,
  quotedTextsAfter,
  renderDecisions,
  sharedBytes,
} from './decisions.ts';
import type { ListState } from './settled-polls.ts';

const cursorsMax = 10_000;
const perKeyMax = 1_000;
const keptMs = 7 * dayMs;
/** Some clients don't renew an element whose end is put off: it lapses, and must come back. */
const wholeListMs = dayMs;
/** A client that asked so recently is one that follows. */
const followingMs = minuteMs;

interface Cursor {
  /** Undefined: nothing is known to have arrived. */
  readonly older: number | undefined;
  readonly newer: number;
  /** The same of the account's own bans. */
  readonly olderBans: number;
  readonly newerBans: number;
  readonly wholeAtMs: number;
  readonly askedAtMs: number;
}

/** `since` undefined: the client is unknown here. `whole`: the whole list is due. */
interface CursorPosition {
  readonly since: number | undefined;
  /** Position among the account's own bans. */
  readonly bansSince: number;
  readonly whole: boolean;
}

/** The id of the key begins a client's name. */
function keyOf(client: string): string {
  return client.split(' ', 1)[0]!;
}

/** @param nowMs monotonic, everywhere */
export function createCursors(max: number = cursorsMax, maxOfKey: number = perKeyMax) {
  /** The one that was quiet longest comes first. */
  const cursors = new Map<string, Cursor>();
  /** Counts the cursors of each key, for the bound `maxOfKey`. */
  const ofKey = new CountsByKey();
  let lastMs = Number.NEGATIVE_INFINITY;

  function forget(client: string): void {
    if (cursors.delete(client)) ofKey.change(keyOf(client), -1);
  }

  function forgetQuietest(matches: (client: string) => boolean): void {
    for (const client of cursors.keys()) {
      if (!matches(client)) continue;
      forget(client);
      return;
    }
  }

  return {
    find(client: string, nowMs: number): CursorPosition {
      const cursor = cursors.get(client);
      if (cursor === undefined || nowMs - cursor.askedAtMs > keptMs) {
        return { since: undefined, bansSince: 0, whole: true };
      }
      const isDue = nowMs - cursor.wholeAtMs >= wholeListMs;
      const isWhole = cursor.older === undefined || isDue;
      return { since: cursor.older, bansSince: cursor.olderBans, whole: isWhole };
    },
    /** Notes that an answer of `version` was sent. @param bans the position among the account's own bans */
    move(
      client: string,
      version: number,
      how: 'started' | 'whole' | 'changes',
      nowMs: number,
      bans = 0,
    ): void {
      const before = cursors.get(client);
      forget(client);
      const key = keyOf(client);
      if (ofKey.of(key) >= maxOfKey) forgetQuietest((one) => keyOf(one) === key);
      if (cursors.size >= max) forgetQuietest(() => true);
      // A client that starts asks so again if the answer is lost; others don't know it was whole.
      const older = how === 'started' ? version : before?.newer;
      const olderBans = how === 'started' ? bans : (before?.newerBans ?? 0);
      const wholeAtMs = how === 'changes' ? (before?.wholeAtMs ?? nowMs) : nowMs;
      ofKey.change(key, 1);
      const lists = { older, newer: version };
      const own = { olderBans, newerBans: bans };
      cursors.set(client, { ...lists, ...own, wholeAtMs, askedAtMs: nowMs });
      lastMs = nowMs;
    },
    /** Returns whether a client asked within the last minute: the list is then built immediately. */
    isFollowed: (nowMs: number) => nowMs - lastMs < followingMs,
    table: { name: 'bouncer_cursors', used: () => cursors.size, limit: max },
  };
}

type Cursors = ReturnType<typeof createCursors>;

/** The list at a moment, never changed: see `PublishedFeeds` of the feeds. */
export interface DecisionList {
  /** The entries as JSON, the worst first: `"ipAddress":"…"` begins each. */
  readonly parts: readonly Uint8Array[];
  readonly changes: {
    readonly version: number;
    /** Versions from which changes are known, oldest first. */
    readonly since: readonly number[];
    /** For each of them, the bytes of the two texts that count. */
    readonly addedBytes: readonly number[];
    readonly removedBytes: readonly number[];
    /** `"192.0.2.1","192.0.2.0/28"` */
    readonly added: Uint8Array;
    readonly removed: Uint8Array;
  };
}

interface StreamAsked {
  /** Key, address and program of the client. */
  readonly client: string;
  /** The client begins: the whole list. */
  readonly isStart: boolean;
  readonly filter: Filter;
  readonly gzip: boolean;
  /** Returns the account's present bans; called once, when everything else is ready. */
  readonly own?: () => AgentDecisions | undefined;
  /** Returns the most entries that a whole list may have; called only when one is due. */
  readonly entriesMax: () => Promise<number>;
  /** Returns whether the client hung up: its cursor then stays where it is. */
  readonly isGone: () => boolean;
}

interface StreamAnswer {
  readonly parts: readonly Uint8Array[];
  readonly isGzip: boolean;
  /** Nothing is new, and nothing will be until one of these moves. */
  readonly settledAt?: ListState;
}

/** The words of a list whose words never change. Some clients delete a decision only if its words are unchanged. */
const sameWords: ListWords = {
  live: () => [byReports],
  now: (_, isWanted) => (isWanted(byReports) ? byReports : undefined),
  before: () => [byReports],
  all: () => [byReports],
};

/** Values whose words are kept. */
const sentMax = 200_000;

/**
 * Remembers the words in which this process sent each value of the list, the newest last. A value may be listed for
 * another reason later. A restart forgets them all.
 */
export function createListWords(options: {
  /** None: nothing makes it malicious any more. */
  attributionsOf: (value: string) => readonly DecisionAttribution[];
  all: () => readonly DecisionAttribution[];
  sentMax?: number;
}) {
  const { sentMax: max = sentMax } = options;
  const sent = new Map<string, readonly DecisionAttribution[]>();
  // One for the life of the map: a new iterator walks over all that was deleted before its first value.
  const oldest = sent.keys();
  const alike = (one: DecisionAttribution) => (other: DecisionAttribution) =>
    one.origin === other.origin && one.scenario === other.scenario;
  return {
    /** Returns all present words, sent or not; none: the value is no longer malicious. */
    live: options.attributionsOf,
    /**
     * Returns the first of the present words that are wanted, and notes that they are sent; undefined: none are. The
     * local API, too, tells one decision of a value and type in a stream, and which one depends on the filter.
     */
    now(
      value: string,
      isWanted: (attribution: DecisionAttribution) => boolean,
    ): DecisionAttribution | undefined {
      const before = sent.get(value);
      const live = options.attributionsOf(value);
      const all = live.length > 0 ? live : [before?.at(-1) ?? byReports];
      const wanted = all.find(isWanted);
      // Noted even if it is not sent: its end needs no guess then.
      const attribution = wanted ?? all[0]!;
      if (before?.some(alike(attribution))) return wanted;
      if (before === undefined && sent.size >= max) sent.delete(oldest.next().value!);
      sent.set(value, [...(before ?? []), attribution]);
      return wanted;
    },
    /** Returns all words in which the value was sent; undefined: unknown. */
    before: (value: string) => sent.get(value),
    /** Returns all that there may be. */
    all: options.all,
  };
}

type ListWords = ReturnType<typeof createListWords>;

interface Body {
  readonly parts: readonly Uint8Array[];
  gzip?: Promise<readonly Uint8Array[]>;
}

/** The first list of a start takes a moment; a client that gets an error to its first question ends. */
const firstWaitMs = 8_000;
const keptMax = 16;
export const nothingNew = '{"new":null,"deleted":null}';
const nothing = sharedBytes(nothingNew);
/** Smaller ones are sent as they are. */
const gzipFrom = 1_000;

export function createDecisionStream(options: {
  /** Resolves when there is a list, or after `waitMs`. */
  list: (waitMs: number) => Promise<DecisionList | undefined>;
  clock: Pick<Clock, 'monotonicMs' | 'now'>;
  cursors?: Cursors;
  /** Position of the last change among the bans of accounts. */
  banPosition?: () => number;
  /** Returns whether the list has the value itself, not only a network around it. */
  isListed?: (value: string) => boolean;
  words?: ListWords;
}) {
  const { list, clock, cursors = createCursors() } = options;
  const { banPosition = () => 0, isListed = () => false, words = sameWords } = options;
  let keptOf: DecisionList['changes'] | undefined;
  let kept = new Map<string, Promise<Body>>();

  function bodyOf(now: DecisionList, name: string, make: () => Promise<Body>): Promise<Body> {
    if (keptOf !== now.changes) {
      keptOf = now.changes;
      kept = new Map();
    }
    const known = kept.get(name);
    if (known !== undefined) return known;
    if (kept.size >= keptMax) kept.delete(kept.keys().next().value!);
    const made = make();
    kept.set(name, made);
    made.catch(() => kept.delete(name));
    return made;
  }

  const clientOf = ({ client, filter }: Pick<StreamAsked, 'client' | 'filter'>) =>
    `${client} ${filterName(filter)}`;

  /** Undefined: the list is not built yet. */
  async function answer(asked: StreamAsked): Promise<StreamAnswer | undefined> {
    const { filter, isStart } = asked;
    const now = await list(firstWaitMs);
    if (now === undefined) return undefined;
    const client = clientOf(asked);
    const position = cursors.find(client, clock.monotonicMs());
    const { version } = now.changes;
    const at = now.changes.since.indexOf(position.since ?? -1);
    const isWhole = isStart || position.whole || at < 0;
    const how = isStart ? 'started' : isWhole ? 'whole' : 'changes';
    const max = isWhole ? await asked.entriesMax() : 0;
    // Bans and their position are of one moment: the next answer has what changes later.
    const current = asked.own?.();
    const bans = banPosition();
    const move = (upTo = bans) => cursors.move(client, version, how, clock.monotonicMs(), upTo);
    const hasNews = current !== undefined && current.lastPosition > position.bansSince;
    if (!isWhole && !hasNews && position.since === version) {
      move();
      return { parts: [nothing], isGzip: false, settledAt: { version, bans } };
    }
    // A whole list heals whatever got lost, so it says all removals that are known.
    const since = isWhole ? 0 : at;
    const name = `${filterName(filter)} ${since} ${isWhole ? max : 'changes'}`;
    const changes = {
      ...(isWhole ? wholeChanges(now, since, max) : changesSince(now, since)),
      words,
    };
    // Bans count even if they have not changed: one may be on a value that the list removed.
    const own = current && copyOf(current);
    const mixed =
      own &&
      (await withOwnBans(own, changes, filter, {
        since: isWhole ? -1 : position.bansSince,
        isWhole,
        isListed,
        nowMs: clock.now(),
      }));
    const body: Body =
      mixed === undefined
        ? await bodyOf(now, name, () => bodyOfList(changes, filter))
        : frameBody(mixed);
    const isGzip = asked.gzip && sizeOf(body.parts) >= gzipFrom;
    if (isGzip) body.gzip ??= compress(body.parts);
    const parts = isGzip ? await body.gzip! : body.parts;
    if (!asked.isGone()) move(mixed?.position);
    return { parts, isGzip };
  }

  /**
   * All that the filter lets through at this moment, as a JSON array or `null`: what the operator banned by hand,
   * the list as far as it still holds, and the account's own. Undefined: the list is not built yet.
   */
  async function wholeList(asked: {
    readonly filter: Filter;
    readonly own: AgentDecisions | undefined;
    readonly manual: readonly ManualDecision[];
    readonly entriesMax: number;
  }): Promise<readonly Uint8Array[] | undefined> {
    const { filter, own, manual, entriesMax } = asked;
    const now = await list(firstWaitMs);
    if (now === undefined) return undefined;
    const byHand = new Map(manual);
    function* values(): Generator<string> {
      yield* byHand.keys();
      for (const value of wholeChanges(now!, 0, entriesMax).added)
        if (!byHand.has(value)) yield value;
    }
    let rows = 0;
    const attributionsOf = (value: string) => {
      const manual = byHand.get(value);
      const all = new Set([...(manual === undefined ? [] : [manual]), ...words.live(value)]);
      const wanted = [...all].filter((one) => listMatches(filter, value, one));
      rows += wanted.length;
      return wanted;
    };
    const listed = await renderDecisions(values(), attributionsOf, { entriesMax });
    const left = Math.max(0, entriesMax - rows);
    return arrayOf(joined(listed, await renderOwn(own, filter, clock.now(), left)));
  }

  return {
    everything: wholeList,
    /** Returns whether the client asks for the whole list, or its cursor makes one due. */
    isWhole(asked: Pick<StreamAsked, 'client' | 'isStart' | 'filter'>): boolean {
      return asked.isStart || cursors.find(clientOf(asked), clock.monotonicMs()).whole;
    },
    answer,
    cursors,
  };
}

export type DecisionStream = ReturnType<typeof createDecisionStream>;

/** The worst first, with what was removed since. */
function wholeChanges(
  { parts, changes: list }: DecisionList,
  since: number,
  entriesMax: number,
): ListValues {
  function* addresses() {
    for (const part of parts) yield* quotedTextsAfter(part, '{"ipAddress":');
  }
  const removed = list.removed.subarray(0, list.removedBytes[since]);
  return { added: addresses(), removed: quotedTextsAfter(removed, ''), entriesMax };
}

function changesSince({ changes: list }: DecisionList, since: number): ListValues {
  const added = list.added.subarray(0, list.addedBytes[since]);
  const removed = list.removed.subarray(0, list.removedBytes[since]);
  return {
    added: quotedTextsAfter(added, ''),
    removed: quotedTextsAfter(removed, ''),
    entriesMax: Number.POSITIVE_INFINITY,
  };
}

async function bodyOfList(list: ListChanges, filter: Filter): Promise<Body> {
  const rows = listRows(filter, list.words);
  const added = await renderDecisions(list.added, rows.added, { entriesMax: list.entriesMax });
  function* removed(): Generator<string> {
    yield* list.removed;
    yield* rows.lost;
  }
  return frameBody({
    added,
    deleted: await renderDecisions(removed(), rows.gone, { isGone: true }),
  });
}

interface Rows {
  readonly added: readonly Uint8Array[];
  readonly deleted: readonly Uint8Array[];
}

function frameBody({ added, deleted }: Rows): Body {
  if (added.length + deleted.length === 0) return { parts: [nothing] };
  const [start, middle, end] = ['{"new":', ',"deleted":', '}'].map(sharedBytes);
  return { parts: [start!, ...arrayOf(added), middle!, ...arrayOf(deleted), end!] };
}

/** An empty one is `null`, as the local API has it. */
function arrayOf(rows: readonly Uint8Array[]): readonly Uint8Array[] {
  const [start, end, none] = ['[', ']', 'null'].map(sharedBytes);
  return rows.length === 0 ? [none!] : [start!, ...rows, end!];
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** In the threads of zlib. */
async function compress(parts: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const gzip = createGzip();
  async function write(): Promise<void> {
    for (const part of parts) {
      // zlib takes no shared memory.
      if (!gzip.write(Buffer.from(part))) {
        await new Promise((resolve) => gzip.once('drain', resolve));
      }
    }
    gzip.end();
  }
  const writing = write();
  const pieces: Uint8Array[] = [];
  for await (const piece of gzip) pieces.push(sharedBytes(piece as Buffer));
  await writing;
  return pieces;
}

// The stream for an account with bans of its own: the list, merged with the bans. A value never is in both arrays. A
// listed value stays when its ban ends and is sent again; a banned value stays when it leaves the list.

/** The operator banned it by hand. */
export type ManualDecision = readonly [value: string, attribution: DecisionAttribution];

/** Writes those of an account's decisions that last and pass the filter, bans first. */
async function renderOwn(
  own: Pick<AgentDecisions, 'active'> | undefined,
  filter: Filter,
  nowMs: number,
  entriesMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array[]> {
  const active = new Map(own?.active);
  const values = { ban: [] as string[], captcha: [] as string[] };
  const matches = ([value, one]: readonly [string, AgentDecision]) =>
    one.untilMs > nowMs && banMatches(filter, value, one);
  for (const [value, { type }] of await chosen(active, matches)) values[type].push(value);
  return renderDecisions(
    [...values.ban, ...values.captcha],
    (value) => [byAgent(active.get(value)!)],
    { entriesMax, durationOf: (value) => durationText(active.get(value)!.untilMs - nowMs) },
  );
}

/**
 * Returns the decisions that pass the filter as a JSON array, bans first, up to a limit; exactly `null` if there are
 * none. It serves filters that leave the list out, so it does not wait for the list.
 */
export async function decisionsOf(
  own: Pick<AgentDecisions, 'active'> | undefined,
  manual: readonly ManualDecision[],
  filter: Filter,
  { nowMs, entriesMax }: { readonly nowMs: number; readonly entriesMax: number },
): Promise<readonly Uint8Array[]> {
  const byValue = new Map(manual);
  const wanted = [...byValue.keys()]
    .filter((value) => listMatches(filter, value, byValue.get(value)))
    .slice(0, entriesMax);
  const byHand = await renderDecisions(wanted, (value) => [byValue.get(value)!]);
  const left = entriesMax - wanted.length;
  return arrayOf(joined(byHand, await renderOwn(own, filter, nowMs, left)));
}

/** As they are now: an answer takes several turns of the event loop, and must be of one moment. */
function copyOf({ active, ended, lastPosition }: AgentDecisions): AgentDecisions {
  return { active: new Map(active), ended: new Map(ended), lastPosition };
}

/** The values that an answer has in addition to the list's own. Each stands nowhere else in it. */
interface AgentValues {
  readonly banned: readonly string[];
  /** On the list, which their bans hid from some clients. */
  readonly back: readonly string[];
  readonly gone: readonly string[];
  /** Up to this position all is sent; undefined: up to the last one. */
  readonly position: number | undefined;
}

/**
 * @param isInAnswer whether the answer has the value from the list, as one that is added
 * @param released values of captchas that the list let go
 */
async function agentValues(
  own: AgentDecisions,
  isInAnswer: (value: string) => boolean,
  released: ReadonlySet<string>,
  { since, isWhole, isListed }: OwnAsked,
): Promise<AgentValues> {
  const isNews = ([value, { position }]: readonly [string, { readonly position: number }]) =>
    position > since && !isInAnswer(value);
  const over = (await chosen(own.ended, isNews)).map(([value]) => value);
  // Asked once: others get their turn meanwhile, and a value stands in one array.
  const listed = new Set(await chosen(over, isListed));
  const gone = over.filter((value) => !listed.has(value));
  const goneNow = new Set([...gone, ...released]);
  // Whom the list has banned nobody lets in by a captcha.
  const news = await chosen(
    own.active,
    (one) => isNews(one) && !(one[1].type === 'captcha' && isListed(one[0])),
  );
  // A value stands in one array: the end of its ban is sent first, and the captcha by a later
  // answer.
  const held = news.filter(([value]) => goneNow.has(value)).map(([, { position }]) => position);
  return {
    banned: news.map(([value]) => value).filter((value) => !goneNow.has(value)),
    // The whole list has it, or has room for worse ones alone.
    back: isWhole ? [] : [...listed],
    gone,
    position: held.length === 0 ? undefined : Math.min(...held) - 1,
  };
}

/** Returns those of them that are meant; others get their turn meanwhile. */
async function chosen<T>(from: Iterable<T>, matches: (one: T) => boolean): Promise<T[]> {
  const scheduler = createScheduler();
  const found: T[] = [];
  for (const one of from) {
    if (scheduler.shouldYield()) await scheduler.yield();
    if (matches(one)) found.push(one);
  }
  return found;
}

interface OwnAsked {
  /** The position of the client among the bans. */
  readonly since: number;
  readonly isWhole: boolean;
  /** Returns whether the list has the value itself, not only a network around it. */
  readonly isListed: (value: string) => boolean;
  readonly nowMs: number;
}

interface ListValues {
  /** Values that the list has, or added; the worst first. */
  readonly added: Iterable<string>;
  readonly removed: Iterable<string>;
  readonly entriesMax: number;
}

interface ListChanges extends ListValues {
  readonly words: ListWords;
}

/** The rows of one answer for values with unknown words: each is sent in all possible words. */
const guessedRowsMax = 10_000;

/** Rows of the list that a filter lets through. */
function listRows(filter: Filter, { now, before, all }: ListWords) {
  /** On the list for another reason than before, which the filter does not let through. */
  const lost: string[] = [];
  let guesses: readonly DecisionAttribution[] | undefined;
  let guessesLeft = guessedRowsMax;

  function guess(): readonly DecisionAttribution[] {
    guesses ??= all();
    guessesLeft -= guesses.length;
    return guessesLeft < 0 ? [byReports] : guesses;
  }

  function gone(value: string): readonly DecisionAttribution[] {
    const words = before(value) ?? guess();
    return words.filter((attribution) => listMatches(filter, value, attribution));
  }

  return {
    lost,
    gone,
    added(value: string): readonly DecisionAttribution[] {
      const attribution = now(value, (one) => listMatches(filter, value, one));
      if (attribution !== undefined) return [attribution];
      if (gone(value).length > 0) lost.push(value);
      return [];
    },
  };
}

/**
 * @returns rows that are added and rows that go, in pieces with commas between them, and up to which
 * position of the decisions they hold all; undefined: the last one
 */
async function withOwnBans(
  own: AgentDecisions,
  list: ListChanges,
  filter: Filter,
  asked: OwnAsked,
): Promise<{ added: Uint8Array[]; deleted: Uint8Array[]; position: number | undefined }> {
  const inBoth = new Set<string>();
  const rows = listRows(filter, list.words);
  const isInList = (value: string) =>
    list.words.now(value, (one) => listMatches(filter, value, one)) !== undefined;
  const byAgents = await wantedBans(own, filter);
  function* noted(): Generator<string> {
    for (const value of list.added) {
      yield value;
      // Asked for the next one: this one is in the answer, if the filter lets it through.
      if ((own.active.has(value) || own.ended.has(value)) && isInList(value)) inBoth.add(value);
    }
  }
  const { entriesMax } = list;
  const listed = await renderDecisions(noted(), rows.added, { entriesMax });
  const isListed = (value: string) => asked.isListed(value) && isInList(value);
  const { removed: removedValues, released } = await releasedValues(byAgents, list.removed);
  const isInAnswer = (value: string) => inBoth.has(value);
  const values = await agentValues(byAgents, isInAnswer, released, { ...asked, isListed });
  const sent = new Set([...values.banned, ...values.back, ...values.gone]);
  function* releasedOrLost(): Generator<string> {
    yield* removedValues;
    yield* rows.lost;
  }
  function* removed(): Generator<string> {
    for (const value of releasedOrLost()) {
      if (byAgents.active.get(value)?.type !== 'ban' && !sent.has(value)) yield value;
    }
  }
  const durationOf = (value: string) =>
    durationText((own.active.get(value)?.untilMs ?? 0) - asked.nowMs);
  const attributionsNow = (value: string) => [byAgent(own.active.get(value)!)];
  const attributionsBefore = (value: string) => [byAgent(own.ended.get(value)!)];
  return {
    position: values.position,
    added: joined(
      listed,
      await renderDecisions(values.banned, attributionsNow, { durationOf }),
      await renderDecisions(values.back, rows.added),
    ),
    deleted: joined(
      await renderDecisions(removed(), rows.gone, { isGone: true }),
      await renderDecisions(values.gone, attributionsBefore, { isGone: true }),
    ),
  };
}

/** The values that the list let go, and those of captchas among them. */
async function releasedValues(
  own: AgentDecisions,
  removed: Iterable<string>,
): Promise<{ removed: Iterable<string>; released: ReadonlySet<string> }> {
  const released = new Set<string>();
  if (![...own.active.values()].some(({ type }) => type === 'captcha')) {
    return { removed, released };
  }
  const scheduler = createScheduler();
  const values: string[] = [];
  for (const value of removed) {
    if (scheduler.shouldYield()) await scheduler.yield();
    values.push(value);
    if (own.active.get(value)?.type === 'captcha') released.add(value);
  }
  return { removed: values, released };
}

/** Filters active and ended decisions; `lastPosition` stays that of all of them. */
async function wantedBans(own: AgentDecisions, filter: Filter): Promise<AgentDecisions> {
  const { active, ended, lastPosition } = own;
  const wanted = async (bans: ReadonlyMap<string, AgentDecision>) =>
    new Map(await chosen(bans, ([value, one]) => banMatches(filter, value, one)));
  return { active: await wanted(active), ended: await wanted(ended), lastPosition };
}

/** Rows of one array, with commas between those that have some. */
function joined(...parts: readonly Uint8Array[][]): Uint8Array[] {
  return parts
    .filter((pieces) => pieces.length > 0)
    .flatMap((pieces, i) => (i === 0 ? pieces : [sharedBytes(','), ...pieces]));
}
