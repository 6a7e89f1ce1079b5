/**
 * A decision says whom it is about, what to do with him and until when: as agents make it, as bouncers
 * of the CrowdSec local API v1 read it, and as filters of both select it. Bouncers get all seven
 * members in both arrays: clients written in Go use them unchecked. Origin and scenario tell who
 * decided: an agent, the operator by hand, a list or reports. Some clients delete only what matches both.
 */

import { createScheduler } from '../../core/scheduling.ts';
import { dayMs, hourMs, hourSeconds, minuteMs } from '../../core/time.ts';
import type { IndexView } from '../../index/reader.ts';
import { listName, manualEntriesList } from '../../index/trie/memory.ts';
import type { IpFamily } from '../../ip/address.ts';
import { embeddedNetwork } from '../../ip/embedded-ipv4.ts';
import { contains, formatNetwork, type Prefix, parsePrefix } from '../../ip/prefix.ts';

/** CrowdSec knows more types, but bouncers have only these in common. */
export const decisionTypes = ['ban', 'captcha'] as const;
export type DecisionType = (typeof decisionTypes)[number];

/** The length of the ban for an alert without decisions of its own. */
export const banMs = 4 * hourMs;
export const usualOrigin = 'crowdsec';
/** Both are ASCII; what is longer is cut. */
export const scenarioCharsMax = 64;
export const originCharsMax = 16;

/** A decision without its value, which is the key of a map or of a row. */
export interface DecisionFacts {
  readonly type: DecisionType;
  /** Milliseconds since 1970: when it was made, and when it ends. */
  readonly atMs: number;
  readonly untilMs: number;
  readonly origin: string;
  /** Empty: not known. */
  readonly scenario: string;
}

export interface Decision extends DecisionFacts {
  /** Canonical: an address, a network with its length, a country as `JP` or a system as `AS64500`. */
  readonly value: string;
}

/** A decision of an account's agents. */
export interface AgentDecision extends DecisionFacts {
  /** Positions count the changes of all accounts. */
  readonly position: number;
}

/** The decisions of an account's agents by value. In each map the oldest comes first. */
export interface AgentDecisions<Ended extends AgentDecision = AgentDecision> {
  /** The position of the account's last change; positions count the changes of all accounts. */
  readonly lastPosition: number;
  readonly active: ReadonlyMap<string, AgentDecision>;
  /** Decisions that ended. A value may be active, too: a captcha was decided after its ban was over. */
  readonly ended: ReadonlyMap<string, Ended>;
}

/** One that is still to be made. */
export interface WantedDecision extends Pick<Decision, 'value' | 'type' | 'origin' | 'scenario'> {
  readonly durationMs: number;
}

/** Makes the ban of CrowdSec's default profile for an alert about an address: `banMs` long. */
export function usualBan(value: string, scenario: string): WantedDecision {
  return { value, type: 'ban', durationMs: banMs, origin: usualOrigin, scenario };
}

/** Returns a name as bouncers get it: characters that would need escaping there become `_`. */
export function shownAgentText(name: string, charsMax: number): string {
  return name.slice(0, charsMax).replace(/[^\w ./:'()+@,-]/g, '_');
}

type Weight = Pick<Decision, 'type' | 'untilMs'>;

/**
 * Returns whether `one` takes the place of `other` on the same value: a ban outweighs a captcha,
 * then the later end wins.
 */
export function outweighs(one: Weight, other: Weight | undefined): boolean {
  if (other === undefined) return true;
  if (one.type !== other.type) return one.type === 'ban';
  return one.untilMs > other.untilMs;
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1_000,
  m: minuteMs,
  h: hourMs,
  d: dayMs,
};
const partOfDuration = /(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d)/g;
const duration = /^-?(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d)){1,8}$/;

/** Milliseconds of `4h`, `1h30m` or `7d`; undefined: it is none. */
export function readDuration(text: string): number | undefined {
  if (!duration.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(partOfDuration)) {
    sum += Number(number) * unitMs[unit!]!;
  }
  return text.startsWith('-') ? -sum : sum;
}

/** Reports decided: it is their origin and their scenario. */
const scenario = 'portcullis';
const ofLists = 'lists';
/** An element of an ipset ends after 596 hours at most; a stream renews each one daily. */
const lifetimeSeconds = 576 * hourSeconds;
const lifetime = '576h0m0s';
const over = '-1s';
/**
 * An element of a ban lapses at the client a little before the ban ends here: of an address that is on the
 * list, too, some clients take the list's decision only when no other is left.
 */
const earlyMs = 5_000;
const listsMax = 1_024;

export interface DecisionAttribution {
  readonly type: DecisionType;
  readonly origin: string;
  readonly scenario: string;
  /** An agent may name any origin, also one of ours. */
  readonly isByAgent?: true;
}
/** Reports decided; or what is on the list is there for a reason that is not known. */
export const byReports: DecisionAttribution = { type: 'ban', origin: scenario, scenario };
/** The score is suspect. */
export const byScore: DecisionAttribution = { ...byReports, type: 'captcha' };
export const byOperator: DecisionAttribution = {
  type: 'ban',
  origin: 'cscli',
  scenario: "manual 'ban' from 'portcullis'",
};

/** Returns the numbers of all lists that make an entry malicious, each by itself, and 0 where reports do. */
export type MaliciousBy = (entry: number) => readonly number[];

/** Returns how to say who all make an entry malicious, in the order of `maliciousBy`. */
export function attributionsOf(
  { listNames }: Pick<IndexView, 'listNames'>,
  maliciousBy: MaliciousBy,
): (entry: number, isKnownGood: boolean) => DecisionAttribution[] {
  const known = new Map<string, DecisionAttribution>();
  const attributionOf = (number: number) => {
    if (number === manualEntriesList) return byOperator;
    const name = number === 0 ? '' : listName(listNames, number);
    if (name === '') return byReports;
    const attribution = known.get(name) ?? byList(name);
    // Names are as many as lists, but lists come and go.
    if (known.size >= listsMax) known.clear();
    known.set(name, attribution);
    return attribution;
  };
  // Reports say nothing of what is known to be good.
  return (entry, isKnownGood) => [
    ...new Set(
      maliciousBy(entry)
        .filter((number) => number !== 0 || !isKnownGood)
        .map(attributionOf),
    ),
  ];
}

function byList(name: string): DecisionAttribution {
  const shown = shownAgentText(name, scenarioCharsMax);
  // Filters have commas between origins.
  return { type: 'ban', origin: `${ofLists}:${shown.replaceAll(',', '_')}`, scenario: shown };
}

/** Returns what the lists of this moment, the operator and reports may say. */
export function allAttributions({
  listNames,
}: Pick<IndexView, 'listNames'>): DecisionAttribution[] {
  const named: DecisionAttribution[] = [];
  for (let number = 1; number < manualEntriesList; number++) {
    const name = listName(listNames, number);
    if (name !== '') named.push(byList(name));
  }
  return [byReports, byOperator, ...named];
}
/** Describes an agent's decision for bouncers; the list's scenario replaces an unknown one. */
export function byAgent(by: Pick<Decision, 'type' | 'origin' | 'scenario'>): DecisionAttribution {
  const { type, origin } = by;
  return { type, origin, scenario: by.scenario || scenario, isByAgent: true };
}

/** Which decisions are wanted; the same for the stream and for a look-up. */
export interface Filter {
  /** Single addresses, networks, countries and systems. */
  readonly hosts: boolean;
  readonly networks: boolean;
  readonly countries?: boolean | undefined;
  readonly systems?: boolean | undefined;
  /** Canonical; undefined: any. */
  readonly value?: string | undefined;
  /** Decisions hold this network, or else lie in it; undefined: any. */
  readonly networkFilter?: { readonly network: Prefix; readonly isHeld: boolean } | undefined;
  /** In lower case; undefined: all. */
  readonly types?: readonly string[] | undefined;
  readonly origins?: readonly string[] | undefined;
  /** Parts of a scenario, in lower case. */
  readonly containing?: readonly string[] | undefined;
  readonly excluded?: readonly string[] | undefined;
}

/** The same of filters that let the same through. */
export function filterName(filter: Filter): string {
  return JSON.stringify(filter);
}

const filterOfScope = {
  Ip: 'hosts',
  Range: 'networks',
  Country: 'countries',
  AS: 'systems',
} as const satisfies Record<DecisionScope, keyof Filter>;

/** Parts of decisions that many rows have in common, and that a filter says yes or no to. */
interface Words extends DecisionAttribution {
  /** The list's decisions have one, and those by a score. */
  readonly family?: IpFamily | undefined;
}

/** A filter's verdicts by words: its lists of values are gone through once for each, not for each row. */
const verdicts = new WeakMap<Filter, Map<string, boolean>>();
const verdictsMax = 1_000;

function passes(filter: Filter, value: string, words: Words): boolean {
  const { networkFilter } = filter;
  if (filter[filterOfScope[scopeOf(value)]] !== true) return false;
  if (filter.value !== undefined && filter.value !== value) return false;
  if (!passesFilter(filter, words)) return false;
  return (
    networkFilter === undefined ||
    matchesNetwork(value, networkFilter.network, networkFilter.isHeld)
  );
}

function passesFilter(filter: Filter, words: Words): boolean {
  const known = verdicts.get(filter) ?? new Map<string, boolean>();
  if (known.size === 0) verdicts.set(filter, known);
  const name = `${words.type}\n${words.family}\n${words.origin}\n${words.scenario}`;
  const before = known.get(name);
  if (before !== undefined) return before;
  if (known.size >= verdictsMax) known.clear();
  const verdict = matchesFilter(filter, words);
  known.set(name, verdict);
  return verdict;
}

function matchesFilter(filter: Filter, { type, origin, scenario, family }: Words): boolean {
  const { types, origins } = filter;
  if (types?.includes(type) === false) return false;
  if (origins !== undefined && !isOfOrigin(origin.toLowerCase(), origins)) return false;
  const name = scenario.toLowerCase();
  return isNamed(filter, family === undefined ? [name] : [name, families[family]]);
}

/** All lists go by the name that they have in common, too. */
function isOfOrigin(origin: string, wanted: readonly string[]): boolean {
  if (wanted.includes(origin)) return true;
  return origin.startsWith(`${ofLists}:`) && wanted.includes(ofLists);
}

/** Returns whether a value holds all of a network, or else lies in it; no country and no system does. */
function matchesNetwork(value: string, network: Prefix, isHeld: boolean): boolean {
  const own = parseNetwork(value);
  if (own === undefined) return false;
  return isHeld ? coversAddress(own, network) : coversAddress(network, own);
}

function isNamed(
  { containing, excluded = [] }: Pick<Filter, 'containing' | 'excluded'>,
  names: readonly string[],
): boolean {
  const has = (part: string) => names.some((name) => name.includes(part));
  return (containing === undefined || containing.some(has)) && !excluded.some(has);
}

/** A filter may name one family, or all that is on the list, by a name that the scenario sent never has. */
const families = { 4: `${scenario}-ipv4`, 6: `${scenario}-ipv6` } as const;

/** Returns whether the list's decision on a value passes. */
export function listMatches(
  filter: Filter,
  value: string,
  attribution: DecisionAttribution = byReports,
): boolean {
  return passes(filter, value, ofFamily(value, attribution));
}

function ofFamily(value: string, { type, origin, scenario }: DecisionAttribution): Words {
  return { type, origin, scenario, family: value.includes(':') ? 6 : 4 };
}

/**
 * Returns whether an agent's decision, or one by a score, passes. It is compared as bouncers read it, origin and
 * scenario without case.
 */
export function banMatches(
  filter: Filter,
  value: string,
  decision: Pick<Decision, 'type' | 'origin' | 'scenario'>,
): boolean {
  const attribution = byAgent(decision);
  const isByScore = attribution.origin === scenario;
  return passes(filter, value, isByScore ? ofFamily(value, attribution) : attribution);
}

/** Returns whether no decision can pass, as when the filter asks for names of users only. */
export function excludesEverything(filter: Filter): boolean {
  const { types } = filter;
  const isNoType = types !== undefined && !decisionTypes.some((type) => types.includes(type));
  return isNoType || !Object.values(filterOfScope).some((scope) => filter[scope] === true);
}

/**
 * Returns whether lists and reports are filtered out; manual entries and decisions of agents may still
 * pass, which are few.
 */
export function excludesAllLists(filter: Filter, index: Pick<IndexView, 'listNames'>): boolean {
  const { value, networkFilter: _, ...rest } = filter;
  if (value !== undefined && parseNetwork(value) === undefined) return true;
  return !allAttributions(index).some(
    (attribution) =>
      attribution.origin !== byOperator.origin &&
      ['192.0.2.1', '192.0.2.0/24', '2001:db8::1', '2001:db8::/32'].some((one) =>
        listMatches(rest, one, attribution),
      ),
  );
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
  attribution: DecisionAttribution = byReports,
): string {
  const scope = scopeOf(value);
  const shown = shownValue(value, scope);
  return `{"id":${idOfDecision(value, attribution)},"origin":"${attribution.origin}","type":"${attribution.type}","scope":"${scope}","value":"${shown}","duration":"${duration}","scenario":"${attribution.scenario}"}`;
}

/** A value may have several decisions; that of an agent or of the operator has the id by which it is taken back. */
function idOfDecision(value: string, { origin, isByAgent }: DecisionAttribution): number {
  return idOf(isByAgent || origin === byOperator.origin ? value : `${value} ${origin}`);
}

/** Hashes a value to an id below 2^53, which a JSON number holds exactly; clients see the same one each time. */
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

const scopesOfStream = ['ip', 'range'];
const scopesOfLookup = ['ip', 'range', 'country', 'as'];

/**
 * Reads `scopes`, `origins`, `types`, `scenarios_containing` and `scenarios_not_containing`, each with commas
 * between its values, `scope` and `type` as others of these names, `value`, and `ip` or `range` with `contains`.
 * Parameters that are not known change nothing. The text says what is wrong.
 */
export function readFilter(
  params: { get(name: string): string | undefined },
  { isLookup = false } = {},
): Filter | string {
  const wanted = (name: string) => {
    const text = params.get(name);
    if (text === undefined || text === '') return undefined;
    const values = text.toLowerCase().split(',');
    return [...new Set(values.map((one) => one.trim()))];
  };
  const named = [...(wanted('scopes') ?? []), ...(wanted('scope') ?? [])];
  const scopes = named.length > 0 ? named : isLookup ? scopesOfLookup : scopesOfStream;
  const types = [...(wanted('types') ?? []), ...(wanted('type') ?? [])];
  const around = params.get('ip') ?? params.get('range');
  const network = around === undefined ? undefined : parseNetwork(around);
  if (around !== undefined && network === undefined) return badNetwork;
  const isHeld = readContains(params.get('contains'));
  if (isHeld === undefined) return badContains;
  const value = params.get('value');
  const lists = listsOfValues.map((name) => wanted(name)?.length ?? 0);
  if (Math.max(...lists) > listedValuesMax) return badList;
  return {
    hosts: scopes.includes('ip'),
    networks: scopes.includes('range'),
    countries: scopes.includes('country'),
    systems: scopes.includes('as'),
    types: types.length === 0 ? undefined : types,
    origins: wanted('origins'),
    containing: wanted('scenarios_containing'),
    excluded: wanted('scenarios_not_containing'),
    value: value && (canonicalValue(value) ?? value.slice(0, valueCharsMax)),
    networkFilter: network && { network, isHeld },
  };
}

const listsOfValues = [
  'types',
  'type',
  'origins',
  'scenarios_containing',
  'scenarios_not_containing',
];
/** Each is compared with each scenario that decisions have, and agents have many. */
const listedValuesMax = 200;
const badList = `a filter has at most ${listedValuesMax} values`;
const valueCharsMax = 64;
export const badNetwork = 'ip or range must be an address or a network';
export const badContains = 'contains is true or false';

/** Reads `contains`; true by default. Undefined: the text is neither true nor false. */
export function readContains(text = 'true'): boolean | undefined {
  const given = text.trim().toLowerCase();
  if (['true', '1', 't'].includes(given)) return true;
  return ['false', '0', 'f'].includes(given) ? false : undefined;
}

const rowsPerSlice = 250;
const pieceChars = 1 << 18;

/**
 * Decisions on these values with commas between them, in pieces of shared memory that every thread can
 * send; others get their turn meanwhile.
 * @param attributionOf the words of each row of a value; none: it does not pass the filter. `entriesMax` rows come
 */
export async function renderDecisions(
  values: Iterable<string>,
  attributionOf: (value: string) => readonly DecisionAttribution[],
  {
    isGone = false,
    entriesMax = Number.POSITIVE_INFINITY,
    durationOf = (_value: string): string => (isGone ? over : lifetime),
  } = {},
): Promise<Uint8Array[]> {
  const scheduler = createScheduler();
  const pieces: Uint8Array[] = [];
  let text = '';
  let rows = 0;
  let seen = 0;
  for (const value of values) {
    if (++seen % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
    const all = attributionOf(value);
    if (all.length === 0) continue;
    if (rows >= entriesMax) break;
    for (const attribution of all.slice(0, entriesMax - rows)) {
      text += `${rows++ > 0 ? ',' : ''}${decisionText(value, durationOf(value), attribution)}`;
    }
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
export function* quotedTextsAfter(part: Uint8Array, marker: string): Generator<string> {
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

export type DecisionMatcher = (
  value: string,
  decision: Pick<Decision, 'type' | 'origin' | 'scenario' | 'atMs'>,
) => boolean;

/** @returns undefined where the text is neither an address nor a network */
export function parseNetwork(text: string): Prefix | undefined {
  const prefix = parsePrefix(text.trim(), 'mask');
  return prefix.ok ? embeddedNetwork(prefix.value) : undefined;
}

/** True when all of `inner` lies in `outer`. */
export function coversAddress(outer: Prefix, inner: Prefix): boolean {
  return outer.length <= inner.length && contains(outer, inner.family, inner.words);
}

type DecisionScope = 'Ip' | 'Range' | 'Country' | 'AS';

/** @param value canonical: no address and no network has a capital letter */
export function scopeOf(value: string): DecisionScope {
  const first = value.charCodeAt(0);
  if (first >= 0x41 && first <= 0x5a) return value.length === 2 ? 'Country' : 'AS';
  return value.includes('/') ? 'Range' : 'Ip';
}

/** Returns a value as clients know it: a system by its number alone. */
export function shownValue(value: string, scope: DecisionScope = scopeOf(value)): string {
  return scope === 'AS' ? value.slice(2) : value;
}

/** Returns what somebody wrote as it is kept; undefined: it is no address, network, country or system. */
export function canonicalValue(text: string): string | undefined {
  const network = parseNetwork(text);
  if (network !== undefined) return formatNetwork(network);
  const name = text.trim().toUpperCase();
  if (/^[A-Z]{2}$/.test(name)) return name;
  const [, number] = /^(?:AS)?(\d{1,10})$/.exec(name) ?? [];
  if (number === undefined || !(Number(number) > 0 && Number(number) < 2 ** 32)) return undefined;
  return `AS${Number(number)}`;
}

export function isCountryOrSystem(value: string): boolean {
  return scopeOf(value) === 'Country' || scopeOf(value) === 'AS';
}

const filterNames = [
  'contains',
  'ip',
  'origin',
  'origins',
  'range',
  'scenario',
  'scope',
  'scopes',
  'type',
  'types',
  'value',
];

/**
 * Without a filter all are meant. A filter that is not known, or empty, is refused: it must not mean all.
 * The text says what is wrong.
 */
export function readDecisionFilter(params: {
  get(name: string): string | undefined;
  readonly names: Iterable<string>;
}): DecisionMatcher | string {
  for (const name of params.names) {
    if (!filterNames.includes(name)) return `${name.slice(0, 40)} is no filter of decisions`;
    if (!params.get(name)?.trim()) return `${name} is empty`;
  }
  const given = (...names: string[]) => {
    const text = names.map((name) => params.get(name)).find((one) => one !== undefined);
    return text?.trim();
  };
  const texts = ['ip', 'range'].flatMap((name) => given(name) ?? []);
  const networks = texts.map(parseNetwork);
  if (networks.includes(undefined)) return badNetwork;
  const isContaining = readContains(given('contains'));
  if (isContaining === undefined) return badContains;
  const [scope, type] = [given('scope', 'scopes'), given('type', 'types')].map((text) =>
    text?.toLowerCase(),
  );
  const [scenario, origin, value] = [given('scenario'), given('origin', 'origins'), given('value')];
  const oneValue = value && (canonicalValue(value) ?? value);
  return (name, decision) => {
    const attribution = byAgent(decision);
    if (scope !== undefined && scopeOf(name).toLowerCase() !== scope) return false;
    if (type !== undefined && attribution.type !== type) return false;
    if (scenario !== undefined && attribution.scenario !== scenario) return false;
    if (origin !== undefined && attribution.origin.toLowerCase() !== origin.toLowerCase())
      return false;
    if (oneValue !== undefined && name !== oneValue) return false;
    return networks.every((network) => matchesNetwork(name, network!, isContaining));
  };
}

/** The text says what is wrong. */
export function readDecisionId(text: string): DecisionMatcher | string {
  if (!/^\d{1,16}$/.test(text)) return 'the id of a decision is a whole number';
  const id = Number(text);
  return (value) => idOf(value) === id;
}
