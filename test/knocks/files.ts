/** Knocks at the disk: kills, a full disk, syncs that fail, power cuts, damaged and lost files. */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { compilePreload } from '../support/house/preload.ts';
import { powerLossTrial } from '../support/power-loss/trial.ts';
import { seededRandom } from '../support/seeded.ts';
import { fetchFrom, runCli, startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { type Knock, runTests } from './knock.ts';

const kills: Knock = {
  name: 'kills',
  promise:
    'What was acknowledged before kill -9 is there: commits, reports, lists, deletions, mails.',
  run: async () =>
    runTests([
      'storage/crash',
      'app/state/crash',
      'app/flows/crash',
      'reputation/flows/report-crash',
      'signon/flows/deletion-crash',
      'signon/flows/notices-crash',
    ]),
};

const fullDisk: Knock = {
  name: 'full-disk',
  promise: 'A full disk refuses writes with 503, loses nothing, and checks go on.',
  run: async () =>
    runTests([
      'storage/full-disk',
      'app/flows/full-disk',
      'app/flows/full-disk-log',
      'reputation/flows/report-full-disk',
    ]),
};

async function report(port: number, key: string, ip: string): Promise<number> {
  const body = String(new URLSearchParams({ ip, categories: '18' }));
  const headers = { Key: key, 'Content-Type': 'application/x-www-form-urlencoded' };
  const path = '/api/v2/report';
  return (await fetchFrom(port, path, { method: 'POST', headers, body })).status;
}

const failingSync: Knock = {
  name: 'failing-sync',
  promise: 'A report is acknowledged only when it was synced; while syncs fail it gets 503.',
  async run() {
    const library = compilePreload('test/knocks/failing-sync.c');
    const directory = makeTempDir('failing-sync');
    const dataDir = `${directory.path}/data`;
    const failing = `${directory.path}/failing`;
    mkdirSync(dataDir);
    // An account brings in no more than some ninety new addresses at once.
    const each = 40;
    const acknowledged: string[] = [];
    let refused = 0;
    let key = '';
    try {
      const env = { LD_PRELOAD: library, FAILING_SYNC: failing };
      {
        await using server = await startTestServer({
          threads: 1,
          env,
          dataDir,
          demo: false,
          withKey: true,
        });
        key = server.key;
        for (let n = 0; n < 2 * each; n++) {
          if (n === each) writeFileSync(failing, '');
          const ip = `9.8.0.${n}`;
          const status = await report(server.port, server.key, ip).catch(() => 0);
          if (status === 200) {
            assert.ok(n < each, `${ip} was acknowledged without a sync`);
            acknowledged.push(ip);
          } else {
            assert.ok(n >= each, `${ip} got ${status} while syncs worked`);
            refused += 1;
          }
        }
        assert.equal((await server.fetch('/healthz').catch(() => undefined))?.status ?? 200, 200);
        await server.kill();
      }
      rmSync(failing);
      await using again = await startTestServer({ threads: 1, env, dataDir, demo: false });
      const headers = { Key: key };
      for (const ip of acknowledged) {
        const answer = await again.fetch(`/api/v2/check?ipAddress=${ip}`, { headers });
        const { data } = answer.json() as { data: { totalReports: number } };
        assert.equal(data.totalReports, 1, ip);
      }
      assert.equal(await report(again.port, key, '9.8.1.1'), 200);
    } finally {
      directory.remove();
    }
    assert.deepEqual([acknowledged.length, refused], [each, each]);
    return `${acknowledged.length} acknowledged and there, ${refused} refused while syncs failed`;
  },
};

const powerCuts: Knock = {
  name: 'power-cuts',
  promise:
    'What was acknowledged or shown is there after a power cut; with sync off this run fails.',
  async run({ seed }) {
    let images = 0;
    let promises = 0;
    for (let round = 0; round < 8; round++) {
      const done = await powerLossTrial({ seed: seed + round, commits: 600, cuts: 60 });
      assert.deepEqual(done.lost, [], `round ${round}`);
      images += done.images;
      promises += done.promises;
    }
    const controls: string[] = [];
    for (const lmdb of [{ noSync: true }, { overlappingSync: true }]) {
      const { lost, images: of } = await powerLossTrial({ seed, commits: 300, cuts: 40, lmdb });
      assert.notDeepEqual(lost, [], `${Object.keys(lmdb)} was not noticed`);
      controls.push(`${Object.keys(lmdb)} fails in ${lost.length} of ${of}`);
    }
    return `${images} disks, ${promises} promises kept; ${controls.join(', ')}`;
  },
};

/** One byte, a run of bytes, or the end of a file. */
function damage(file: string, next: () => number): void {
  const bytes = readFileSync(file);
  const below = (n: number) => Math.floor(next() * n);
  const kind = below(3);
  if (kind === 0) bytes[below(bytes.length)]! ^= 1 + below(255);
  else if (kind === 1) {
    const at = below(bytes.length);
    bytes.fill(below(256), at, Math.min(bytes.length, at + below(8_192)));
  } else {
    truncateSync(file, below(bytes.length));
    return;
  }
  writeFileSync(file, bytes);
}

const damagedFiles: Knock = {
  name: 'damaged-files',
  promise:
    'A damaged or lost file is refused in words, or the damage has no effect; no stack trace.',
  async run({ seed }) {
    const known = runTests([
      'storage/damaged-rows',
      'storage/backup/damage',
      'storage/lmdb-file',
      'app/flows/lost-store',
      'reputation/flows/report-damaged',
    ]);
    const { next } = seededRandom(seed);
    const directory = makeTempDir('damaged');
    const outcomes = new Map<string, number>();
    try {
      const whole = `${directory.path}/whole`;
      mkdirSync(whole);
      {
        await using server = await startTestServer({ threads: 1, dataDir: whole });
        await within(async () => (await server.fetch('/readyz')).status === 200);
        await server.stop();
      }
      for (let round = 0; round < 30; round++) {
        const dataDir = `${directory.path}/${round}`;
        cpSync(whole, dataDir, { recursive: true });
        const files = [
          'store/data.mdb',
          'store/data.mdb',
          'master.key',
          'store.id',
          'index.snapshot',
        ];
        damage(`${dataDir}/${files[Math.floor(next() * files.length)]}`, next);
        const { code, stderr } = await runCli(['verify'], { DATA_DIR: dataDir });
        const isTrace = /^\s+at /m.test(stderr);
        const outcome = isTrace
          ? 'a stack trace'
          : code === 0
            ? 'without effect'
            : code === 1
              ? 'refused in words'
              : 'ended by a signal';
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        rmSync(dataDir, { recursive: true });
      }
    } finally {
      directory.remove();
    }
    assert.equal(outcomes.get('a stack trace'), undefined);
    const told = [...outcomes].map(([what, count]) => `${count} ${what}`);
    return `${known}; of 30 random damages ${told.join(', ')}`;
  },
};

const clockSteps: Knock = {
  name: 'clock-steps',
  promise: 'A clock that steps by an hour or a day, either way, loses nothing and holds nobody up.',
  async run() {
    const library = compilePreload('test/knocks/clock-step.c');
    const directory = makeTempDir('clock');
    const file = `${directory.path}/step`;
    writeFileSync(file, '0');
    let reports = 0;
    try {
      const env = { LD_PRELOAD: library, CLOCK_STEP: file };
      await using server = await startTestServer({ threads: 2, env });
      for (const [n, hours] of [0, 1, 0, -1, 0, 24, 0, -24, 0].entries()) {
        writeFileSync(file, String(hours * 3_600));
        const { date } = await dateOf(server.port);
        const off = (Date.parse(date) - Date.now()) / 3_600_000;
        assert.ok(Math.abs(off - hours) < 0.5, `the clock is off by ${off} h, not ${hours}`);
        for (let i = 0; i < 8; i++) {
          const ip = `9.9.${n}.${i}`;
          assert.equal(await report(server.port, server.key, ip), 200, `${ip} at ${hours} h`);
          assert.equal((await server.check(ip)).totalReports, 1, `${ip} at ${hours} h`);
          reports += 1;
        }
        await within(async () => (await server.fetch('/readyz')).status === 200, 'ready');
        await delay(2_000);
      }
      for (let n = 0; n < 9; n++) {
        assert.equal((await server.check(`9.9.${n}.0`)).totalReports, 1, `step ${n}`);
      }
      const faults = server.stderr().match(/"level":(50|60).*/g) ?? [];
      assert.deepEqual(faults, []);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    } finally {
      directory.remove();
    }
    return `8 steps of ±1 h and ±24 h, ${reports} reports, each shown at once and kept`;
  },
};

/** When the server thinks it is: security.txt ends 180 days ahead. */
async function dateOf(port: number): Promise<{ date: string }> {
  const { body } = await fetchFrom(port, '/.well-known/security.txt');
  const expires = /^Expires: (.*)$/m.exec(body)![1]!;
  return { date: new Date(Date.parse(expires) - 180 * 86_400_000).toISOString() };
}

export const fileKnocks: readonly Knock[] = [
  kills,
  fullDisk,
  failingSync,
  powerCuts,
  damagedFiles,
  clockSteps,
];
