/** A list that is read in another format than its own is refused with what it looks like; `auto` reads each. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  collectRows,
  type ParseOptions,
  parseList,
} from '../../../../src/reputation/lists/import/parse.ts';

const rows = (line: (n: number) => string, count = 40) =>
  Array.from({ length: count }, (_, n) => line(n)).join('\n');
const address = (n: number) => `93.184.216.${n}`;
const ipsum = `# IPsum Threat Intelligence Feed\n#\n${rows((n) => `${address(n)}\t${10 - Math.floor(n / 5)}`)}\n`;

const lists: Readonly<Record<string, readonly string[]>> = {
  ipsum: [
    ipsum,
    ipsum.replaceAll('\n', '\r\n'),
    rows((n) => `${address(n)}\t${1 + ((7 * n) % 11)}`),
  ],
  plain: [
    rows(address),
    `# comment\n${rows((n) => `93.184.${n}.0/24`)}`,
    rows((n) => `93.184.216.${n} - 93.184.216.${n + 3} # note`),
    '2606:2800:220:1::1\n2606:2800:220::/48\n',
  ],
  drop: [
    `; Spamhaus DROP List\n${rows((n) => `93.184.${n}.0/24 ; SBL${1000 + n}`)}`,
    rows((n) => `{"cidr":"93.184.${n}.0/24","sblid":"SBL${n}","rir":"arin"}`),
  ],
  csv: [
    `ip,score,comment\n${rows((n) => `${address(n)},${n},"a, b"`)}`,
    rows((n) => `${address(n)};90;ssh`),
    rows((n) => `${address(n)}\t${95 - n}`),
    rows((n) => `${address(n)}\t${1 + ((37 * n) % 100)}`),
    'ip,score,text\n93.184.216.1,90,"a|b|c|d|e"\n93.184.216.2,80,a|b|c|d|e\n',
    rows((n) => `${address(n)},${n},a|b|c|d|${n}`),
  ],
  anon: [
    rows((n) => (n % 2 === 0 ? 'ExitNode ABC' : `ExitAddress ${address(n)} 2026-11-25 01:02:03`)),
  ],
  json: [
    `[${rows((n) => `"${address(n)}",`).slice(0, -1)}]`,
    `{"data":[\n${rows((n) => `{"id":${n},"ip":"${address(n)}"},`).slice(0, -1)}]}`,
    '{"ips":["2606:4700::1111","2606:4700::/32"]}',
  ],
  ndjson: [rows((n) => `{"ip":"${address(n)}","seen":1}`), '{"src_ip":"9.9.9.9"}\n'],
  p2p: [rows((n) => `Some (org): of ${n}:${address(n)}-${address(n)}`)],
  google: ['{"creationTime":"2026-11-25","prefixes":[{"ipv4Prefix":"66.249.64.0/27"}]}'],
  cloudflare: ['{"result":{"ipv4_cidrs":["173.245.48.0/20"],"ipv6_cidrs":[]},"success":true}'],
};

async function read(text: string, format: ParseOptions['format'], pieces = 1_000) {
  async function* chunks() {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += pieces) yield bytes.subarray(at, at + pieces);
  }
  const how = { format, confidence: 75, allowDocumentation: false, label: 'list' };
  const parse = parseList(chunks(), how);
  const collected = await collectRows(parse, { label: 'list' });
  return { format: parse.format(), rows: collected.rows, scores: collected.batches[0]!.scores };
}

for (const [name, texts] of Object.entries(lists)) {
  it(`${name} is recognised, in whatever pieces it comes`, async () => {
    for (const text of texts) {
      for (const pieces of [7, 100_000])
        assert.equal((await read(text, 'auto', pieces)).format, name);
    }
  });
}

it('IPsum read as another format is refused, and nothing is loaded at 75', async () => {
  for (const format of ['csv', 'plain', 'drop', 'abuseipdb'] as const) {
    await assert.rejects(read(ipsum, format), /list: looks like ipsum, not like .*--format ipsum/);
  }
  assert.ok((await read(ipsum, 'ipsum')).scores.slice(0, 40).some((score) => score < 75));
});

it('a list of systems is recognised, and one of addresses with their system is another', async () => {
  for (const text of [
    rows((n) => `{"asn":${n + 1},"rir":"arin","asname":"X"}`),
    `# systems\n${rows((n) => `AS${n + 1} # name`)}`,
  ]) {
    await assert.rejects(read(text, 'auto'), /there is no table of autonomous systems/);
    await assert.rejects(read(text, 'csv'), /looks like asn, not like csv/);
  }
  const hosts = rows((n) => `{"asn":${n + 1},"ip":"${address(n)}"}`);
  assert.equal((await read(hosts, 'auto')).format, 'ndjson');
});

it('a format that reads the same of another one is let through', async () => {
  const plain = rows(address);
  for (const format of ['csv', 'drop', 'abuseipdb', 'anon'] as const) {
    assert.equal((await read(plain, format)).rows, 40, format);
  }
  await assert.rejects(read(plain, 'ipsum'), /no usable row; it looks like plain/);
  const table = lists.csv![2]!;
  assert.equal((await read(table, 'csv')).scores[0], 95);
});

it('one object may be a row of NDJSON or all of a JSON, as the operator says', async () => {
  const row = `{"ip":"${address(1)}","tags":["x"]}\n`;
  assert.equal((await read(row, 'ndjson')).rows, 1);
  const long = rows((n) => `{"ip":"${address(n)}","tags":["${'x'.repeat(10_000)}"]}`, 3);
  assert.equal((await read(long, 'ndjson')).rows, 3);
  assert.equal((await read(`{"data":{"ips":["${address(1)}"]}}`, 'json')).rows, 1);
  // Its last element alone would be a line of NDJSON.
  const array = `[\n${rows((n) => `{"ip":"${address(n)}"}`).replaceAll('\n', ',\n')}\n]`;
  await assert.rejects(read(array, 'ndjson'), /looks like json/);
});

it('what is in no known format is refused without one, and a page never is a list', async () => {
  for (const text of ['hello\nworld\n', '{"a":1}', '', '\n\n\n']) {
    await assert.rejects(read(text, 'auto'), /list: /, text);
  }
  await assert.rejects(read('<html>', 'auto'), /is a page of HTML/);
  await assert.rejects(read('\n \n', 'auto'), /list: is empty$/);
  // Its beginning is shown, harmless.
  const hostile = `\n\u001b[31mred\u202e${'x'.repeat(200)}\nsecond\n`;
  await assert.rejects(read(hostile, 'auto'), /name one; it begins: \\x1b\[31mred\\u202ex{71}…$/);
});
