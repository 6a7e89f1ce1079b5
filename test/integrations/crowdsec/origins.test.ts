/**
 * An address may be malicious by several words at once, each enough by itself: of the operator, of lists, of
 * reports. By a slow model that goes through all entries and all their words: a look-up tells all that pass its filter,
 * a stream one of each value, and who follows by a filter holds what passes it, whichever word comes or goes.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { parseQuery } from '../../../src/http/request/query.ts';
import type { HotRequest } from '../../../src/http/router.ts';
import { createIpIndex } from '../../../src/index/ip-index.ts';
import { manualEntriesList, writeListName } from '../../../src/index/trie/memory.ts';
import {
  allAttributions,
  attributionsOf,
  type DecisionAttribution,
  type Filter,
  readFilter,
} from '../../../src/integrations/crowdsec/decisions.ts';
import { type LiveOptions, liveRoute } from '../../../src/integrations/crowdsec/live.route.ts';
import {
  createDecisionStream,
  createListWords,
} from '../../../src/integrations/crowdsec/stream.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { createList } from '../../support/integrations/changing-list.ts';
import { toldIn } from '../../support/integrations/told.ts';
import { manualClock } from '../../support/seeded.ts';

interface Row {
  readonly id: number;
  readonly origin: string;
  readonly scope: string;
  readonly value: string;
  readonly scenario: string;
}

const clock = manualClock(Date.UTC(2026, 0, 1));
const visitor = '45.10.0.7';
/** Each holds the visitor. */
const prefixes = ['45.0.0.0/8', '45.10.0.0/16', '45.10.0.0/24', visitor];
const words = new Map([
  [manualEntriesList, { origin: 'cscli', scenario: "manual 'ban' from 'portcullis'" }],
  [1, { origin: 'lists:alpha', scenario: 'alpha' }],
  [2, { origin: 'lists:beta_gamma', scenario: 'beta,gamma' }],
  [0, { origin: 'portcullis', scenario: 'portcullis' }],
]);
const by = fc.uniqueArray(fc.constantFrom(...words.keys()), { maxLength: 4 });
const world = fc.tuple(...prefixes.map(() => by));
const query = fc
  .record(
    {
      origins: fc.constantFrom(
        'lists',
        'cscli',
        'LISTS:alpha,portcullis',
        'crowdsec',
        'lists,CSCLI',
      ),
      scopes: fc.constantFrom('ip', 'range', 'ip,range', 'as'),
      types: fc.constantFrom('ban', 'captcha', 'captcha,ban'),
      scenarios_containing: fc.constantFrom('alp', 'MANUAL', 'gamma,portcullis', 'portcullis-ipv4'),
      scenarios_not_containing: fc.constantFrom('alpha', 'manual', 'portcullis-ipv6', 'a'),
    },
    { requiredKeys: [] },
  )
  .map((filters) => new URLSearchParams(filters));

/** What the pages about bouncers say of each filter, said plainly. */
function passes(filters: URLSearchParams, value: string, number: number): boolean {
  const { origin, scenario } = words.get(number)!;
  const listOf = (name: string) => filters.get(name)?.toLowerCase().split(',');
  const names = [scenario.toLowerCase(), 'portcullis-ipv4'];
  const has = (parts: string[]) => parts.some((part) => names.some((one) => one.includes(part)));
  const [origins, scopes] = [listOf('origins'), listOf('scopes')];
  const [types, parts] = [listOf('types'), listOf('scenarios_containing')];
  const not = listOf('scenarios_not_containing');
  if (scopes !== undefined && !scopes.includes(value.includes('/') ? 'range' : 'ip')) return false;
  if (types !== undefined && !types.includes('ban')) return false;
  if (parts !== undefined && !has(parts)) return false;
  if (not !== undefined && has(not)) return false;
  if (origins === undefined || origins.includes(origin)) return true;
  return origin.startsWith('lists:') && origins.includes('lists');
}

function openIndex() {
  const index = createIpIndex({ entriesMax: 16 });
  writeListName(index.listNames, 1, 'alpha');
  writeListName(index.listNames, 2, 'beta,gamma');
  const entries = prefixes.map((text) => {
    const prefix = parsePrefix(text);
    assert.ok(prefix.ok);
    return index.insert(prefix.value);
  });
  return { index, entries };
}

const told = ({ value, origin, scenario }: Row) => `${value} ${origin} ${scenario}`;

it('a look-up tells every word on an address and the networks around it that its filter lets through', () => {
  const { index, entries } = openIndex();
  fc.assert(
    fc.property(world, query, fc.boolean(), (said, filters, knownGood) => {
      const wordsOf = (entry: number) => said[entries.indexOf(entry)]!;
      const count = (numbers: readonly number[]) =>
        numbers.filter((number) => number !== 0 || !knownGood);
      const decider = said.findIndex((numbers) => count(numbers).length > 0);
      const verdict = { malicious: decider >= 0, decidedBy: entries[Math.max(0, decider)]! };
      const judged = { ...verdict, score: 0, allowlisted: false, knownGood };
      const route = liveRoute({
        quotaGuard: { authenticate: () => 3 },
        check: { judge: () => judged },
        clock,
        index,
        maliciousBy: wordsOf,
        captchaFrom: 0,
        isExempt: () => false,
        admitQuestion: () => true,
        bans: { endOf: () => 0, lengthBelow: () => -1 },
        recordRefusal: () => {},
        count: () => {},
        log: { error: assert.fail },
      } as unknown as LiveOptions);
      let body = '';
      route.handle({
        values: ['key'],
        query: `${new URLSearchParams([['ip', visitor], ...filters])}`,
        answer: (_: unknown, text: string) => (body = text),
      } as unknown as HotRequest);
      const rows = (JSON.parse(body) as Row[] | null) ?? [];
      const wanted = prefixes.flatMap((value, i) =>
        count(said[i]!)
          .filter((number) => passes(filters, value, number))
          .map((number) => told({ value, ...words.get(number)! } as Row)),
      );
      assert.deepEqual(rows.map(told).sort(), wanted.sort());
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, 'an id twice');
    }),
    { numRuns: 2_000 },
  );
});

it('who follows by a filter holds what passes it, whichever of several words comes or goes', async () => {
  const { index } = openIndex();
  const values = ['45.20.0.1', '45.20.0.2', '45.20.1.0/24', '45.20.2.0/24'];
  const step = fc.tuple(...values.map(() => by));
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      query,
      async (steps, filters) => {
        let said = steps[0]!;
        const attributionOf = attributionsOf(index, (at) => said[at]!);
        const list = createList(40);
        const stream = createDecisionStream({
          list: list.now,
          clock,
          words: createListWords({
            all: () => allAttributions(index),
            attributionsOf: (value): DecisionAttribution[] =>
              attributionOf(values.indexOf(value), false),
          }),
        });
        const parsed = parseQuery(String(filters));
        assert.ok(parsed.ok);
        const filter = readFilter(parsed.value) as Filter;
        const held = new Map<string, string>();
        async function poll(isStart: boolean): Promise<void> {
          const answer = await stream.answer({
            client: 'c',
            isStart,
            filter,
            gzip: false,
            entriesMax: async () => 1_000,
            isGone: () => false,
          });
          const { new: added, deleted } = toldIn<Row>(Buffer.concat(answer!.parts).toString());
          assert.equal(
            new Set(added.map(({ value }) => value)).size,
            added.length,
            'a value twice',
          );
          for (const row of added) held.set(row.value, told(row));
          for (const { value } of deleted) held.delete(value);
        }
        await poll(true);
        for (const now of steps) {
          const before = said;
          said = now;
          const isOn = (numbers: readonly number[]) => numbers.length > 0;
          const news = values.filter((value, i) => isOn(now[i]!) !== list.held.has(value));
          const changed = values.filter(
            (value, i) => !news.includes(value) && isOn(now[i]!) && `${now[i]}` !== `${before[i]}`,
          );
          list.toggle(news);
          list.tellAgain(changed);
          await poll(false);
          const wanted = values.filter((value, i) =>
            now[i]!.some((number) => passes(filters, value, number)),
          );
          assert.deepEqual([...held.keys()].sort(), wanted.sort());
          for (const [value, row] of held) {
            const first = now[values.indexOf(value)]!.find((one) => passes(filters, value, one))!;
            assert.equal(row, told({ value, ...words.get(first)! } as Row));
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});
