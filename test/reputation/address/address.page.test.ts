/** What the page of an address says in its rarer cases. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ipPage } from '../../../src/reputation/address/address.page.tsx';
import {
  cleanAddress,
  maliciousAddress,
  nowMs,
  suspectAddress,
  testFrame,
} from '../../web/page-fixtures.ts';

const page = (data: Parameters<typeof ipPage>[1], language: 'en' | 'fr' = 'en') =>
  ipPage(testFrame(language), data);

it('leads to where one reports the address: a page, a command, or nothing', () => {
  const none = page({ ...cleanAddress, reportHref: undefined });
  assert.doesNotMatch(none, /id="report"|href="#report"/);
  const byPage = page(cleanAddress);
  assert.match(byPage, /class="verdict-report"><a href="\/report\?address=192\.0\.2\.10"/);
  assert.doesNotMatch(byPage, /href="#report"/);
  const url = 'https://ip.example/api/v2/report';
  const byCommand = page({ ...cleanAddress, reportHref: undefined, reportUrl: url });
  assert.match(byCommand, /href="#report"/);
  assert.match(byCommand, /<div class="report-call" id="report">/);
  assert.match(byCommand, /curl https:\/\/ip\.example\/api\/v2\/report \\\n/);
  assert.match(byCommand, /-d ip=192\.0\.2\.10 -d categories=18,22/);
});

it('says of an address whose range alone was reported that it was not', () => {
  const inRange = page({ ...cleanAddress, score: 44, reports: 12, distinctReporters: 3 });
  assert.match(inRange, /This address itself was not reported/);
  assert.doesNotMatch(inRange, /No comments yet|No reports in the last 90 days/);
  assert.match(inRange, /<meta name="robots" content="noindex"/);
  assert.doesNotMatch(page(cleanAddress), /This address itself/);
  assert.match(page(cleanAddress), /Nobody has reported this address/);
});

it('says which part of the reports is of lists, and when these were loaded', () => {
  const listed = { ...cleanAddress, score: 99, listReports: 8, listedAt: nowMs - 3_600_000 };
  const both = page({ ...listed, reports: 1, distinctReporters: 1 });
  assert.match(
    both,
    /<dd>9 <span[^>]*>8 from imported lists<\/span>\s*<span[^>]*>1 by one reporter</,
  );
  assert.match(both, /<dt>Lists loaded<\/dt><dd><time/);
  const alone = page(listed, 'fr');
  assert.match(alone, /<dd>8 <span[^>]*>8 de listes importées<\/span>\s*</);
  assert.doesNotMatch(alone, /d’un seul auteur/);
  assert.match(alone, /Personne ne l’a signalée ici/);
  assert.match(alone, /<meta name="robots" content="noindex"/);
  assert.doesNotMatch(page(cleanAddress), /imported lists<|Lists loaded/);
});

it('says when the chart and the categories are of the latest reports only', () => {
  assert.doesNotMatch(page(suspectAddress), /Made of the latest/);
  const cut = page(maliciousAddress);
  assert.equal(cut.match(/Made of the latest 2,000 reports\./g)?.length, 2);
});

it('folds a long comment, masked before it is cut', () => {
  const address = '45.148.10.77';
  // The beginning of the comment ends in the middle of the address.
  const text = `${'word '.repeat(54)}from ${address} ${'and on '.repeat(40)}`;
  const folded = page({ ...suspectAddress, comments: [{ text, at: nowMs, categories: ['SSH'] }] });
  assert.ok(!folded.includes('45.148'));
  assert.match(folded, /<details class="comment-more"><summary>Show all of it<\/summary>/);
  assert.equal(page(suspectAddress).includes('comment-more'), false);
  // A pair of surrogates is not torn.
  const smiles = '😀'.repeat(400);
  const whole = page({
    ...suspectAddress,
    comments: [{ text: smiles, at: nowMs, categories: [] }],
  });
  assert.ok(whole.includes(`>${'😀'.repeat(280)}…<`));
});

it('draws the score as layers, and says whose reports of what age give how much', () => {
  const drawn = page(suspectAddress);
  assert.match(drawn, /aria-label="12 reports: from 0 to 44; a &lt;list>: from 44 to 61"/);
  assert.match(drawn, /class="tone-0" x="0" width="44"/);
  assert.match(drawn, /class="tone-1" x="44" width="17"/);
  assert.match(
    drawn,
    /one member in the last 24 hours: 30 · 2 accounts without a voice before that: 14/,
  );
  const french = page(suspectAddress, 'fr');
  assert.match(french, /un membre depuis 24 heures : 30/);
  assert.match(french, /aria-label="12 signalements : de 0 à 44; a &lt;list> : de 44 à 61"/);
  // A rule of the operator's decides alone, and reports of a known-good address have no effect.
  assert.doesNotMatch(page({ ...suspectAddress, allowlisted: true, score: 0 }), /class="stacked"/);
  const knownGood = page({ ...suspectAddress, why: { by: 'knownGood' } });
  assert.match(knownGood, /aria-label="a &lt;list>: from 0 to 61"/);
});
