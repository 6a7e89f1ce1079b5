/**
 * Operations in the audit log (access/audit-log.ts). Mail addresses are replaced by the id of their account
 * before the operation runs, and only arguments that are known to be harmless stay.
 */

import { findAccountId } from '../access/accounts/records.ts';
import { type BegunChange, createAuditLog } from '../access/audit-log.ts';
import type { Parameters } from '../contracts/operation.ts';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import type { Random } from '../core/random.ts';
import type { Result } from '../core/result.ts';
import type { Store } from '../storage/store.ts';

/** Stands in place of a mail address that has no account. */
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

/** A line of the audit log names an operation, or a command without one. */
interface AuditedOperation {
  readonly name: string;
  readonly parameters?: Parameters;
}

/** The log has these of a change too. */
export interface AuditFacts {
  /** The address of the browser; empty for a command. */
  readonly address?: string | undefined;
  readonly before?: string | undefined;
}

export function createAudit(options: { store: Store; clock: Clock; random: Random }) {
  const { store } = options;
  const log = createAuditLog(options);

  /** Writes an operation as it is typed: `entry add 192.0.2.0/24 score=90 until=2026-12-31`. */
  async function sentenceOf(
    { name, parameters = {} }: AuditedOperation,
    input: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const words = [name];
    for (const [key, { kept, isArgument }] of Object.entries(parameters)) {
      const value = input[key];
      if (kept === undefined || value === undefined || value === false) continue;
      const word =
        typeof kept === 'function'
          ? kept(value).slice(0, argCharsMax)
          : await harmless(store, String(value), kept === 'account');
      words.push(isArgument ? word : `${key}=${word}`);
    }
    return words.join(' ').slice(0, commandCharsMax);
  }

  return {
    /** Writes the line before the change. @throws when it can't be written: the change must not be made */
    async begin(
      operation: AuditedOperation,
      input: object,
      user: string,
      { address = '', before = '' }: AuditFacts = {},
    ): Promise<BegunChange> {
      const command = await sentenceOf(operation, { ...input });
      return resultOf(await log.begin({ user: userOf(user), command, before, address }));
    },
    /**
     * Completes the line. The id of a new account replaces its mail address.
     * @param after the state after the act, in short, or the code of the failure
     */
    async end(
      begun: BegunChange,
      operation: AuditedOperation,
      input: object,
      ok: boolean,
      after = '',
    ): Promise<void> {
      const { command: known } = begun;
      const command = known.includes(nobody) ? await sentenceOf(operation, { ...input }) : known;
      resultOf(await log.end(begun, { ok, command, after }));
    },
    /** Writes a line for input that did not parse; nothing of the input is kept. */
    async refused({ name }: AuditedOperation, user: string, address = ''): Promise<void> {
      const command = `${name} (refused)`;
      const begun = resultOf(await log.begin({ user: userOf(user), command, address }));
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
