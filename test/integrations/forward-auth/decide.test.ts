/** The decision of all integrations at which proxies ask: whom it can never touch, whatever the index says. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Verdict } from '../../../src/contracts/reputation.ts';
import { parseQuery } from '../../../src/http/request/query.ts';
import { createDecider } from '../../../src/integrations/forward-auth/policy.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { manualClock } from '../../support/seeded.ts';

/** Of a check that says the same of every address. */
function deciding(found: Pick<Verdict, 'score' | 'anonymousExit' | 'allowlisted'>, policy = '') {
  const decider = createDecider({
    check: { judge: () => found },
    passes: { check: () => 'none' },
    clock: manualClock(1_800_000_000_000),
    readParams: parseQuery,
    noteMark() {},
  });
  const read = decider.policyOf(policy);
  assert.ok(read.ok);
  return (address: string): string => {
    const words = new Uint32Array(4);
    const family = parseIp(address, words);
    const visit = { family, words, host: 'site.example', cookies: undefined };
    const { outcome, score } = decider.decide(read.value, visit);
    return `${outcome} ${score}`;
  };
}

const worst = { score: 100, anonymousExit: true, allowlisted: false };

it('special-use addresses and what is no address get in, however the index names them', () => {
  const decide = deciding(worst, 'challenge=1&block=2&anon=block');
  const special = ['10.0.0.7', '127.0.0.1', '192.168.1.1', '172.16.0.1', '169.254.1.1'];
  special.push('100.64.0.1', '0.0.0.0', '224.0.0.1', '255.255.255.255', '::1', '::', 'fe80::1');
  special.push('fd00::1', 'ff02::1', '::ffff:10.0.0.7', '64:ff9b::10.0.0.7', '', 'nonsense');
  for (const address of special) assert.equal(decide(address), 'allow 0', address);
  const ordinary = ['45.10.0.7', '2a10::7', '::ffff:45.10.0.7', '64:ff9b::45.10.0.7'];
  for (const address of ordinary) assert.equal(decide(address), 'block 100', address);
});

it('an exit that is on the allowlist is no exit for the policy', () => {
  const allowed = { score: 0, anonymousExit: true, allowlisted: true };
  assert.equal(deciding(allowed, 'anon=block')('45.10.0.7'), 'allow 0');
  assert.equal(deciding({ ...allowed, allowlisted: false }, 'anon=block')('45.10.0.7'), 'block 0');
});

it('a mark in the policy is told of with each question, and changes no verdict', () => {
  const told: unknown[] = [];
  const decider = createDecider({
    check: { judge: () => worst },
    passes: { check: () => 'none' },
    clock: manualClock(0),
    readParams: parseQuery,
    noteMark: (mark, { family }, note = '') => told.push([mark, family, note]),
  });
  const mark = 'a1'.repeat(20);
  for (let round = 0; round < 2; round++) {
    const read = decider.policyOf(`block=80&mark=${mark}`);
    assert.ok(read.ok && read.value.blockFrom === 80);
    const words = new Uint32Array(4);
    const visit = { family: 4, words, host: '', cookies: undefined } as const;
    if (round === 0) {
      for (const ip of ['45.10.0.7', '172.17.0.1', '127.0.0.1', '192.0.2.1']) {
        parseIp(ip, words);
        decider.decide(read.value, visit);
      }
    } else decider.refuse(read.value, { ...visit, family: 6 }, 'silent 10.0.0.1');
  }
  assert.deepEqual(told, [
    [mark, 4, 'visitor 45.10.0.7'],
    [mark, 4, 'private 172.17.0.1'],
    [mark, 4, 'loopback 127.0.0.1'],
    [mark, 4, 'visitor 192.0.2.1'],
    [mark, 6, 'silent 10.0.0.1'],
  ]);
  for (const bad of ['', 'a1', mark.toUpperCase(), `${mark}0`]) {
    const read = decider.policyOf(`mark=${bad}`);
    assert.ok(!read.ok && read.parameter === 'mark', bad);
  }
  assert.equal(told.length, 5);
});

it('policies beyond those that are kept are read all the same', () => {
  const decider = createDecider({
    check: { judge: () => worst },
    passes: { check: () => 'none' },
    clock: manualClock(0),
    readParams: parseQuery,
    noteMark() {},
  });
  for (let pass = 60; pass < 660; pass++) {
    const read = decider.policyOf(`pass=${pass}`);
    assert.ok(read.ok && read.value.passMs === pass * 1_000);
    assert.equal(decider.policyOf(`pass=${pass}&x=${pass}`).ok, false);
  }
});
