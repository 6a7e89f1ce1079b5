/**
 * The audit log: which command changed what, when, by whom, and how it ended. Two rows a command,
 * one before it and one behind, so that one that is killed leaves its trace; they are added and never
 * changed or removed.
 *
 * Nothing of a person is in a row but an account's random id and the operator's user name: mail
 * addresses are replaced by the id of their account before the command runs, and only arguments that
 * are known to be harmless are kept.
 */

import { userInfo } from 'node:os';
import { findAccountId } from '../../access/account-names.ts';
import { processEnvironment } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import { createWriter, decode } from '../../store/codec.ts';
import { auditKey, auditPrefix } from '../../store/keys.ts';
import { logRows } from '../../store/log-rows.ts';
import type { Store } from '../../store/store.ts';

export interface AuditEntry {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly user: string;
  /** The command with its arguments, without anything that names a person. */
  readonly command: string;
  /** `unfinished`: killed, or still running. */
  readonly result: 'done' | 'failed' | 'unfinished';
}

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
  'cluster status',
  'doctor',
  'account list',
  'account show',
  'key list',
  'allow list',
  'source list',
  'report list',
  'removals list',
  'tips list',
  'sitekey list',
  'bouncer list',
  'log audit',
  'log sign-ins',
]);
/** Their first argument names a person, however it is typed. */
const personal = /^(account |key create$|sitekey create$|bouncer (add|remove)$)/;
const optionsKept = ['format', 'confidence', 'hold', 'source', 'readPerMinute', 'writePerMinute'];
const optionsKeptToo = ['staff', 'member', 'none', 'standing', 'since', 'penalty', 'documentation'];
const optionsOfSources = ['every', 'knownGood', 'service', 'allow'];
/** In place of a mail address that has no account. */
const nobody = '(mail address)';
const layout = 1;
const kinds = { begun: 1, done: 2, failed: 3 } as const;
const commandCharsMax = 400;
const argCharsMax = 120;
/** Longer than any mail address. */
const addressCharsMax = 320;

export function isAudited(name: string): boolean {
  return !reading.has(name);
}

/** `name (uid)`, and who used sudo for it. */
export function operatorName(): string {
  const sudo = processEnvironment().SUDO_USER;
  const behind = sudo === undefined ? '' : ` by sudo of ${sudo}`;
  try {
    const { username, uid } = userInfo();
    return `${username} (${uid})${behind}`.slice(0, argCharsMax);
  } catch {
    // A container's user may have no name.
    return `(${process.getuid?.() ?? 'unknown'})${behind}`.slice(0, argCharsMax);
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

export interface BegunCommand {
  readonly id: Uint8Array;
  readonly user: string;
  readonly text: string;
}

export interface Audit {
  /** Before the command. @throws when it can't be written: then the command must not run. */
  begin(command: AuditedCommand, user: string): Promise<BegunCommand>;
  /** When it has ended. An account that was made has its id by now. */
  end(begun: BegunCommand, command: AuditedCommand, ok: boolean): Promise<void>;
  /** Oldest first, those from `since` (ms) on. */
  list(since: number): Promise<AuditEntry[]>;
}

export function createAudit(options: { store: Store; clock: Clock; random: Random }): Audit {
  const { store, clock, random } = options;

  async function add(id: Uint8Array, kind: number, user: string, command: string): Promise<void> {
    const key = auditKey(clock.now(), random.bytes(4));
    const value = createWriter().u8(layout).u8(kind).bytes(id).text(user).text(command).finish();
    const done = await store.commit({ check: [{ key, version: null }], set: [{ key, value }] });
    if (!done.ok) throw new OperatorError('the audit log can not be written');
  }

  async function textOf({ name, args, options: given }: AuditedCommand): Promise<string> {
    const parts = [name];
    for (const [i, arg] of args.entries()) {
      parts.push(await harmless(store, arg, i === 0 && personal.test(name)));
    }
    for (const option of [...optionsKept, ...optionsKeptToo, ...optionsOfSources]) {
      const value = given[option];
      if (value === undefined || value === false) continue;
      parts.push(`${option}=${await harmless(store, String(value))}`);
    }
    return parts.join(' ').slice(0, commandCharsMax);
  }

  return {
    async begin(command, user) {
      const begun = { id: random.bytes(8), user, text: await textOf(command) };
      await add(begun.id, kinds.begun, user, begun.text);
      return begun;
    },
    async end({ id, user, text }, command, ok) {
      const known = text.includes(nobody) ? await textOf(command) : text;
      await add(id, ok ? kinds.done : kinds.failed, user, known);
    },
    async list(since) {
      const found = new Map<string, AuditEntry>();
      for await (const page of logRows(store, auditPrefix())) {
        for (const { key, value } of page) {
          const at = Buffer.from(key).readUIntBE(1, 6);
          const row = decodeRow(value);
          if (row === undefined) continue;
          const before = found.get(row.id);
          const result = resultOf(row.kind);
          found.set(row.id, { at: before?.at ?? at, user: row.user, command: row.command, result });
        }
      }
      return [...found.values()].filter(({ at }) => at >= since);
    },
  };
}

function resultOf(kind: number): AuditEntry['result'] {
  if (kind === kinds.done) return 'done';
  return kind === kinds.failed ? 'failed' : 'unfinished';
}

function decodeRow(value: Uint8Array) {
  return decode(value, (input) => {
    if (input.u8() !== layout) input.reject();
    const kind = input.u8();
    const id = Buffer.from(input.bytes()).toString('hex');
    return { kind, id, user: input.text(), command: input.text() };
  });
}
