/**
 * The alerts that an account's agents sent, as they are read back: those whose ban lasts, the newest first.
 * What is told of each is what its ban holds: address, scenario, and when it came.
 */

import { formatIp, parseIp } from '../../ip/address.ts';
import { contains, type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { decisionText, durationText, idOf, saidByAgent } from '../bouncers/decisions.ts';
import type { OwnDecisions } from '../bouncers/own-bans.ts';
import { banMs } from './bans.ts';

/** More than any client shows on one screen. */
export const alertsShownMax = 1_000;
const alertsShown = 100;

/** Which alerts are asked for. Undefined: any. */
interface AlertFilter {
  readonly limit: number;
  /** False: nothing of what is asked for can be here. */
  readonly isAny: boolean;
  readonly network: Prefix | undefined;
  readonly scenario: string | undefined;
  /** Came no earlier, and no later: milliseconds since 1970. */
  readonly since: number;
  readonly until: number;
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const partOfDuration = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;
const duration = /^-?(?:\d+(?:\.\d+)?(?:ms|s|m|h|d)){1,8}$/;

/** Milliseconds of `4h`, `1h30m` or `7d`; undefined: it is none. */
function readDuration(text: string): number | undefined {
  if (!duration.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(partOfDuration)) {
    sum += Number(number) * unitMs[unit!]!;
  }
  return text.startsWith('-') ? -sum : sum;
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
  const isIp = (given('scope') ?? 'ip').toLowerCase() === 'ip';
  const place = given('ip') ?? given('range') ?? given('value');
  const network = place === undefined ? undefined : parsePrefix(place, 'mask');
  const isNamed = given('ip') !== undefined || given('range') !== undefined;
  if (isNamed && network?.ok === false) return 'ip or range must be an address or a network';
  const isAny =
    isIp &&
    network?.ok !== false &&
    (given('origin') ?? 'crowdsec') === 'crowdsec' &&
    (given('decision_type') ?? 'ban') === 'ban' &&
    given('has_active_decision') !== 'false';
  return {
    isAny,
    network: network?.ok ? network.value : undefined,
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
  const words = new Uint32Array(4);
  const { isAny, network, scenario, since, until, limit } = filter;
  const told: string[] = [];
  // The oldest comes first.
  for (const [value, ban] of [...(own?.active ?? [])].reverse()) {
    if (!isAny || told.length >= limit) break;
    const at = ban.untilMs - banMs;
    if (ban.untilMs <= nowMs || at < since || at > until) continue;
    const said = saidByAgent(ban.scenario);
    if (scenario !== undefined && said.scenario !== scenario) continue;
    const family = parseIp(value, words);
    if (family === 0 || (network !== undefined && !contains(network, family, words))) continue;
    const time = new Date(at).toISOString();
    const decision = decisionText(value, durationText(ban.untilMs - nowMs), said);
    const alert = {
      id: idOf(value),
      created_at: time,
      start_at: time,
      stop_at: time,
      scenario: said.scenario,
      scenario_version: '',
      scenario_hash: '',
      message: `Ip ${value} performed '${said.scenario}'`,
      events_count: 1,
      capacity: 0,
      leakspeed: '',
      simulated: false,
      remediation: true,
      source: { scope: 'Ip', value, ip: formatIp(family, words) },
      events: [],
      meta: [],
    };
    told.push(`${JSON.stringify(alert).slice(0, -1)},"decisions":[${decision}]}`);
  }
  return told.length === 0 ? 'null' : `[${told.join(',')}]`;
}
