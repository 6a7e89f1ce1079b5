/**
 * An answer of the stream for an account with bans of its own: what the list says, with the bans among it.
 * A value never stands in both arrays. What is on the list stays when its ban ends, and is said anew; what
 * is banned stays when the list lets it go.
 */

import { createTurns } from '../../core/scheduling.ts';
import {
  type Decision,
  decisionText,
  durationText,
  type Filter,
  isBanWanted,
  isListWanted,
  renderDecisions,
  type Said,
  saidByAgent,
  saidByReports,
  sharedBytes,
} from './decisions.ts';

interface OwnDecision extends Omit<Decision, 'value'> {
  readonly position: number;
}

/** The decisions of an account's agents: see `OwnBans` of the agents. */
export interface OwnDecisions {
  readonly active: ReadonlyMap<string, OwnDecision>;
  /**
   * Decisions that ended. A value may be active, too: a captcha was decided after its ban was over.
   */
  readonly ended: ReadonlyMap<string, OwnDecision>;
  /** The position of the account's last change; positions count the changes of all accounts. */
  readonly lastPosition: number;
}

/**
 * All that the filter lets through, as a JSON array, bans first; exactly `null` when there are none.
 * @param manual what the operator banned by hand
 */
export function decisionsOf(
  own: Pick<OwnDecisions, 'active'> | undefined,
  manual: readonly (readonly [value: string, said: Said])[],
  filter: Filter,
  nowMs: number,
): string {
  const wanted = manual.filter(([value, said]) => isListWanted(filter, value, said));
  const byHand = wanted.map(([value, said]) => decisionText(value, undefined, said));
  const rows = { ban: byHand, captcha: [] as string[] };
  for (const [value, one] of own?.active ?? []) {
    if (one.untilMs <= nowMs || !isBanWanted(filter, value, one)) continue;
    if (wanted.some(([other]) => other === value)) continue;
    const duration = durationText(one.untilMs - nowMs);
    rows[one.type].push(decisionText(value, duration, saidByAgent(one)));
  }
  const all = [...rows.ban, ...rows.captcha];
  return all.length === 0 ? 'null' : `[${all.join(',')}]`;
}

/** As they are now: an answer takes several turns of the event loop, and must be of one moment. */
export function copyOf({ active, ended, lastPosition }: OwnDecisions): OwnDecisions {
  return { active: new Map(active), ended: new Map(ended), lastPosition };
}

/** The values that an answer has in addition to the list's own. Each stands nowhere else in it. */
interface OwnValues {
  readonly banned: readonly string[];
  /** On the list, which their bans hid from some clients. */
  readonly back: readonly string[];
  readonly gone: readonly string[];
  /** Up to this position all is sent; undefined: up to the last one. */
  readonly position: number | undefined;
}

/**
 * @param isSaid whether the answer has the value from the list, as one that is added
 * @param released values of captchas that the list let go
 */
function ownValues(
  own: OwnDecisions,
  isSaid: (value: string) => boolean,
  released: ReadonlySet<string>,
  { since, isWhole, isListed }: OwnAsked,
): OwnValues {
  const isNews = ([value, { position }]: readonly [string, { readonly position: number }]) =>
    position > since && !isSaid(value);
  const nameOf = ([value]: readonly [string, unknown]) => value;
  const isMilder = (value: string) => own.active.get(value)?.type === 'captcha';
  const over = [...own.ended].filter(isNews).map(nameOf);
  const gone = over.filter((value) => !isListed(value));
  const goneNow = new Set([...gone, ...released]);
  // Whom the list has banned nobody lets in by a captcha.
  const news = [...own.active]
    .filter(isNews)
    .filter(([value]) => !(isMilder(value) && isListed(value)));
  // A value stands in one array: the end of its ban is sent first, and the captcha by a later
  // answer.
  const held = news.filter(([value]) => goneNow.has(value));
  return {
    banned: news.map(nameOf).filter((value) => !goneNow.has(value)),
    // The whole list has it, or has room for worse ones alone.
    back: isWhole ? [] : over.filter(isListed),
    gone,
    position: held.length === 0 ? undefined : Math.min(...held.map(([, one]) => one.position)) - 1,
  };
}

export interface OwnAsked {
  /** The place of the client among the bans. */
  readonly since: number;
  readonly isWhole: boolean;
  /** Returns whether the list has the value itself, not only a network around it. */
  readonly isListed: (value: string) => boolean;
  readonly nowMs: number;
}

export interface ListSaid {
  /** Values that the list has, or added; the worst first. */
  readonly added: Iterable<string>;
  readonly removed: Iterable<string>;
  readonly entriesMax: number;
  readonly words: ListWords;
}

/** The words in which the list's decisions are told. */
export interface ListWords {
  /** Returns those of now, and notes that they are told. */
  now(value: string): Said;
  /** Returns all in which the value was told; undefined: not known any more. */
  before(value: string): readonly Said[] | undefined;
  /** Returns all that there may be. */
  all(): readonly Said[];
}

/** Rows, in one answer, of values whose words are not known: each is told in all that there may be. */
const guessedRowsMax = 10_000;

/** Rows of the list that a filter lets through. */
export function listRows(filter: Filter, { now, before, all }: ListWords) {
  /** On the list for another reason than before, which the filter does not let through. */
  const lost: string[] = [];
  let guesses: readonly Said[] | undefined;
  let guessesLeft = guessedRowsMax;

  function guess(): readonly Said[] {
    guesses ??= all();
    guessesLeft -= guesses.length;
    return guessesLeft < 0 ? [saidByReports] : guesses;
  }

  function gone(value: string): readonly Said[] {
    const words = before(value) ?? guess();
    return words.filter((said) => isListWanted(filter, value, said));
  }

  return {
    lost,
    gone,
    added(value: string): readonly Said[] {
      const said = now(value);
      if (isListWanted(filter, value, said)) return [said];
      if (gone(value).length > 0) lost.push(value);
      return [];
    },
  };
}

/**
 * @returns rows that are added and rows that go, in pieces with commas between them, and up to which
 * position of the decisions they hold all; undefined: the last one
 */
export async function withOwnBans(
  own: OwnDecisions,
  list: ListSaid,
  filter: Filter,
  asked: OwnAsked,
): Promise<{ added: Uint8Array[]; deleted: Uint8Array[]; position: number | undefined }> {
  const said = new Set<string>();
  const rows = listRows(filter, list.words);
  const isInList = (value: string) => isListWanted(filter, value, list.words.now(value));
  const byAgents = wantedBans(own, filter);
  function* noted(): Generator<string> {
    for (const value of list.added) {
      yield value;
      // Asked for the next one: this one is in the answer, if the filter lets it through.
      if ((own.active.has(value) || own.ended.has(value)) && isInList(value)) said.add(value);
    }
  }
  const { entriesMax } = list;
  const listed = await renderDecisions(noted(), rows.added, { entriesMax });
  const isListed = (value: string) => asked.isListed(value) && isInList(value);
  const { removed: letGo, released } = await whatIsReleased(byAgents, list.removed);
  const isSaid = (value: string) => said.has(value);
  const values = ownValues(byAgents, isSaid, released, { ...asked, isListed });
  const told = new Set([...values.banned, ...values.back, ...values.gone]);
  function* letGoOrLost(): Generator<string> {
    yield* letGo;
    yield* rows.lost;
  }
  function* removed(): Generator<string> {
    for (const value of letGoOrLost()) {
      if (byAgents.active.get(value)?.type !== 'ban' && !told.has(value)) yield value;
    }
  }
  const durationOf = (value: string) =>
    durationText((own.active.get(value)?.untilMs ?? 0) - asked.nowMs);
  const saidNow = (value: string) => [saidByAgent(own.active.get(value)!)];
  const saidBefore = (value: string) => [saidByAgent(own.ended.get(value)!)];
  return {
    position: values.position,
    added: joined(
      listed,
      await renderDecisions(values.banned, saidNow, { durationOf }),
      await renderDecisions(values.back, rows.added),
    ),
    deleted: joined(
      await renderDecisions(removed(), rows.gone, { isGone: true }),
      await renderDecisions(values.gone, saidBefore, { isGone: true }),
    ),
  };
}

/** The values that the list let go, and those of captchas among them. */
async function whatIsReleased(
  own: OwnDecisions,
  removed: Iterable<string>,
): Promise<{ removed: Iterable<string>; released: ReadonlySet<string> }> {
  const released = new Set<string>();
  if (![...own.active.values()].some(({ type }) => type === 'captcha')) {
    return { removed, released };
  }
  const turns = createTurns();
  const values: string[] = [];
  for (const value of removed) {
    if (turns.isOver()) await turns.next();
    values.push(value);
    if (own.active.get(value)?.type === 'captcha') released.add(value);
  }
  return { removed: values, released };
}

/** Filters active and ended decisions; `lastPosition` stays that of all of them. */
function wantedBans(own: OwnDecisions, filter: Filter): OwnDecisions {
  const { active, ended, lastPosition } = own;
  const wanted = (bans: ReadonlyMap<string, OwnDecision>) =>
    new Map([...bans].filter(([value, one]) => isBanWanted(filter, value, one)));
  return { active: wanted(active), ended: wanted(ended), lastPosition };
}

/** Rows of one array, with commas between those that have some. */
function joined(...parts: readonly Uint8Array[][]): Uint8Array[] {
  return parts
    .filter((pieces) => pieces.length > 0)
    .flatMap((pieces, i) => (i === 0 ? pieces : [sharedBytes(','), ...pieces]));
}
