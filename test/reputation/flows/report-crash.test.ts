/**
 * Kill -9 of the real server at a random moment of a stream of reports over HTTP, again and
 * again on one data directory. What was acknowledged is there after the restart, whole, and every
 * address has the score that a slow model works out from the journal. What was not acknowledged
 * may be there or not: the model takes what the store holds. On a busy machine that may be a report
 * whose answer missed its deadline; any other refusal fails the test.
 */

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { deadlineProblem } from '../../../src/http/answer/refusal.ts';
import { formatIp } from '../../../src/ip/address.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { reportByIdPrefix } from '../../../src/storage/keys.ts';
import type { Store } from '../../../src/storage/store.ts';
import { decodeAccessEvent, decodeEvent, isAccessEvent } from '../../support/reputation/events.ts';
import { createReportModel, isScore } from '../../support/reputation/report-model.ts';
import { makeReporters, type Reporter, sendReport } from '../../support/reputation/reporters.ts';
import { seededRandom } from '../../support/seeded.ts';
import { startTestServer, type TestServer } from '../../support/server/server.ts';
import { openStoreBeside } from '../../support/server/shared-store.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const seed = 20_261_121;
const rounds = 20;
const acksPerRound = 400;
/** The kill comes at an acknowledgement drawn from this many behind those. */
const killSpread = 300;
const inFlight = 128;
/** Answers that may miss their deadline in a round: a machine that others keep busy. */
const lateMax = inFlight;
const lateDetail = deadlineProblem().detail;
const reporters = 20;
const addresses = 2_000;
/** Every so many rounds the server also stops and starts in between: checkpoint, snapshot. */
const gracefulEvery = 4;
const clock = systemClock();

/** One account's word on one address: said once in this test, so it names the report. */
interface Plan {
  readonly reporter: Reporter;
  readonly ip: string;
  readonly ageSeconds: number;
}

const nameOf = (account: string, ip: string) => `${account} ${ip}`;

/** Canonical. Three in four IPv4; the rest IPv6, ten in each /64. */
function addressAt(i: number): string {
  if (i % 4 !== 0) return `20.1.${i >> 8}.${i & 255}`;
  return `2606:4700:${(256 + Math.floor(i / 40)).toString(16)}::${(1 + (i % 40)).toString(16)}`;
}

/** Every account on every address, in no order; one in four of some days ago. */
function makePlans(all: readonly Reporter[], random: { next(): number }): Plan[] {
  const plans = all.flatMap((reporter) =>
    Array.from({ length: addresses }, (_, i) => ({
      reporter,
      ip: addressAt(i),
      ageSeconds: random.next() < 0.25 ? Math.floor(random.next() * 60 * 86_400) : 0,
    })),
  );
  for (let i = plans.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    [plans[i], plans[j]] = [plans[j]!, plans[i]!];
  }
  return plans;
}

function send(server: TestServer, agent: Agent, plan: Plan): ReturnType<typeof sendReport> {
  const fields = new URLSearchParams({ ipAddress: plan.ip, categories: '18,22', comment: plan.ip });
  if (plan.ageSeconds > 0) {
    fields.set('timestamp', new Date(Date.now() - plan.ageSeconds * 1_000).toISOString());
  }
  return sendReport(server.port, agent, plan.reporter.key, fields);
}

/** Reports until the kill. @returns the acknowledged ones */
async function reportUntilKilled(
  server: TestServer,
  next: () => Plan,
  killAt: number,
): Promise<string[]> {
  const acknowledged: string[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  let killed: Promise<unknown> | undefined;
  let late = 0;
  async function work(): Promise<void> {
    while (killed === undefined) {
      const plan = next();
      const answer = await send(server, agent, plan).catch((error) => {
        if (killed === undefined) throw error;
        return undefined;
      });
      if (answer === undefined) return;
      if (answer.status === 503 && answer.body.includes(lateDetail) && ++late <= lateMax) continue;
      assert.equal(answer.status, 200, `${plan.ip}: ${answer.body}\n${server.stderr()}`);
      acknowledged.push(nameOf(plan.reporter.account, plan.ip));
      if (acknowledged.length === killAt) killed = server.kill();
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work));
  await killed;
  agent.destroy();
  return acknowledged;
}

/** Follows the journal from round to round into the model. */
function createReplay() {
  const model = createReportModel();
  const reported = new Set<string>();
  const seen = new Map<string, { family: 4 | 6; words: Uint32Array }>();
  let seq = 0n;

  async function goOn(store: Store): Promise<void> {
    for (;;) {
      const page = await store.read(seq, 1_000);
      if (page.length === 0) return;
      for (const { kind, version, body, at } of page) {
        if (isAccessEvent(kind)) {
          const event = decodeAccessEvent(kind, version, body)!;
          if (event.kind !== 'account.created') continue;
          model.account(event.account, { createdAt: at, verified: event.verified });
          continue;
        }
        const event = decodeEvent(kind, version, body)!;
        // The known-good lists of each start.
        if ('ref' in event) continue;
        assert.equal(event.kind, 'report.added');
        if (event.kind !== 'report.added') continue;
        const ip = formatIp(event.family, event.words);
        model.add({ ...event, at, ageSeconds: at / 1_000 - event.reportedSecond });
        seen.set(ip, { family: event.family, words: Uint32Array.from(event.words) });
        const name = nameOf(event.account, ip);
        assert.ok(!reported.has(name), `${name} is in the journal twice`);
        reported.add(name);
      }
      seq = page.at(-1)!.seq;
    }
  }

  return { model, reported, seen, goOn };
}

/** The rows at rest, found by address and by id, are those of the journal: nothing half-done. */
async function assertRows(
  store: Store,
  { reported, seen }: ReturnType<typeof createReplay>,
): Promise<void> {
  const reports = createReportStore({ store, clock, random: seededRandom(1) });
  const ids = new Set<string>();
  let found = 0;
  for (const [ip, { family, words }] of seen) {
    for (const row of await reports.list(family, words, 0, reporters + 1)) {
      found++;
      ids.add(row.id);
      assert.ok(reported.has(nameOf(row.account, ip)), `${ip} has a row that no event names`);
      assert.equal(row.comment, ip);
    }
  }
  assert.equal(found, reported.size, 'every event has its row');
  let after: Awaited<ReturnType<Store['scan']>>[number]['key'] | undefined;
  let byId = 0;
  for (;;) {
    const options = after === undefined ? { limit: 1_000 } : { after, limit: 1_000 };
    const page = await store.scan(reportByIdPrefix(), options);
    if (page.length === 0) break;
    for (const { key } of page) {
      byId++;
      assert.ok(ids.has(Buffer.from(key.subarray(1)).toString('base64url')));
    }
    after = page.at(-1)!.key;
  }
  assert.equal(byId, found, 'every row is found by its id');
}

/** What stands is not taken a second time, and what the kill cut off is. */
async function assertGuarded(
  server: TestServer,
  plans: readonly Plan[],
  { reported }: ReturnType<typeof createReplay>,
): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  await Promise.all(
    plans.map(async (plan) => {
      const stands = reported.has(nameOf(plan.reporter.account, plan.ip));
      const { status, body } = await send(server, agent, plan);
      assert.equal(status, stands ? 429 : 200, `${plan.ip}: ${body}`);
    }),
  );
  agent.destroy();
}

async function assertScores(
  server: TestServer,
  key: string,
  { model, seen }: ReturnType<typeof createReplay>,
  round: number,
): Promise<void> {
  const ips = [...seen.keys()];
  if (ips.length === 0) return;
  const answer = await server.fetch('/api/v2/check-bulk', {
    method: 'POST',
    headers: { Key: key, 'Content-Type': 'application/json' },
    body: JSON.stringify(ips),
  });
  const now = Date.now();
  assert.equal(answer.status, 200, answer.body.slice(0, 200));
  const { data } = answer.json() as {
    data: { ipAddress: string; abuseConfidenceScore: number }[];
  };
  for (const [i, { ipAddress, abuseConfidenceScore: shown }] of data.entries()) {
    assert.equal(ipAddress, ips[i]);
    const { family, words } = seen.get(ipAddress)!;
    const exact = model.score(family, words, now);
    assert.ok(isScore(shown, exact), `round ${round}: ${ipAddress} has ${shown}, not ${exact}`);
  }
}

it('20 kills lose no acknowledged report, and scores are those of the journal', async () => {
  const directory = makeTempDir('report-crash');
  const random = seededRandom(seed);
  const replay = createReplay();
  const acknowledged: string[] = [];
  try {
    const all = await makeReporters(directory.path, reporters);
    const plans = makePlans(all, random);
    /** Under way at a kill, most of them. */
    const lastSent: Plan[] = [];
    const next = () => {
      const plan = plans.pop();
      assert.ok(plan !== undefined, 'the plans are used up');
      lastSent.push(plan);
      if (lastSent.length > inFlight) lastSent.shift();
      return plan;
    };
    const start = (round: number) =>
      startTestServer({
        threads: round % 5 === 0 ? 2 : 1,
        dataDir: directory.path,
        demo: false,
        env: { LOG_LEVEL: 'info' },
      });
    for (let round = 1; round <= rounds + 1; round++) {
      await using first = await start(round);
      const store = openStoreBeside(directory.path);
      try {
        await replay.goOn(store);
        for (const name of acknowledged) {
          assert.ok(replay.reported.has(name), `round ${round}: ${name} was acknowledged`);
        }
        if (round % gracefulEvery === 0 || round > rounds) await assertRows(store, replay);
      } finally {
        await store.close();
      }
      await assertScores(first, all[0]!.key, replay, round);
      await assertGuarded(first, lastSent.splice(0), replay);
      if (round > rounds) break;
      const stops = round % gracefulEvery === 0;
      if (stops) assert.equal((await first.stop()).code, 0);
      await using second = stops ? await start(round) : undefined;
      const killAt = acksPerRound + Math.floor(random.next() * killSpread);
      acknowledged.push(...(await reportUntilKilled(second ?? first, next, killAt)));
    }
    assert.ok(acknowledged.length >= rounds * acksPerRound);
  } catch (error) {
    throw new Error(`report crash rounds with seed ${seed}`, { cause: error });
  } finally {
    directory.remove();
  }
});
