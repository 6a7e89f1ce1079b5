/** Random rows rendered in every format parse back to the same rows, in pieces of any size. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPrefix, maskWords } from '../../../../src/ip/prefix.ts';
import { ipsumScore } from '../../../../src/reputation/lists/formats/plain.ts';
import type { ListFormatName } from '../../../../src/reputation/lists/import/parse.ts';
import {
  below,
  groupsToWords,
  pick,
  quadText,
  randomGroups,
  randomWord,
  type Seeded,
  seeded,
  spellGroups,
} from '../../../support/reputation/addresses.ts';
import { parseText } from '../../../support/reputation/lists.ts';

interface RandomRow {
  /** One spelling of the prefix. */
  readonly text: string;
  readonly canonical: string;
  readonly score: number;
}

/** A row in 32.0.0.0/4 or 2a00::/12: public throughout. */
function randomRow(random: Seeded): RandomRow {
  const score = below(random, 101);
  if (random.next() < 0.5) {
    const words = Uint32Array.of((0x2000_0000 | (randomWord(random) >>> 4)) >>> 0, 0, 0, 0);
    const length = random.next() < 0.7 ? 32 : 8 + below(random, 25);
    maskWords(4, words, length);
    const address = quadText(words[0]!);
    const text = length === 32 ? address : `${address}/${length}`;
    return { text, canonical: formatPrefix({ family: 4, words, length }), score };
  }
  const groups = randomGroups(random);
  groups[0] = 0x2a00 | (groups[0]! & 0xf);
  const length = random.next() < 0.7 ? 128 : 16 + below(random, 113);
  const words = groupsToWords(groups);
  maskWords(6, words, length);
  const masked = Array.from(words).flatMap((word) => [word >>> 16, word & 0xffff]);
  const spelled = spellGroups(random, masked);
  const text = length === 128 && random.next() < 0.8 ? spelled : `${spelled}/${length}`;
  return { text, canonical: formatPrefix({ family: 6, words, length }), score };
}

interface Rendering {
  readonly format: ListFormatName;
  render(rows: readonly RandomRow[], random: Seeded): string;
  /** The score that is expected of a row; its own by default. */
  score?(row: RandomRow): number;
}

const lineEnd = (random: Seeded) => pick(random, ['\n', '\r\n', '\r', '\n\n', '\n# x\n']);
const lines = (rows: readonly RandomRow[], random: Seeded, show: (row: RandomRow) => string) =>
  rows.map((row) => show(row) + lineEnd(random)).join('');
const listsOf = (score: number) => 1 + (score % 12);
const quoted = (random: Seeded, text: string) => (random.next() < 0.4 ? `"${text}"` : text);

const renderings: Readonly<Record<string, Rendering>> = {
  ipsum: {
    format: 'ipsum',
    render: (rows, random) => lines(rows, random, (row) => `${row.text}\t${listsOf(row.score)}`),
    score: (row) => ipsumScore(listsOf(row.score)),
  },
  plain: {
    format: 'plain',
    render: (rows, random) =>
      lines(rows, random, (row) => row.text + pick(random, ['', ' # x', ';x', '  '])),
    score: () => 42,
  },
  csv: {
    format: 'csv',
    render: (rows, random) =>
      `ip,note,score\n${lines(rows, random, (row) => {
        const note = pick(random, ['', '"a,b"', '"x ""y"" z"', 'plain', '"two\r\nlines, 5"']);
        return `${quoted(random, row.text)},${note},${quoted(random, String(row.score))}`;
      })}`,
  },
  'abuseipdb JSON': {
    format: 'abuseipdb',
    render: (rows, random) => {
      const data = rows.map((row) => ({
        ipAddress: row.text,
        note: pick(random, ['', '"', '\\', '}]', 'ü\u2028']),
        abuseConfidenceScore: row.score,
      }));
      return JSON.stringify({ meta: {}, data }, undefined, below(random, 3));
    },
  },
  'abuseipdb CSV': {
    format: 'abuseipdb',
    render: (rows, random) =>
      `abuseConfidenceScore,ipAddress\n${lines(rows, random, (row) => `${row.score},${row.text}`)}`,
  },
  'drop text': {
    format: 'drop',
    render: (rows, random) => lines(rows, random, (row) => `${row.text} ; SBL${row.score}`),
    score: () => 42,
  },
  'drop NDJSON': {
    format: 'drop',
    render: (rows, random) =>
      `${lines(rows, random, (row) => JSON.stringify({ cidr: row.text, sblid: 'x' }))}{"type":"metadata"}\n`,
    score: () => 42,
  },
  anon: {
    format: 'anon',
    render: (rows, random) =>
      lines(rows, random, (row) =>
        random.next() < 0.5 ? row.text : `ExitNode X\nExitAddress ${row.text} 2026-08-21 20:06:29`,
      ),
    score: () => 0,
  },
};

for (const [name, { format, render, score = (row: RandomRow) => row.score }] of Object.entries(
  renderings,
)) {
  test(`${name}: random rows parse back to themselves`, async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seeded(seed);
      const rows = Array.from({ length: 1 + below(random, 60) }, () => randomRow(random));
      const text = render(rows, random);
      const expected = rows.map((row) => `${row.canonical} ${score(row)}`);
      const pieceBytes = 1 + below(random, 200);
      const parsed = await parseText(format, text, { confidence: 42, pieceBytes });
      assert.deepEqual(parsed.rows, expected, `seed ${seed}`);
      assert.equal(parsed.stats.badLines, 0, `seed ${seed}`);
    }
  });

  test(`${name}: pieces of every size give the same rows and the same bad lines`, async () => {
    const random = seeded(99);
    const rows = Array.from({ length: 6 }, () => randomRow(random));
    const text = Buffer.from(render(rows, random));
    if (!name.includes('JSON')) text.write('\u0001', Math.floor(text.length / 2));
    const whole = await parseText(format, text, { confidence: 42 });
    for (let pieceBytes = 1; pieceBytes < text.length; pieceBytes++) {
      const { rows: again, stats } = await parseText(format, text, { confidence: 42, pieceBytes });
      assert.deepEqual([again, stats], [whole.rows, whole.stats], `pieces of ${pieceBytes}`);
    }
  });
}
