/** The thread of a task (tasks.ts): runs it once, and ends with it. Its work is not urgent. */

import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { OperationProgress } from '../contracts/operation.ts';
import { systemClock } from '../core/clock.ts';
import { memoryFault, OperatorError } from '../core/errors.ts';
import { createLog } from '../core/log.ts';
import { systemRandom } from '../core/random.ts';
import { createByteQueue, createWindow, windowBytes } from '../core/window.ts';
import { collectRows, parseList } from '../reputation/lists/import/parse.ts';
import { checkRecipients } from '../storage/backup/age.ts';
import { readDatabase } from '../storage/backup/postgres.ts';
import { makeBackup, writeBackup } from '../storage/backup/write.ts';
import { namespaces } from '../storage/keys.ts';
import { inheritClaim } from '../storage/lmdb/claim.ts';
import { openTables } from '../storage/lmdb/environment.ts';
import { tableNames } from '../storage/lmdb/tables.ts';
import { batchesOf, openView, type View } from '../storage/lmdb/view.ts';
import { isDamage } from '../storage/rows.ts';
import type {
  FromTask,
  RowCount,
  RowCounts,
  Task,
  TaskName,
  Tasks,
  ToTask,
  VerificationResult,
} from './tasks.ts';

// On Linux the priority of a thread can be set: the others keep theirs.
setPriority(constants.priority.PRIORITY_LOW);

const port = parentPort!;
const post = (message: FromTask) => port.postMessage(message);
const input = createByteQueue((taken) => post({ taken }));
const output = createWindow(windowBytes);
const progressMs = 100;
let isCancelled = false;
let shownAtMs = Number.NEGATIVE_INFINITY;

port.on('message', (message: ToTask) => {
  if ('chunk' in message) input.push(Buffer.from(message.chunk));
  else if ('end' in message) input.end();
  else if ('taken' in message) output.give(message.taken);
  else {
    isCancelled = true;
    const ended = new OperatorError('it was cancelled');
    output.close(ended);
    input.fail(ended);
  }
});

function refuseCancelled(): void {
  if (isCancelled) throw new OperatorError('it was cancelled');
}

/** Sends few of the states that come; the last one is sent whatever the time is. */
function progress(at: OperationProgress): void {
  refuseCancelled();
  const nowMs = performance.now();
  if (nowMs - shownAtMs < progressMs && at.done !== at.total) return;
  shownAtMs = nowMs;
  post({ progress: at });
}

async function send(bytes: Buffer): Promise<void> {
  await output.take(bytes.length);
  refuseCancelled();
  post({ bytes: Uint8Array.from(bytes) });
}

const runs: { [Name in TaskName]: (task: Tasks[Name]['task']) => Promise<Tasks[Name]['result']> } =
  {
    async backup({ sealing, masterKey, file, ...source }) {
      const options = {
        ...sealing,
        clock: systemClock(),
        hasListBeside: file !== undefined,
        masterKey: masterKey === undefined ? undefined : Buffer.from(masterKey, 'hex'),
        onProgress: (done: number, total: number) => progress({ verb: 'written', done, total }),
      };
      if ('databaseUrl' in source) {
        const database = { url: source.databaseUrl, log: createLog('error') };
        return readDatabase(database, (source) => writeBackup(source, { ...options, write: send }));
      }
      inheritClaim(source.claim);
      const random = systemRandom();
      return makeBackup({ ...options, path: source.path, random, target: file ?? send });
    },
    async recipients({ recipients }) {
      await checkRecipients(recipients);
      return undefined;
    },
    async verify({ path, claim, dataDir }): Promise<VerificationResult> {
      inheritClaim(claim);
      // Loaded here, because it brings most of the server with it.
      const { verifyDataDir } = await import('./verify.ts');
      const { findings, seen, journalPosition } = await verifyDataDir({
        path,
        dataDir,
        clock: systemClock(),
        random: systemRandom(),
        onProgress: (done, total) => progress({ verb: 'checked', done, total }),
      });
      const { lines, notes } = findings;
      return { lines, notes, count: findings.count(), seen, journalPosition };
    },
    async count({ path, claim }) {
      inheritClaim(claim);
      const tables = openTables(path);
      const view = openView(tables);
      try {
        return await countRows(view);
      } finally {
        view.release();
        await tables.root.close();
      }
    },
    async list(how) {
      const parse = parseList(input.read(), how);
      async function* watched() {
        let done = 0;
        for await (const batch of parse) {
          yield batch;
          done = parse.stats.rows;
          progress({ verb: 'read', done, badLines: parse.stats.badLines });
        }
      }
      const rows = { stats: parse.stats, format: parse.format, [Symbol.asyncIterator]: watched };
      const collected = await collectRows(rows, { label: how.label });
      return { collected, stats: parse.stats, format: parse.format()! };
    },
  };

const countBatchBytes = 1024 * 1024;
const kindNames = new Map(
  Object.entries(namespaces).map(([name, byte]) => [byte as number, name] as const),
);

async function countRows(view: View): Promise<RowCounts> {
  const kinds: Record<string, RowCount> = {};
  const totals: Record<string, RowCount> = {};
  for (const table of tableNames) {
    const total = { rows: 0, bytes: 0 };
    totals[table] = total;
    for (const batch of batchesOf(view, table, countBatchBytes)) {
      for (const { key, value } of batch) {
        const bytes = key.length + value.length;
        total.rows += 1;
        total.bytes += bytes;
        if (table !== 'entries') continue;
        const name = kindNames.get(key[0]!) ?? `unknown ${key[0]}`;
        kinds[name] ??= { rows: 0, bytes: 0 };
        kinds[name].rows += 1;
        kinds[name].bytes += bytes;
      }
      await new Promise(setImmediate);
      refuseCancelled();
    }
  }
  return { kinds, totals, firstSeq: view.counters.prunedThrough + 1 };
}

function kindOf(error: unknown): 'operator' | 'damage' | 'bug' {
  if (error instanceof OperatorError) return 'operator';
  return isDamage(error) ? 'damage' : 'bug';
}

const { name, ...task } = workerData as Task;
// The task belongs to its name.
const run = runs[name] as (task: unknown) => Promise<unknown>;
run(task)
  .then(
    (done) => post({ done }),
    (thrown: Error) => {
      const error = memoryFault(thrown) ?? thrown;
      const kind = kindOf(error);
      const failed = kind === 'bug' ? (error.stack ?? error.message) : error.message;
      post({ failed, kind });
    },
  )
  .finally(() => port.close());
