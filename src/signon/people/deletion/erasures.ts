/**
 * Deletions in the background of the server: the request that asks for one waits for its first
 * commit alone. The marks in the store are the queue, so what a stop or a crash cut short is taken
 * up by the next start, and nothing has to fit into memory.
 *
 * Accounts are erased one after the other, in slices that leave the event loop to others. The
 * deletion notice is sent meanwhile: a slow mail server must not keep the next person's data. What
 * fails is tried again after a while, for as long as the mark stands.
 */

import type { Log } from '../../../core/log.ts';
import type { Result } from '../../../core/result.ts';
import { createTurns, type Pace } from '../../../core/scheduling.ts';
import { LeaseLostError, type Maintenance } from '../../../storage/maintenance.ts';
import type { Deletion } from './deletion.ts';

export interface Erasures {
  /** Resolves when the account is durably disabled and marked; the rest follows. Errors of `Deletion.begin`. */
  begin: Deletion['begin'];
  /** Continues the deletions of all marked accounts, at the start. */
  resume(): void;
  /** Resolves when nothing is under way; what failed may still wait for its next try. */
  idle(): Promise<void>;
  /** Ends at the next slice. What is left is for the next start. */
  close(): Promise<void>;
}

const retryMs = 10_000;
const marksPage = 100;
/** The limit of mails on their way; the next one waits in its mark. */
const sendingMax = 64;

export function createErasures(options: {
  deletion: Pick<Deletion, 'begin' | 'marked' | 'erase' | 'sendNotice'>;
  log: Log;
  /** Chooses the one of several servers that erases, also what the others marked; absent: this one. */
  maintenance?: Pick<Maintenance, 'isMine' | 'isShared'>;
  retryMs?: number;
}): Erasures {
  const { deletion, log } = options;
  const { isMine = () => true, isShared = false } = options.maintenance ?? {};
  const turns = createTurns();
  const sending = new Map<string, Promise<void>>();
  let heldBack = false;
  let running: Promise<void> | undefined;
  let again = false;
  let closing = false;
  let timer: NodeJS.Timeout | undefined;

  const pace: Pace = {
    isOver: () => closing || turns.isOver(),
    async next() {
      await turns.next();
      if (closing) throw new Error('the server stops');
      if (!isMine()) throw new LeaseLostError('another node erases now');
    },
  };

  function retryLater(accountId: string, step: string, detail: string | undefined): void {
    if (closing) return;
    log.warn({ account: accountId, step, detail }, 'deletion: not finished, tried again later');
    resumeLater();
  }

  function resumeLater(): void {
    clearTimeout(timer);
    timer = setTimeout(resume, options.retryMs ?? retryMs);
    timer.unref();
  }

  /** Counts `unknown_account` as done: the account is gone, and at most a mail is left. */
  function isDone(result: Result<void>): boolean {
    return result.ok || result.error === 'unknown_account';
  }

  async function sendNotice(id: string): Promise<void> {
    try {
      const done = await deletion.sendNotice(id);
      if (!done.ok) retryLater(id, 'sendNotice', done.detail);
    } catch (error) {
      retryLater(id, 'sendNotice', (error as Error).message);
    }
    sending.delete(id);
    if (!heldBack) return;
    heldBack = false;
    resume();
  }

  async function erase(id: string): Promise<void> {
    try {
      const erased = await deletion.erase(id, pace);
      if (!isDone(erased)) return retryLater(id, 'erase', erased.ok ? undefined : erased.detail);
      if (erased.ok) log.info({ account: id }, 'deletion: done');
    } catch (error) {
      return retryLater(id, 'erase', (error as Error).message);
    }
    if (sending.size >= sendingMax) heldBack = true;
    else if (!closing) sending.set(id, sendNotice(id));
  }

  async function eraseMarked(): Promise<void> {
    for (let after: string | undefined; !closing; ) {
      const ids = await deletion.marked(after, marksPage);
      if (ids.length === 0) return;
      for (const id of ids) {
        if (!closing && isMine() && !sending.has(id)) await erase(id);
      }
      after = ids.at(-1);
    }
  }

  async function run(): Promise<void> {
    while (again && !closing) {
      again = false;
      await eraseMarked().catch((error: Error) => retryLater('', 'list', error.message));
    }
    running = undefined;
  }

  function resume(): void {
    if (isShared && !closing) resumeLater();
    if (!isMine()) return;
    again = true;
    if (!closing) running ??= run();
  }

  async function idle(): Promise<void> {
    while (running !== undefined || sending.size > 0) {
      await running;
      await Promise.all(sending.values());
    }
  }

  return {
    async begin(accountId, options) {
      const begun = await deletion.begin(accountId, options);
      if (begun.ok) resume();
      return begun;
    },
    resume,
    idle,
    async close() {
      closing = true;
      clearTimeout(timer);
      await idle();
    },
  };
}
