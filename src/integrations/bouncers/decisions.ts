/**
 * Decisions as bouncers of the CrowdSec local API v1 read them. Each has all seven members, in both
 * arrays: clients written in Go use them unchecked. What the list says has one origin and one scenario, the decision
 * of an agent its own ones, since some clients delete only what matches both.
 */

import { hourSeconds } from '../../core/time.ts';
import { createTurns } from '../../core/work/turns.ts';
import { type Decision, type DecisionType, decisionTypes } from '../agents/decision.ts';

export const origin = 'lists';
export const scenario = 'portcullis';
/** An element of an ipset ends after 596 hours at most; a stream renews each one daily. */
const lifetimeSeconds = 576 * hourSeconds;
const lifetime = '576h0m0s';
const over = '-1s';
/**
 * An element of a ban lapses at the client a little before the ban ends here: of an address that is on the
 * list, too, some clients take the list's decision only when no other is left.
 */
const earlyMs = 5_000;

/** The type of a decision and its source, as a bouncer reads them. */
export interface Said {
  readonly type: DecisionType;
  readonly origin: string;
  readonly scenario: string;
}
export const saidByList: Said = { type: 'ban', origin, scenario };
/** Describes an agent's decision for bouncers; the list's scenario replaces an unknown one. */
export function saidByAgent(by: Pick<Decision, 'type' | 'origin' | 'scenario'>): Said {
  return { type: by.type, origin: by.origin, scenario: by.scenario || scenario };
}

/** Which decisions are wanted; the same for the stream and for a look-up. */
export interface Filter {
  /** The entries of the list that are wanted: single addresses, and networks. */
  readonly hosts: boolean;
  readonly networks: boolean;
  /** Undefined: both. */
  readonly family?: 4 | 6 | undefined;
  /** The decisions of the account's agents that are wanted; undefined: all. */
  readonly ofAgents?: AgentFilter | undefined;
}

interface AgentFilter {
  readonly isNone: boolean;
  readonly hosts: boolean;
  readonly networks: boolean;
  /** In lower case; undefined: all. */
  readonly types: readonly string[] | undefined;
  readonly origins: readonly string[] | undefined;
  /** Parts of a scenario, in lower case. */
  readonly containing: readonly string[] | undefined;
  readonly excluded: readonly string[];
}

/** The same of filters that let the same of the list through. */
export function listFilterName({ hosts, networks, family }: Filter): string {
  return `${hosts}${networks}${family ?? ''}`;
}

/** The same of filters that let the same through. */
export function filterName(filter: Filter): string {
  const { ofAgents } = filter;
  return `${listFilterName(filter)}${ofAgents === undefined ? '' : JSON.stringify(ofAgents)}`;
}

/** Returns whether the list's decision on a value passes: a slash marks a network, a colon IPv6. */
export function isListWanted({ hosts, networks, family }: Filter, value: string): boolean {
  if (!(value.includes('/') ? networks : hosts)) return false;
  return family === undefined || value.includes(':') === (family === 6);
}

/**
 * Returns whether an agent's decision passes. It is compared as bouncers read it, origin and
 * scenario without case.
 */
export function isBanWanted(
  { ofAgents }: Filter,
  value: string,
  decision: Pick<Decision, 'type' | 'origin' | 'scenario'>,
): boolean {
  if (ofAgents === undefined) return true;
  const { isNone, hosts, networks, types, origins, containing, excluded } = ofAgents;
  if (isNone || !(value.includes('/') ? networks : hosts)) return false;
  const said = saidByAgent(decision);
  if (types?.includes(said.type) === false) return false;
  if (origins?.includes(said.origin.toLowerCase()) === false) return false;
  const name = said.scenario.toLowerCase();
  const isNamed = containing === undefined || containing.some((part) => name.includes(part));
  return isNamed && !excluded.some((part) => name.includes(part));
}

/** Returns whether no decision can pass, as when the filter asks for countries only. */
export function letsNothingThrough({ hosts, networks, ofAgents }: Filter): boolean {
  return !hosts && !networks && ofAgents?.isNone === true;
}

/** Returns whether the whole list is filtered out; decisions of agents may still pass. */
export function letsNoListThrough({ hosts, networks }: Filter): boolean {
  return !hosts && !networks;
}

/**
 * Writes the time left of a decision as clients read it, such as `3h59m55s`: less `earlyMs`, and 1
 * second to 576 hours.
 */
export function durationText(leftMs: number): string {
  const left = Math.floor((leftMs - earlyMs) / 1_000);
  const seconds = Math.min(Math.max(1, left), lifetimeSeconds);
  return `${Math.floor(seconds / hourSeconds)}h${Math.floor(seconds / 60) % 60}m${seconds % 60}s`;
}

/** One entry of the list, as the feeds write it: an address, or a network with its length. */
export function decisionText(
  value: string,
  duration: string = lifetime,
  said: Said = saidByList,
): string {
  const scope = value.includes('/') ? 'Range' : 'Ip';
  return `{"id":${idOf(value)},"origin":"${said.origin}","type":"${said.type}","scope":"${scope}","value":"${value}","duration":"${duration}","scenario":"${said.scenario}"}`;
}

/**
 * Hashes a value to an id below 2^53, which a JSON number holds exactly; clients see the same one
 * each time.
 */
export function idOf(value: string): number {
  let high = 0x9e3779b9;
  let low = 0x85ebca6b;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    high = Math.imul(high ^ code, 0x27d4eb2d);
    low = Math.imul(low ^ code, 0x165667b1);
  }
  high = Math.imul(high ^ (low >>> 15), 0x2c1b3c6d);
  low = Math.imul(low ^ (high >>> 13), 0x297a2d39);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

/**
 * `scopes`, `origins`, `types`, `scenarios_containing` and `scenarios_not_containing`, each with commas between
 * its values, and `type`. Parameters that are not known change nothing.
 */
export function readFilter(params: { get(name: string): string | undefined }): Filter {
  const wanted = (name: string) => {
    const text = params.get(name);
    if (text === undefined || text === '') return undefined;
    return text
      .toLowerCase()
      .split(',')
      .map((one) => one.trim());
  };
  const [scopes, origins] = ['scopes', 'origins'].map(wanted);
  const types = [...(wanted('types') ?? []), ...(wanted('type') ?? [])];
  const isBan = types.length === 0 || types.includes(saidByList.type);
  const containing = wanted('scenarios_containing');
  const excluded = wanted('scenarios_not_containing') ?? [];
  // A filter may name one family, which the scenario that is sent never does.
  const [four, six] = ([4, 6] as const).map((family) => {
    const name = `${scenario}-ipv${family}`;
    return (
      (containing === undefined || containing.some((part) => name.includes(part))) &&
      !excluded.some((part) => name.includes(part))
    );
  });
  const isListed = isBan && (origins?.includes(origin) ?? true) && (four || six) === true;
  const hasHosts = scopes?.includes('ip') ?? true;
  const hasNetworks = scopes?.includes('range') ?? true;
  const isNoType = types.length > 0 && !decisionTypes.some((type) => types.includes(type));
  const ofAgents: AgentFilter = {
    isNone: isNoType || !(hasHosts || hasNetworks),
    hosts: hasHosts,
    networks: hasNetworks,
    types: types.length === 0 ? undefined : types,
    origins,
    containing,
    excluded,
  };
  const isAll =
    [scopes, origins, containing].every((one) => one === undefined) &&
    types.length + excluded.length === 0;
  return {
    hosts: isListed && hasHosts,
    networks: isListed && hasNetworks,
    family: four === six ? undefined : four ? 4 : 6,
    ofAgents: isAll ? undefined : ofAgents,
  };
}

const rowsPerSlice = 250;
const pieceChars = 1 << 18;

/**
 * Decisions of these values with commas between them, in pieces of shared memory that every thread can
 * send; others get their turn meanwhile.
 * @param isWanted whether a value passes the filter, of which `entriesMax` come first
 */
export async function renderDecisions(
  values: Iterable<string>,
  isWanted: (value: string) => boolean,
  {
    isGone = false,
    entriesMax = Number.POSITIVE_INFINITY,
    durationOf = (_value: string): string => (isGone ? over : lifetime),
    saidOf = (_value: string): Said => saidByList,
  } = {},
): Promise<Uint8Array[]> {
  const turns = createTurns();
  const pieces: Uint8Array[] = [];
  let text = '';
  let rows = 0;
  let seen = 0;
  for (const value of values) {
    if (++seen % rowsPerSlice === 0 && turns.isOver()) await turns.next();
    if (!isWanted(value)) continue;
    if (rows >= entriesMax) break;
    text += `${rows > 0 ? ',' : ''}${decisionText(value, durationOf(value), saidOf(value))}`;
    rows++;
    if (text.length < pieceChars) continue;
    pieces.push(sharedBytes(text));
    text = '';
  }
  if (text !== '') pieces.push(sharedBytes(text));
  return pieces;
}

export function sharedBytes(from: string | Uint8Array): Uint8Array {
  const bytes = typeof from === 'string' ? Buffer.from(from, 'latin1') : from;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** Texts in double quotes behind a marker, such as the addresses of a feed in JSON. */
export function* quotedBehind(part: Uint8Array, marker: string): Generator<string> {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  const opening = Buffer.from(`${marker}"`, 'latin1');
  let at = 0;
  for (;;) {
    const found = bytes.indexOf(opening, at);
    if (found < 0) return;
    const start = found + opening.length;
    const end = bytes.indexOf(0x22, start);
    if (end < 0) return;
    yield bytes.toString('latin1', start, end);
    at = end + 1;
  }
}
