/** A bulk check: what is taken is what a plain reader takes, and what is long is done in several turns. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { ok } from '../../../src/core/result.ts';
import { createScheduler } from '../../../src/core/scheduling.ts';
import type { Request } from '../../../src/http/request/message.ts';
import { parseQuery } from '../../../src/http/request/query.ts';
import type { Caller } from '../../../src/http/router.ts';
import {
  type BulkChecks,
  boundLines,
  checkBulkRoute,
  jsonArray,
} from '../../../src/reputation/check/check-bulk.route.ts';
import type { Guard, KeyedCall } from '../../../src/web/guard/guard.ts';
import { manualClock } from '../../support/seeded.ts';

function plainly(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isOne = Array.isArray(value) && value.every((item) => typeof item === 'string');
    return isOne ? value : undefined;
  } catch {
    return undefined;
  }
}

const pieces = [
  '[',
  ']',
  '{',
  '}',
  '"',
  '\\"',
  '\\\\',
  '\\',
  ',',
  ' ',
  '"1.2.3.4"',
  '"[::1]"',
  '1',
];

it('an array of texts is read as a plain reader reads it, whatever stands in the texts', () => {
  const inTexts = fc.array(fc.string({ unit: fc.constantFrom(...'[]{}",\\ 1:') }));
  const torn = fc.array(fc.constantFrom(...pieces), { maxLength: 12 });
  fc.assert(
    fc.property(
      fc.oneof(
        inTexts.map((texts) => JSON.stringify(texts)),
        torn.map((parts) => parts.join('')),
        torn.map((parts) => `[${parts.join('')}]`),
      ),
      (text) => assert.deepEqual(jsonArray(text), plainly(text)),
    ),
    { numRuns: 3_000 },
  );
});

it('what is nested is refused without being parsed', (t) => {
  const parse = t.mock.method(JSON, 'parse');
  for (const nested of [
    '[['.repeat(1_000),
    '["1.2.3.4",[[',
    '[ [',
    '[{"a":[',
    '["\\"",{',
    '["[",[',
  ]) {
    assert.equal(jsonArray(nested), undefined, nested.slice(0, 20));
  }
  assert.equal(parse.mock.callCount(), 0);
});

it('more texts than are taken are refused without being parsed', (t) => {
  const parse = t.mock.method(JSON, 'parse');
  const most = Array.from({ length: 10_000 }, () => ',');
  assert.equal(jsonArray(JSON.stringify([...most, ''])), 'long');
  assert.equal(jsonArray(`[${'1,'.repeat(300_000)}`), 'long');
  assert.equal(parse.mock.callCount(), 0);
  assert.deepEqual(jsonArray(JSON.stringify(most)), most);
});

it('lines are bound as a plain reader trims them, in any script', () => {
  const parts = [
    ...[
      ' ',
      '\t',
      '\r',
      '\v',
      '\n',
      '\n',
      '\u00a0',
      '\u1680',
      '\u2000',
      '\u200a',
      '\u200b',
      '\u2028',
    ],
    ...[
      '\u202f',
      '\u205f',
      '\u2060',
      '\u3000',
      '\ufeff',
      '\u0120',
      '\u80a0',
      '8.8.8.8',
      'é',
      '株',
      '🛰',
    ],
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 20 }), (some) => {
      const body = Buffer.from(some.join(''));
      const bounds = boundLines(body);
      const read = Array.from({ length: bounds.length / 2 }, (_, i) =>
        body.toString('utf8', bounds[2 * i], bounds[2 * i + 1]),
      );
      const lines = body.toString('utf8').split('\n');
      assert.deepEqual(read, lines.map((line) => line.trim()).filter(Boolean));
    }),
    { numRuns: 3_000 },
  );
  assert.equal(boundLines(Buffer.from('1\n'.repeat(20_000))).length, 2 * 10_001);
});

/** The route where each block of 64 addresses takes a millisecond. */
function slowBulk() {
  const clock = manualClock(0);
  const counted = { blocks: 0, looks: 0, turns: 0 };
  const scheduler = createScheduler(clock.monotonicMs);
  const many = {
    families: new Uint8Array(64),
    readBlock(count: number, read: (n: number, words: Uint32Array) => 0 | 4 | 6) {
      for (let n = 0; n < count; n++) many.families[n] = read(n, new Uint32Array(4));
      counted.blocks++;
      clock.advance(1);
    },
    readPlaces() {},
    judge: () => ({ score: 7, reports: 0, listReports: 0 }),
    writeSummary: (view: DataView, at: number) => {
      view.setUint8(at, 0x2b);
      return at + 1;
    },
  };
  const guard = {
    keyed: (_declared: unknown, read: unknown, handle: unknown) => ({ read, handle }),
  };
  const route = checkBulkRoute({
    guard: guard as unknown as Guard,
    bulkChecks: many as unknown as BulkChecks,
    clock,
    scheduler: {
      ...scheduler,
      yield() {
        counted.turns++;
        return scheduler.yield();
      },
    },
    inIndexRead(work) {
      counted.looks++;
      return work();
    },
  }) as unknown as {
    read: (params: unknown, request: Pick<Request, 'body' | 'headers'>) => ReturnType<typeof ok>;
    handle: (
      asked: unknown,
      call: Pick<KeyedCall, 'headers'>,
      caller: Caller,
    ) => Promise<{ body: Uint8Array | Uint8Array[] }>;
  };
  async function post(body: Uint8Array, type: string, caller: Caller = { onGone() {} }) {
    const query = parseQuery(type.startsWith('application/octet') ? 'family=4' : '');
    assert.ok(query.ok);
    const asked = route.read(query.value, { body, headers: { 'content-type': [type] } } as never);
    assert.ok(asked.ok, JSON.stringify(asked));
    return Buffer.concat([(await route.handle(asked.value, { headers: [] }, caller)).body].flat());
  }
  return { counted, post };
}

const texts = Array.from({ length: 1_000 }, (_, i) =>
  i % 3 === 0 ? `no ${i}` : `10.0.${i >> 8}.${i & 255}`,
);
const rows = texts.map((text, i) =>
  i % 3 === 0
    ? JSON.stringify({ ipAddress: text, error: 'This is not a valid IPv4 or IPv6 address.' })
    : '+',
);
const forms = [
  ['text/plain', texts.join('\n'), `${rows.join('\n')}\n`],
  ['application/json', JSON.stringify(texts), `{"data":[${rows.join(',')}]}`],
  [
    'application/octet-stream',
    Buffer.alloc(4_000, 9),
    Buffer.alloc(4_000, Buffer.from([7, 0, 0, 0])),
  ],
] as const;

it('a long bulk gives up its turn every three milliseconds, in each form, whatever comes between', async () => {
  for (const [type, body, answer] of forms) {
    const { counted, post } = slowBulk();
    const both = await Promise.all([post(Buffer.from(body), type), post(Buffer.from(body), type)]);
    for (const one of both) assert.ok(one.equals(Buffer.from(answer)), type);
    // Sixteen blocks: the first three at once for the one, one for the other.
    assert.deepEqual(counted, { blocks: 32, looks: 32, turns: 5 + 5 }, type);
  }
});

it('a bulk that is done within its turn is answered in it', async () => {
  const { counted, post } = slowBulk();
  await post(Buffer.from('8.8.8.8\n'.repeat(192)), 'text/plain');
  assert.deepEqual(counted, { blocks: 3, looks: 3, turns: 0 });
});

it('a bulk whose client has left ends with its slice', async () => {
  for (const [type, body] of forms) {
    const { counted, post } = slowBulk();
    await post(Buffer.from(body), type, { onGone: (listener) => listener() });
    assert.equal(counted.blocks, 3, type);
  }
});
