/** What somebody who guesses passwords uses up: nothing that other addresses and other accounts need. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { duplicateReportMs } from '../../../src/contracts/reputation.ts';
import type { Request } from '../../../src/http/request/message.ts';
import {
  createLoginFailures,
  createLoginFairShare,
  createPolicyIntegration,
  failuresForReport,
  failureWindowMs,
  type PolicyIntegrationOptions,
  shareOfClient,
} from '../../../src/integrations/dovecot/policy.route.ts';
import { manualClock } from '../../support/seeded.ts';

/** A key with a budget, and everybody with a bad name. */
function openDoor(budget: number) {
  const clock = manualClock(1_800_000_000_000);
  const asked = new Map<string, number>();
  const outcomes: string[] = [];
  const verdict = { score: 100, malicious: true, anonymousExit: false, allowlisted: false };
  const options = {
    quotaGuard: { authenticate: () => 0 },
    check: { judge: () => verdict },
    clock,
    admitQuestion(name: string) {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      return asked.get(name)! <= budget;
    },
    shares: createLoginFairShare(clock, 7),
    count: (outcome: string) => outcomes.push(outcome),
  };
  const integration = createPolicyIntegration(options as unknown as PolicyIntegrationOptions);
  const headers = { 'x-api-key': ['pcl_abcdefgh1'] };
  function ask(remote: string, command = 'allow') {
    const body = Buffer.from(JSON.stringify({ remote, success: false }));
    const answer = integration.ask({
      body,
      query: `command=${command}`,
      headers,
    } as unknown as Request);
    assert.ok(!('ok' in answer));
    return 'slot' in answer ? 'counted' : JSON.parse(String(answer.body)).status;
  }
  return { ask, clock, outcomes };
}

it('an address that floods is judged on, and costs the other addresses none of their answers', () => {
  const { ask, clock, outcomes } = openDoor(shareOfClient.max + 2);
  for (let i = 0; i < 3 * shareOfClient.max; i++) assert.equal(ask('45.10.0.7'), -1);
  assert.equal(ask('45.10.0.8'), -1);
  assert.equal(ask('45.10.0.9'), -1);
  assert.equal(ask('45.10.0.10'), 0, 'the budget of the key is used up');
  assert.equal(outcomes.filter((one) => one === 'over_limit').length, 1);
  // Of its failures those within its share are counted, and then none.
  clock.advance(shareOfClient.windowMs);
  const told = Array.from({ length: shareOfClient.max + 9 }, () => ask('45.10.0.7', 'report'));
  assert.equal(told.filter((one) => one === 'counted').length, shareOfClient.max);
});

it('all of an IPv6 /64 have one share, and its neighbour has another', () => {
  const { ask } = openDoor(shareOfClient.max + 1);
  for (let i = 0; i < 2 * shareOfClient.max; i++) assert.equal(ask(`2a10::${i.toString(16)}`), -1);
  assert.equal(ask('2a10:0:0:1::1'), -1);
  assert.equal(ask('2a10:0:0:2::1'), 0);
});

it('what is told of failures from however many addresses costs no question', () => {
  const { ask, outcomes } = openDoor(3);
  const told = Array.from({ length: 9 }, (_, i) => ask(`45.10.1.${i}`, 'report'));
  assert.deepEqual(told, ['counted', 'counted', 'counted', 0, 0, 0, 0, 0, 0]);
  assert.equal(outcomes.filter((one) => one === 'over_limit').length, 6);
  assert.equal(ask('45.10.0.7'), -1);
});

it('failures of a private address are not counted: their report would cost a write and be refused', () => {
  const { ask } = openDoor(100);
  assert.equal(ask('10.0.0.7', 'report'), 0);
  assert.equal(ask('45.10.0.7', 'report'), 'counted');
});

it('so many failures within the window are one report, and the next can be made in 15 minutes', () => {
  const clock = manualClock(1_800_000_000_000);
  const failures = createLoginFailures(clock);
  const note = (ip: string, times: number) =>
    Array.from({ length: times }, () => failures.note(3, ip)).filter(Boolean).length;
  assert.equal(note('45.10.0.1', failuresForReport - 1), 0);
  clock.advance(failureWindowMs);
  assert.equal(note('45.10.0.1', failuresForReport - 1), 0, 'the first are too old');
  assert.equal(note('45.10.0.1', 1), 1);
  assert.equal(note('45.10.0.1', 100 * failuresForReport), 0, 'each would cost a write');
  assert.equal(note('45.10.0.2', failuresForReport), 1, 'another address is heard meanwhile');
  clock.advance(duplicateReportMs - 1);
  assert.equal(note('45.10.0.1', failuresForReport), 0);
  clock.advance(1);
  assert.equal(note('45.10.0.1', failuresForReport), 1);
});

it('a /64, or an account, with ever new addresses pushes out its own, and no other account’s', () => {
  const failures = createLoginFailures(manualClock(0), 40);
  const note = (slot: number, ip: string, times = 1) =>
    Array.from({ length: times }, () => failures.note(slot, ip)).filter(Boolean).length;
  const almost = failuresForReport - 1;
  assert.equal(note(1, '45.10.0.1', almost) + note(2, '45.10.0.1', almost), 0);
  for (let i = 1; i <= 100; i++) note(1, `2a10::${i.toString(16)}`);
  assert.equal(failures.table.used(), 2 + 16, 'of a /64');
  assert.equal(note(1, '45.10.0.1'), 1, 'the /64 took no place of another client');
  for (let i = 1; i <= 200; i++) note(3, `45.11.0.${i}`);
  assert.equal(failures.table.used(), 40);
  assert.equal(note(2, '45.10.0.1'), 1, 'another account keeps what it had');
  assert.equal(note(3, '45.11.0.200', almost), 1, 'what came last is there');
});
