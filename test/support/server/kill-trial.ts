/** Kill -9 of the server, of a command, or of both, in the middle of operations: what was acknowledged stays. */

import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../seeded.ts';
import { runCli, startCli, startTestServer } from './server.ts';
import { makeTempDir } from './temp-dir.ts';

const victims = ['server', 'command', 'both'] as const;

interface KillTrial {
  readonly rounds: number;
  readonly commands: number;
  readonly acknowledged: number;
}

/**
 * In each round one of three is killed while four operations are under way beside a loop of small ones.
 * @throws when something acknowledged is gone, the start fails, or `verify` finds a fault
 */
export async function killTrial({
  seed,
  rounds,
}: {
  readonly seed: number;
  readonly rounds: number;
}): Promise<KillTrial> {
  const { next } = seededRandom(seed);
  const directory = makeTempDir('kill-trial');
  const dataDir = `${directory.path}/data`;
  const env = { DATA_DIR: dataDir };
  const list = `${directory.path}/list.txt`;
  const of = (n: number) => `26.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
  writeFileSync(list, `${Array.from({ length: 60_000 }, (_, n) => of(n)).join('\n')}\n`);
  const kept = new Set<string>();
  const gone = new Set<string>();
  let commands = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      const victim = victims[round % victims.length]!;
      const what = `round ${round}, ${victim} killed`;
      const doomed = `doomed-${round}@portcullis.example`;
      const backup = `${directory.path}/backup`;
      await using server = await startTestServer({ threads: 1, dataDir, demo: false });
      assert.equal((await server.cli('account', 'create', doomed)).code, 0, what);
      kept.add(doomed);
      const seeding = ['seed', list, '--format', 'plain', '--source', 'killed'];
      const long = [
        startCli(seeding, env),
        startCli(['backup', backup], env),
        startCli(['verify'], env),
        startCli(['account', 'delete', doomed], env),
      ];
      let isOver = false;
      const small = (async () => {
        for (let n = 0; !isOver; n++) {
          const email = `kept-${round}-${n}@portcullis.example`;
          const made = await server.cli('account', 'create', email);
          commands += 1;
          if (made.code !== 0) continue;
          kept.add(email);
          const key = await server.cli('key', 'create', email);
          assert.ok(key.code === 0 || key.code === 1, `${what}: ${key.code} ${key.stderr}`);
        }
      })();
      await delay(300 + next() * 2_500);
      if (victim !== 'command') server.child.process.kill('SIGKILL');
      if (victim !== 'server') for (const child of long) child.process.kill('SIGKILL');
      isOver = true;
      const ends = await Promise.all(long.map((child) => child.ended));
      for (const [index, { code, signal }] of ends.entries()) {
        // The kill of a command may come behind its end.
        const isWell = signal === null ? code === 0 || code === 1 : signal === 'SIGKILL';
        assert.ok(isWell, `${what}: ${code} ${signal} ${long[index]!.stderr()}`);
        assert.doesNotMatch(long[index]!.stderr(), /unexpected|^\s+at /m, what);
      }
      commands += long.length;
      if (ends[3]!.code === 0) {
        kept.delete(doomed);
        gone.add(doomed);
      } else kept.delete(doomed);
      await small;
      if (ends[1]!.code === 0) assert.ok(existsSync(backup), `${what}: no backup`);
      // A kill may come between the backup's name and the end of the command.
      if (existsSync(backup)) {
        const whole = await runCli(['verify', '--backup', backup, '--without-erasures'], env);
        assert.equal(whole.code, 0, `${what}: half a backup has its name: ${whole.stderr}`);
      }
      rmSync(backup, { force: true });
      if (victim === 'command') {
        // The server goes on.
        const stats = await server.cli('stats');
        assert.equal(stats.code, 0, `${what}: ${stats.stderr}`);
        assert.deepEqual(await server.stop(), { code: 0, signal: null }, what);
      } else await server.child.ended;
      const verified = await runCli(['verify'], env);
      assert.equal(verified.code, 0, `${what}: ${verified.stderr}${verified.stdout}`);
      const listed = await runCli(['account', 'list', '--json'], env);
      assert.equal(listed.code, 0, listed.stderr);
      const emails = new Set(
        (JSON.parse(listed.stdout) as { email: string }[]).map(({ email }) => email),
      );
      const lost = [...kept].filter((email) => !emails.has(email));
      assert.deepEqual(lost, [], `${what}: lost`);
      assert.deepEqual(
        [...gone].filter((email) => emails.has(email)),
        [],
        `${what}: came back`,
      );
    }
    return { rounds, commands, acknowledged: kept.size + gone.size };
  } finally {
    directory.remove();
  }
}
