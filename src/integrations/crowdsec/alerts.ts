/**
 * Reads what an agent sends: an array of alerts, reduced to what counts of each. Most of an alert
 * is the log lines behind it, so a scan by bytes cuts out the few members that are read, in slices,
 * and only those become values: whatever a megabyte holds, nothing holds the event loop and little
 * of it is kept.
 *
 * Undefined means that the bytes are no array of objects, or that a member which is read has another type than
 * agents write; an alert that lacks members, or whose values make no sense, is one with which nothing can be done,
 * and holds up none of its neighbours: agents send what failed again.
 */

import * as v from 'valibot';
import type { Scheduler } from '../../core/scheduling.ts';
import { dayMs } from '../../core/time.ts';
import type { Prefix } from '../../ip/prefix.ts';
import {
  type AgentDecisions,
  badContains,
  badNetwork,
  byAgent,
  canonicalValue,
  coversAddress,
  type DecisionMatcher,
  type DecisionType,
  decisionText,
  decisionTypes,
  durationText,
  idOf,
  isCountryOrSystem,
  originCharsMax,
  parseNetwork,
  readContains,
  readDecisionFilter,
  readDuration,
  scenarioCharsMax,
  scopeOf,
  shownAgentText,
  shownValue,
  usualOrigin,
  type WantedDecision,
} from './decisions.ts';

export const alertsMax = 10_000;

export interface Alert {
  /** Undefined: not about a single address, or a simulation. */
  readonly ip: string | undefined;
  readonly categories: readonly number[];
  readonly comment: string;
  /** Plain text of at most 64 characters. */
  readonly scenario: string;
  /** The end of the incident, as the agent writes it (`stop_at`); undefined: it names none. */
  readonly stoppedAt: string | undefined;
  /** The scenario says that nobody is to be blocked by it. */
  readonly isRemark: boolean;
  /** Its own ones, as far as they are of use here; undefined: it has none, and the usual one is made. */
  readonly decisions: readonly WantedDecision[] | undefined;
  /** An operator decided so by `cscli`, which is no sighting. */
  readonly isByHand: boolean;
}

/** The most bytes that these members of one alert may have. Agents write fewer; an alert with more has no effect. */
const memberBytesMax = 8_192;
const decisionBytesMax = 2_048;
/** Longer ones end here. */
const durationMsMax = 366 * dayMs;
const depthMax = 64;
const bytesPerSlice = 16_384;

const text = v.string();
const maybeText = v.optional(v.nullable(text));
const maybeFlag = v.optional(v.nullable(v.boolean()));

/** The members of an alert that are read, beside its decisions. */
export const alertMembers = v.looseObject({
  scenario: maybeText,
  message: maybeText,
  stop_at: maybeText,
  simulated: maybeFlag,
  remediation: maybeFlag,
  source: v.looseObject({ scope: text, value: maybeText, ip: maybeText }),
});

/** The origin of what an operator decided, as `cscli` and importers write it. */
const byHand = /"origin"\s*:\s*"cscli/i;
export const alertDecision = v.looseObject({
  type: v.pipe(text, v.description('`ban` or `captcha`; others have no effect.')),
  scope: v.pipe(text, v.description('`ip`, `range`, `country` or `as`; others have no effect.')),
  value: text,
  duration: text,
  origin: maybeText,
  scenario: maybeText,
  simulated: maybeFlag,
});

const nothing: Alert = {
  ip: undefined,
  categories: [15],
  comment: '',
  scenario: '',
  stoppedAt: undefined,
  isRemark: false,
  decisions: undefined,
  isByHand: false,
};

/** Numbers of AbuseIPDB's categories. */
export function categoriesOfAlert(scenario: string): readonly number[] {
  const name = scenario.toLowerCase();
  if (name.includes('ssh')) return [18, 22];
  if (name.includes('sqli')) return [16];
  if (/crawl|bad[-_ ]user[-_ ]agent/.test(name)) return [19];
  return [name.includes('http') ? 21 : 15];
}

/** Undefined: one about users or the like, a simulation, or one that makes no sense. */
function decisionOf(member: string): WantedDecision | undefined {
  try {
    return decisionIn(JSON.parse(member));
  } catch {
    return undefined;
  }
}

/** Undefined: as `decisionOf`. */
export function decisionIn(given: unknown): WantedDecision | undefined {
  const read = v.safeParse(alertDecision, given, { abortEarly: true });
  if (!read.success || read.output.simulated === true) return undefined;
  const { duration, origin, scenario } = read.output;
  const scope = read.output.scope.toLowerCase();
  const type = read.output.type.toLowerCase();
  const value = canonicalValue(read.output.value);
  const durationMs = Math.round(readDuration(duration.trim()) ?? 0);
  if (value === undefined || !isDecisionType(type) || durationMs <= 0) return undefined;
  const isNetwork = !isCountryOrSystem(value) && ['ip', 'range'].includes(scope);
  if (!isNetwork && scope !== scopeOf(value).toLowerCase()) return undefined;
  return {
    value,
    type,
    durationMs: Math.min(durationMs, durationMsMax),
    origin: shownAgentText(origin || usualOrigin, originCharsMax),
    scenario: shownAgentText(scenario ?? '', scenarioCharsMax),
  };
}

function isDecisionType(type: string): type is DecisionType {
  return (decisionTypes as readonly string[]).includes(type);
}

/** The usable decisions of one alert, and whether an operator made one of its decisions. */
interface CarriedDecisions {
  readonly decisions: WantedDecision[];
  isByHand: boolean;
}

/** @param own undefined: it carries no decisions. Undefined: a member is of a wrong type */
function alertOf(members: string, own: CarriedDecisions | undefined): Alert | undefined {
  let given: unknown;
  try {
    given = JSON.parse(members);
  } catch {
    return nothing;
  }
  const read = v.safeParse(alertMembers, given);
  if (!read.success) {
    const isIncomplete = read.issues.every(({ received }) => /^(undefined|null)$/.test(received));
    return isIncomplete ? nothing : undefined;
  }
  const { scenario, message, stop_at, simulated, remediation, source } = read.output;
  const name = shownAgentText(scenario ?? '', scenarioCharsMax);
  const decisions = own?.decisions.map((one) =>
    one.scenario === '' ? { ...one, scenario: name } : one,
  );
  const isAddress = source.scope.toLowerCase() === 'ip' && simulated !== true;
  return {
    ip: isAddress ? source.value || source.ip || undefined : undefined,
    categories: categoriesOfAlert(scenario ?? ''),
    comment: message || (scenario ?? ''),
    scenario: name,
    stoppedAt: stop_at || undefined,
    isRemark: remediation === false,
    decisions: simulated === true ? [] : decisions,
    isByHand: own?.isByHand === true,
  };
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Undefined: no array of alerts, more than `alertsMax`, or a member of a wrong type. */
export async function readAlerts(
  body: Uint8Array,
  scheduler: Scheduler,
): Promise<Alert[] | undefined> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const alerts: Alert[] = [];
  /** The brackets that are open at this place, the outermost first: one character for each level. */
  let inside = '';
  let members: string[] = [];
  let memberBytes = 0;
  /** The decisions of the current alert so far; undefined until its first one ends. */
  let carried: CarriedDecisions | undefined;
  /** True while the member is `decisions`; its element begins at `decisionAt`, −1 between two. */
  let isDecisions = false;
  let decisionAt = -1;
  /** The offsets at which the current member and its value begin; −1: not yet. */
  let memberAt = -1;
  let valueAt = -1;
  /** An element of the array is over: a comma or its end comes next. */
  let isElementOver = false;
  let isOver = false;
  let isWrong = false;

  function isListOrNull(from: number, end: number): boolean {
    let at = from;
    while (bytes[at] === 0x20 || (bytes[at]! >= 0x09 && bytes[at]! <= 0x0d)) at++;
    return (
      bytes[at] === openArray ||
      bytes.toString('latin1', at, Math.min(end, at + 8)).trim() === 'null'
    );
  }

  function endMember(end: number): void {
    if (isDecisions && !isListOrNull(valueAt, end)) isWrong = true;
    if (memberAt >= 0 && valueAt >= 0) {
      const name = bytes.toString('utf8', memberAt, valueAt - 1).trim();
      if (Object.hasOwn(alertMembers.entries, name.slice(1, -1))) {
        memberBytes += end - memberAt;
        if (memberBytes <= memberBytesMax) members.push(bytes.toString('utf8', memberAt, end));
      }
    }
    memberAt = -1;
    valueAt = -1;
    isDecisions = false;
  }

  /** The value begins behind the colon. */
  function beginValue(colonAt: number): void {
    valueAt = colonAt + 1;
    const isShort = memberAt >= 0 && colonAt - memberAt < 32;
    isDecisions = isShort && bytes.toString('latin1', memberAt, colonAt).trim() === '"decisions"';
  }

  function endDecision(end: number): void {
    carried ??= { decisions: [], isByHand: false };
    const isShort = end - decisionAt <= decisionBytesMax;
    const text = isShort ? bytes.toString('utf8', decisionAt, end) : '';
    const decision = decisionOf(text);
    if (decision !== undefined) carried.decisions.push(decision);
    if (byHand.test(text)) carried.isByHand = true;
    decisionAt = -1;
  }

  function endAlert(): void {
    const isShort = memberBytes <= memberBytesMax;
    const alert = isShort ? alertOf(`{${members.join(',')}}`, carried) : nothing;
    if (alert === undefined) isWrong = true;
    else alerts.push(alert);
    members = [];
    carried = undefined;
    memberBytes = 0;
    isElementOver = true;
  }

  /** The place behind a string that begins here; −1: it has no end. */
  function behindString(at: number): number {
    for (let i = at + 1; i < bytes.length; i++) {
      if (bytes[i] === backslash) i++;
      else if (bytes[i] === quote) return i + 1;
    }
    return -1;
  }

  let looked = 0;
  for (let at = bytes.subarray(0, 3).equals(byteOrderMark) ? 3 : 0; at < bytes.length; ) {
    if (at - looked >= bytesPerSlice) {
      looked = at;
      if (scheduler.shouldYield()) await scheduler.yield();
    }
    const byte = bytes[at]!;
    if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)) {
      at++;
      continue;
    }
    // Outside of the array, and between alerts, little may stand.
    if (isOver) return undefined;
    if (inside === '' ? byte !== openArray : inside === '[' && !isBetween(byte, isElementOver)) {
      return undefined;
    }
    if (byte === quote) {
      if (inside === '[{' && memberAt < 0) memberAt = at;
      at = behindString(at);
      if (at < 0) return undefined;
      continue;
    }
    if (byte === openArray || byte === openObject) {
      if (inside.length >= depthMax || (inside === '[' && alerts.length >= alertsMax)) {
        return undefined;
      }
      if (byte === openObject && isDecisions && inside === '[{[') decisionAt = at;
      inside += byte === openArray ? '[' : '{';
    } else if (byte === closeArray || byte === closeObject) {
      if (inside.at(-1) !== (byte === closeArray ? '[' : '{')) return undefined;
      if (inside === '[{') endMember(at);
      inside = inside.slice(0, -1);
      if (inside === '[{[' && decisionAt >= 0) endDecision(at + 1);
      if (inside === '[') endAlert();
      if (inside === '') isOver = true;
    } else if (inside === '[{' && byte === colon && valueAt < 0) beginValue(at);
    else if (inside === '[{' && byte === comma) endMember(at);
    else if (inside === '[') isElementOver = false;
    if (isWrong) return undefined;
    at++;
  }
  return isOver ? alerts : undefined;
}

const byteOrderMark = Buffer.from('\ufeff');

/** Returns whether the byte ends the array, or is the comma or the brace that is due before an alert. */
function isBetween(byte: number, isElementOver: boolean): boolean {
  return byte === closeArray || byte === (isElementOver ? comma : openObject);
}

/** More than any client shows on one screen. */
const alertsShownMax = 1_000;
const alertsShown = 100;

/** Which alerts are asked for. Undefined: any. */
interface AlertFilter {
  readonly limit: number;
  /** False: nothing of what is asked for can be here. */
  readonly isAny: boolean;
  readonly network: Prefix | undefined;
  /** True: what holds all of the network; false: what lies in it. */
  readonly contains: boolean | undefined;
  /** A country or a system, canonical. */
  readonly named: string | undefined;
  readonly scope: string | undefined;
  readonly origin: string | undefined;
  readonly type: string | undefined;
  readonly scenario: string | undefined;
  readonly kind: string | undefined;
  /** Came no earlier, and no later: milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
}

/** The text says what is wrong with the question. */
export function readAlertFilter(
  params: { get(name: string): string | undefined; readonly names: Iterable<string> },
  nowMs: number,
): AlertFilter | string {
  const unknown = [...params.names].find((name) => !alertFilters.includes(name));
  if (unknown !== undefined) return `${unknown.slice(0, 40)} is no filter of alerts`;
  const given = (name: string) => params.get(name) || undefined;
  const contains = given('contains') === undefined ? undefined : readContains(given('contains'));
  if (given('contains') !== undefined && contains === undefined) return badContains;
  const isActive = readContains(given('has_active_decision'));
  if (isActive === undefined) return badActive;
  const [since, until, created] = ['since', 'until', 'created_before'].map((name) => {
    const text = given(name);
    return text === undefined ? Number.NaN : readDuration(text);
  });
  if (since === undefined || until === undefined || created === undefined) {
    return 'since, until and created_before are durations, as 4h';
  }
  const ages = [until, created].filter((ms) => !Number.isNaN(ms));
  const limit = Number(given('limit') ?? alertsShown);
  if (!Number.isInteger(limit) || limit < 0) return 'limit is a whole number';
  const wanted = given('ip') ?? given('range') ?? given('value');
  const network = wanted === undefined ? undefined : parseNetwork(wanted);
  const named = wanted === undefined || network !== undefined ? undefined : canonicalValue(wanted);
  const isNone = wanted !== undefined && network === undefined && named === undefined;
  const isNetwork = given('ip') !== undefined || given('range') !== undefined;
  if (isNetwork && network === undefined) return badNetwork;
  return {
    isAny: !isNone && isActive,
    network,
    contains,
    named,
    scope: given('scope')?.toLowerCase(),
    origin: given('origin')?.toLowerCase(),
    type: given('decision_type')?.toLowerCase(),
    scenario: given('scenario'),
    kind: given('kind')?.toLowerCase(),
    limit: limit === 0 ? alertsShownMax : Math.min(limit, alertsShownMax),
    since: Number.isNaN(since) ? Number.NEGATIVE_INFINITY : nowMs - since,
    until: ages.length === 0 ? Number.POSITIVE_INFINITY : nowMs - Math.max(...ages),
  };
}

const badActive = 'has_active_decision is true or false';

const filtersOfDecisions = ['contains', 'ip', 'origin', 'range', 'scenario', 'scope', 'value'];
const filtersOfAlerts = ['decision_type', 'has_active_decision', 'limit', 'since', 'until'];
/** Some have no meaning here and change nothing: simulations, and alerts from elsewhere, are not kept. */
const alertFilters = [
  ...filtersOfDecisions,
  ...filtersOfAlerts,
  'created_before',
  'kind',
  'simulated',
  'include_capi',
  'with_decisions',
  'sort',
];

/**
 * Reads which decisions go with alerts that are deleted: as those of decisions, an unknown filter must not mean all.
 * The text says what is wrong.
 */
export function readAlertsToDelete(
  params: { get(name: string): string | undefined; readonly names: Iterable<string> },
  nowMs: number,
): DecisionMatcher | string {
  const names = [...params.names];
  const unknown = names.find((name) => ![...filtersOfDecisions, ...filtersOfAlerts].includes(name));
  if (unknown !== undefined) return `${unknown.slice(0, 40)} is no filter of alerts`;
  const empty = names.find((name) => !params.get(name)?.trim());
  if (empty !== undefined) return `${empty} is empty`;
  if (Number(params.get('limit') ?? 0) !== 0) return 'limit is 0 where alerts are deleted';
  const read = readAlertFilter(params, nowMs);
  if (typeof read === 'string') return read;
  const matches = readDecisionFilter({
    get: (name) => params.get(name === 'type' ? 'decision_type' : name),
    names: names.filter((name) => filtersOfDecisions.includes(name)),
  });
  if (typeof matches === 'string') return matches;
  const { isAny, since, until } = read;
  return (value, decision) =>
    isAny && decision.atMs >= since && decision.atMs <= until && matches(value, decision);
}

export function alertWithId(
  own: Pick<AgentDecisions, 'active'> | undefined,
  id: number,
  nowMs: number,
): string | undefined {
  for (const [value, ban] of own?.active ?? []) {
    if (ban.untilMs > nowMs && idOf(value) === id) return alertText(value, ban, nowMs);
  }
  return undefined;
}

/** A JSON array, or exactly `null` when there is none. */
export function alertsText(
  own: Pick<AgentDecisions, 'active'> | undefined,
  filter: AlertFilter,
  nowMs: number,
): string {
  const { isAny, network, contains, named, scope, origin, type, scenario, since, until } = filter;
  const { kind, limit } = filter;
  const texts: string[] = [];
  // The oldest comes first.
  for (const [value, ban] of [...(own?.active ?? [])].reverse()) {
    if (!isAny || texts.length >= limit) break;
    const { atMs } = ban;
    if (ban.untilMs <= nowMs || atMs < since || atMs > until) continue;
    const attribution = byAgent(ban);
    if (scenario !== undefined && attribution.scenario !== scenario) continue;
    if (scope !== undefined && scopeOf(value).toLowerCase() !== scope) continue;
    if (origin !== undefined && attribution.origin.toLowerCase() !== origin) continue;
    if (type !== undefined && attribution.type !== type) continue;
    if (kind !== undefined && kindOfAlert(attribution.origin) !== kind) continue;
    if (named !== undefined && named !== value) continue;
    const prefix = parseNetwork(value);
    if (network !== undefined) {
      if (prefix === undefined) continue;
      const matches =
        (contains !== false && coversAddress(prefix, network)) ||
        (contains !== true && coversAddress(network, prefix));
      if (!matches) continue;
    }
    texts.push(alertText(value, ban, nowMs));
  }
  return texts.length === 0 ? 'null' : `[${texts.join(',')}]`;
}

/** Returns what made an alert. Alerts of a web firewall carry no decision, so none of them is kept. */
function kindOfAlert(origin: string): 'cscli' | 'crowdsec' {
  return origin.toLowerCase().startsWith('cscli') ? 'cscli' : 'crowdsec';
}

type Ban = AgentDecisions['active'] extends ReadonlyMap<string, infer One> ? One : never;

function alertText(value: string, ban: Ban, nowMs: number): string {
  const attribution = byAgent(ban);
  const time = new Date(ban.atMs).toISOString();
  const scope = scopeOf(value);
  const shown = shownValue(value, scope);
  const ofScope = { Ip: { ip: value }, Range: { range: value }, Country: { cn: value } };
  const source = {
    scope,
    value: shown,
    ...(scope === 'AS' ? { as_number: shown } : ofScope[scope]),
  };
  // `cscli decisions list` ends where it is missing.
  const simulated = ',"simulated":false}';
  const row = decisionText(value, durationText(ban.untilMs - nowMs), attribution);
  const decision = `${row.slice(0, -1)}${simulated}`;
  const alert = {
    id: idOf(value),
    created_at: time,
    start_at: time,
    stop_at: time,
    scenario: attribution.scenario,
    scenario_version: '',
    scenario_hash: '',
    message: `${scope} ${shown} performed '${attribution.scenario}'`,
    events_count: 1,
    capacity: 0,
    kind: kindOfAlert(attribution.origin),
    leakspeed: '',
    simulated: false,
    remediation: true,
    source,
    events: [],
    meta: [],
  };
  return `${JSON.stringify(alert).slice(0, -1)},"decisions":[${decision}]}`;
}
