/** What the page of an address says in its rarer cases. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ipPage } from '../../../src/reputation/address/address.page.tsx';
import { findPage } from '../../../src/reputation/address/network.page.tsx';
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
  assert.doesNotMatch(none, /id="report-line"|href="\/report/);
  const byPage = page(cleanAddress);
  assert.match(byPage, /<a class="button [^"]*" href="\/report\?address=192\.0\.2\.10"/);
  const url = 'https://ip.example/api/v2/report';
  const byCommand = page({ ...cleanAddress, reportHref: undefined, reportUrl: url });
  assert.match(byCommand, /id="report-line"/);
  assert.match(byCommand, /curl https:\/\/ip\.example\/api\/v2\/report \\\n/);
  assert.match(byCommand, /-d ip=192\.0\.2\.10 -d categories=18,22/);
});

it('says of an address whose range alone was reported that it was not', () => {
  const inRange = page({
    ...cleanAddress,
    unseen: undefined,
    score: 44,
    reports: 12,
    distinctReporters: 3,
  });
  assert.match(inRange, /The reports are about other addresses in its range/);
  assert.match(inRange, /3 accounts reported it\./);
  assert.match(inRange, /<meta name="robots" content="noindex"/);
  assert.doesNotMatch(page(cleanAddress), /other addresses/);
  assert.match(page(cleanAddress), /No list holds it, and nobody has reported it\./);
});

it('tells lists and reports apart, and never adds them up', () => {
  const [list] = suspectAddress.evidence.lists;
  const lists = [list!, { ...list!, kind: 'anon' as const, confidence: undefined }];
  const listed = {
    ...cleanAddress,
    unseen: undefined,
    score: 99,
    listReports: 8,
    evidence: { ...cleanAddress.evidence, lists },
  };
  const both = page({ ...listed, reports: 1, distinctReporters: 1 });
  assert.match(
    both,
    /Block it\.<\/strong> The a &lt;list> list holds it, and one account reported it\./,
  );
  assert.match(both, /<dt>Lists<\/dt><dd>1<small>a &lt;list></, 'by name, once');
  assert.match(both, /<dt>Reports<\/dt><dd>1<small>by 1 account</);
  const alone = page(listed, 'fr');
  assert.match(alone, /La liste a &lt;list> la contient\. Personne ne l’a signalée\./);
  assert.match(alone, /<dt>Signalements<\/dt><dd>0<small>en un an</);
  assert.match(alone, /<meta name="robots" content="noindex"/);
});

it('says where totalReports of the API is more than the reports that it shows', () => {
  const checkUrl = 'https://ip.example/api/v2/check';
  const told = /In the answer, totalReports also counts the lists that hold the address\./;
  assert.match(page({ ...cleanAddress, checkUrl, listReports: 1 }), told);
  assert.doesNotMatch(page({ ...cleanAddress, checkUrl }), told);
});

it('what is known good has the score of its page in a pasted list: 0', () => {
  const cell = { kind: 'good' as const, score: 0 };
  const place = { countryCode: 'US', provider: 'Google LLC' };
  const known = { cell, reports: 0, listReports: 0 };
  const rows = [{ name: '8.8.8.8', href: '/ip/8.8.8.8', ...place, known }];
  const asked = { text: '8.8.8.8', foundMax: 100, more: false, isMiss: false };
  const others = { count: 0, examples: [] };
  const html = findPage(testFrame('en'), {
    ...asked,
    others,
    found: rows,
    csvHref: '/ip?format=csv',
  });
  assert.match(html, /<span class="score-cell band-clean">0 <span class="fact-note">Known good</);
});

it('a list of known good addresses does not speak against one', () => {
  const [list] = suspectAddress.evidence.lists;
  const good = { ...list!, kind: 'good' as const, name: 'bundled', confidence: undefined };
  const named = (lists: (typeof good | typeof list)[]) =>
    page({
      ...cleanAddress,
      unseen: undefined,
      evidence: { ...cleanAddress.evidence, lists: lists.map((one) => one!) },
    });
  assert.match(named([good]), /The bundled list names it as known good\. Nobody has reported it\./);
  const evidence = { ...cleanAddress.evidence, lists: [good] };
  const french = page({ ...cleanAddress, unseen: undefined, evidence }, 'fr');
  assert.match(french, /La liste intégrée la dit sûre\./);
  assert.doesNotMatch(french, /bundled/);
  assert.match(named([good, list]), /The a &lt;list> list holds it\. Nobody has reported it\./);
});

it('what is on the allowlist has that for its reason, before what it wins over', () => {
  const [list] = suspectAddress.evidence.lists;
  const evidence = { ...cleanAddress.evidence, lists: [list!, { ...list!, confidence: 80 }] };
  const allowed = page({ ...cleanAddress, allowlisted: true, unseen: undefined, evidence });
  assert.doesNotMatch(allowed, /The highest value wins/);
  assert.match(
    allowed,
    /<strong>Never blocked\.<\/strong> It is on the allowlist, which wins over lists and reports\.</,
  );
  assert.equal(
    allowed.match(/allowlist/gi)?.length,
    4,
    'gauge, its label, the sentence and the reason',
  );
  assert.match(
    allowed,
    /<ul class="shares"><li class="band-none">.{0,60}<strong>Allowlist<\/strong>/,
  );
});

it('names the autonomous system by its number, and an entry around the address before who names it', () => {
  const known = page({ ...suspectAddress, system: 64_500 });
  assert.match(known, /<a href="\/as\/64500">AS64500 <bdi>Opérateur Exemple SAS<\/bdi><\/a>/);
  assert.match(known, /<dd><a href="\/as\/64500">AS64500<\/a><small><bdi>Opérateur Exemple SAS</);
  assert.match(
    page(suspectAddress),
    /<a href="\/as\/198\.51\.100\.23"><bdi>Opérateur Exemple SAS</,
  );
  assert.match(
    known,
    /<a class="mono" href="\/ip\/198\.51\.100\.0\/24">198\.51\.100\.0\/24<\/a> · <strong><bdi>a &lt;list></,
  );
});

it('gives no number to what nobody has seen', () => {
  const unseen = page(cleanAddress);
  assert.match(unseen, /role="img" aria-label="Never seen"/);
  assert.doesNotMatch(unseen, /gauge-number|<dt>Reports</);
  assert.match(page({ ...cleanAddress, unseen: undefined }), /class="gauge-number">0</);
});

it('says why a known-good address is malicious all the same', () => {
  const both = page({ ...maliciousAddress, why: { by: 'knownGood' } });
  assert.match(both, /Reports don’t count for a known-good address\. A list still does\./);
  assert.match(both, /No effect: the address is known good\./);
});

it('says when the chart is of the latest reports only', () => {
  assert.doesNotMatch(page(suspectAddress), /From the latest/);
  assert.match(page(maliciousAddress), /From the latest 2,000 reports\./);
});

it('begins the timeline where knowledge begins', () => {
  const drawn = page(suspectAddress);
  const first = suspectAddress.reportsPerDay.findIndex(
    ({ count }, i) => count > 0 || (suspectAddress.scorePerDay?.[i]?.score ?? 0) > 0,
  );
  const [, rows = ''] = /<svg class="timeline".*?<tbody>(.*?)<\/tbody>/s.exec(drawn) ?? [];
  assert.equal(rows.match(/<tr>/g)?.length, 90 - first);
  assert.match(drawn, />Block from 75</);
  assert.doesNotMatch(page(cleanAddress), /timeline/);
});

it('a young timeline begins on its first day, and one report is no third of it', () => {
  const [day] = suspectAddress.reportsPerDay.slice(-1);
  const young = page({
    ...suspectAddress,
    reportsPerDay: suspectAddress.reportsPerDay
      .map((one) => ({ ...one, count: 0 }))
      .with(-1, { ...day!, count: 1 }),
    scorePerDay: suspectAddress
      .scorePerDay!.map(() => ({ score: 0, isPart: false }))
      .with(-2, { score: 45, isPart: false })
      .with(-1, { score: 49, isPart: false }),
  });
  const [, rows = ''] = /<svg class="timeline".*?<tbody>(.*?)<\/tbody>/s.exec(young) ?? [];
  const scores = [...rows.matchAll(/<tr>.*?<td[^>]*>(.*?)<\/td>/gs)].map(([, score]) => score);
  assert.deepEqual(scores, ['45', '49']);
  const [, bar] = /class="timeline-bar" x="([\d.]+)"/.exec(young)!;
  const dates = [...young.matchAll(/<text x="([\d.]+)" y="\d+" text-anchor="middle">\d/g)];
  assert.ok(
    dates.some(([, x]) => Number(x) === Number(bar) + 7),
    'the date stands under its day',
  );
  // Without scores there is no axis of them; reports of one day are no chart.
  const unscored = page({ ...suspectAddress, scorePerDay: undefined });
  assert.match(unscored, /<svg class="timeline"[^>]* aria-label="\d+ reports?"/);
  assert.match(unscored, /<h2[^>]*><span>Reports per day since /);
  assert.doesNotMatch(
    unscored,
    /Block from|timeline-score|<th[^>]*>Score<\/th>.*<\/table>.*<\/figure>/s,
  );
  const single = suspectAddress.reportsPerDay.map((one, i) => ({
    ...one,
    count: i === 89 ? 1 : 0,
  }));
  const one = { ...suspectAddress, scorePerDay: undefined, reportsPerDay: single };
  assert.doesNotMatch(page(one), /timeline/);
  // Bars stand below the score’s zero, on a ground of their own: nobody reads them by its axis.
  const [, top, height] = /class="timeline-bar"[^>]* y="(\d+)"[^>]* height="(\d+)"/.exec(young)!;
  const [, zero] = /y="(\d+)" text-anchor="end">0</.exec(young)!;
  assert.ok(Number(top) > Number(zero) - 4, `${top} ${zero}`);
  assert.ok(Number(height) < 15, height);
  assert.match(young, /class="timeline-most"[^>]*>1</);
});

it('folds a long comment, masked before it is cut', () => {
  const address = '45.148.10.77';
  // The beginning of the comment ends in the middle of the address.
  const text = `${'word '.repeat(30)}from ${address} ${'and on '.repeat(40)}`;
  const folded = page({ ...suspectAddress, comments: [{ text, at: nowMs, categories: ['SSH'] }] });
  assert.ok(!folded.includes('45.148'));
  assert.match(folded, /<details class="comment-more"><summary>Show in full<\/summary>/);
  assert.equal(page(suspectAddress).includes('comment-more'), false);
  // A pair of surrogates is not torn.
  const smiles = '😀'.repeat(400);
  const whole = page({
    ...suspectAddress,
    comments: [{ text: smiles, at: nowMs, categories: [] }],
  });
  assert.ok(whole.includes(`>${'😀'.repeat(160)}…<`));
});

it('says whose reports of what age give how much', () => {
  assert.match(
    page(suspectAddress),
    /Last 24 h: 1 trusted account \+30 · Earlier: 2 without a vote \+14/,
  );
  assert.match(page(suspectAddress, 'fr'), /Dernières 24 h\u00a0: 1 compte de confiance \+30/);
});

it('one day is no history: a sentence stands in place of the picture', () => {
  const zero = suspectAddress.scorePerDay!.map(() => ({ score: 0, isPart: false }));
  const today = page({
    ...suspectAddress,
    reportsPerDay: suspectAddress.reportsPerDay.map((one, i) => ({
      ...one,
      count: i === 89 ? 4 : 0,
    })),
    scorePerDay: zero.with(-1, { score: 99, isPart: false }),
  });
  assert.doesNotMatch(today, /timeline/);
  // The reports stand across the page: beside the neighbours they would leave half of it empty.
  assert.match(
    today,
    /Neighbours in .*<\/section><\/div><section class="card"><[^§]*Latest reports/s,
  );
  assert.match(today, /First seen today\. History starts tomorrow\./);
  assert.doesNotMatch(page(suspectAddress), /First seen today/);
});

it('reports have no effect on the allowlist, and nobody is asked for one', () => {
  const allowed = page({ ...suspectAddress, allowlisted: true, why: { by: 'knownGood' } });
  assert.match(allowed, /No effect: it is on the allowlist\./);
  assert.doesNotMatch(allowed, /No effect: the address is known good|href="\/report\?/);
  assert.match(
    page({ ...suspectAddress, allowlisted: true }, 'fr'),
    /Sans effet\u00a0: elle est sur la liste blanche\./,
  );
});

it('reports of an address that count for its network, too, are told once', () => {
  const [own] = suspectAddress.evidence.reports;
  const around = { ...own!, entry: '198.51.100.0/24', score: 20 };
  const of = (second: typeof around) =>
    page({
      ...suspectAddress,
      evidence: { ...suspectAddress.evidence, reports: [own!, second] },
    });
  assert.match(of(around), /The same reports, counted for the network\./);
  assert.doesNotMatch(of({ ...around, reports: 13 }), /The same reports/);
});

it('neighbours have a column of reports where any has some, and say what they are', () => {
  const around = suspectAddress.around!;
  const [first, second] = around.worst;
  const table = (worst: typeof around.worst) =>
    /<div class="around">.*?<\/table>/s.exec(
      page({ ...suspectAddress, around: { ...around, worst } }),
    )![0];
  assert.match(table([first!, second!]), />Address or network<.*>Score<.*>Reports</s);
  assert.doesNotMatch(table([{ ...first!, reports: 0 }]), />Reports<|or network/);
});
