/** POST /api/v2/check-bulk of a whole server: both shapes of body and answer, bounds, and cost. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { forFile } from '../../support/server/for-file.ts';
import {
  type Answer,
  type FetchOptions,
  plenty,
  proveEachThread,
  startTestServer,
  within,
} from '../../support/server/server.ts';

const path = '/api/v2/check-bulk';
const addresses = [
  '198.51.100.7',
  '192.0.2.61',
  '2001:db8:bad::1',
  '::ffff:203.0.113.129',
  '8.8.8.8',
  '2606:4700:4700::1111',
];

interface Row {
  readonly ipAddress: string;
  readonly error?: string;
}

function rowsOf(answer: Answer): Row[] {
  assert.equal(answer.status, 200, answer.body);
  if (/^application\/json\b/.test(String(answer.headers['content-type']))) {
    return (answer.json() as { data: Row[] }).data;
  }
  assert.match(String(answer.headers['content-type']), /^application\/x-ndjson\b/);
  assert.ok(answer.body.endsWith('\n'));
  return answer.body
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
}

function assert422(answer: Answer, detail: RegExp, parameter = 'body'): void {
  assert.equal(answer.status, 422, answer.body);
  const { errors } = answer.json() as {
    errors: { detail: string; status: number; source: { parameter: string } }[];
  };
  assert.equal(errors.length, 1);
  assert.match(errors[0]!.detail, detail);
  assert.equal(errors[0]!.status, 422);
  assert.deepEqual(errors[0]!.source, { parameter });
  assert.match(String(answer.headers['x-ratelimit-remaining']), /^\d+$/);
}

/** 10.0.0.0, 10.0.0.1 … */
function manyAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
}

const server = forFile(await startTestServer());

describe('check-bulk', () => {
  function post(
    body: string | Uint8Array,
    headers: Record<string, string> = { Key: server.key },
  ): Promise<Answer> {
    return server.fetch(path, { method: 'POST', body, headers } satisfies FetchOptions);
  }
  const postJson = (value: unknown) =>
    post(JSON.stringify(value), { Key: server.key, 'Content-Type': 'application/json' });

  it('answers lines and JSON with the first seven fields of single checks', async () => {
    const single = await Promise.all(
      addresses.map(async (address) =>
        Object.fromEntries(Object.entries(await server.check(address)).slice(0, 7)),
      ),
    );
    for (const body of [
      addresses.join('\n'),
      `${addresses.join('\n')}\n`,
      `${addresses.join('\r\n')}\r\n`,
      `\n\n  ${addresses.join('  \n\n')}\n`,
    ]) {
      const answer = await post(body);
      assert.match(String(answer.headers['content-type']), /ndjson/);
      assert.deepEqual(rowsOf(answer), single);
    }
    for (const answer of [
      await postJson(addresses),
      await post(JSON.stringify(addresses, null, 2)),
    ]) {
      assert.match(String(answer.headers['content-type']), /^application\/json\b/);
      assert.deepEqual(answer.json(), { data: single });
    }
  });

  function postBytes(query: string, body: Uint8Array, headers: Record<string, string> = {}) {
    return server.fetch(`${path}${query}`, {
      method: 'POST',
      body,
      headers: { Key: server.key, 'Content-Type': 'application/octet-stream', ...headers },
    });
  }

  it('answers bytes with bytes: score, flags, reports', async () => {
    const four = addresses.filter((text) => /^[0-9.]+$/.test(text));
    const six = [
      '20010db80bad00000000000000000001',
      '00000000000000000000ffffcb007181',
      '26064700470000000000000000001111',
    ];
    const bodies = [
      ['?family=4', Buffer.from(four.flatMap((text) => text.split('.').map(Number))), four],
      [
        '?family=6',
        Buffer.from(six.join(''), 'hex'),
        addresses.filter((text) => text.includes(':')),
      ],
    ] as const;
    for (const [query, body, texts] of bodies) {
      for (const packed of [false, true]) {
        const coding: Record<string, string> = packed ? { 'Content-Encoding': 'gzip' } : {};
        const answer = await postBytes(query, packed ? gzipSync(body) : body, coding);
        assert.equal(answer.status, 200, answer.body);
        assert.equal(answer.headers['content-type'], 'application/octet-stream');
        assert.equal(answer.headers['x-content-type-options'], 'nosniff');
        assert.equal(answer.bytes.length, 4 * texts.length);
        for (const [i, text] of texts.entries()) {
          const data = await server.check(text);
          const flags =
            (data.malicious ? 1 : 0) | (data.isAnon ? 2 : 0) | (data.isWhitelisted ? 4 : 0);
          assert.deepEqual(
            [answer.bytes[4 * i], answer.bytes[4 * i + 1], answer.bytes.readUInt16BE(4 * i + 2)],
            [data.abuseConfidenceScore, flags, data.totalReports],
            text,
          );
        }
      }
    }
  });

  it('refuses bytes that are no addresses', async () => {
    const eight = Buffer.alloc(16, 8);
    const family = /^The family parameter must be 4 or 6/;
    for (const query of ['', '?family=', '?family=5', '?family=04', '?family=4,6', '?Family=4']) {
      assert422(await postBytes(query, eight), family, 'family');
    }
    for (const query of ['?family=4&family=4', '?family=4&family=6']) {
      assert422(await postBytes(query, eight), /given more than once/, 'family');
    }
    for (const [query, length, detail] of [
      ['?family=4', 5, /^The body must hold 4 bytes for each address/],
      ['?family=4', 3, /^The body must hold 4 bytes for each address/],
      ['?family=6', 20, /^The body must hold 16 bytes for each address/],
      ['?family=4', 0, /at least one address/],
      ['?family=4', 40_004, /^At most 10000 addresses/],
      ['?family=6', 160_016, /^At most 10000 addresses/],
    ] as const) {
      assert422(await postBytes(query, Buffer.alloc(length)), detail);
    }
    assert.equal((await postBytes('?family=6', Buffer.alloc(160_000))).bytes.length, 40_000);
    assert.equal((await postBytes('?family=4', Buffer.alloc(640 * 1024 + 4))).status, 413);
    const asText = await server.fetch(`${path}?family=4`, {
      method: 'POST',
      body: '8.8.8.8',
      headers: { Key: server.key },
    });
    assert422(asText, /belongs to a body of type application\/octet-stream/, 'family');
    const got = await server.fetch(`${path}?family=4`, { headers: { Key: server.key } });
    assert.equal(got.status, 405);
    assert.equal((await postBytes('?family=4', eight, { Key: 'pcl_x' })).status, 401);
  });

  it('answers from every thread', async () => {
    await proveEachThread(server, path, async () => {
      assert.equal(rowsOf(await post('8.8.8.8')).length, 1);
    });
  });

  it('puts an error in the place of what is no address', async () => {
    const long = 'x'.repeat(300);
    const rows = rowsOf(await post(`8.8.8.8\nnonsense\n10.0.0.0/8\n${long}\n1.1.1.1`));
    assert.deepEqual(
      rows.map((row) => [row.ipAddress.length <= 60, row.error !== undefined]),
      [
        [true, false],
        [true, true],
        [true, true],
        [true, true],
        [true, false],
      ],
    );
    assert.deepEqual(rows[1], {
      ipAddress: 'nonsense',
      error: 'This is not a valid IPv4 or IPv6 address.',
    });
    assert.equal(rowsOf(await postJson(['', '"', '\u2028']))[1]!.ipAddress, '"');
  });

  it('takes 10,000 addresses and refuses 10,001', async () => {
    const most = manyAddresses(10_000);
    const lines = rowsOf(await post(most.join('\n')));
    assert.deepEqual(
      lines.map((row) => row.ipAddress),
      most,
    );
    assert.deepEqual(rowsOf(await postJson(most)), lines);
    const longest = Array.from(
      { length: 10_000 },
      () => '0000:0000:0000:0000:0000:ffff:255.255.255.255',
    );
    assert.equal(rowsOf(await postJson(longest))[9_999]!.ipAddress, '255.255.255.255');
    const over = manyAddresses(10_001);
    assert422(await post(over.join('\n')), /At most 10000 addresses/);
    assert422(await postJson(over), /At most 10000 addresses/);
  });

  it('refuses what it cannot read', async () => {
    const asJson = { Key: server.key, 'Content-Type': 'application/json' };
    for (const body of ['', '\n \r\n']) assert422(await post(body), /at least one/);
    assert422(await postJson([]), /at least one/);
    for (const bytes of ['ff', '38c0ae', 'eda080', '382e382e382e380aff']) {
      assert422(await post(Buffer.from(bytes, 'hex')), /UTF-8/);
    }
    for (const body of ['[', '["8.8.8.8"', '["8.8.8.8"]x', "['8.8.8.8']", '["8.8.8.8",]']) {
      assert422(await post(body), /JSON array of strings/);
      assert422(await post(body, asJson), /JSON array of strings/);
    }
    for (const value of [[1], ['8.8.8.8', null], [['8.8.8.8']], {}, '8.8.8.8', null, 8]) {
      assert422(await postJson(value), /JSON array of strings/);
    }
  });

  it('refuses a body beyond the limit with 413, a chunked one with 411', async () => {
    const body = 'a'.repeat(640 * 1024 + 1);
    const announced = await post(body);
    assert.equal(announced.status, 413);
    const chunked = await post(body, { Key: server.key, 'Transfer-Encoding': 'chunked' });
    assert.equal(chunked.status, 411);
    for (const answer of [announced, chunked]) {
      const { errors } = answer.json() as { errors: { status: number }[] };
      assert.deepEqual(
        errors.map((error) => error.status),
        [answer.status],
      );
    }
    assert.equal(rowsOf(await post('8.8.8.8')).length, 1);
  });

  it('wants a key, as header or parameter', async () => {
    for (const headers of [{}, { Key: 'pcl_x' }]) {
      const answer = await post('8.8.8.8', headers);
      assert.equal(answer.status, 401);
      assert.equal(answer.headers['x-ratelimit-limit'], undefined);
    }
    const inQuery = await server.fetch(`${path}?key=${server.key}`, {
      method: 'POST',
      body: '8.8.8.8',
    });
    assert.equal(rowsOf(inQuery).length, 1);
  });

  it('costs a read for each address, and is refused whole when less is left', async () => {
    const email = 'bulk@portcullis.example';
    await server.cliJson('account', 'create', email);
    const { text } = await server.cliJson('key', 'create', email, '--read-per-minute', '100');
    const own = { Key: text };
    await within(async () => {
      const answer = await post('[', own);
      return answer.headers['x-ratelimit-limit'] === '100';
    });
    const before = Number((await post('8.8.8.8', own)).headers['x-ratelimit-remaining']);
    const forty = manyAddresses(40).join('\n');
    const first = await post(forty, own);
    assert.equal(rowsOf(first).length, 40);
    assert.equal(first.headers['x-ratelimit-remaining'], String(before - 40));
    const bytes = await postBytes('?family=4', Buffer.alloc(160), own);
    assert.equal(bytes.headers['x-ratelimit-remaining'], String(before - 80));
    const wrong = await postBytes('?family=4', Buffer.alloc(3), own);
    assert.equal(wrong.headers['x-ratelimit-remaining'], String(before - 81));
    const left = before - 81;
    assert.ok(left > 0 && left < 40, `left ${left}`);
    const refused = await post(forty, own);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers['x-ratelimit-remaining'], String(left));
    assert.match(String(refused.headers['retry-after']), /^\d+$/);
    assert.equal(rowsOf(await post(manyAddresses(left).join('\n'), own)).length, left);
    assert.equal((await post('8.8.8.8', own)).status, 429);
    assert.equal((await postBytes('?family=4', Buffer.alloc(4), own)).status, 429);
    assert.equal((await post('8.8.8.8')).headers['x-ratelimit-limit'], String(plenty));
  });
});
