/** Names that the eye takes for another. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainToASCII } from 'node:url';
import { lookAlikeOf } from '../../../src/signon/sites/site-names.ts';

test('names that only look like a known one are found, others and the name itself are not', () => {
  const known = ['mail.example', 'paypal.example', 'google.example'];
  const alike: readonly (readonly [string, string])[] = [
    ['rnail.example', 'mail.example'],
    ['mai1.example', 'mail.example'],
    ['mаil.example', 'mail.example'],
    ['máil.example', 'mail.example'],
    ['раураl.example', 'paypal.example'],
    ['paypaI.example'.toLowerCase(), 'paypal.example'],
    ['g00gle.example', 'google.example'],
    ['gοοgle.example', 'google.example'],
    ['goo-gle.example', 'google.example'],
  ];
  for (const [name, of] of alike) assert.equal(lookAlikeOf(domainToASCII(name), known), of, name);
  for (const name of [
    ...known,
    'shop.example',
    'mailer.example',
    'gogle.example',
    'xn--wgv71a.example',
  ])
    assert.equal(lookAlikeOf(name, known), undefined, name);
});
