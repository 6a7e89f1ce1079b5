/**
 * `openers-child write|open <directory> bare|claimed`: one writes rows and prints the number of each that is on
 * disk; the other opens the same environment, reads and closes, again and again. Bare is the way before there
 * was a claim: the binding alone.
 */

import { mkdirSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { open } from 'lmdb';
import { ClaimedError, joinClaim } from '../../src/storage/lmdb/claim.ts';

const [role, directory, way] = process.argv.slice(2);
const path = `${directory}/store`;
const say = (line: string) => process.stdout.write(`${line}\n`);
mkdirSync(path, { recursive: true });

/** Undefined: another process has it. */
function openRoot() {
  const claim = way === 'claimed' ? claimed() : undefined;
  if (way === 'claimed' && claim === undefined) return undefined;
  const root = open<string, number>({
    path,
    noSubdir: false,
    overlappingSync: false,
    eventTurnBatching: false,
    mapSize: 2 ** 28,
  });
  return {
    root,
    async close() {
      await root.close();
      claim?.release();
    },
  };
}

function claimed() {
  try {
    return joinClaim(directory!);
  } catch (error) {
    if (error instanceof ClaimedError) return undefined;
    throw error;
  }
}

async function write(): Promise<void> {
  const { root } = openRoot()!;
  say('ready');
  for (let n = 0; ; n++) {
    try {
      await root.put(n, `row ${n}`);
      say(`row ${n}`);
    } catch (error) {
      say(`failed ${n}: ${(error as Error).message}`);
    }
    await turn();
  }
}

async function openAgain(): Promise<void> {
  say('ready');
  for (let opened = 0, refused = 0; ; ) {
    const store = openRoot();
    if (store === undefined) {
      refused += 1;
      if (refused % 100 === 0) say(`refused ${refused}`);
    } else {
      store.root.get(0);
      await store.close();
      opened += 1;
      say(`opened ${opened}`);
    }
    await turn();
  }
}

await (role === 'write' ? write() : openAgain());
