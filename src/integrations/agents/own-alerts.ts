/**
 * The alerts that an account's agents sent, as they are read back: those whose decision lasts, the
 * newest first. Each is shown as far as its decision holds it: whom it is about, scenario, and when
 * it came.
 */

import { formatIp } from '../../ip/address.ts';
import { type Prefix, widthOf } from '../../ip/prefix.ts';
import { decisionText, durationText, idOf, saidByAgent } from '../bouncers/decisions.ts';
import type { OwnDecisions } from '../bouncers/own-bans.ts';
import { readDuration } from './decision.ts';
import { covers, networkOf, scopeOf } from './decision-filter.ts';

/** More than any client shows on one screen. */
export const alertsShownMax = 1_000;
const alertsShown = 100;

/** Which alerts are asked for. Undefined: any. */
interface AlertFilter {
  readonly limit: number;
  /** False: nothing of what is asked for can be here. */
  readonly isAny: boolean;
  readonly network: Prefix | undefined;
  readonly scope: string | undefined;
  readonly origin: string | undefined;
  readonly type: string | undefined;
  readonly scenario: string | undefined;
  /** Came no earlier, and no later: milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
}

/** The text says what is wrong with the question. */
export function readAlertFilter(
  params: { get(name: string): string | undefined },
  nowMs: number,
): AlertFilter | string {
  const given = (name: string) => params.get(name) || undefined;
  const [since, until] = ['since', 'until'].map((name) => {
    const text = given(name);
    return text === undefined ? Number.NaN : readDuration(text);
  });
  if (since === undefined || until === undefined) return 'since and until are durations, as 4h';
  const limit = Number(given('limit') ?? alertsShown);
  if (!Number.isInteger(limit) || limit < 0) return 'limit is a whole number';
  const place = given('ip') ?? given('range') ?? given('value');
  const network = place === undefined ? undefined : networkOf(place);
  const isNone = place !== undefined && network === undefined;
  const isNamed = given('ip') !== undefined || given('range') !== undefined;
  if (isNamed && isNone) return 'ip or range must be an address or a network';
  return {
    isAny: !isNone && given('has_active_decision') !== 'false',
    network,
    scope: given('scope')?.toLowerCase(),
    origin: given('origin')?.toLowerCase(),
    type: given('decision_type')?.toLowerCase(),
    scenario: given('scenario'),
    limit: limit === 0 ? alertsShownMax : Math.min(limit, alertsShownMax),
    since: Number.isNaN(since) ? Number.NEGATIVE_INFINITY : nowMs - since,
    until: Number.isNaN(until) ? Number.POSITIVE_INFINITY : nowMs - until,
  };
}

/** A JSON array, or exactly `null` when there is none. */
export function alertsText(
  own: Pick<OwnDecisions, 'active'> | undefined,
  filter: AlertFilter,
  nowMs: number,
): string {
  const { isAny, network, scope, origin, type, scenario, since, until, limit } = filter;
  const told: string[] = [];
  // The oldest comes first.
  for (const [value, ban] of [...(own?.active ?? [])].reverse()) {
    if (!isAny || told.length >= limit) break;
    const { atMs } = ban;
    if (ban.untilMs <= nowMs || atMs < since || atMs > until) continue;
    const said = saidByAgent(ban);
    if (scenario !== undefined && said.scenario !== scenario) continue;
    if (scope !== undefined && scopeOf(value).toLowerCase() !== scope) continue;
    if (origin !== undefined && said.origin.toLowerCase() !== origin) continue;
    if (type !== undefined && said.type !== type) continue;
    const prefix = networkOf(value);
    if (prefix === undefined) continue;
    if (network !== undefined && !covers(network, prefix) && !covers(prefix, network)) continue;
    told.push(alertText(value, prefix, ban, nowMs));
  }
  return told.length === 0 ? 'null' : `[${told.join(',')}]`;
}

type Ban = OwnDecisions['active'] extends ReadonlyMap<string, infer One> ? One : never;

function alertText(value: string, prefix: Prefix, ban: Ban, nowMs: number): string {
  const said = saidByAgent(ban);
  const time = new Date(ban.atMs).toISOString();
  const scope = scopeOf(value);
  const { family, words, length } = prefix;
  const place =
    length === widthOf(family)
      ? { scope, value, ip: formatIp(family, words) }
      : { scope, value, range: value };
  // `cscli decisions list` ends where it is missing.
  const simulated = ',"simulated":false}';
  const row = decisionText(value, durationText(ban.untilMs - nowMs), said);
  const decision = `${row.slice(0, -1)}${simulated}`;
  const alert = {
    id: idOf(value),
    created_at: time,
    start_at: time,
    stop_at: time,
    scenario: said.scenario,
    scenario_version: '',
    scenario_hash: '',
    message: `${scope} ${value} performed '${said.scenario}'`,
    events_count: 1,
    capacity: 0,
    leakspeed: '',
    simulated: false,
    remediation: true,
    source: place,
    events: [],
    meta: [],
  };
  return `${JSON.stringify(alert).slice(0, -1)},"decisions":[${decision}]}`;
}
