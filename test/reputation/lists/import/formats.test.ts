/** Each list format with good, bad and hostile input, and what no format takes for a list. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { OperatorError } from '../../../../src/core/errors.ts';
import { openList } from '../../../../src/reputation/lists/import/open-list.ts';
import {
  collectRows,
  type ListFormatName,
  parseList,
  seedFormats,
} from '../../../../src/reputation/lists/import/parse.ts';
import { parseText, pieces } from '../../../support/reputation/lists.ts';
import { makeTempDir } from '../../../support/server/temp-dir.ts';

/** Those whose rows are addresses. */
const every: readonly ListFormatName[] = [
  ...seedFormats.filter((format) => format !== 'asn'),
  'anon',
];

/** Line number and reason of every shown bad line. */
async function badLines(format: ListFormatName, text: string): Promise<[number, string][]> {
  const { stats } = await parseText(format, text);
  assert.equal(stats.badLines, stats.samples.length, 'use few bad lines');
  return stats.samples.map(({ line, reason }) => [line, reason]);
}

test('ipsum: the number of lists becomes the score', async () => {
  const counts = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 999_999];
  const text = `# IPsum\n#\n\n${counts.map((count, i) => `192.0.2.${i}\t${count}`).join('\n')}\n`;
  const { rows } = await parseText('ipsum', text);
  const scores = rows.map((row) => Number(row.split(' ')[1]));
  assert.deepEqual(scores, [25, 50, 70, 80, 88, 93, 96, 99, 99, 99, 99]);
});

test('ipsum: the number of lists goes with the row, through sorting; other lists have none', async () => {
  const reportsIn = async (format: ListFormatName, text: string) => {
    const chunks = pieces(Buffer.from(text), 7);
    const rules = { format, confidence: 75, allowDocumentation: true, label: 'list' };
    const { batches } = await collectRows(parseList(chunks, rules), { label: 'list' });
    return batches.map(({ reports }) => reports && [...reports]);
  };
  const rows = [
    '2001:db8::2\t4',
    '192.0.2.2\t9',
    '192.0.2.1\t3',
    '192.0.2.2\t999',
    '2001:db8::2\t3',
  ];
  assert.deepEqual(await reportsIn('ipsum', rows.join('\n')), [[3, 255, 4]]);
  assert.deepEqual(await reportsIn('ipsum', '255.255.255.255\t1\n9.9.9.9\t1'), [undefined]);
  assert.deepEqual(await reportsIn('plain', '192.0.2.1\n192.0.2.2'), [undefined]);
});

test('ipsum: a line without a sound count is bad', async () => {
  const bad = ['192.0.2.1', '192.0.2.1\t0', '192.0.2.1\t-1', '192.0.2.1\t1e9', '\t5'];
  const found = await badLines('ipsum', `${bad.join('\n')}\n192.0.2.2  3 \n`);
  assert.deepEqual(found, [
    [1, 'no number of lists after the address'],
    [2, 'the number of lists is not a count'],
    [3, 'the number of lists is not a count'],
    [4, 'the number of lists is not a count'],
    [5, 'no number of lists after the address'],
  ]);
});

test('plain: addresses, prefixes and ranges with comments of both kinds', async () => {
  const text = [
    '# head',
    '; head',
    '192.0.2.1',
    '  192.0.2.2\t# why',
    '192.0.2.4/31;why',
    '192.0.2.6 - 192.0.2.7 ; # both',
    '2001:DB8::1',
    '',
    '192.0.2.9/30',
  ].join('\r\n');
  const { rows, stats } = await parseText('plain', text, { confidence: 61 });
  assert.deepEqual(rows, [
    '192.0.2.1/32 61',
    '192.0.2.2/32 61',
    '192.0.2.4/31 61',
    '192.0.2.6/31 61',
    '2001:db8::1/128 61',
    '192.0.2.8/30 61',
  ]);
  const counts = { rows: 6, badLines: 0, normalised: 1, notPublic: 0, rented: 0 };
  assert.deepEqual(stats, { ...counts, samples: [] });
});

test('plain: bad lines are skipped with their number and a reason', async () => {
  const text = '192.0.2.1\n192.0.2.256\n192.0.2.2 192.0.2.3\n0.0.0.0/0\n192.0.2.4\nexample.org\n';
  const { rows } = await parseText('plain', text);
  assert.deepEqual(rows, ['192.0.2.1/32 75', '192.0.2.4/32 75']);
  assert.deepEqual(
    (await badLines('plain', text)).map(([line]) => line),
    [2, 3, 4, 6],
  );
});

test('a line of megabytes is one bad line', async () => {
  const goods: Readonly<Record<string, string>> = {
    ipsum: '192.0.2.1\t3',
    ndjson: '"192.0.2.1"',
    p2p: 'name:192.0.2.1-192.0.2.1',
  };
  for (const format of every.filter((name) => name !== 'abuseipdb' && name !== 'json')) {
    const good = goods[format] ?? '192.0.2.1';
    const text = `${'9'.repeat(3_000_000)}\n${good}\n`;
    const { rows, stats } = await parseText(format, text, { pieceBytes: 1_000 });
    assert.equal(rows.length, 1, format);
    assert.deepEqual([stats.badLines, stats.samples[0]?.reason], [1, 'line too long'], format);
  }
});

test('json and ndjson: texts and objects, the address by its name or by a path, the score beside it', async () => {
  const objects = [
    '{"id":1,"ip":"192.0.2.1","confidence":90}',
    '{"type":"x","data":{"src_ip":"192.0.2.2","host":"not.an.address","score":"80"}}',
    '{"network":"192.0.2.8/30","score":null,"risk":"high"}',
    '{"range":"192.0.2.16 - 192.0.2.17"}',
    '{"ip":"192.0.2.3","score":101}',
    '{"ip":"192.0.2.4","score":"-1","confidence":60}',
  ];
  const expected = [
    '192.0.2.1/32 90',
    '192.0.2.2/32 80',
    '192.0.2.8/30 75',
    '192.0.2.16/31 75',
    '192.0.2.4/32 60',
  ];
  for (const [format, text] of [
    ['ndjson', objects.join('\n')],
    ['json', `{"meta":{"count":4},"data":[${objects.join(',')}]}`],
    ['json', `[${objects.join(',\n')}]`],
  ] as const) {
    const { rows, stats } = await parseText(format, text);
    assert.deepEqual(rows, expected, text);
    assert.deepEqual(
      stats.samples.map(({ line, reason }) => [line, reason]),
      [[5, 'the score is not a number from 0 to 100']],
    );
    assert.deepEqual((await parseText(format, text, { pieceBytes: 3 })).rows, expected, text);
  }
  const texts = '{"v4":["192.0.2.1","192.0.2.0/28"],"v6":["2001:db8::1"],"n":[1,2]}';
  const listed = ['192.0.2.1/32 75', '192.0.2.0/28 75', '2001:db8::1/128 75'];
  for (const pieceBytes of [1, 5, 1_000]) {
    assert.deepEqual((await parseText('json', texts, { pieceBytes })).rows, listed);
  }
  const nested =
    '[{"ip":"192.0.2.1","a":{"b":{"remote":"192.0.2.2","risk":99}}},{"ip":"192.0.2.3"}]';
  const { rows, stats } = await parseText('json:a.b.remote', nested);
  assert.deepEqual(rows, ['192.0.2.2/32 99']);
  assert.deepEqual(
    stats.samples.map(({ line, reason }) => [line, reason]),
    [[2, 'no text at a.b.remote']],
  );
  assert.deepEqual(
    await badLines('ndjson', '{"ip":"192.0.2.1"}\n{"ip":\n{"name":"x"}\n[1]\n{"ip":"x"}'),
    [
      [2, 'not JSON'],
      [3, 'no address'],
      [4, 'not an object'],
      [5, 'no address'],
    ],
  );
  const proto = '[{"__proto__":{"ip":"192.0.2.9"},"ip":"192.0.2.1"}]';
  assert.deepEqual(
    (
      await parseText('json:constructor.name', `[{"ip":"192.0.2.1"},${proto.slice(1)}`).catch(
        () => ({ rows: [] }),
      )
    ).rows,
    [],
  );
});

test('p2p and bars: ranges become networks, names and comments are passed over', async () => {
  const p2p = '# list\nBad: corp:192.0.2.0-192.0.2.3\nx:192.0.2.8 - 192.0.2.8\nnone\n';
  const { rows, stats } = await parseText('p2p', p2p);
  assert.deepEqual(rows, ['192.0.2.0/30 75', '192.0.2.8/32 75']);
  assert.deepEqual(
    stats.samples.map(({ line, reason }) => [line, reason]),
    [[4, 'not name:first-last']],
  );
  const bars = 'first|last|score\n192.0.2.0|192.0.2.3|90\n192.0.2.8|192.0.2.9|80\n';
  assert.deepEqual((await parseText('csv', bars)).rows, ['192.0.2.0/30 90', '192.0.2.8/31 80']);
  assert.match(
    (await badLines('p2p', 'a:1.0.0.0-200.0.0.0\nb:192.0.2.1-192.0.2.1'))[0]![1],
    /covers too much/,
  );
});

test('drop: text and NDJSON, metadata line included', async () => {
  const text = '; Spamhaus DROP\n192.0.2.0/28 ; SBL1\n2001:db8::/40 ; SBL2\n';
  const json = [
    '{"cidr":"192.0.2.0/28","sblid":"SBL1","rir":"ripencc"}',
    ' {"cidr":"2001:db8::/40","sblid":"SBL2","rir":"arin"}',
    '{"type":"metadata","timestamp":1700000000,"size":99,"records":2,"copyright":"x"}',
  ].join('\n');
  for (const list of [text, json]) {
    const { rows, stats } = await parseText('drop', list, { confidence: 100 });
    assert.deepEqual(rows, ['192.0.2.0/28 100', '2001:db8::/40 100']);
    assert.equal(stats.badLines, 0);
  }
});

test('drop: lines that are no row', async () => {
  const bad = ['{"cidr":7}', '{"cidr":"192.0.2.0/28"', '{"asn":64500}', '{}', 'AS64500 ; x'];
  assert.deepEqual(await badLines('drop', `${bad.join('\n')}\n192.0.2.0/28 ; SBL1\n`), [
    [1, 'no "cidr"'],
    [2, 'not JSON'],
    [3, 'no "cidr"'],
    [4, 'no "cidr"'],
    [5, 'not an address'],
  ]);
});

test('asn: each system is all of its networks; one without any, and what is none, are bad lines', async (t) => {
  const directory = makeTempDir('asn');
  t.after(() => directory.remove());
  const paths = [`${directory.path}/4.csv`, `${directory.path}/6.csv`];
  writeFileSync(paths[0]!, '45.10.0.0,45.10.1.127,64500,One\n45.10.2.0,45.10.2.255,64501,Two\n');
  writeFileSync(paths[1]!, '2a10::,2a10:0:ffff:ffff:ffff:ffff:ffff:ffff,64500,One\n');
  const systems = { kind: 'provider', origin: 'default', format: 'csv', paths } as const;
  const expected = ['2a10::/32 75', '45.10.0.0/24 75', '45.10.1.0/25 75', '45.10.2.0/24 75'];
  const drop = [
    '{"asn":64500,"rir":"ripencc","domain":"one.example","cc":"RO","asname":"ONE"}',
    '{"asn":64501,"cc":"US"}',
    '{"asn":64502,"cc":"US"}',
    '{"asn":0}',
    '{"type":"metadata","timestamp":1,"records":3}',
  ];
  const plain = ['# systems', 'AS64500 ; one', '64501 # two', 'AS64502', '45.10.0.1'];
  for (const lines of [drop, plain]) {
    const { rows, stats } = await parseText('asn', lines.join('\n'), { systems });
    assert.deepEqual(rows.sort(), expected);
    assert.deepEqual(
      stats.samples.map(({ reason }) => reason),
      ['no network of the system is known', 'no number of a system'],
    );
  }
  await assert.rejects(parseText('asn', 'AS64500'), /there is no table of autonomous systems/);
});

test('anon: the bulk list and exit-addresses, without scores', async () => {
  const exits = [
    'ExitNode 0011BD2485AD45D984EC4159C88FC066E5E3300E',
    'Published 2026-08-21 10:40:13',
    'LastStatus 2026-08-21 20:00:00',
    'ExitAddress 192.0.2.1 2026-08-21 20:06:29',
    'ExitAddress 2001:db8::1 2026-08-21 20:07:00',
  ].join('\n');
  for (const list of [exits, '192.0.2.1\n2001:db8::1\n']) {
    const { rows, stats } = await parseText('anon', list, { confidence: 75 });
    assert.deepEqual(rows, ['192.0.2.1/32 0', '2001:db8::1/128 0']);
    assert.equal(stats.badLines, 0);
  }
});

test('anon: lines that are no exit', async () => {
  const bad = ['ExitAddress', 'ExitAddress x y z', 'ExitNodeX', '192.0.2.1 2026-08-21'];
  const found = await badLines('anon', `${bad.join('\n')}\n192.0.2.1\n`);
  assert.deepEqual(
    found.map(([line]) => line),
    [1, 2, 3, 4],
  );
});

test('a list without one usable row throws, whatever the format', async () => {
  const wrong = {
    empty: '',
    comments: '# nothing\n# here\n\n',
    text: 'Not Found\n',
    'private only': '10.0.0.1\t3\n',
    'an error as JSON': '{"errors":[{"detail":"Authentication failed.","status":401}]}',
    bytes: '\0\u0001\u0002\n\0',
  };
  for (const format of every) {
    for (const [kind, text] of Object.entries(wrong)) {
      await assert.rejects(
        parseText(format, text),
        (error) =>
          error instanceof OperatorError &&
          /no usable row; (is --format right|of its 1 addresses none is public)/.test(
            error.message,
          ),
        `${format}, ${kind}`,
      );
    }
  }
});

test('a page of HTML throws even when it holds an address', async () => {
  const page = '\n  <!DOCTYPE html>\n<p>Your address\n192.0.2.1\n192.0.2.1\t5\n';
  for (const format of every) {
    for (const pieceBytes of [1, 1_000]) {
      await assert.rejects(parseText(format, page, { pieceBytes }), /is a page of HTML/, format);
    }
  }
});

test('the message of a useless list is one harmless line', async () => {
  await assert.rejects(parseText('plain', 'no\u001b[31m\u0007\nmore\n'), {
    message:
      'list: no usable row; is --format right? (2 bad lines, 0 not public; line 1: not an address: no\\x1b[31m\\x07)',
  });
});

test('a failing source fails the parse', async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('192.0.2.1\n');
    throw new OperatorError('the connection broke off');
  }
  const options = {
    format: 'plain',
    confidence: 75,
    allowDocumentation: true,
    label: 'x',
  } as const;
  const parse = parseList(broken(), options);
  await assert.rejects(collectRows(parse, { label: 'x' }), /the connection broke off/);
});

test('a million lines parse', async () => {
  async function* lines(): AsyncGenerator<Buffer> {
    for (let block = 0; block < 100; block++) {
      let text = '';
      for (let i = 0; i < 10_000; i++) {
        const n = block * 10_000 + i;
        text += `8.${n >>> 16}.${(n >>> 8) & 255}.${n & 255}\t${1 + (n % 9)}\n`;
      }
      yield Buffer.from(text);
    }
  }
  const options = {
    format: 'ipsum',
    confidence: 75,
    allowDocumentation: false,
    label: 'x',
  } as const;
  const parse = parseList(lines(), options);
  const { rows, duplicates } = await collectRows(parse, { label: 'x' });
  assert.deepEqual([rows, duplicates, parse.stats.badLines], [1_000_000, 0, 0]);
});

test('the demo seed: every row is taken, 61 is there, and the README names each', async () => {
  const readme = readFileSync('data/seed/README.md', 'utf8');
  for (const [file, format] of [
    ['data/seed/demo.csv', 'csv'],
    ['data/seed/demo-anon.txt', 'anon'],
  ] as const) {
    const list = await openList(file);
    const options = { format, confidence: 75, allowDocumentation: true, label: file };
    const parse = parseList(list.chunks, options);
    const { rows, duplicates } = await collectRows(parse, options);
    assert.deepEqual([parse.stats.badLines, parse.stats.notPublic, duplicates], [0, 0, 0], file);
    const lines = readFileSync(file, 'utf8').split('\n');
    const entries = lines.filter((line) => /^[0-9a-f]/.test(line));
    assert.equal(rows, entries.length, file);
    for (const line of entries) {
      const named = `| ${line.replace(',', ', ')} |`;
      assert.ok(readme.includes(named), named);
    }
  }
  const { rows } = await parseText('csv', readFileSync('data/seed/demo.csv'));
  assert.ok(rows.includes('192.0.2.61/32 61'));
  await assert.rejects(
    parseText('csv', readFileSync('data/seed/demo.csv'), { allowDocumentation: false }),
    /of its 22 addresses none is public/,
  );
});

test('a real list, where one is at hand', async (t) => {
  const path = '../shared/data/ipsum.txt';
  let list: Awaited<ReturnType<typeof openList>>;
  try {
    list = await openList(path);
  } catch {
    t.diagnostic(`${path} is not there`);
    return;
  }
  const options = {
    format: 'ipsum',
    confidence: 75,
    allowDocumentation: false,
    label: path,
  } as const;
  const parse = parseList(list.chunks, options);
  const { rows } = await collectRows(parse, options);
  assert.ok(rows > 100_000);
  assert.equal(parse.stats.badLines, 0);
  assert.equal(list.readBytes(), list.totalBytes);
});
