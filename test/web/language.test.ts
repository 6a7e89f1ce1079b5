/** Language choice and the words of both catalogues. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Language } from '../../src/core/language.ts';
import { ipPage } from '../../src/reputation/address/address.page.tsx';
import { homePage } from '../../src/site/home/home.page.tsx';
import { hostName, renderHtml } from '../../src/web/html.ts';
import { pickLanguage, translationsFor } from '../../src/web/language.ts';
import { formatFor } from '../../src/web/layout/format.ts';
import { errorPage } from '../../src/web/layout/layout.tsx';
import {
  cleanAddress,
  dayMs,
  maliciousAddress,
  nowMs,
  suspectAddress,
  testFrame,
} from './page-fixtures.ts';

test('a time nearby is told from now, one further away by its day, each with its moment', () => {
  const told = (awayMs: number, language: Language = 'en') =>
    renderHtml(formatFor(language).near(nowMs + awayMs, nowMs));
  const minute = 60_000;
  assert.match(told(0), />now</);
  assert.match(told(-5 * minute), />5 min ago</);
  assert.match(told(-3 * 60 * minute), />3 hr ago</);
  assert.match(told(-dayMs), />yesterday</);
  assert.match(told(6 * dayMs), />in 6 days</);
  assert.match(told(-8 * dayMs), />\d+ [A-Z][a-z]+ \d{4}</);
  assert.match(told(-5 * minute, 'fr'), />il y a 5\smin</);
  assert.match(told(-8 * dayMs), /title="[^"]+ UTC"/);
});

const choices: [string | undefined, Language][] = [
  [undefined, 'en'],
  ['', 'en'],
  ['fr', 'fr'],
  ['FR-ca', 'fr'],
  ['fr-FR,fr;q=0.9,en;q=0.8', 'fr'],
  ['en-GB,en;q=0.9,fr;q=0.8', 'en'],
  ['en;q=0.3, fr;q=0.7', 'fr'],
  ['en;q=0.7, fr;q=0.7', 'en'],
  ['fr;q=0.7, en;q=0.7', 'fr'],
  ['de, fr;q=0.5', 'fr'],
  ['de', 'en'],
  ['*', 'en'],
  ['en;q=0, *', 'fr'],
  ['fr;q=0', 'en'],
  ['fr; q=1.000', 'fr'],
  ['fr;q=1.001', 'en'],
  ['fr;q=2', 'en'],
  ['fr;q=.9', 'en'],
  ['fr;q=0.1234', 'en'],
  ['fr;level=1', 'en'],
  ['frfrfrfrfr', 'en'],
  ['<script>, fr', 'fr'],
  [`${'de,'.repeat(40)}fr`, 'en'], // beyond the ranges that are read
  [`fr,${'x'.repeat(600)}`, 'en'], // beyond the length that is read
];

for (const [header, expected] of choices) {
  test(`Accept-Language ${JSON.stringify(header?.slice(0, 40))} gives ${expected}`, () => {
    assert.equal(pickLanguage(header), expected);
  });
}

/** Every sentence of a catalogue, functions called with sample values. */
function sentences(node: unknown, path = ''): [string, string][] {
  if (typeof node === 'string') return [[path, node]];
  if (typeof node === 'function') {
    const call = node as (...values: unknown[]) => string;
    return [[path, `${call(1, '1', 'x')} ${call(5, '5', 'x')}`]];
  }
  return Object.entries(node as object).flatMap(([key, child]) =>
    sentences(child, `${path}.${key}`),
  );
}

/** The same in both languages on purpose. */
const shared = new Set([
  '.site.name',
  '.site.menu',
  '.challenge.pause',
  '.challenge.script.pause',
  '.links.docs',
  '.links.guide',
  '.links.radar',
  '.person.console',
  '.account.profile.plans.plus',
  '.account.keys.active',
  '.signon.secondFactor.code',
  '.account.security.sessionsTitle',
  '.score.words.suspect',
  '.categories.3', // DDoS
  '.categories.21', // SSH
]);

test('every sentence is there in both languages and differs', () => {
  const english = new Map(sentences(translationsFor('en')));
  const french = new Map(sentences(translationsFor('fr')));
  assert.deepEqual([...english.keys()].sort(), [...french.keys()].sort());
  for (const [path, sentence] of english) {
    assert.notEqual(sentence.trim(), '', path);
    assert.notEqual(french.get(path)?.trim(), '', path);
    if (!shared.has(path)) assert.notEqual(french.get(path), sentence, path);
  }
});

test('a page declares and speaks its language', () => {
  const pages = (language: Language) => [
    homePage(testFrame(language), { secureUrl: 'https://secure.example' }),
    ipPage(testFrame(language), suspectAddress),
    errorPage(testFrame(language), { status: 503 }),
  ];
  for (const markup of pages('fr')) assert.match(markup, /^<!doctype html><html lang="fr">/);
  for (const markup of pages('en')) assert.match(markup, /^<!doctype html><html lang="en">/);
  assert.match(pages('fr')[1]!, /Score 61 sur 100\u00a0: Suspect/);
  assert.match(pages('en')[1]!, /Score 61 of 100: Suspect/);
  assert.match(pages('fr')[1]!, /il y a 40 jours/);
});

test('the page of an error, which floods of refusals are answered with, stays small', () => {
  for (const language of ['en', 'fr'] as const) {
    const bytes = Buffer.byteLength(errorPage(testFrame(language), { status: 404 }));
    assert.ok(bytes < 9_000, `${bytes} bytes`);
  }
});

test('an address without reports stays out of search engines', () => {
  assert.match(ipPage(testFrame(), cleanAddress), /<meta name="robots" content="noindex"/);
  assert.doesNotMatch(ipPage(testFrame(), suspectAddress), /noindex/);
});

test('the page of an address shows what it was given', () => {
  const markup = ipPage(testFrame(), maliciousAddress);
  for (const part of [
    'Caribbean Netherlands',
    'BQ',
    '12,804',
    '1,388 accounts',
    'Anonymous exit',
  ]) {
    assert.ok(markup.includes(part), part);
  }
  assert.ok(!markup.includes('hunter2'));
  assert.ok(!markup.includes('noc@example.net'));
  const shown = maliciousAddress.reportsPerDay.filter(({ count }) => count > 0);
  assert.equal(markup.match(/class="timeline-bar"/g)?.length, shown.length);
});

test('links without a target are not shown', () => {
  const markup = homePage({ ...testFrame(), links: {} }, { secureUrl: 'https://secure.example' });
  assert.doesNotMatch(markup, /<nav/);
  assert.doesNotMatch(markup, /Blocklists</);
});

test('formats are bounded to known countries and never speak of the future', () => {
  const format = formatFor('en');
  assert.equal(format.country('FR'), 'France');
  for (const code of ['ZZ', 'fr', '', 'FRA', '<b', 'AA'])
    assert.equal(format.country(code), undefined);
  assert.equal(format.ago(nowMs + dayMs, nowMs), 'today');
  assert.equal(format.ago(nowMs - 90 * dayMs, nowMs), '3 months ago');
  assert.equal(format.moment(nowMs), '21 Nov 2026, 09:30 UTC');
  const time = '<time datetime="2026-11-21T09:30:00Z">21 Nov 2026, 09:30 UTC</time>';
  assert.equal(renderHtml(format.time(nowMs)), time);
});

test('a host name breaks at its dots alone', () => {
  const written = '<span class="host">shop.<wbr/>example.<wbr/>org</span>';
  assert.equal(renderHtml(hostName('shop.example.org')), written);
});

test('how long to wait is told in a unit that people read', () => {
  const waits = (language: Language) =>
    [1, 89, 90, 5_340, 89_653].map((seconds) =>
      translationsFor(language).error.tryAgainIn(seconds),
    );
  assert.deepEqual(waits('en'), [
    'Try again in 1 second.',
    'Try again in 89 seconds.',
    'Try again in 2 minutes.',
    'Try again in 89 minutes.',
    'Try again in 25 hours.',
  ]);
  assert.equal(waits('fr')[4], 'Réessayez dans 25 heures.');
});
