/**
 * Work of operations that is too long for the event loop, in a thread of its own: backups, verification,
 * counting of rows, reading of lists. The thread shares the store's environment and the claim of its
 * process.
 *
 * Invariant: what flows in and out is bounded; the thread waits for whoever reads it.
 */

import { Worker } from 'node:worker_threads';
import type { OperationCall, OperationProgress } from '../contracts/operation.ts';
import { memoryFault, OperatorError } from '../core/errors.ts';
import { windowBytes } from '../core/window.ts';
import type { ParseOptions } from '../reputation/lists/import/parse.ts';
import type { ParsedList } from '../reputation/lists/operations.ts';
import type { Sealing } from '../storage/backup/age.ts';
import type { BackupSummary } from '../storage/backup/write.ts';
import type { InheritedClaim } from '../storage/lmdb/claim.ts';

export interface RowCount {
  rows: number;
  /** Keys and values, without what LMDB adds. */
  bytes: number;
}

export interface RowCounts {
  readonly kinds: Readonly<Record<string, RowCount>>;
  readonly totals: Readonly<Record<string, RowCount>>;
  /** Oldest position that the journal still has. */
  readonly firstSeq: number;
}

export interface VerificationResult {
  readonly lines: readonly string[];
  readonly notes: readonly string[];
  readonly count: number;
  readonly seen: { readonly entries: number; readonly events: number };
  readonly journalPosition: number;
}

interface EmbeddedTask {
  readonly path: string;
  readonly claim: InheritedClaim;
}

export interface Tasks {
  backup: {
    readonly task: (EmbeddedTask | { readonly databaseUrl: string }) & {
      readonly sealing: Sealing;
      /** Hex. */
      readonly masterKey: string | undefined;
      /** A file that does not exist yet; undefined: the bytes are sent. */
      readonly file: string | undefined;
    };
    readonly result: BackupSummary;
  };
  /** Reading the library of age takes the event loop longer than anything may. */
  recipients: {
    readonly task: { readonly recipients: readonly string[] };
    readonly result: undefined;
  };
  verify: {
    readonly task: EmbeddedTask & { readonly dataDir: string };
    readonly result: VerificationResult;
  };
  count: { readonly task: EmbeddedTask; readonly result: RowCounts };
  list: { readonly task: ParseOptions; readonly result: ParsedList };
}

export type TaskName = keyof Tasks;
export type Task = { [Name in TaskName]: { readonly name: Name } & Tasks[Name]['task'] }[TaskName];

export type ToTask =
  | { readonly chunk: Uint8Array }
  | { readonly end: true }
  /** This many bytes of its output were consumed. */
  | { readonly taken: number }
  /** Nobody waits for it any more. */
  | { readonly cancel: true };

export type FromTask =
  | { readonly progress: OperationProgress }
  | { readonly bytes: Uint8Array }
  /** This many bytes of its input were consumed. */
  | { readonly taken: number }
  | { readonly done: unknown }
  | { readonly failed: string; readonly kind: 'operator' | 'damage' | 'bug' };

/**
 * A thread that is terminated while it makes a compressor takes the whole process with it (seen with
 * Node 20: "close before init"). So it is asked to end, and terminated only when it does not.
 */
const endMsMax = 6_000;

/** Threads of tasks that have not ended. */
const alive = new Set<Promise<unknown>>();

/** Resolves when no thread of a task has the store open any more, also of those that were cancelled. */
export async function tasksEnded(): Promise<void> {
  await Promise.all(alive);
}

export function runTask<Name extends TaskName>(
  name: Name,
  task: Tasks[Name]['task'],
  call: OperationCall,
): Promise<Tasks[Name]['result']> {
  call.signal.throwIfAborted();
  const worker = new Worker(new URL('./task.worker.js', import.meta.url), {
    workerData: { name, ...task },
    name: `task ${name}`,
  });
  const ended = new Promise((resolve) => {
    worker.once('exit', resolve);
  });
  alive.add(ended);
  ended.then(() => alive.delete(ended));
  let onTaken = () => {};
  let underWay = 0;

  async function pump(): Promise<void> {
    for await (const chunk of call.input) {
      while (underWay > 0 && underWay + chunk.length > windowBytes) {
        await new Promise<void>((resolve) => {
          onTaken = resolve;
        });
      }
      underWay += chunk.length;
      worker.postMessage({ chunk } satisfies ToTask);
    }
    worker.postMessage({ end: true } satisfies ToTask);
  }

  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    function cancel(): void {
      worker.postMessage({ cancel: true } satisfies ToTask);
      timer ??= setTimeout(() => void worker.terminate(), endMsMax).unref();
    }
    function fail(error: Error): void {
      reject(error);
      cancel();
    }
    // One after the other: whoever takes them slowly gets them in their order, and all before the end.
    let written = Promise.resolve();
    const onAbort = () => fail(new OperatorError('it was cancelled'));
    call.signal.addEventListener('abort', onAbort, { once: true });
    worker.on('message', (message: FromTask) => {
      if ('progress' in message) call.progress(message.progress);
      else if ('taken' in message) {
        underWay -= message.taken;
        onTaken();
      } else if ('bytes' in message) {
        const { bytes } = message;
        written = written.then(async () => {
          await call.write(bytes);
          worker.postMessage({ taken: bytes.length } satisfies ToTask);
        });
        written.catch(fail);
      } else if ('done' in message) {
        written.then(() => resolve(message.done as Tasks[Name]['result']), fail);
      } else reject(errorOf(message));
    });
    worker.once('error', (error) => reject(memoryFault(error) ?? error));
    worker.once('exit', () => {
      clearTimeout(timer);
      const early = () => reject(new Error(`the thread of '${name}' ended early`));
      written.then(early, fail).finally(() => call.signal.removeEventListener('abort', onAbort));
    });
    if (name === 'list') pump().catch(fail);
  });
}

function errorOf({ failed, kind }: Extract<FromTask, { failed: string }>): Error {
  if (kind === 'operator') return new OperatorError(failed);
  if (kind === 'bug') return new Error(failed);
  return new OperatorError(`the store is damaged (${failed}): restore a backup`);
}
