/** The pass of the gate: whatever is not exactly right is as if it were not there. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../../src/core/random.ts';
import {
  createPasses,
  type GateVisitor,
  hostOf,
} from '../../../src/integrations/forward-auth/pass.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { manualClock } from '../../support/seeded.ts';

const hourMs = 3_600_000;
const key = new Uint8Array(32).fill(7);

function visitor(address: string, host = 'site.example'): GateVisitor {
  const words = new Uint32Array(4);
  const family = parseIp(address, words);
  assert.ok(family !== 0, address);
  return { host, family, words };
}

function setUp(options: { keptMax?: number } = {}) {
  const clock = manualClock(1_800_000_000_000);
  const passes = createPasses({ key, clock, random: systemRandom(), ...options });
  const check = (text: string, who = visitor('45.10.0.7'), ageMs = hourMs) =>
    passes.check(`portcullis_pass=${text}`, who, ageMs);
  return { clock, passes, check, issued: passes.issue(visitor('45.10.0.7')) };
}

it('a pass is good for its host and network, on every node with the same key', () => {
  const { passes, check, issued } = setUp();
  assert.match(issued, /^pcp1\.[\w-]+\.[\w-]{43}$/);
  assert.equal(check(issued), 'good');
  assert.equal(check(issued, visitor('45.10.0.200')), 'good');
  assert.equal(setUp().check(issued), 'good', 'another process');
  const six = passes.issue(visitor('2001:500:1:2::7'));
  assert.equal(check(six, visitor('2001:500:1:2:ffff::1')), 'good');
  assert.equal(check(six, visitor('2001:500:1:3::7')), 'none');
});

it('foreign, expired, of another network or key: as if there were none', () => {
  const { clock, passes, check, issued } = setUp();
  assert.equal(check(issued, visitor('45.10.1.7')), 'none');
  assert.equal(check(issued, visitor('45.10.0.7', 'other.example')), 'none');
  assert.equal(check(issued, visitor('2d0a:7::')), 'none');
  const other = createPasses({ key: new Uint8Array(32), clock, random: systemRandom() });
  assert.equal(check(other.issue(visitor('45.10.0.7'))), 'none');
  clock.advance(hourMs - 1_000);
  assert.equal(check(issued), 'good');
  clock.advance(1_000);
  assert.equal(check(issued), 'none', 'older than the policy allows');
  assert.equal(check(issued, undefined, 24 * hourMs), 'good', 'and another policy allows more');
  clock.advance(23 * hourMs);
  assert.equal(check(issued, undefined, 48 * hourMs), 'none', 'no policy allows more than its end');
  const fresh = passes.issue(visitor('45.10.0.7'));
  assert.equal(check(fresh), 'good');
  const late = setUp();
  assert.equal(late.check(fresh), 'none', 'issued in a day to come');
});

it('it stands among other cookies, and a name that ends as its own is another', () => {
  const { passes, issued } = setUp();
  const check = (cookies: string) => passes.check(cookies, visitor('45.10.0.7'), hourMs);
  assert.equal(check(`a=b; portcullis_pass=${issued}; c=d`), 'good');
  assert.equal(check(`a=b, portcullis_pass=${issued}`), 'good', 'two header lines');
  assert.equal(check(`portcullis_pass=old; portcullis_pass=${issued}`), 'good');
  assert.equal(check(`x_portcullis_pass=${issued}`), 'none');
  assert.equal(check(`portcullis_passx=${issued}`), 'none');
  assert.equal(check(`a=portcullis_pass=${issued}`), 'none');
  assert.equal(check('portcullis_pass'), 'none');
  assert.equal(passes.check(undefined, visitor('45.10.0.7'), hourMs), 'none');
});

it('no junk before a pass, nor behind it, hides it', () => {
  const { clock, passes, issued } = setUp();
  const end = issued.endsWith('AA') ? 'AE' : 'AA';
  const forged = `${issued.slice(0, -2)}${end}`;
  const foreign = passes.issue(visitor('45.99.0.7', 'other.example'));
  const other = createPasses({ key: new Uint8Array(32), clock, random: systemRandom() });
  const alike = Array.from({ length: 60 }, () => other.issue(visitor('45.10.0.7')));
  clock.advance(-hourMs);
  const old = passes.issue(visitor('45.10.0.7'));
  clock.advance(hourMs);
  const pass = passes.issue(visitor('45.10.0.7'));
  const junk = [
    '',
    'x',
    '"',
    `"${issued}"`,
    'pcp1..',
    `${issued}x`,
    forged,
    foreign,
    old,
    ...alike,
  ];
  for (const texts of [
    ...junk.map((text) => [text]),
    junk,
    Array(100).fill(forged),
  ] as string[][]) {
    const crowd = texts.map((text) => `portcullis_pass=${text}`).join('; ');
    for (const cookies of [
      `${crowd}; portcullis_pass=${pass}`,
      `portcullis_pass=${pass}; ${crowd}`,
    ]) {
      assert.equal(passes.check(cookies, visitor('45.10.0.7'), hourMs), 'good', crowd.slice(0, 90));
    }
    assert.equal(passes.check(crowd, visitor('45.10.0.7'), 1), 'none', crowd.slice(0, 90));
  }
});

it('forged passes cost a bounded number of signatures in a second', () => {
  const { clock, passes, issued } = setUp();
  const other = createPasses({ key: new Uint8Array(32), clock, random: systemRandom() });
  const after = (count: number, text: string) => {
    const texts = Array.from({ length: count }, () => other.issue(visitor('45.10.0.7')));
    const cookies = [...texts, text].map((each) => `portcullis_pass=${each}`).join('; ');
    return passes.check(cookies, visitor('45.10.0.7'), hourMs);
  };
  for (let i = 0; i < 11; i++) after(120, 'x');
  assert.equal(after(16, issued), 'none', 'others have used up what there is for long heads');
  clock.advance(1_000);
  assert.equal(after(16, issued), 'good');
  for (let i = 0; i < 11; i++) after(120, 'x');
  assert.equal(after(16, issued), 'good', 'once verified it costs none');
  assert.equal(after(15, passes.issue(visitor('45.10.0.7'))), 'good', 'a few are always looked at');
});

it('a pass that asked too often does not hide another one', () => {
  const { passes, issued } = setUp();
  const second = passes.issue(visitor('45.10.0.7'));
  const check = (cookies: string) => passes.check(cookies, visitor('45.10.0.7'), hourMs);
  for (let i = 0; i < 600; i++) check(`portcullis_pass=${issued}`);
  assert.equal(check(`portcullis_pass=${issued}`), 'over');
  assert.equal(check(`portcullis_pass=${issued}; portcullis_pass=${second}`), 'good');
  assert.equal(check(`portcullis_pass=${issued}; portcullis_pass=x`), 'over');
});

it('beyond 600 requests in a minute a pass does not count, and then it does again', () => {
  const { clock, check, issued } = setUp();
  for (let i = 0; i < 600; i++) assert.equal(check(issued), 'good', `request ${i + 1}`);
  assert.equal(check(issued), 'over');
  clock.advance(60_000);
  assert.equal(check(issued), 'good');
});

it('a full memory of passes forgets the oldest and takes all of them', () => {
  const { passes, check, issued } = setUp({ keptMax: 2 });
  const others = [1, 2, 3].map(() => passes.issue(visitor('45.10.0.7')));
  for (const text of [issued, ...others, issued]) assert.equal(check(text), 'good');
});

it('no byte of a pass can be changed, and no text throws', () => {
  const { passes, check, issued } = setUp();
  assert.equal(check(issued), 'good');
  const changed = fc
    .tuple(fc.nat(issued.length - 1), fc.string({ minLength: 0, maxLength: 3, unit: 'binary' }))
    .map(([at, text]) => issued.slice(0, at) + text + issued.slice(at + 1));
  const alike = fc.tuple(fc.base64String(), fc.base64String()).map(([a, b]) => `pcp1.${a}.${b}`);
  fc.assert(
    fc.property(fc.oneof(changed, alike, fc.string({ unit: 'binary' })), (text) => {
      if (text.split(/[;, \t]/, 1)[0] === issued) return;
      assert.equal(check(text), 'none');
    }),
    { numRuns: 800 },
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (cookies) => {
      assert.equal(passes.check(cookies, visitor('45.10.0.7'), hourMs), 'none');
    }),
  );
  // The last character of 43 has two bits that say nothing: another spelling is another text.
  const last = issued.at(-1)!;
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const twin = digits[digits.indexOf(last) ^ 1]!;
  assert.equal(check(issued.slice(0, -1) + twin), 'none');
});

it('a host is its name, however it is written', () => {
  assert.equal(hostOf('Site.Example:8443', 'x'), 'site.example');
  assert.equal(hostOf(undefined, 'site.example.'), 'site.example');
  assert.equal(hostOf('a.example, site.example', undefined), 'site.example');
  assert.equal(hostOf('[2001:DB8::1]:443', undefined), '[2001:db8::1]');
  for (const odd of ['a b', 'a/b', 'é', '', 'x'.repeat(300), 'a:b:c', '\0'])
    assert.equal(hostOf(odd, undefined), '', odd);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
      assert.match(hostOf(text, text), /^[\x21-\x7e]{0,253}$/);
    }),
  );
});
