/** No fault and no limit lists an address: what integrations say while nothing behind them can be read. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { HotRequest, HotRoute } from '../../src/http/router.ts';
import { createBanTable } from '../../src/integrations/crowdsec/ban-table.ts';
import { type LiveOptions, liveRoute } from '../../src/integrations/crowdsec/live.route.ts';
import { createBlockedPage } from '../../src/integrations/forward-auth/blocked.page.ts';
import { type GateOptions, gateRoutes } from '../../src/integrations/forward-auth/check.route.ts';
import { parseIp } from '../../src/ip/address.ts';
import { usualSaid } from '../support/integrations/agent-bans.ts';
import { manualClock } from '../support/seeded.ts';

const clock = manualClock(1_800_000_000_000);
const visitor = '45.10.0.7';

function fault(): never {
  throw new Error('the index is damaged');
}

/** What a route says of the visitor: status line and body. Undefined: it threw, or said nothing. */
function saidBy(route: HotRoute, query: string): [string, string] | undefined {
  let said: [string, string] | undefined;
  const request: Partial<HotRequest> = {
    query,
    values: ['pcl_12345678secret'],
    client: () => ({ ip: visitor, standing: 'named' }),
    id: () => 'id',
    answer(head, body) {
      said = [head.split('\r\n')[0]!, String(body)];
    },
  };
  try {
    route.handle(request as HotRequest);
  } catch {
    return undefined;
  }
  return said;
}

/** One entry, that nothing but reports is said of. */
function indexOf(more: object): object {
  const listNames = new Uint8Array(1_024);
  const index = { readPrefix: () => 32, walk: () => undefined, covering: () => 0, listNames };
  return Object.assign(index, more);
}

/** Everybody is malicious, every key is good. */
function live(more: object) {
  const counted: string[] = [];
  const logged: string[] = [];
  const verdict = {
    score: 90,
    malicious: true,
    decidedBy: 0,
    allowlisted: false,
    knownGood: false,
  };
  const options = {
    quotaGuard: { authenticate: () => 3 },
    check: { judge: () => verdict },
    clock,
    index: indexOf({}),
    maliciousBy: () => [0],
    captchaFrom: 0,
    isExempt: () => false,
    bans: { endOf: () => 0, lengthBelow: () => -1 },
    admitQuestion: () => true,
    recordRefusal: () => {},
    count: (outcome: string) => counted.push(outcome),
    log: { error: (_: object, text: string) => logged.push(text) },
    ...more,
  };
  const route = liveRoute(options as unknown as LiveOptions);
  return { ask: (query = `ip=${visitor}`) => saidBy(route, query), counted, logged };
}

it('a look-up of a bouncer that fails anywhere is null, with status 200', () => {
  assert.match(live({}).ask()![1], /"type":"ban"/, 'without a fault it is listed');
  const unknown = { malicious: false, decidedBy: -1, allowlisted: false, knownGood: false };
  for (const broken of [
    { quotaGuard: { authenticate: fault } },
    { admitQuestion: fault },
    { clock: { now: fault } },
    { check: { judge: fault } },
    { index: indexOf({ readPrefix: fault }) },
    { index: indexOf({ readPrefix: () => 24, walk: fault }) },
    { maliciousBy: fault },
    { check: { judge: () => unknown }, bans: { endOf: fault } },
  ]) {
    const { ask, counted, logged } = live(broken);
    assert.deepEqual(ask(), ['200 OK', 'null']);
    assert.deepEqual(counted, ['failed']);
    assert.equal(logged.length, 1);
  }
});

it('a limit and a full table of bans list nobody, and a clock that is ahead ends bans early', () => {
  assert.deepEqual(live({ admitQuestion: () => false }).ask(), ['200 OK', 'null']);
  const verdict = { malicious: false, decidedBy: -1, allowlisted: false, knownGood: false };
  const check = { judge: () => verdict };
  const bans = createBanTable(2);
  const words = new Uint32Array(4);
  const set = (ip: string) =>
    bans.set(3, parseIp(ip, words) as 4, words, clock.now() + 4 * 3_600_000, usualSaid);
  assert.deepEqual(['45.10.0.1', '45.10.0.2', visitor].map(set), [true, true, false]);
  const { ask } = live({ check, bans });
  assert.match(ask('ip=45.10.0.1')![1], /"value":"45.10.0.1"/);
  assert.deepEqual(ask(), ['200 OK', 'null']);
  const ahead = { now: () => clock.now() + 5 * 3_600_000 };
  assert.deepEqual(live({ check, bans, clock: ahead }).ask('ip=45.10.0.1'), ['200 OK', 'null']);
});

it('the gate says no verdict when it can’t look: the server’s 500 is all there is', () => {
  const judged = { score: 100, anonymousExit: false, allowlisted: false };
  const gate = (judge: () => object) => {
    const counted: string[] = [];
    const [route] = gateRoutes({
      check: { judge },
      clock,
      passes: { look: () => 'none' },
      hasProxies: true,
      noteMark: () => undefined,
      blocked: createBlockedPage({ baseUrl: '' }),
      count: (outcome: string) => counted.push(outcome),
    } as unknown as GateOptions);
    return { said: saidBy(route!, ''), counted };
  };
  assert.equal(gate(() => judged).said![0], '403 Forbidden');
  assert.deepEqual(gate(fault), { said: undefined, counted: [] });
});
