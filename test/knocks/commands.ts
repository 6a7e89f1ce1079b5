/** Knocks at commands beside a server: all of them under a load, and kills in the middle of them. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { commandOf } from '../support/house/processes.ts';
import { makeReporters } from '../support/reputation/reporters.ts';
import { seededRandom } from '../support/seeded.ts';
import { besideCommands, openersOf } from '../support/server/beside-commands.ts';
import { killTrial } from '../support/server/kill-trial.ts';
import {
  demoEmail,
  fetchFrom,
  runCli,
  startCli,
  startTestServer,
  type TestServer,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { allow, authorizePath, createAgent, openPeople } from '../support/signon/visitor.ts';
import { errorsIn, type Knock } from './knock.ts';

const minutes = Number(process.env.KNOCK_MINUTES ?? 5);
/** Loops of commands at once. */
const hands = 3;
const reporterCount = 100;
/** An account brings in no more than some ninety new addresses at once. */
const eachMax = 80;

const besideServer: Knock = {
  name: 'commands-beside',
  promise:
    'All commands in random order beside a loaded server: no report lost or counted twice, each code good once, nothing crashes, one process has the store.',
  async run({ seed }) {
    const { next } = seededRandom(seed);
    const folder = makeTempDir('commands-beside');
    const list = `${folder.path}/list.txt`;
    writeFileSync(
      list,
      Array.from({ length: 5_000 }, (_, n) => `27.0.${n >> 8}.${n & 255}`).join('\n'),
    );
    const endMs = performance.now() + minutes * 60_000;
    const acknowledged: string[] = [];
    const faults: string[] = [];
    const others = new Set<string>();
    let commands = 0;
    let looks = 0;
    let codes = 0;
    try {
      await using server = await startTestServer({ threads: 2, env: { CLIENT_LIMITS: 'off' } });
      const reporters = await makeReporters(server.dataDir, reporterCount);
      const isOn = () => performance.now() < endMs;
      /** Each address is reported once: what counts twice shows. */
      async function reporting(first: number): Promise<void> {
        for (let n = 0; n < eachMax; n++) {
          for (let of = first; of < reporterCount; of += 4) {
            if (!isOn()) return;
            const ip = `28.${of}.${n}.1`;
            if ((await report(server, reporters[of]!.key, ip)) === 200) acknowledged.push(ip);
            await delay(10);
          }
        }
      }
      async function working(hand: number): Promise<void> {
        for (let n = hand; isOn(); n += hands) {
          const all = besideCommands({ folder: folder.path, list, n, email: demoEmail });
          for (; all.length > 0 && isOn(); commands++) {
            // Some want what another one makes: out of order they say no, in words.
            const [{ name, args }] = all.splice(Math.floor(next() * all.length), 1) as [
              (typeof all)[number],
            ];
            const child = startCli(args, { DATA_DIR: server.dataDir });
            const { code, signal } = await child.ended;
            const said = child.stderr();
            const isTold = code === 0 || (code === 1 && (said !== '' || name === 'doctor'));
            if (signal !== null || !isTold || /unexpected|damaged|^\s+at /m.test(said)) {
              faults.push(`${name}: ${code ?? signal} ${said.slice(0, 300)}`);
            }
          }
        }
      }
      /** Each code is asked for twice at once, and again beside the next one. */
      async function signingIn(): Promise<void> {
        await using people = openPeople(server);
        const email = 'codes@mail.example';
        await people.add(email);
        const agent = createAgent(server, await people.signIn(email));
        const isGood = async (code: string) =>
          (await server.fetch(`/api.php?code=${code}`)).status === 200;
        for (let former: string | undefined; isOn(); codes++) {
          // Who has allowed a site before is sent on at once.
          const { headers } = await agent.get(authorizePath());
          const back =
            headers.location === undefined ? await allow(agent) : new URL(headers.location);
          const code = back.searchParams.get('code')!;
          const good = (await Promise.all([isGood(code), isGood(code)])).filter(Boolean).length;
          if (good !== 1) faults.push(`code ${codes}: good ${good} times`);
          if (former !== undefined && (await isGood(former)))
            faults.push(`code ${codes - 1}: again`);
          former = code;
          await delay(50);
        }
      }
      async function looking(): Promise<void> {
        for (; isOn(); looks++) {
          for (const pid of openersOf(server.dataDir)) {
            if (pid !== server.pid) others.add(commandOf(pid));
          }
          await delay(20);
        }
      }
      await Promise.all([
        ...[0, 1, 2, 3].map(reporting),
        ...Array.from({ length: hands }, (_, hand) => working(hand)),
        signingIn(),
        looking(),
      ]);
      assert.deepEqual(faults, []);
      assert.deepEqual([...others], [], 'another process had the store open');
      assert.deepEqual(errorsIn(server), []);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
      const verified = await runCli(['verify'], { DATA_DIR: server.dataDir });
      assert.equal(verified.code, 0, verified.stdout + verified.stderr);
      await using again = await startTestServer({ threads: 1, dataDir: server.dataDir });
      const counts = { lost: 0, twice: 0 };
      for (const ip of acknowledged) {
        const { totalReports } = await again.check(ip);
        if (totalReports < 1) counts.lost += 1;
        if (totalReports > 1) counts.twice += 1;
      }
      assert.deepEqual(counts, { lost: 0, twice: 0 });
    } finally {
      folder.remove();
    }
    assert.ok(acknowledged.length > 100 && commands > 20 && looks > 100 && codes > 20);
    return (
      `${acknowledged.length} reports, ${codes} codes and ${commands} commands in ${minutes} min: ` +
      `0 lost, 0 twice, 0 crashed; in ${looks} looks one process had the store`
    );
  },
};

async function report(server: TestServer, key: string, ip: string): Promise<number> {
  const body = String(new URLSearchParams({ ip, categories: '18' }));
  const headers = { Key: key, 'Content-Type': 'application/x-www-form-urlencoded' };
  const asked = { method: 'POST', headers, body };
  const answer = await fetchFrom(server.port, '/api/v2/report', asked).catch(() => undefined);
  return answer?.status ?? 0;
}

const killed: Knock = {
  name: 'commands-killed',
  promise: 'kill -9 of the server, a command, or both in the middle of operations loses nothing.',
  async run({ seed }) {
    const { rounds, commands, acknowledged } = await killTrial({ seed, rounds: 12 });
    return `${rounds} kills among ${commands} commands: ${acknowledged} acknowledged changes there, verify clean after each`;
  },
};

export const commandKnocks: readonly Knock[] = [besideServer, killed];
