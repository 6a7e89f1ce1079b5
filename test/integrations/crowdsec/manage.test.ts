/** Manual entries by keys that may manage them, and decisions that no agent made beside those of agents. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ok } from '../../../src/core/result.ts';
import { dayMs, hourMs } from '../../../src/core/time.ts';
import { createBanTable } from '../../../src/integrations/crowdsec/ban-table.ts';
import { createBans } from '../../../src/integrations/crowdsec/bans.ts';
import type { AgentDecision } from '../../../src/integrations/crowdsec/decisions.ts';
import { byOperator } from '../../../src/integrations/crowdsec/decisions.ts';
import {
  createManager,
  createStandingDecisions,
  mergeDecisions,
} from '../../../src/integrations/crowdsec/manage.ts';
import { manualClock } from '../../support/seeded.ts';

const startMs = 1_800_000_000_000;
const by = { keyId: 'k', clientIp: '192.0.2.1' };

/** The operator's table as a service has it, each act after a turn of the loop. */
function openManager() {
  const clock = manualClock(startMs);
  const table = new Map<string, { prefix: string; score: number; setAt: number; endsAt: number }>();
  const acts: string[] = [];
  const manager = createManager({
    clock,
    store: { writeState: () => ({ available: true, fatal: false }) } as never,
    operator: {
      maliciousScore: 75,
      async run({ act, fields: { prefix = '', until = '' } }) {
        await new Promise((resolve) => setImmediate(resolve));
        acts.push(`${act} ${prefix}`);
        if (act === 'entry remove') table.delete(prefix);
        else table.set(prefix, { prefix, score: 100, setAt: startMs, endsAt: Date.parse(until) });
        return ok(undefined);
      },
      manualEntries: async () => [...table.values()],
      manualGroups: async () => [],
      allowRules: async () => [],
    },
  });
  const wanted = (value: string, hours: number) => ({
    ...({ value, type: 'ban', durationMs: hours * hourMs, origin: 'cscli', scenario: '' } as const),
  });
  const hoursLeft = (value: string) => ((table.get(value)?.endsAt ?? 0) - startMs) / hourMs;
  return { manager, table, acts, wanted, hoursLeft };
}

it('a manual entry that lasts longer stands: of one request, of another one at the same time, and without an end', async () => {
  const { manager, table, acts, wanted, hoursLeft } = openManager();
  await manager.ban([wanted('45.60.0.1', 24), wanted('45.60.0.1', 1)], by);
  assert.equal(hoursLeft('45.60.0.1'), 24);
  await Promise.all([
    manager.ban([wanted('45.60.0.2', 48)], by),
    manager.ban([wanted('45.60.0.2', 2)], by),
  ]);
  assert.equal(hoursLeft('45.60.0.2'), 48);
  table.set('45.60.0.3', { prefix: '45.60.0.3', score: 90, setAt: startMs, endsAt: 0 });
  await manager.ban([wanted('45.60.0.3', 366 * 24)], by);
  assert.equal(table.get('45.60.0.3')?.endsAt, 0);
  assert.deepEqual(acts, ['entry add 45.60.0.1', 'entry add 45.60.0.2']);
});

type Rows = Record<string, number>;

function openStanding(lifeMs: number) {
  const clock = manualClock(startMs);
  const bans = createBans({ clock, shared: createBanTable(64) });
  const rows: Rows = {};
  const standing = createStandingDecisions({
    name: '(operator)',
    bans,
    clock,
    lifeMs,
    freshMs: 1_000,
    read: async () =>
      new Map<string, Omit<AgentDecision, 'position'>>(
        Object.entries(rows).map(([value, untilMs]) => [
          value,
          { ...byOperator, atMs: startMs, untilMs },
        ]),
      ),
  });
  async function refresh(passedMs = 0) {
    clock.advance(passedMs);
    await standing.refresh();
    return standing.decisions();
  }
  return { clock, bans, rows, refresh };
}

it('a decision that does not end is told for a while, and anew before that is over', async () => {
  const { rows, refresh } = openStanding(2 * dayMs);
  rows.JP = Number.POSITIVE_INFINITY;
  const first = (await refresh())?.active.get('JP');
  assert.equal(first?.untilMs, startMs + 2 * dayMs);
  assert.equal((await refresh(dayMs - 1))?.active.get('JP')?.position, first.position);
  const again = (await refresh(1_000))?.active.get('JP');
  assert.ok(again!.position > first.position);
  assert.equal(again!.untilMs, startMs + 3 * dayMs + 999);
});

it('one that ends sooner than was told, or is gone, is told as ended; one that is over is told no more', async () => {
  const { rows, refresh } = openStanding(2 * dayMs);
  Object.assign(rows, { JP: startMs + dayMs, FR: startMs + dayMs, US: startMs - 1 });
  await refresh();
  rows.JP = startMs + hourMs;
  delete rows.FR;
  const seen = await refresh(1_000);
  assert.deepEqual([...seen!.active.keys()], ['JP']);
  assert.equal(seen!.active.get('JP')?.untilMs, startMs + hourMs);
  assert.deepEqual([...seen!.ended.keys()], ['FR']);
  const position = seen!.lastPosition;
  assert.equal((await refresh(1_000))!.lastPosition, position);
  assert.deepEqual([...(await refresh(hourMs))!.ended.keys()].sort(), ['FR', 'JP']);
  const over = (await refresh(1_000))!.lastPosition;
  assert.equal((await refresh(1_000))!.lastPosition, over);
});

it('the end of another decision on a value takes none away that the account has itself', async () => {
  const { bans, rows, refresh } = openStanding(2 * dayMs);
  rows.JP = Number.POSITIVE_INFINITY;
  await refresh();
  const mine = { ...byOperator, type: 'captcha', value: 'JP' } as const;
  const decisions = [{ ...mine, atMs: startMs, untilMs: startMs + dayMs }];
  bans.add({ account: 'mine', atMs: startMs, decisions });
  delete rows.JP;
  const all = mergeDecisions(bans.of('mine'), await refresh(1_000));
  assert.equal(all?.active.get('JP')?.type, 'captcha');
  assert.deepEqual([...all!.ended.keys()], []);
  assert.deepEqual([...bans.of('(operator)')!.ended.keys()], ['JP'], 'others are told');
});

it('behind a decision of the account that ended the operator’s is told, and no end', async () => {
  const { bans, rows, refresh } = openStanding(2 * dayMs);
  rows.JP = Number.POSITIVE_INFINITY;
  await refresh();
  const mine = { ...byOperator, origin: 'crowdsec', value: 'JP', atMs: startMs } as const;
  const decided = {
    account: 'mine',
    atMs: startMs,
    decisions: [{ ...mine, untilMs: startMs + hourMs }],
  };
  bans.add(decided);
  const since = bans.position();
  bans.unban(decided);
  const all = mergeDecisions(bans.of('mine'), await refresh(1_000));
  assert.equal(all?.ended.has('JP'), false);
  const told = all!.active.get('JP')!;
  assert.deepEqual([told.origin, told.position > since], ['cscli', true]);
});
