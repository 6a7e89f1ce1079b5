/** The tables of acts from which the console's forms and their handlers derive, against the operations. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inboxActs } from '../../src/console/inbox/inbox.page.tsx';
import { anonymousReportActs, removalActs } from '../../src/console/inbox/inbox-cards.page.tsx';
import { type ActRow, type SectionActs, typedFields } from '../../src/console/parts.page.tsx';
import { personActs } from '../../src/console/people/people.page.tsx';
import { siteActs } from '../../src/console/people/sites.page.tsx';
import { addressActs } from '../../src/console/reputation/address-bar.page.tsx';
import { allowActs, entriesPage, entryActs } from '../../src/console/reputation/entries.page.tsx';
import { feedActs } from '../../src/console/reputation/feeds.page.tsx';
import { listActs } from '../../src/console/reputation/lists.page.tsx';
import { peerActs, peersPage, type ShownPeer } from '../../src/console/reputation/peers.page.tsx';
import { reportActs } from '../../src/console/reputation/reports.page.tsx';
import { checklistActs } from '../../src/console/service/checklist.page.tsx';
import { frameText } from '../../src/console/words.ts';
import { formFieldsOf } from '../../src/contracts/operation.ts';
import { parseQuery } from '../../src/http/request/query.ts';
import { type OperationName, operations } from '../../src/operations/catalog.ts';
import { testFrame } from '../web/page-fixtures.ts';

/** A row that names no operation does not compile. */
type NamedActs = SectionActs<Readonly<Record<string, ActRow & { readonly act: OperationName }>>>;

const tables: readonly NamedActs[] = [
  inboxActs,
  checklistActs,
  personActs,
  removalActs,
  reportActs,
  allowActs,
  anonymousReportActs,
  entryActs,
  feedActs,
  listActs,
  peerActs,
  siteActs,
  addressActs,
];
const formFields = (act: string) => formFieldsOf(operations.get(act)!);

function paramsOf(query: string) {
  const read = parseQuery(query);
  assert.ok(read.ok);
  return read.value;
}

/** Parameters that the section's own handler adds. */
const added: Readonly<Record<string, readonly string[]>> = { people: ['email'], checklist: ['to'] };

/** The parameters that a row of a table hands on. */
const handedOn = (row: ActRow) => Object.keys(typedFields(row, paramsOf('')));

it('each table of acts in the console is looked at here', () => {
  const folder = fileURLToPath(new URL('../../../src/console', import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const pages = files.filter((name) => name.endsWith('.page.tsx'));
  const texts = pages.map((name) => readFileSync(`${folder}/${name}`, 'utf8')).join('');
  assert.equal(texts.match(/= sectionActs\(/g)?.length, tables.length);
});

it('each row of a table names an act, parameters of it, and all that it can not do without', () => {
  for (const { section, acts } of tables) {
    for (const [does, row] of Object.entries(acts)) {
      const where = `${section}: ${does}`;
      assert.ok(operations.has(row.act), where);
      const fields = formFields(row.act);
      const names = handedOn(row);
      const known = [...names, ...(added[section] ?? [])];
      assert.deepEqual(
        names.filter((name) => !(name in fields)),
        [],
        where,
      );
      const needed = Object.keys(fields).filter((name) => {
        const { isRequired, value } = fields[name]!;
        return isRequired && value === undefined && !known.includes(name);
      });
      assert.deepEqual(needed, [], where);
    }
  }
});

it('a form hands on its own fields alone, by the names of the parameters, and what is fixed', () => {
  const row = {
    act: 'account set-quotas',
    asks: [['reads', 'writes']],
    about: ['id'],
    parameters: { reads: 'readPerMinute', id: 'email' },
    fixed: { writes: '7' },
  } as const;
  const typed = paramsOf('reads=5&writes=6&id=ada&readPerMinute=9&since=2020-01-01&csrf=x');
  assert.deepEqual(typedFields(row, typed), { readPerMinute: '5', writes: '7', email: 'ada' });
});

it('a peer offers what may be decided of it: what is held, unless its key is strange, and pause or resume', () => {
  const peer: ShownPeer = {
    name: 'b.example:8443',
    url: 'https://b.example:8443',
    state: 'held',
    counts: true,
    held: 'many new rows',
    weight: 0.5,
    isNew: true,
    isOwn: false,
    follows: '',
    rows: 1_234,
    open: 3.2,
    budget: 500,
    refused: 7,
    confirmed: 2,
    knownGood: 1,
    freshAt: 0,
    headEndsAt: 0,
    failure: '',
    heldRows: 501,
    heldExamples: ['45.1.1.1'],
    heldHash: '0a1b2c3d4e5f',
    hasChanged: false,
    owner: '',
    ownBudget: 0,
    isIndependent: false,
    key: 'b.example+1+A',
  };
  const view = {
    csrf: 'token',
    waits: {},
    now: 0,
    done: false,
    categoryNames: [],
    formFields,
    peer: peer.name,
  };
  const offered = (more: Partial<ShownPeer>, language: 'en' | 'fr' = 'en') =>
    [
      ...peersPage(testFrame(language), { ...view, peers: [{ ...peer, ...more }] }).matchAll(
        /name="do" value="(\w+)"/g,
      ),
    ].map(([, does]) => does);
  const always = ['set', 'rekey'];
  assert.deepEqual(offered({}), ['accept', 'drop', ...always, 'pause', 'remove']);
  const page = peersPage(testFrame('en'), { ...view, peers: [{ ...peer, hasChanged: true }] });
  for (const part of ['name="shown" value="0a1b2c3d4e5f"', 'They changed after you accepted']) {
    assert.ok(page.includes(part), part);
  }
  assert.deepEqual(offered({ held: 'strange key' }, 'fr'), [...always, 'pause', 'remove']);
  assert.deepEqual(offered({ held: 'two histories' }), ['accept', ...always, 'pause', 'remove']);
  assert.deepEqual(offered({ held: 'none', state: 'paused' }), [...always, 'resume', 'remove']);
  const table = peersPage(testFrame('en'), { ...view, peer: '', peers: [peer] });
  const over = { state: 'stale', counts: false } as const;
  for (const asked of [peer.name, '']) {
    const page = peersPage(testFrame('en'), {
      ...view,
      peer: asked,
      peers: [{ ...peer, ...over }],
    });
    assert.match(page, /Nothing it said counts now/);
    assert.doesNotMatch(page, /Its reports count/);
  }
  for (const part of ['?peer=b.example%3A8443', 'Many more new rows', '1,234', '>7<']) {
    assert.ok(table.includes(part), part);
  }
});

it('fields are as the parameters of the act say: limits, first values, what may stay empty', () => {
  const view = {
    csrf: 'token',
    waits: {},
    now: 0,
    done: false,
    part: '',
    entries: [],
    categoryNames: ['DNS Compromise'],
    formFields,
  };
  const page = entriesPage(testFrame(), view);
  const form = page.slice(page.indexOf('action="/admin/entries/change"'));
  const inputs = [...form.matchAll(/<input [^>]*name="(\w+)"[^>]*>/g)];
  const attributes = new Map(inputs.map(([text, name]) => [name, text]));
  const score = attributes.get('score')!;
  for (const part of ['value="100"', ' required', 'maxlength="12"', 'inputmode="numeric"']) {
    assert.ok(score.includes(part), `${part}: ${score}`);
  }
  assert.match(attributes.get('prefix')!, /class="input mono".* required/);
  assert.match(attributes.get('until')!, /type="date"/);
  assert.doesNotMatch(`${attributes.get('until')}${attributes.get('note')}`, /required|value=/);
  assert.match(form, /<select [^>]*name="category".*<option value="1">DNS Compromise<\/option>/s);
  assert.match(form, /<input type="hidden" name="do" value="add"/);
});

it('each act that the audit log keeps has a name in both languages', () => {
  const kept = [...operations.values()].filter(({ audit }) => audit !== undefined);
  assert.ok(kept.length > 50);
  for (const language of ['en', 'fr'] as const) {
    const names: object = frameText(testFrame(language)).console.changes;
    assert.deepEqual(
      kept.map(({ name }) => name).filter((name) => !(name in names)),
      [],
    );
  }
});
