/** The content of each variant of each feed: rows and frame, without a date yet. */

import {
  type Choice,
  choicesOf,
  type Feed,
  familiesOf,
  feeds,
  type LinesFeed,
  scoreTiers,
} from '../catalog.ts';
import { type FrameFacts, frames, type Imprint } from '../pieces/lines.ts';
import {
  bothTwins,
  type KnownPiece,
  largeFrom,
  type PieceMaker,
  plainTwins,
  type Twins,
} from '../pieces/pieces.ts';
import { recordFrame, type Segment, segmentsByScore, separators } from '../pieces/records.ts';
import type { Collected } from './collect.ts';
import {
  aggregate,
  filterRows,
  flagsOf,
  ROW,
  type Rows,
  rowCount,
  rowFlags,
  scoreOf,
  splitFamilies,
} from './rows.ts';

const noTwins: Twins = { gzip: false, brotli: false };

export const scoreMin: number = scoreTiers[0];

export interface Lists {
  readonly block: Rows;
  readonly exits: Rows;
  readonly dropped: number;
}

export interface Content {
  readonly feed: Feed;
  readonly choice: Choice;
  readonly entries: number;
  /** Frame and lines in turn; the frame depends on the date. */
  readonly frame: (changedAt: string, version: number) => readonly string[];
  /** Stand between the texts of the frame, one fewer than these. */
  readonly pieces: readonly (readonly KnownPiece[])[];
}

export function listsOf({ rows, dropped }: Collected, entriesMax: number): Lists {
  const malicious = filterRows(rows, (at) => scoreOf(rows, at) >= scoreMin);
  const block = highest(malicious, entriesMax);
  const exits = filterRows(rows, (at) => (flagsOf(rows, at) & rowFlags.exit) !== 0);
  const left = rowCount(malicious) - rowCount(block);
  return { block, exits: exits.subarray(0, entriesMax * ROW), dropped: dropped + left };
}

/** At most `max` rows: the highest scores, and of the last score the first addresses. */
function highest(rows: Rows, max: number): Rows {
  if (rowCount(rows) <= max) return rows;
  const counts = new Uint32Array(101);
  for (let at = 0; at < rows.length; at += ROW) counts[scoreOf(rows, at)]! += 1;
  let score = 100;
  let left = max;
  while (counts[score]! <= left) left -= counts[score--]!;
  // Rows of the lowest score are kept up to this one.
  let end = 0;
  for (; left > 0; end += ROW) if (scoreOf(rows, end) === score) left--;
  return filterRows(rows, (at) => {
    return scoreOf(rows, at) > score || (scoreOf(rows, at) === score && at < end);
  });
}

export async function contentsOf(
  lists: Lists,
  maker: PieceMaker,
  imprint: Imprint,
): Promise<Content[]> {
  const made: Content[] = [];
  const byTier = new Map(
    scoreTiers.map((tier) => [
      tier,
      splitFamilies(filterRows(lists.block, (at) => scoreOf(lists.block, at) >= tier)),
    ]),
  );
  const listOf = createListChoice(byTier, splitFamilies(lists.exits), lists.block);
  const segments = segmentsByScore(lists.block, byTier.get(75)!.four.length, scoreMin);
  for (const feed of feeds) {
    for (const choice of choicesOf(feed)) {
      made.push(
        feed.kind === 'lines'
          ? await linesContent(feed, choice, listOf, maker, imprint)
          : await recordsContent(feed, choice, segments, maker),
      );
    }
  }
  return made;
}

type Split = ReturnType<typeof splitFamilies>;
type ListOf = (feed: LinesFeed, choice: Choice, family: 4 | 6) => Rows;

/** Aggregates each list once. */
function createListChoice(byTier: ReadonlyMap<number, Split>, exits: Split, block: Rows): ListOf {
  const aggregated = new Map<Rows, Rows>();
  const whole = byTier.get(scoreMin)!;
  /** By limit and family: the worst of both, or of one. */
  const limited = new Map<string, Split>();

  /** The same rows where the limit cuts nothing off: their pieces are made once. */
  function worst(limit: number, family: 4 | 6 | undefined): Split {
    const name = `${limit} ${family}`;
    const known = limited.get(name);
    if (known !== undefined) return known;
    const isCut = rowCount(block) > limit;
    const made =
      family !== undefined
        ? { four: highest(whole.four, limit), six: highest(whole.six, limit) }
        : isCut
          ? splitFamilies(highest(block, limit))
          : whole;
    limited.set(name, made);
    return made;
  }

  return (feed, choice, family) => {
    const { limit, scoreMin: tier } = choice;
    const ofTier = limit === undefined ? byTier.get(tier)! : worst(limit, choice.family);
    const split = feed.content === 'exits' ? exits : ofTier;
    const rows = family === 4 ? split.four : split.six;
    const isSpared = feed.style !== 'plain' && rowCount(rows) > largeFrom;
    if (!choice.aggregated && !isSpared) return rows;
    const known = aggregated.get(rows) ?? aggregate(rows);
    aggregated.set(rows, known);
    return known;
  };
}

/**
 * Compressing takes most of a build's time. Of a large list, the lines that other feeds have in a
 * shorter form, and those made for devices that hold no such list, go out as they are (and the
 * former always aggregated, which is the same addresses in fewer lines); so do the worst of such a list, in
 * each shorter form. Its plain lines and its records have a gzip twin and no brotli one.
 */
function twinsOf(feed: LinesFeed, choice: Choice, rows: Rows, whole: Rows): Twins {
  const longest = feed.style === 'plain' ? rows : whole;
  if (rowCount(longest) <= largeFrom) return bothTwins;
  return feed.style !== 'plain' || choice.aggregated ? noTwins : plainTwins(rows);
}

async function linesContent(
  feed: LinesFeed,
  choice: Choice,
  listOf: ListOf,
  maker: PieceMaker,
  imprint: Imprint,
): Promise<Content> {
  const families = familiesOf(feed, choice);
  const counts = { 4: 0, 6: 0 };
  const pieces: KnownPiece[][] = [];
  for (const family of families) {
    const rows = listOf(feed, choice, family);
    counts[family] = rowCount(rows);
    const whole = listOf(feed, { ...choice, scoreMin: scoreTiers[0] }, family);
    const twins = twinsOf(feed, choice, rows, whole);
    pieces.push(await maker.lines(rows, feed.style, family, twins));
  }
  function frame(changedAt: string, version: number): string[] {
    const isBlocklist = feed.content === 'blocklist';
    const facts: FrameFacts = {
      title: feed.title,
      changedAt,
      version: isBlocklist ? version : undefined,
      families,
      counts,
      scoreMin: isBlocklist ? choice.scoreMin : undefined,
      aggregated: choice.aggregated,
      ...imprint,
    };
    const made = frames[feed.frame](facts);
    const texts = [made.head];
    for (const family of families) {
      texts[texts.length - 1] += made.before(family);
      texts.push(made.behind(family));
    }
    texts[texts.length - 1] += made.foot;
    return texts;
  }
  return { feed, choice, entries: counts[4] + counts[6], frame, pieces };
}

async function recordsContent(
  feed: Extract<Feed, { kind: 'records' }>,
  choice: Choice,
  segments: readonly Segment[],
  maker: PieceMaker,
): Promise<Content> {
  const families = familiesOf(feed, choice);
  const separator = await maker.text(separators[feed.style]);
  const isLarge = segments.reduce((sum, { rows }) => sum + rowCount(rows), 0) > largeFrom;
  const twins = { gzip: true, brotli: !isLarge };
  const wanted = segments.filter(
    ({ score, family }) => score >= choice.scoreMin && families.includes(family),
  );
  const pieces: KnownPiece[] = [];
  let entries = 0;
  for (const segment of wanted) {
    if (pieces.length > 0) pieces.push(separator);
    pieces.push(...(await maker.records(segment, feed.style, twins)));
    entries += rowCount(segment.rows);
  }
  function frame(changedAt: string, version: number): string[] {
    const facts = { changedAt, version, count: entries, scoreMin: choice.scoreMin };
    const { head, foot } = recordFrame(feed.style, facts);
    return [head, foot];
  }
  return { feed, choice, entries, frame, pieces: [pieces] };
}
