/**
 * Provides what every screen of the console is made with: the page builder for operators, and the
 * one way in which a change is made, which is the act of the command line.
 */

import { isAccountId } from '../access/accounts/records.ts';
import type { AuditLog } from '../access/audit-log.ts';
import type { Clock } from '../core/clock.ts';
import { type ErrorCode, sentenceFor } from '../core/errors.ts';
import type { Language } from '../core/language.ts';
import { type Failure, fail, ok, type Result } from '../core/result.ts';
import type { Reply } from '../http/request/message.ts';
import type { Params } from '../http/request/query.ts';
import type { PlainRoute } from '../http/router.ts';
import { sessionForm, sessionPage } from '../web/guard/endpoint.ts';
import type { AnyPageBuilder } from '../web/guard/page-builder.ts';
import type { AnyRequestContext, SessionLike } from '../web/guard/request-context.ts';
import { doneIn, doneTag } from '../web/page-tools.ts';
import {
  type ConsoleSection,
  type ConsoleView,
  consolePaths,
  fieldAtFault,
  type SectionActs,
  translateSentence,
  typedFields,
  undoPath,
} from './parts.page.tsx';

export interface OperatorSession extends SessionLike {
  readonly accountId: string;
}
export type OperatorRequest = AnyRequestContext<OperatorSession> & {
  readonly session: OperatorSession;
};

export interface ConsoleParts {
  readonly pageBuilder: AnyPageBuilder<OperatorSession>;
  readonly audit: AuditLog;
  readonly operations: ConsoleOperations;
  readonly clock: Clock;
  /** Resolves when what was committed before is in memory. */
  readonly catchUp: () => Promise<void>;
  /** Counts what waits for a decision, by the section that shows it. */
  readonly waits: () => Promise<ConsoleView['waits']>;
  readonly categoryNames: (language: Language) => readonly string[];
}

/** For sections whose buttons stand in the inbox too. */
export interface PartsWithInbox extends ConsoleParts {
  readonly showInbox: (context: OperatorRequest, query: Params) => Promise<Reply>;
}

/** Tells screens who an account is. */
export interface ConsoleNames {
  /** The mail address of an account; undefined when it is gone. */
  emailOf(accountId: string): Promise<string | undefined>;
}

/** Returns the mail addresses of the accounts that are still there, by id. */
export async function emailsOf(
  { emailOf }: ConsoleNames,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const emails = new Map<string, string>();
  for (const id of new Set(ids)) {
    const email = isAccountId(id) ? await emailOf(id) : undefined;
    if (email !== undefined) emails.set(id, email);
  }
  return emails;
}

/** The console says of each change the same. */
const doneName = 'changed';

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

export function consoleChange(
  section: ConsoleSection,
  { path, backTo }: { readonly path: string; readonly backTo: string } = {
    path: `${consolePaths[section]}/change`,
    backTo: consolePaths[section],
  },
) {
  return sessionForm(path, 'confirmed operator', {
    limits: ['console'],
    backTo,
    errors,
  });
}

const userOf = ({ session }: OperatorRequest) => `account ${session.accountId}`;

export async function viewOf(
  parts: ConsoleParts,
  context: OperatorRequest,
  query: Params,
): Promise<ConsoleView> {
  const now = parts.clock.now();
  const done = doneIn(context.csrf, now, query.get('done')) === doneName;
  const name = query.get('did') ?? '';
  const did = done ? parts.operations.done(name, userOf(context)) : undefined;
  return {
    csrf: context.csrf,
    now,
    done,
    refused: refusalOf(context),
    did: did && {
      name,
      act: did.act,
      about: did.about,
      canUndo: did.canUndo,
      scores: did.scores,
      back: context.request.path,
    },
    waits: await parts.waits(),
    categoryNames: parts.categoryNames(context.language),
    formFields: parts.operations.formFields,
  };
}

function refusalOf({ refused, unsaved, language }: OperatorRequest): ConsoleView['refused'] {
  if (refused === undefined) return undefined;
  const { parameter } = refused;
  const does = unsaved?.fields.find(([name]) => name === 'do')?.[1] ?? '';
  return { does, sentence: failureSentence(refused, language), field: parameter };
}

export function failureSentence({ error, detail }: Failure, language: Language): string {
  return detail === undefined
    ? sentenceFor(error, language)
    : translateSentence({ language }, detail);
}

/** An act of operators, as the command of the same name does it. */
interface ConsoleAct {
  /** Such as `entry add`. */
  readonly act: string;
  /** Texts by the names of the act's parameters. */
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly user: string;
  readonly address: string;
  /** The act whose sentence says what was done, where another one says it better. */
  readonly says?: string | undefined;
  /** Says what was before, where the act itself can't. */
  readonly before?: string | undefined;
}

/** An act that was done on the console a moment ago. */
export interface ActDone {
  readonly act: string;
  readonly about: string;
  readonly user: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly canUndo: boolean;
  /** The scores of the address before and after; undefined: it was done to anything else. */
  readonly scores: readonly [number, number] | undefined;
}

export interface ConsoleOperations {
  readonly formFields: ConsoleView['formFields'];
  /** Runs an act, and notes it in the audit log. @returns the name under which `done` knows it */
  run(act: ConsoleAct): Promise<Result<string>>;
  /** Runs an act that only reads. @returns its output */
  ask(act: Pick<ConsoleAct, 'act' | 'fields' | 'user' | 'address'>): Promise<Result<unknown>>;
  /** Returns what this user did a moment ago; undefined where it is long ago, or was done on another node. */
  done(name: string, user: string): ActDone | undefined;
  /**
   * Takes it back, and notes that in the audit log. `conflict`: it is too late.
   * @returns the name under which `done` knows the act that did so
   */
  undo(name: string, by: Pick<ConsoleAct, 'user' | 'address'>): Promise<Result<string>>;
}

/** A section's handler adds this to the fields of a form. */
export interface PreparedChange extends Partial<Pick<ConsoleAct, 'fields' | 'before'>> {
  /** The operator goes on at this path; without it, at the section's page. */
  readonly back?: string;
}

/**
 * Answers the form of a section: its field `do` names a row of the section's table of acts. The change stands
 * in the audit log before it begins: one that can't be recorded is not made.
 * @param again shows the section's page, here with a change that was refused; one that was pressed in the inbox
 *   stays there
 */
export function changeForm<Rows extends SectionActs['acts']>(
  { pageBuilder, operations, catchUp, clock, showInbox }: ConsoleParts & Partial<PartsWithInbox>,
  { section, acts }: SectionActs<Rows>,
  again: (context: OperatorRequest, form: Params) => Reply | Promise<Reply>,
  prepare?: (
    context: OperatorRequest,
    form: Params,
    does: keyof Rows,
  ) => Promise<Result<PreparedChange>>,
) {
  return async (context: OperatorRequest, form: Params): Promise<Reply> => {
    const does = form.get('do') ?? '';
    const row = Object.hasOwn(acts, does) ? acts[does] : undefined;
    const isFromInbox = form.get('from') === 'inbox';
    // No page of ours sends such a form.
    if (row === undefined) return pageBuilder.problem(context, fail('invalid_parameter'));
    const prepared = (await prepare?.(context, form, does)) ?? ok<PreparedChange>({});
    if (!prepared.ok) return pageBuilder.problem(context, prepared);
    const {
      fields,
      before,
      back = isFromInbox ? consolePaths.inbox : consolePaths[section],
    } = prepared.value;
    const done = await operations.run({
      act: row.act,
      says: row.says,
      before,
      fields: { ...typedFields(row, form), ...fields },
      user: userOf(context),
      address: context.request.clientIp,
    });
    await catchUp();
    if (!done.ok) {
      const { parameter: _, ...failure } = done;
      const field = fieldAtFault(row, done);
      const refused = field === undefined ? failure : { ...failure, parameter: field };
      const typed = form.names.map((name) => [name, form.get(name) ?? ''] as const);
      const unsaved = { action: context.request.path, fields: typed, isQuiet: true };
      const show = isFromInbox ? (showInbox ?? again) : again;
      return show({ ...context, refused, unsaved }, form);
    }
    return pageBuilder.go(context, withDone(back, context, clock.now(), done.value));
  };
}

/** @param name of what was done */
function withDone(back: string, { csrf }: OperatorRequest, now: number, name: string): string {
  const added = `done=${doneTag(csrf, doneName, now)}&did=${name}`;
  return `${back}${back.includes('?') ? '&' : '?'}${added}`;
}

export const undoEndpoint = sessionForm(undoPath, 'confirmed operator', {
  limits: ['console'],
  backTo: consolePaths.inbox,
  errors,
});

const otherPages = /^(\/ip\/[\da-f:.]{2,45}|\/admin\/people\/[\w-]{16})$/i;

/** POST /admin/undo: takes back what the operator did a moment ago. */
export function undoRoute(parts: ConsoleParts): PlainRoute {
  const { pageBuilder, operations, catchUp, clock } = parts;
  return pageBuilder.form(undoEndpoint, async (context, form) => {
    const asked = form.get('back') ?? '';
    const isOwn = Object.values(consolePaths).includes(asked) || otherPages.test(asked);
    const back = isOwn ? asked : consolePaths.inbox;
    const by = { user: userOf(context), address: context.request.clientIp };
    const undone = await operations.undo(form.get('name') ?? '', by);
    await catchUp();
    return undone.ok
      ? pageBuilder.go(context, withDone(back, context, clock.now(), undone.value))
      : pageBuilder.problem(context, undone);
  });
}
