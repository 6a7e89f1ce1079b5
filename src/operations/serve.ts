/**
 * Operations in the server, for commands and for the console: on its own store, and on the memory that it
 * answers from.
 */

import type { Data, ServerContext } from '../app/data.ts';
import type { ActDone, ConsoleOperations } from '../console/operator-request.route.ts';
import {
  formFieldsOf,
  inputFromForm,
  type OperationCall,
  RefusedError,
  type UndoOrder,
} from '../contracts/operation.ts';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { type Random, randomToken } from '../core/random.ts';
import { type Failure, fail, ok, type Result } from '../core/result.ts';
import { minuteMs } from '../core/time.ts';
import { readJudgedIp } from '../ip/embedded-ipv4.ts';
import type { EvidenceReader } from '../reputation/address/evidence.ts';
import type { Check } from '../reputation/check/check.ts';
import type { Hostnames } from '../reputation/hostnames.ts';
import type { Mailer } from '../signon/mail/mailer.ts';
import type { Invitations } from '../signon/people/invitations.ts';
import type { ResetLinks } from '../signon/people/recovery.ts';
import { inheritable } from '../storage/lmdb/claim.ts';
import { storePath } from '../storage/lmdb/presence.ts';
import { createAudit } from './audit.ts';
import type { Control } from './control.ts';
import { type Execution, execute, findOperation, type Order } from './execute.ts';
import { storeTools, type Workspace } from './workspace.ts';

interface ServedParts extends Pick<Data, 'store' | 'state' | 'member'> {
  readonly check: Check;
  readonly evidence: EvidenceReader;
  readonly hostnames: Hostnames;
  readonly sendReset: ResetLinks['sendByOperator'];
  readonly invite: Invitations['invite'];
  readonly mailer: Mailer;
}

export function openOperations(opening: ServerContext, served: ServedParts) {
  const { config, clock, random, log, masterKey } = opening;
  const { store, state, member, check, evidence } = served;
  const { follower } = state;
  const embedded = { path: storePath(config.dataDir), claim: inheritable(config.dataDir) };
  const workspace: Workspace = {
    ...storeTools({ config, clock, random, log, store, masterKey }, true),
    embedded: member === undefined ? embedded : undefined,
    withMemory: async (read) =>
      read({ check, evidence, counts: state.counting.counts, peers: state }),
    hostOf: served.hostnames.ask,
    networkOfVote: state.networkOfVote,
    catchUpTo: follower.catchUpTo,
    sendReset: served.sendReset,
    invite: served.invite,
    mailer: served.mailer,
  };
  const audit = createAudit(workspace);
  const execution: Execution = { workspace, reading: workspace, withAudit: (run) => run(audit) };
  const scoreOf = (text: string) => {
    const ip = readJudgedIp(text);
    return ip && check.judge(ip.family, ip.words, clock.now()).score;
  };
  const undos = createUndos(clock, random, scoreOf);

  /** Whoever asked is answered when memory holds what was written. */
  async function answer(
    order: Order,
    call: OperationCall,
    onUndo?: (undo: UndoOrder) => void,
  ): Promise<unknown> {
    const output = await execute(execution, order, call, onUndo);
    if (findOperation(order.operation).audit === 'required') undos.overtaken(order.input as object);
    await follower.catchUpTo(await store.lastSeq());
    return output;
  }
  async function onForm(
    order: Order,
  ): Promise<Result<{ readonly output: unknown; readonly undo: UndoOrder | undefined }>> {
    let undo: UndoOrder | undefined;
    try {
      const output = await answer(order, callOfForm, (one) => {
        undo = one;
      });
      return ok({ output, undo });
    } catch (error) {
      if (error instanceof RefusedError) return asOfForm(error.failure);
      if (error instanceof OperatorError) return asOfForm(fail('invalid_parameter', error.message));
      throw error;
    }
  }
  const onConsole: ConsoleOperations = {
    formFields: (act) => formFieldsOf(findOperation(act)),
    async run({ act, fields, says = act, ...by }) {
      const input = inputFromForm(findOperation(act), fields);
      const about = aboutOf(fields);
      const before = scoreOf(about);
      const done = await onForm({ ...by, operation: act, input });
      if (!done.ok) return done;
      return ok(undos.keep({ act: says, about, before, user: by.user }, done.value.undo));
    },
    async ask({ act, fields, ...by }) {
      const input = inputFromForm(findOperation(act), fields);
      const done = await onForm({ ...by, operation: act, input });
      return done.ok ? ok(done.value.output) : done;
    },
    done: undos.find,
    async undo(name, by) {
      const order = undos.take(name, by.user);
      if (order === undefined) return fail('conflict', 'It is too late to undo this.');
      const about = aboutOf(order.input as Parameters<typeof aboutOf>[0]);
      const before = scoreOf(about);
      const undone = await onForm({ ...order, ...by });
      if (!undone.ok) return undone;
      return ok(undos.keep({ act: order.operation, about, before, user: by.user }, undefined));
    },
  };
  return { serveCommands: (control: Control): void => control.serve(answer), onConsole };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // A form brings no bytes along.
}

const callOfForm: OperationCall = {
  progress() {},
  note() {},
  input: nothing(),
  async write() {},
  signal: new AbortController().signal,
  isOnConsole: true,
};

/** A form has fields where the command has options, and a page has sentences. */
function asOfForm({ detail, ...failure }: Failure): Failure {
  if (detail === undefined) return failure;
  const words = detail
    .replace(/^--[\w-]+: /, '')
    .replace(/--([a-z-]+)/g, (_, name: string) => name.replaceAll('-', ' '));
  const sentence = words.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return { ...failure, detail: /[.?!]$/.test(sentence) ? sentence : `${sentence}.` };
}

/** Returns the thing that an act was done to, as its status line names it: the field that a form fills in. */
function aboutOf({
  address,
  prefix,
  name,
  domain,
  email,
  peer,
}: Readonly<
  Partial<Record<'address' | 'prefix' | 'name' | 'domain' | 'email' | 'peer', string | undefined>>
>): string {
  return address ?? prefix ?? name ?? domain ?? email ?? peer ?? '';
}

/** The page shows the button for ten seconds; whoever has no script may press it a while longer. */
const undoMs = minuteMs;
const undosMax = 100;
const undoNameBytes = 16;

/** Keeps what was done on the console, and how it is taken back, for a moment, for whoever did it. */
function createUndos(clock: Clock, random: Random, scoreOf: (text: string) => number | undefined) {
  const rows = new Map<string, ActDone & { readonly order: UndoOrder | undefined }>();

  function findRecent(name: string, user: string) {
    const row = rows.get(name);
    return row?.user === user && clock.now() - row.at < undoMs ? row : undefined;
  }

  return {
    keep(
      {
        before,
        ...done
      }: Pick<ActDone, 'act' | 'about' | 'user'> & { readonly before: number | undefined },
      order: UndoOrder | undefined,
    ): string {
      const name = randomToken(random, undoNameBytes);
      const after = scoreOf(done.about);
      const scores =
        before === undefined || after === undefined ? undefined : ([before, after] as const);
      rows.set(name, { ...done, scores, at: clock.now(), canUndo: order !== undefined, order });
      if (rows.size > undosMax) rows.delete(rows.keys().next().value!);
      return name;
    },
    find: (name: string, user: string): ActDone | undefined => findRecent(name, user),
    /** Something was done to the same thing since: to take the first back would take that back as well. */
    overtaken(input: object): void {
      const about = aboutOf(input);
      if (about === '') return;
      for (const [name, row] of rows) {
        if (row.about === about) rows.set(name, { ...row, canUndo: false, order: undefined });
      }
    },
    /** Returns the order once. */
    take(name: string, user: string): UndoOrder | undefined {
      const row = findRecent(name, user);
      if (row !== undefined) rows.delete(name);
      return row?.order;
    },
  };
}
