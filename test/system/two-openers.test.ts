/**
 * Why there is a claim: processes that only open and close an environment undo what another one committed,
 * and with the claim they don't. The first half shows that the second can see it.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { open } from 'lmdb';
import { compilePreload } from '../support/house/preload.ts';
import { hasTool } from '../support/house/tools.ts';
import { startChild, startCommand } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const module = new URL('../storage/openers-child.js', import.meta.url);
const openers = 6;
const roundMs = 4_000;

interface Round {
  readonly acknowledged: number;
  readonly lost: number;
  readonly failed: number;
  readonly opened: number;
  readonly refused: number;
}

/** One writer, and beside it openers whose window is wide. */
async function round(way: 'bare' | 'claimed', library: string): Promise<Round> {
  const directory = makeTempDir('openers');
  const env = { PATH: process.env.PATH ?? '', LD_PRELOAD: library, SLOW_MAP_US: '3000' };
  const writer = startChild(module, ['write', directory.path, way]);
  const children = [writer];
  try {
    await writer.line((line) => line === 'row 10');
    for (let n = 0; n < openers; n++) {
      const args = [module.pathname, 'open', directory.path, way];
      children.push(startCommand(process.execPath, args, env));
    }
    await Promise.all(children.slice(1).map((child) => child.line((line) => line === 'ready')));
    await delay(roundMs);
    for (const child of children) child.process.kill('SIGKILL');
    await Promise.all(children.map((child) => child.ended));
    const acknowledged = writer.lines.filter((line) => line.startsWith('row '));
    const root = open<string, number>({ path: `${directory.path}/store`, noSubdir: false });
    const lost = acknowledged.filter((line) => root.get(Number(line.slice(4))) !== line);
    await root.close();
    const last = (what: string) =>
      children.slice(1).reduce((sum, child) => {
        const line = child.lines.findLast((one) => one.startsWith(what));
        return sum + Number(line?.split(' ')[1] ?? 0);
      }, 0);
    return {
      acknowledged: acknowledged.length,
      lost: lost.length,
      failed: writer.lines.filter((line) => line.startsWith('failed')).length,
      opened: last('opened'),
      refused: last('refused'),
    };
  } finally {
    for (const child of children) child.process.kill('SIGKILL');
    await Promise.all(children.map((child) => child.ended));
    directory.remove();
  }
}

it('without the claim openers undo commits of a writer', async (t) => {
  if (!hasTool(t, 'gcc')) return;
  const library = compilePreload('test/support/server/slow-map.c');
  const seen: Round[] = [];
  for (let n = 0; n < 10; n++) {
    const done = await round('bare', library);
    seen.push(done);
    if (done.lost + done.failed > 0) break;
  }
  t.diagnostic(JSON.stringify(seen));
  assert.ok(seen.some(({ opened }) => opened > 0));
  const { lost, failed } = seen.at(-1)!;
  assert.ok(lost + failed > 0, `nothing was noticed: ${JSON.stringify(seen)}`);
});

it('with it none opens, and nothing is lost', async (t) => {
  if (!hasTool(t, 'gcc')) return;
  const library = compilePreload('test/support/server/slow-map.c');
  for (let n = 0; n < 3; n++) {
    const { acknowledged, refused, ...done } = await round('claimed', library);
    assert.deepEqual(done, { lost: 0, failed: 0, opened: 0 });
    assert.ok(acknowledged > 20 && refused > 0, `${acknowledged} rows, ${refused} refused`);
  }
});
