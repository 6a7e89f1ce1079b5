/**
 * Provides what every screen of the console is made with: the page builder for operators, and the
 * one way in which a change is made, recorded in the audit log before it begins and when it has
 * ended.
 */

import type { AuditLog } from '../access/audit-log.ts';
import type { Clock } from '../core/clock.ts';
import { type ErrorCode, statusOf } from '../core/errors.ts';
import type { Result } from '../core/result.ts';
import type { Reply } from '../http/request/message.ts';
import type { Params } from '../http/request/query.ts';
import { formatIp, parseIp } from '../ip/address.ts';
import { formatPrefix } from '../ip/prefix.ts';
import { typedAddress } from '../ip/typed.ts';
import { readPrefix } from '../ip/written.ts';
import { doneIn, doneMark } from '../web/done-mark.ts';
import type { AnyPageBuilder } from '../web/guard/page-builder.ts';
import type { AnyRequestContext, SessionLike } from '../web/guard/request-context.ts';
import { sessionForm, sessionPage } from '../web/guard/session-endpoint.ts';
import type { Language } from '../web/language.ts';
import { type ConsoleSection, type ConsoleView, consolePaths, refusedPage } from './parts.page.ts';

export interface OperatorSession extends SessionLike {
  readonly accountId: string;
}
export type OperatorRequest = AnyRequestContext<OperatorSession> & {
  readonly session: OperatorSession;
};

export interface ConsoleParts {
  readonly pageBuilder: AnyPageBuilder<OperatorSession>;
  readonly audit: AuditLog;
  readonly clock: Clock;
  /** Resolves when what was committed before is in memory. */
  readonly catchUp: () => Promise<void>;
  /** Returns the names of the categories of reports; category 1 has the first one. */
  readonly categoryNames: (language: Language) => readonly string[];
}

/** The console says of each change the same. */
const doneName = 'changed';

/** Whatever a change can fail with. */
const errors: readonly ErrorCode[] = [
  ...(['invalid_parameter', 'invalid_prefix', 'prefix_host_bits', 'conflict'] as const),
  ...([
    'unknown_account',
    'unknown_key',
    'invalid_client_id',
    'capacity_exceeded',
    'client_limit_exceeded',
    'overloaded',
    'store_unavailable',
  ] as const),
];

export function consoleScreen(path: string) {
  return sessionPage(path, 'signed-in operator', { limits: ['console'], errors });
}

export function consoleChange(section: ConsoleSection) {
  const backTo = consolePaths[section];
  return sessionForm(`${backTo}/change`, 'confirmed operator', {
    limits: ['console'],
    backTo,
    errors,
  });
}

export function viewOf(parts: ConsoleParts, context: OperatorRequest, query: Params): ConsoleView {
  const now = parts.clock.now();
  const done = doneIn(context.csrf, now, query.get('done')) === doneName;
  return { csrf: context.csrf, now, done, categoryNames: parts.categoryNames(context.language) };
}

export interface AskedChange {
  readonly section: ConsoleSection;
  /** The audit log keeps this line: worded like a command, without what names a person. */
  readonly command: string;
  readonly before?: string;
  /** The operator goes on at this path; without it, at the section's page. */
  readonly back?: string;
}

/**
 * Makes a change that is recorded in the audit log first: one that can't be recorded is not made.
 * @param run what it is afterwards, in short
 */
export async function perform(
  { pageBuilder, audit, catchUp, clock }: ConsoleParts,
  context: OperatorRequest,
  { section, command, before = '', back = consolePaths[section] }: AskedChange,
  run: () => Promise<Result<string>>,
): Promise<Reply> {
  const user = `account ${context.session.accountId}`;
  const address = context.request.clientIp;
  const begun = await audit.begin({ user, command, before, address });
  if (!begun.ok) return pageBuilder.problem(context, begun);
  const done = await run().catch(async (error: unknown) => {
    await audit.end(begun.value, { ok: false });
    throw error;
  });
  // It stands there as begun if this can't be written: the change itself is not undone.
  await audit.end(begun.value, { ok: done.ok, after: done.ok ? done.value : done.error });
  await catchUp();
  if (done.ok) {
    const mark = `${back.includes('?') ? '&' : '?'}done=${doneMark(context.csrf, doneName, clock.now())}`;
    return pageBuilder.go(context, back + mark);
  }
  const { error: code } = done;
  return pageBuilder.show(context, (frame) => refusedPage(frame, section, back, done), {
    status: statusOf(code),
    failure: done,
  });
}

/** The address of a form, canonical; undefined: it is none. */
export function addressIn(form: Params): string | undefined {
  const words = new Uint32Array(4);
  const family = parseIp(typedAddress(form.get('address') ?? ''), words);
  return family === 0 ? undefined : formatIp(family, words);
}

/** The log keeps no text that is not a network: it may be a mail address. */
export function networkForLog(text: string): string {
  const network = readPrefix(typedAddress(text));
  return network.ok ? formatPrefix(network.value) : '(not a network)';
}

/** Answers a form that no page of ours sends. */
export function noSuchChange({ pageBuilder }: ConsoleParts, context: OperatorRequest): Reply {
  return pageBuilder.problem(context, { ok: false, error: 'invalid_parameter' });
}
