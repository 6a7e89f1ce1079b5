/**
 * Commands in the audit log (access/audit-log.ts): which of them change something, and what of their
 * arguments is kept. Mail addresses are replaced by the id of their account before the command runs,
 * and only arguments that are known to be harmless stay.
 */

import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { findAccountId } from '../../access/account-names.ts';
import { type BegunChange, createAuditLog } from '../../access/audit-log.ts';
import { processEnvironment } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import type { Result } from '../../core/result.ts';
import type { Store } from '../../store/store.ts';

export interface AuditedCommand {
  /** As in `account create`. */
  readonly name: string;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Every other command changes something, or takes personal data out. `serve` has its own log. */
const reading = new Set([
  'serve',
  // Writes its entry itself: without the right key nothing else opens the store.
  'master-key replace',
  // So does this one, where it can: it is wanted on a full disk too.
  'backup',
  // The log is among what they carry, and nothing may be written to either side meanwhile.
  'migrate embedded-to-postgres',
  'migrate postgres-to-embedded',
  // Before these there is no store, and no settings that tell where it will be.
  'restore',
  'init',
  'verify',
  'stats',
  'check',
  'cluster status',
  'doctor',
  'account list',
  'account show',
  'key list',
  'allow list',
  'entry list',
  'source list',
  'report list',
  'removals list',
  'tips list',
  'sitekey list',
  'bouncer list',
  'site list',
  'audit',
  'log audit',
  'log sign-ins',
]);
/** Their first argument names a person, however it is typed. */
const personal = /^(account |key create$|sitekey create$|bouncer (add|remove)$)/;
const optionsKept = ['format', 'confidence', 'hold', 'source', 'readPerMinute', 'writePerMinute'];
const optionsKeptToo = ['staff', 'member', 'none', 'standing', 'since', 'penalty', 'documentation'];
const optionsOfSources = ['every', 'knownGood', 'service', 'allow'];
const optionsOfEntries = ['score', 'category', 'until'];
/** In place of a mail address that has no account. */
const nobody = '(mail address)';
const commandCharsMax = 400;
const argCharsMax = 120;
/** Longer than any mail address. */
const addressCharsMax = 320;

export function isAudited(name: string): boolean {
  return !reading.has(name);
}

/**
 * `name (real uid)`, and who used sudo for it. Anybody can set SUDO_USER, so the uid that the kernel keeps since the
 * login stands beside it.
 */
export function operatorName(): string {
  const sudo = processEnvironment()
    .SUDO_USER?.slice(0, 40)
    .replace(/[\p{C}\s]/gu, '?');
  const behind = sudo === undefined ? '' : ` by sudo of ${sudo} (login uid ${loginUid()})`;
  const uid = process.getuid?.() ?? 'unknown';
  try {
    return `${userInfo().username} (${uid})${behind}`.slice(0, argCharsMax);
  } catch {
    // A container's user may have no name.
    return `(${uid})${behind}`.slice(0, argCharsMax);
  }
}

/** None is kept in a container, or for what no login started. */
function loginUid(): string {
  try {
    const uid = readFileSync('/proc/self/loginuid', 'latin1').trim();
    return /^\d+$/.test(uid) && uid !== '4294967295' ? uid : 'unknown';
  } catch {
    return 'unknown';
  }
}

/** An argument as the log keeps it. */
async function harmless(store: Store, arg: string, isPerson = false): Promise<string> {
  if (/^https?:\/\//i.test(arg)) {
    return URL.canParse(arg) ? new URL(arg).host.slice(0, argCharsMax) : '(address)';
  }
  if (!arg.includes('@') && !isPerson) return arg.slice(0, argCharsMax).replace(/[\p{C}\s]/gu, '?');
  return (arg.length > addressCharsMax ? undefined : await findAccountId(store, arg)) ?? nobody;
}

export interface Audit {
  /** Before the command. @throws when it can't be written: then the command must not run. */
  begin(command: AuditedCommand, user: string): Promise<BegunChange>;
  /** When it has ended. An account that was made has its id by now. */
  end(begun: BegunChange, command: AuditedCommand, ok: boolean): Promise<void>;
}

export function createAudit(options: { store: Store; clock: Clock; random: Random }): Audit {
  const { store } = options;
  const log = createAuditLog(options);

  async function textOf({ name, args, options: given }: AuditedCommand): Promise<string> {
    const parts = [name];
    for (const [i, arg] of args.entries()) {
      parts.push(await harmless(store, arg, i === 0 && personal.test(name)));
    }
    for (const option of [
      ...optionsKept,
      ...optionsKeptToo,
      ...optionsOfSources,
      ...optionsOfEntries,
    ]) {
      const value = given[option];
      if (value === undefined || value === false) continue;
      parts.push(`${option}=${await harmless(store, String(value))}`);
    }
    return parts.join(' ').slice(0, commandCharsMax);
  }

  return {
    async begin(command, user) {
      return expect(await log.begin({ user, command: await textOf(command) }));
    },
    async end(begun, command, ok) {
      const known = begun.command.includes(nobody) ? await textOf(command) : begun.command;
      expect(await log.end(begun, { ok, command: known }));
    },
  };
}

function expect<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new OperatorError(result.detail ?? result.error);
}
