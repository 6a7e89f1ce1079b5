/** Pages of more than one address: the map of a /24 tells what nobody has seen from what is clean, a paste what is known. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { AddressCell } from '../../../src/reputation/address/known.ts';
import {
  addressGrid,
  findPage,
  type NamedNetwork,
  systemPage,
} from '../../../src/reputation/address/network.page.tsx';
import { translationsFor } from '../../../src/reputation/words.ts';
import { renderHtml } from '../../../src/web/html.ts';
import { testFrame } from '../../web/page-fixtures.ts';

const at: Readonly<Record<number, AddressCell>> = {
  0: { kind: 'special', score: 0 },
  7: { kind: 'seen', score: 0 },
  8: { kind: 'seen', score: 90 },
  20: { kind: 'good', score: 0 },
  21: { kind: 'good', score: 80 },
  30: { kind: 'allowed', score: 0 },
};
const cells = Array.from({ length: 256 }, (_, host) => at[host] ?? { kind: 'unseen', score: 0 });
const drawn = (language: 'en' | 'fr') =>
  renderHtml(addressGrid(cells as AddressCell[], '192.0.2.0/24', translationsFor(language)));

it('each kind has a look and words of its own', () => {
  const map = drawn('en');
  const lookOf = (host: number) =>
    new RegExp(`<li class="([^"]+)"><a [^>]*title="192\\.0\\.2\\.${host}: ([^"]+)"`).exec(map);
  const said = [0, 1, 7, 8, 20, 21, 30].map((host) => lookOf(host)?.slice(1, 3));
  assert.deepEqual(said, [
    ['is-special', 'private or reserved'],
    ['is-unseen', 'never seen'],
    ['band-clean', 'Clean 0'],
    ['band-malicious', 'Malicious 90'],
    ['is-good', 'known good'],
    ['band-malicious', 'known good, 80'],
    ['is-allowed', 'allowlisted'],
  ]);
});

it('the key names what is on the map, and the table says it in rows of neighbours', () => {
  const french = drawn('fr');
  for (const word of ['Jamais vue', 'Réputée sûre', 'Liste blanche', 'Privée ou réservée']) {
    assert.ok(french.includes(`</span>${word}</li>`), word);
  }
  const map = drawn('en');
  const rows = [
    ...map.matchAll(/<th scope="row"><span class="mono">([^<]+)<\/span><\/th><td>([^<]+)</g),
  ];
  assert.deepEqual(
    rows.slice(0, 5).map(([, from, word]) => [from?.trim(), word]),
    [
      ['192.0.2.0', 'private or reserved'],
      ['192.0.2.1 – 192.0.2.6', 'never seen'],
      ['192.0.2.7', 'Clean 0'],
      ['192.0.2.8', 'Malicious 90'],
      ['192.0.2.9 – 192.0.2.19', 'never seen'],
    ],
  );
  const plain = renderHtml(
    addressGrid(
      cells.map(() => ({ kind: 'unseen', score: 0 })),
      '192.0.2.0/24',
      translationsFor('en'),
    ),
  );
  assert.doesNotMatch(plain, /is-good|is-special|is-allowed|band-/, 'the key names what is there');
});

it('a row of a pasted address marks what is not known of it, which a phone leaves out', () => {
  const known = { cell: at[8]!, reports: 0, listReports: 0 };
  const place = { countryCode: '', provider: '' };
  const found = [
    { name: '192.0.2.8', href: '/ip/192.0.2.8', ...place, known },
    { name: '192.0.2.9', href: '/ip/192.0.2.9', ...place, provider: 'A', known },
  ];
  const asked = {
    text: '',
    foundMax: 300,
    found,
    more: false,
    others: { count: 0, examples: [] },
    isMiss: false,
    csvHref: '/ip',
  };
  const rows = findPage(testFrame(), asked).split('<tr role="row">').slice(2);
  const unknown = rows.map((row) => row.match(/<td[^>]*><span class="is-unknown">/g)?.length ?? 0);
  assert.deepEqual(unknown, [2, 1], rows.join('\n'));
});

it('counts pasted rows so that the numbers add up, and names what is no address', () => {
  const row = (cell: AddressCell) => ({
    name: '192.0.2.8',
    href: '/ip/192.0.2.8',
    countryCode: '',
    provider: '',
    known: { cell, reports: 0, listReports: 0 },
  });
  const found = [
    ...(cells as AddressCell[]).slice(0, 20).map(row),
    { name: '192.0.2.0/24', href: '/ip/192.0.2.0/24', countryCode: 'FR', provider: 'Its own' },
  ];
  const asked = { text: '', foundMax: 300, more: false, isMiss: false, csvHref: '/ip' };
  const bad = ['999.1.1.1', '<b>', 'c', 'd', 'e', 'f'];
  const others = { count: 9, examples: bad.map((text, i) => ({ text, line: 3 + i })) };
  const shown = findPage(testFrame(), { ...asked, found, others });
  const [badges = ''] = /<p class="badges">.*?<\/p>/s.exec(shown) ?? [];
  const counts = [...badges.matchAll(/· (\d+)</g)].map(([, count]) => Number(count));
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    21,
    badges,
  );
  assert.match(
    shown,
    /9 aren’t addresses: <bdi class="mono">999\.1\.1\.1<\/bdi>, <bdi class="mono">&lt;b>/,
  );
  assert.match(shown, /e<\/bdi> and 4 more<\/p>/);
  assert.match(shown, /192\.0\.2\.0\/24<.*France<.*<bdi>Its own</s);
  const lined = findPage(testFrame(), { ...asked, text: '192.0.2.8\nx', found, others });
  assert.match(lined, /999\.1\.1\.1<\/bdi> \(line 3\), <bdi class="mono">&lt;b><\/bdi> \(line 4\)/);
  assert.match(lined, /href="#pasted">Edit the text</);
});

function system(
  language: 'en' | 'fr',
  networks: readonly NamedNetwork[],
  networksInAll: number,
  isPart = false,
) {
  const bands = { clean: 0, low: 0, suspect: 0, malicious: 1_200 };
  const worst = Array.from({ length: 15 }, (_, host) => ({
    name: `192.0.2.${host}`,
    score: 90,
    reports: 0,
    listReports: 1,
  }));
  return systemPage(testFrame(language), {
    number: 64_500,
    name: 'Example',
    entries: 1_200,
    malicious: 1_200,
    bands,
    worst,
    isPart,
    page: 1,
    pages: 80,
    ranges: 3,
    countryCode: 'FR',
    countries: 1,
    totals: { 4: 1_000, 6: 12 },
    networks,
    networksInAll,
    quiet: [],
    attribution: { name: 'x', href: 'https://x.example', licence: 'CC', madeAt: 0 },
  });
}

it('the table of networks says what it leaves out, and agrees with them in French', () => {
  const networks = Array.from({ length: 200 }, (_, n) => ({
    name: `10.${n}.0.0/16`,
    countryCode: 'FR',
    entries: 2,
    malicious: 1,
  }));
  const cut = system('en', networks, 900);
  const told = 'The 200 worst of 900 networks with entries.';
  assert.equal(cut.split(`<caption class="visually-hidden">${told}</caption>`).length, 3);
  assert.match(cut, new RegExp(`<p class="card-note">${told}</p>`));
  assert.match(cut, /All 1,200 known entries are malicious\./);
  assert.doesNotMatch(system('en', networks, 200), /worst of/);
  assert.match(
    system('en', [], 0, true),
    /1,200 of the first 1,200 entries are malicious\. There are more\./,
  );
  const french = system('fr', networks, 900).replaceAll('\u00ad', '');
  assert.match(french, /<th scope="col" class="is-numeric">Malveillantes<\/th>/);
  // Of one country, which the facts name.
  assert.equal(french.match(/France/g)?.length, 1);
});
