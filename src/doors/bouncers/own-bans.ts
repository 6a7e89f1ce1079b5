/**
 * An answer of the stream for an account with bans of its own: what the list says, with the bans among it.
 * A value never stands in both arrays. What is on the list stays when its ban ends, and is said anew; what
 * is banned stays when the list lets it go.
 */

import {
  durationText,
  type Filter,
  isBanWanted,
  isListWanted,
  renderDecisions,
  saidByAgent,
  sharedBytes,
} from './decisions.ts';

/** The bans of an account: see `OwnBans` of the agents. */
export interface OwnDecisions {
  readonly active: ReadonlyMap<
    string,
    { readonly untilMs: number; readonly position: number; readonly scenario: string }
  >;
  readonly ended: ReadonlyMap<string, { readonly position: number; readonly scenario: string }>;
  /** Of the last change of these. */
  readonly lastPosition: number;
}

/** As they are now: an answer takes several turns of the event loop, and must be of one moment. */
export function copyOf({ active, ended, lastPosition }: OwnDecisions): OwnDecisions {
  return { active: new Map(active), ended: new Map(ended), lastPosition };
}

/** What is told beside what the list says. No value of them stands anywhere else in the answer. */
interface OwnValues {
  readonly banned: readonly string[];
  /** On the list, which their bans hid from some clients. */
  readonly back: readonly string[];
  readonly gone: readonly string[];
}

/** @param isSaid whether the answer has the value from the list, as one that is added */
function ownValues(
  own: OwnDecisions,
  isSaid: (value: string) => boolean,
  { since, isWhole, isListed }: OwnAsked,
): OwnValues {
  const isNews = ([value, { position }]: readonly [string, { readonly position: number }]) =>
    position > since && !isSaid(value);
  const nameOf = ([value]: readonly [string, unknown]) => value;
  const over = [...own.ended].filter(isNews).map(nameOf);
  return {
    banned: [...own.active].filter(isNews).map(nameOf),
    // The whole list has it, or has room for worse ones alone.
    back: isWhole ? [] : over.filter(isListed),
    gone: over.filter((value) => !isListed(value)),
  };
}

export interface OwnAsked {
  /** The place of the client among the bans. */
  readonly since: number;
  readonly isWhole: boolean;
  /** Whether an address is on the list, by itself. */
  readonly isListed: (value: string) => boolean;
  readonly nowMs: number;
}

export interface ListSaid {
  /** Values that the list has, or added; the worst first. */
  readonly added: Iterable<string>;
  readonly removed: Iterable<string>;
  readonly entriesMax: number;
}

/** @returns rows that are added and rows that go, in pieces with commas between them */
export async function withOwnBans(
  own: OwnDecisions,
  list: ListSaid,
  filter: Filter,
  asked: OwnAsked,
): Promise<{ added: Uint8Array[]; deleted: Uint8Array[] }> {
  const said = new Set<string>();
  const isInList = (value: string) => isListWanted(filter, value);
  const byAgents = wantedBans(own, filter);
  function* noted(): Generator<string> {
    for (const value of list.added) {
      yield value;
      // Asked for the next one: this one is in the answer, if the filter lets it through.
      if ((own.active.has(value) || own.ended.has(value)) && isInList(value)) said.add(value);
    }
  }
  const { entriesMax } = list;
  const listed = await renderDecisions(noted(), isInList, { entriesMax });
  const isListed = (value: string) => isInList(value) && asked.isListed(value);
  const values = ownValues(byAgents, (value) => said.has(value), { ...asked, isListed });
  const told = new Set([...values.banned, ...values.back, ...values.gone]);
  function* removed(): Generator<string> {
    for (const value of list.removed) {
      if (!byAgents.active.has(value) && !told.has(value)) yield value;
    }
  }
  const all = () => true;
  const durationOf = (value: string) =>
    durationText((own.active.get(value)?.untilMs ?? 0) - asked.nowMs);
  const saidOf = (value: string) =>
    saidByAgent((own.active.get(value) ?? own.ended.get(value))?.scenario ?? '');
  return {
    added: joined(
      listed,
      await renderDecisions(values.banned, all, { durationOf, saidOf }),
      await renderDecisions(values.back, isInList),
    ),
    deleted: joined(
      await renderDecisions(removed(), isInList, { isGone: true }),
      await renderDecisions(values.gone, all, { isGone: true, saidOf }),
    ),
  };
}

/** Those that the filter lets through. */
function wantedBans(own: OwnDecisions, filter: Filter): OwnDecisions {
  const { active, ended, lastPosition } = own;
  const wanted = <T extends { readonly scenario: string }>(bans: ReadonlyMap<string, T>) =>
    new Map([...bans].filter(([, { scenario }]) => isBanWanted(filter, scenario)));
  return { active: wanted(active), ended: wanted(ended), lastPosition };
}

/** Rows of one array, with commas between those that have some. */
function joined(...parts: readonly Uint8Array[][]): Uint8Array[] {
  return parts
    .filter((pieces) => pieces.length > 0)
    .flatMap((pieces, i) => (i === 0 ? pieces : [sharedBytes(','), ...pieces]));
}
