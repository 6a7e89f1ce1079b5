/**
 * Operations in the audit log (access/audit-log.ts). Mail addresses are replaced by the id of their account
 * before the operation runs, and only arguments that are known to be harmless stay.
 */

import { findAccountId } from '../access/account-names.ts';
import { type BegunChange, createAuditLog } from '../access/audit-log.ts';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import type { Random } from '../core/random.ts';
import type { Result } from '../core/result.ts';
import type { Store } from '../storage/store.ts';
import type { AuditRule } from './operation.ts';

/** In place of a mail address that has no account. */
const nobody = '(mail address)';
const commandCharsMax = 400;
const argCharsMax = 120;
/** Longer than any mail address. */
const addressCharsMax = 320;

/** An argument as the log keeps it. */
async function harmless(store: Store, arg: string, isPerson = false): Promise<string> {
  if (/^https?:\/\//i.test(arg)) {
    return URL.canParse(arg) ? new URL(arg).host.slice(0, argCharsMax) : '(address)';
  }
  if (!arg.includes('@') && !isPerson) return arg.slice(0, argCharsMax).replace(/[\p{C}\s]/gu, '?');
  return (arg.length > addressCharsMax ? undefined : await findAccountId(store, arg)) ?? nobody;
}

/** A line of the audit log names an operation, or a command that is none. */
export interface Audited {
  readonly name: string;
  readonly audit?: AuditRule | undefined;
}

export function createAudit(options: { store: Store; clock: Clock; random: Random }) {
  const { store } = options;
  const log = createAuditLog(options);

  async function sentenceOf({ name, audit = {} }: Audited, given: unknown): Promise<string> {
    const input = given as Readonly<Record<string, unknown>>;
    const { args = [], options: kept = [], person } = audit;
    const parts = [name];
    for (const key of args) {
      const value = input[key];
      if (value !== undefined) parts.push(await harmless(store, String(value), key === person));
    }
    for (const key of kept) {
      const value = input[key];
      if (value === undefined || value === false) continue;
      parts.push(`${key}=${await harmless(store, String(value))}`);
    }
    return parts.join(' ').slice(0, commandCharsMax);
  }

  return {
    /** Writes the line before the change. @throws when it can't be written: the change must not be made */
    async begin(operation: Audited, input: unknown, user: string): Promise<BegunChange> {
      const command = await sentenceOf(operation, input);
      return resultOf(await log.begin({ user: userOf(user), command }));
    },
    /** Completes the line. A new account has an id by now, which replaces its mail address. */
    async end(begun: BegunChange, operation: Audited, input: unknown, ok: boolean): Promise<void> {
      const { command: before } = begun;
      const command = before.includes(nobody) ? await sentenceOf(operation, input) : before;
      resultOf(await log.end(begun, { ok, command }));
    },
    /** Writes a line for input that did not parse; nothing of the input is kept. */
    async refused({ name }: Audited, user: string): Promise<void> {
      const begun = resultOf(await log.begin({ user: userOf(user), command: `${name} (refused)` }));
      resultOf(await log.end(begun, { ok: false, command: begun.command }));
    },
  };
}

export type Audit = ReturnType<typeof createAudit>;

const userOf = (user: string): string => user.slice(0, argCharsMax).replace(/\p{C}/gu, '?');

function resultOf<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new OperatorError(result.detail ?? result.error);
}
