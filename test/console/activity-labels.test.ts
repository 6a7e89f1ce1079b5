/** What a server counts and says of its doings has words in both languages, whatever it is. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CounterName } from '../../src/app/figures.ts';
import { translateSentence } from '../../src/console/parts.page.tsx';
import { activityLabel } from '../../src/console/service/system.page.tsx';
import { type ErrorCode, errors } from '../../src/core/errors.ts';
import { securityEvents } from '../../src/signon/sessions/security-log.ts';
import { translationsFor } from '../../src/signon/words.ts';
import type { PageFrame } from '../../src/web/layout/layout.tsx';

/** One more name of a tally, and this does not compile without it. */
const others = {
  'challenges:given': true,
  'challenges:solved': true,
  'challenges:failed': true,
  'consents:allowed': true,
  'consents:refused': true,
  'sign_on:refused': true,
  'sign_on:held_back': true,
  'gate:allow': true,
  'gate:pass': true,
  'gate:challenge': true,
  'gate:block': true,
  'gate:over_pass': true,
  'gate:bad_policy': true,
  'gate:no_address': true,
} as const satisfies Record<
  Exclude<
    CounterName,
    `sign_on:${(typeof securityEvents)[number]}` | `reports_refused:${ErrorCode}`
  >,
  true
>;
const names: readonly string[] = [
  ...Object.keys(others),
  ...securityEvents.map((event) => `sign_on:${event}`),
  ...Object.keys(errors).map((code) => `reports_refused:${code}`),
];

for (const language of ['en', 'fr'] as const) {
  const { events } = translationsFor(language).account.security;
  const said = (name: string) => activityLabel({ language } as PageFrame, events, name);

  it(`each has words of its own in ${language}`, () => {
    assert.ok(names.length > 60);
    const words = names.map((name) => [name, said(name)] as const);
    const raw = words.filter(([name, text]) => text === name);
    assert.deepEqual(raw, []);
  });

  it(`a name of another version is left as it is in ${language}`, () => {
    for (const name of ['sign_on:sent_to_the_moon', 'toString', 'sign_on:constructor', 'x:y:z']) {
      assert.equal(said(name), name);
    }
  });
}

it('what the program says of a list, a peer and a change is French on a French page', () => {
  const french = (sentence: string) => translateSentence({ language: 'fr' }, sentence);
  assert.equal(
    french("https://lists.example/a.txt: can't be read (no such host)"),
    'https://lists.example/a.txt\u00a0: lecture impossible (hôte introuvable)',
  );
  assert.equal(
    french('line 3 of its snapshot: not sorted by address'),
    'ligne 3 de son instantané\u00a0: lignes non triées par adresse',
  );
  assert.equal(
    french('3 reports of 2 addresses taken back'),
    '3 signalements de 2 adresses retirés',
  );
  assert.equal(french('3 reports of 192.0.2.7 taken back'), '3 signalements de 192.0.2.7 retirés');
  for (const [one, said] of [
    ['1 report of 1 address taken back', '1 signalement de 1 adresse retiré'],
    ['2 reports of 1 address taken back', '2 signalements de 1 adresse retirés'],
    ['1 report of 192.0.2.7 by a-1 taken back', '1 signalement de 192.0.2.7 par a-1 retiré'],
    ['1 report of 192.0.2.7 taken back', '1 signalement de 192.0.2.7 retiré'],
    ['1 report taken back', '1 signalement retiré'],
    ['0 reports taken back', '0 signalement retiré'],
    ['waits again, 1 report put back', 'à nouveau en attente, 1 signalement rétabli'],
  ] as const) {
    assert.equal(french(one), said);
  }
  assert.equal(
    french('its head is refused: it tells another history'),
    'son en-tête est refusé\u00a0: il raconte une autre histoire',
  );
  assert.equal(
    french('It must be a whole number from 1 to 100.'),
    'Indiquez un nombre entier de 1 à 100.',
  );
  assert.equal(
    french('http://a.example/x: no usable row; is --format right? (3 bad lines, 0 not public)'),
    'http://a.example/x\u00a0: aucune ligne utilisable\u202f; vérifiez le format (3 lignes incorrectes, 0 non publiques)',
  );
  for (const unknown of [
    'Nothing known.',
    'a sentence of another version',
    'x: ',
    ': ',
    '{}',
    'constructor',
  ]) {
    assert.equal(translateSentence({ language: 'en' }, unknown), unknown);
  }
});
