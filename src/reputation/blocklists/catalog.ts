/**
 * The feeds there are, what may be asked of each, and the names of their variants: the whole of
 * what is served. Every variant is built ahead, so their number here is the number in memory.
 */

import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { FrameName, LineStyle } from './pieces/lines.ts';
import type { RecordStyle } from './pieces/records.ts';

export const scoreTiers = [75, 85, 95] as const;
export type ScoreTier = (typeof scoreTiers)[number];

interface FeedBase {
  /** File name under /feeds/. */
  readonly name: string;
  readonly title: string;
  readonly type: string;
  readonly families: readonly (4 | 6)[];
}

export interface LinesFeed extends FeedBase {
  readonly kind: 'lines';
  readonly content: 'blocklist' | 'exits';
  readonly style: LineStyle;
  readonly frame: FrameName;
  readonly tiers: boolean;
  readonly aggregates: boolean;
}

export interface RecordsFeed extends FeedBase {
  readonly kind: 'records';
  readonly style: RecordStyle;
}

export type Feed = LinesFeed | RecordsFeed;

const plainText = 'text/plain; charset=utf-8';
const both = [4, 6] as const;
const firewall = {
  kind: 'lines',
  content: 'blocklist',
  tiers: false,
  aggregates: true,
  title: 'Portcullis blocklist',
  type: plainText,
} as const;

export const feeds: readonly Feed[] = [
  {
    ...firewall,
    name: 'blocklist.txt',
    style: 'plain',
    frame: 'text',
    families: both,
    tiers: true,
  },
  {
    kind: 'records',
    name: 'blocklist.csv',
    title: 'Portcullis blocklist',
    type: 'text/csv; charset=utf-8; header=present',
    families: both,
    style: 'csv',
  },
  {
    kind: 'records',
    name: 'blocklist.json',
    title: 'Portcullis blocklist',
    type: 'application/json',
    families: both,
    style: 'json',
  },
  {
    ...firewall,
    name: 'anon-exits.txt',
    title: 'Exit nodes of anonymising networks',
    content: 'exits',
    style: 'plain',
    frame: 'text',
    families: both,
  },
  { ...firewall, name: 'blocklist.ipset', style: 'ipset', frame: 'ipset', families: both },
  { ...firewall, name: 'blocklist.nft', style: 'nft', frame: 'nft', families: both },
  { ...firewall, name: 'blocklist.haproxy', style: 'plain', frame: 'text', families: both },
  { ...firewall, name: 'blocklist.nginx', style: 'nginx', frame: 'text', families: both },
  { ...firewall, name: 'blocklist.geo', style: 'geo', frame: 'text', families: both },
  { ...firewall, name: 'blocklist.rsc', style: 'mikrotik', frame: 'mikrotik', families: both },
  { ...firewall, name: 'blocklist.zone', style: 'plain', frame: 'rbldnsd', families: [4] },
  { ...firewall, name: 'blocklist.zone6', style: 'plain', frame: 'rbldnsd', families: [6] },
  { ...firewall, name: 'blocklist.rpz', style: 'rpz', frame: 'rpz', families: both },
];

export interface Choice {
  readonly scoreMin: ScoreTier;
  /** Undefined: all that the feed has. */
  readonly family: 4 | 6 | undefined;
  readonly aggregated: boolean;
}

/** Name of a variant: `blocklist.txt 75 4 a`; for the store and the metrics. */
export function variantName(feed: Feed, { scoreMin, family, aggregated }: Choice): string {
  return `${feed.name} ${scoreMin}${family === undefined ? '' : ` ${family}`}${aggregated ? ' a' : ''}`;
}

export function choicesOf(feed: Feed): Choice[] {
  const tiers = feed.kind === 'records' || feed.tiers ? scoreTiers : ([75] as const);
  const families = feed.families.length === 1 ? [undefined] : [undefined, 4 as const, 6 as const];
  const aggregated = feed.kind === 'lines' && feed.aggregates ? [false, true] : [false];
  return tiers.flatMap((scoreMin) =>
    families.flatMap((family) => aggregated.map((a) => ({ scoreMin, family, aggregated: a }))),
  );
}

export function familiesOf(feed: Feed, { family }: Choice): readonly (4 | 6)[] {
  return family === undefined ? feed.families : [family];
}

export const parameterNames = ['ipVersion', 'minimumScore', 'aggregate'] as const;

/** What a request asks for; a value or a combination that isn't there names its parameter. */
export function readChoice(
  feed: Feed,
  given: { get(name: string): string | undefined; readonly names: readonly string[] },
): Result<Choice> {
  const stranger = given.names.find((name) => !parameterNames.some((known) => known === name));
  if (stranger !== undefined) {
    return refuse('A feed takes ipVersion, minimumScore and aggregate, nothing else.', stranger);
  }
  const version = given.get('ipVersion');
  if (version !== undefined && version !== '4' && version !== '6') {
    return refuse('The ipVersion parameter must be 4 or 6.', 'ipVersion');
  }
  if (version !== undefined && !feed.families.includes(version === '4' ? 4 : 6)) {
    return refuse(`${feed.name} holds IPv${feed.families[0]} alone.`, 'ipVersion');
  }
  const score = given.get('minimumScore');
  const scoreMin = scoreTiers.find((tier) => String(tier) === (score ?? '75'));
  if (scoreMin === undefined) {
    return refuse('The minimumScore parameter must be 75, 85 or 95.', 'minimumScore');
  }
  if (scoreMin !== 75 && feed.kind === 'lines' && !feed.tiers) {
    return refuse(`${feed.name} has no minimumScore; .txt, .csv and .json do.`, 'minimumScore');
  }
  const aggregate = given.get('aggregate');
  if (aggregate !== undefined && aggregate !== '0' && aggregate !== '1') {
    return refuse('The aggregate parameter must be 0 or 1.', 'aggregate');
  }
  if (aggregate === '1' && (feed.kind === 'records' || !feed.aggregates)) {
    return refuse(
      `${feed.name} can't be aggregated: it says something of each entry.`,
      'aggregate',
    );
  }
  return ok({
    scoreMin,
    family:
      version === undefined || feed.families.length === 1 ? undefined : (Number(version) as 4 | 6),
    aggregated: aggregate === '1',
  });
}

function refuse(detail: string, parameter: string): Failure {
  return fail('invalid_parameter', detail, parameter);
}
