/**
 * The feeds there are, what may be asked of each, and the names of their variants: the whole of
 * what is served. Every variant is built ahead, so their number here is the number in memory.
 */

import * as v from 'valibot';
import { isMark } from '../../access/marks.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { about, oneOf, option, preset, queryReader } from '../../core/schema.ts';
import type { IpFamily } from '../../ip/address.ts';
import type { FrameName, LineStyle } from './pieces/lines.ts';
import type { RecordStyle } from './pieces/records.ts';

/** Scores that lists are made from. */
export const scoreTiers = [75, 85, 95] as const;
export type ScoreTier = (typeof scoreTiers)[number];

/** The most entries of a device or a service that takes so many: the worst of the list. */
export const entryLimits = [10_000, 50_000, 130_000] as const;
type EntryLimit = (typeof entryLimits)[number];

interface FeedBase {
  /** File name under /feeds/. */
  readonly name: string;
  readonly title: string;
  readonly type: string;
  readonly families: readonly IpFamily[];
}

export interface LinesFeed extends FeedBase {
  readonly kind: 'lines';
  readonly content: 'blocklist' | 'exits';
  readonly style: LineStyle;
  readonly frame: FrameName;
  readonly tiers: boolean;
  /** Served with `limit`, too. */
  readonly limits: boolean;
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
  limits: false,
  aggregates: true,
  title: 'Portcullis blocklist',
  type: plainText,
} as const;

/** The feeds of the screens of /connect on which a least score may be chosen. */
const tiered = { ...firewall, tiers: true } as const;

export const feeds: readonly Feed[] = [
  {
    ...firewall,
    name: 'blocklist.txt',
    style: 'plain',
    frame: 'text',
    families: both,
    tiers: true,
    limits: true,
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
  { ...tiered, name: 'blocklist.ipset', style: 'ipset', frame: 'ipset', families: both },
  { ...tiered, name: 'blocklist.nft', style: 'nft', frame: 'nft', families: both },
  { ...tiered, name: 'blocklist.haproxy', style: 'plain', frame: 'text', families: both },
  { ...firewall, name: 'blocklist.nginx', style: 'nginx', frame: 'text', families: both },
  { ...firewall, name: 'blocklist.geo', style: 'geo', frame: 'text', families: both },
  { ...tiered, name: 'blocklist.rsc', style: 'mikrotik', frame: 'mikrotik', families: both },
  { ...firewall, name: 'blocklist.zone', style: 'plain', frame: 'rbldnsd', families: [4] },
  { ...firewall, name: 'blocklist.zone6', style: 'plain', frame: 'rbldnsd', families: [6] },
  { ...firewall, name: 'blocklist.rpz', style: 'rpz', frame: 'rpz', families: both },
];

export interface Choice {
  readonly scoreMin: ScoreTier;
  /** Undefined: all that the feed has. */
  readonly family: IpFamily | undefined;
  readonly aggregated: boolean;
  /** Undefined: all that there are. */
  readonly limit?: EntryLimit | undefined;
}

/** Name of a variant: `blocklist.txt 75 4 a`; for the store and the metrics. */
export function variantName(feed: Feed, { scoreMin, family, aggregated, limit }: Choice): string {
  const most = limit === undefined ? '' : ` worst ${limit}`;
  return `${feed.name} ${scoreMin}${family === undefined ? '' : ` ${family}`}${aggregated ? ' a' : ''}${most}`;
}

export function choicesOf(feed: Feed): Choice[] {
  const tiers = feed.kind === 'records' || feed.tiers ? scoreTiers : ([75] as const);
  const families = feed.families.length === 1 ? [undefined] : [undefined, 4 as const, 6 as const];
  const aggregated = feed.kind === 'lines' && feed.aggregates ? [false, true] : [false];
  const all: Choice[] = tiers.flatMap((scoreMin) =>
    families.flatMap((family) => aggregated.map((a) => ({ scoreMin, family, aggregated: a }))),
  );
  if (feed.kind === 'records' || !feed.limits) return all;
  const limited = entryLimits.flatMap((limit) =>
    families.map((family): Choice => ({ scoreMin: 75, family, aggregated: false, limit })),
  );
  return [...all, ...limited];
}

export function familiesOf(feed: Feed, { family }: Choice): readonly IpFamily[] {
  return family === undefined ? feed.families : [family];
}

const isMarkOfScreen = v.check(isMark, 'The mark parameter must be one of a screen of /connect.');

/** The parameters of every feed that has such variants. */
export const feedParameters = {
  ipVersion: option(oneOf([4, 6], 'The ipVersion parameter must be 4 or 6.'), 'One family alone.'),
  minimumScore: preset(
    about(oneOf(scoreTiers, 'The minimumScore parameter must be 75, 85 or 95.'), 'Least score.'),
    75,
  ),
  mark: option(
    v.pipe(v.string(), isMarkOfScreen),
    'Of a screen of /connect, which it tells of this request; changes no answer.',
  ),
};
const linesParameters = {
  ...feedParameters,
  aggregate: v.optional(oneOf([0, 1], 'The aggregate parameter must be 0 or 1.')),
  limit: v.optional(
    oneOf(entryLimits, `The limit parameter must be one of ${entryLimits.join(', ')}.`),
  ),
};
const readParameters = queryReader(linesParameters);

/** Reads the variant that a request asks for. The error names the parameter that does not exist or does not fit. */
export function readChoice(
  feed: Feed,
  given: { all(name: string): readonly string[]; readonly names: readonly string[] },
): Result<Choice> {
  const unexpected = given.names.find((name) => !Object.hasOwn(linesParameters, name));
  if (unexpected !== undefined) {
    return refuse(
      'A feed takes ipVersion, minimumScore, aggregate, limit and mark, nothing else.',
      unexpected,
    );
  }
  const asked = readParameters(given);
  if (!asked.ok) return asked;
  const { ipVersion, minimumScore: scoreMin, aggregate, limit } = asked.value;
  if (ipVersion !== undefined && !feed.families.includes(ipVersion)) {
    return refuse(`${feed.name} holds IPv${feed.families[0]} alone.`, 'ipVersion');
  }
  if (scoreMin !== 75 && feed.kind === 'lines' && !feed.tiers) {
    return refuse(`${feed.name} has no minimumScore; ${tieredNames()} do.`, 'minimumScore');
  }
  if (aggregate === 1 && (feed.kind === 'records' || !feed.aggregates)) {
    return refuse(
      `${feed.name} can't be aggregated: it says something of each entry.`,
      'aggregate',
    );
  }
  if (limit !== undefined && (feed.kind === 'records' || !feed.limits)) {
    return refuse(`${feed.name} has no limit; blocklist.txt does.`, 'limit');
  }
  if (limit !== undefined && (scoreMin !== 75 || aggregate === 1)) {
    return refuse('A limit stands alone or with ipVersion: it takes the worst of all.', 'limit');
  }
  return ok({
    scoreMin,
    family: feed.families.length === 1 ? undefined : ipVersion,
    aggregated: aggregate === 1,
    limit,
  });
}

function tieredNames(): string {
  const names = feeds.filter((feed) => feed.kind === 'records' || feed.tiers);
  return names.map(({ name }) => name.slice(name.indexOf('.'))).join(', ');
}

function refuse(detail: string, parameter: string): Failure {
  return fail('invalid_parameter', detail, parameter);
}
