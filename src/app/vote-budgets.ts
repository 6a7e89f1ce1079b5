/**
 * Finds the accounts whose budget of open votes runs out, for the metrics and for a mail to the
 * account's address: once at 80 %, and again only after it was below 60 %. Here the wings meet:
 * reputation knows the budget, sign-on the address.
 *
 * It runs every minute, apart from reports: none waits for it. The accounts that were notified are
 * one row, 8 bytes of a hash each, so a restart notifies nobody twice; it is written before a mail
 * goes out. Bounded: 100 mails a pass, 4,096 accounts remembered; beyond that the next ones wait
 * until others have fallen below 60 %.
 */

import type { AccessReducer } from '../access/accounts/reducer.ts';
import type { Clock } from '../core/clock.ts';
import { sha256 } from '../core/crypto.ts';
import { every } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { minuteMs } from '../core/time.ts';
import { budgetBaseOf } from '../reputation/votes/votes.ts';
import type { Mailer } from '../signon/mail/mailer.ts';
import { isActive, type People } from '../signon/people.ts';
import { notifiedBudgetsKey } from '../storage/keys.ts';
import type { Maintenance } from '../storage/maintenance.ts';
import type { State } from './state.ts';

/** From here on an account will soon have no vote. */
const notifyFromShare = 0.8;
/** Below it the account may be notified once more. */
const rearmBelowShare = 0.6;
export const budgetMailsMax = 100;
const notifiedBudgetsMax = 4_096;
const passMs = minuteMs;
const nameBytes = 8;
/** Accounts looked at between two turns of the event loop. */
const turnSlots = 4_096;

interface BudgetUse {
  readonly account: string;
  readonly open: number;
  readonly limit: number;
}

/** The part of the state that is looked at. */
export interface Budgets {
  readonly accountsInMemory: Pick<AccessReducer, 'count' | 'idOf'> & {
    readonly reporters: Pick<AccessReducer['reporters'], 'rank' | 'budget'>;
  };
  readonly policy: State['policy'];
}

function budgetOf(
  { accountsInMemory, policy }: Budgets,
  slot: number,
  at: number,
): BudgetUse | undefined {
  const account = accountsInMemory.idOf(slot);
  if (account === undefined) return undefined;
  const { reporters } = accountsInMemory;
  const base = budgetBaseOf(reporters.rank(slot, at), policy());
  const { open, limit } = reporters.budget(slot, base, at);
  return { account, open, limit };
}

function isAbove({ open, limit }: BudgetUse, share: number): boolean {
  return limit > 0 && open >= share * limit;
}

/** @param at ms since 1970: what is open halves in 14 days */
export function budgetsNearLimit(state: Budgets, at: number): number {
  let near = 0;
  for (let slot = 0; slot < state.accountsInMemory.count(); slot++) {
    const use = budgetOf(state, slot, at);
    if (use !== undefined && isAbove(use, notifyFromShare)) near++;
  }
  return near;
}

export function startBudgetMails(options: {
  state: Budgets;
  maintenance: Maintenance;
  people: Pick<People, 'byId'>;
  mailer: Pick<Mailer, 'post'>;
  clock: Clock;
  log: Log;
  passMs?: number;
}) {
  const { state, maintenance, people, mailer, clock, log } = options;
  const { store } = maintenance;
  let remembered = 0;

  /** Accounts above the two shares. */
  async function findHeavyUsers() {
    const near: BudgetUse[] = [];
    const above = new Set<string>();
    for (let slot = 0; slot < state.accountsInMemory.count(); slot++) {
      if (slot % turnSlots === turnSlots - 1) await new Promise(setImmediate);
      const use = budgetOf(state, slot, clock.now());
      if (use === undefined || !isAbove(use, rearmBelowShare)) continue;
      above.add(nameOf(use.account));
      if (isAbove(use, notifyFromShare)) near.push(use);
    }
    return { near, above };
  }

  function saveNotified(notified: ReadonlySet<string>, version: number | null) {
    const key = notifiedBudgetsKey();
    const value = Buffer.from([...notified].join(''), 'hex');
    return store.commit({ check: [{ key, version }], set: [{ key, value }] });
  }

  async function pass(): Promise<number> {
    if (!store.writeState().available || !maintenance.isMine()) return 0;
    const { near, above } = await findHeavyUsers();
    const row = await store.get(notifiedBudgetsKey());
    const before = row === undefined ? [] : namesIn(row.value);
    const notified = new Set(before.filter((name) => above.has(name)));
    const chosen = near
      .filter(({ account }) => !notified.has(nameOf(account)))
      .slice(0, Math.min(budgetMailsMax, notifiedBudgetsMax - notified.size));
    for (const { account } of chosen) notified.add(nameOf(account));
    remembered = notified.size;
    if (chosen.length === 0 && notified.size === before.length) return 0;
    const done = await saveNotified(notified, row?.version ?? null);
    // Another process was first, or nothing can be written: the next pass tries again.
    if (!done.ok) return 0;
    let sent = 0;
    const dropped: string[] = [];
    for (const { account, limit } of chosen) {
      const person = await people.byId(account);
      // Accounts without an active person are in the metric alone.
      if (person === undefined || !isActive(person)) continue;
      const { language } = person.credentials;
      const values = { limit: Math.floor(limit) };
      if (mailer.post(person.account.email, language, 'budgetNear', values, account)) sent++;
      else dropped.push(nameOf(account));
    }
    // The queue is full, or the address had its mails of this hour: a later pass notifies it.
    for (const name of dropped) notified.delete(name);
    if (dropped.length > 0) await saveNotified(notified, done.versions[0]!);
    return sent;
  }

  const loop = every(options.passMs ?? passMs, pass, {
    onFailure: (err) => log.warn({ err }, 'vote budgets: pass failed, will retry'),
  });
  return {
    /** Checks all accounts once. @returns mails handed over */
    pass,
    /** Accounts that are remembered as notified, after the last pass. */
    tables: [{ name: 'budgets_told', used: () => remembered, limit: notifiedBudgetsMax }],
    metrics: (metrics: Metrics): void =>
      metrics.gauge(
        'portcullis_voice_budgets_near_limit',
        'Accounts that have used four fifths of their budget of open votes.',
        () => budgetsNearLimit(state, clock.now()),
      ),
    close: loop.stop,
  };
}

function nameOf(account: string): string {
  return Buffer.from(sha256(account).subarray(0, nameBytes)).toString('hex');
}

function namesIn(value: Uint8Array): string[] {
  const names: string[] = [];
  for (let at = 0; at + nameBytes <= value.length; at += nameBytes) {
    names.push(Buffer.from(value.subarray(at, at + nameBytes)).toString('hex'));
  }
  return names;
}
