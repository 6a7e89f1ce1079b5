/** Operations in the server, for commands and for the console: on its own store, and on the memory that it answers from. */

import type { Data, Opening } from '../app/data.ts';
import type { ConsoleOperations } from '../console/operator-request.route.ts';
import {
  formFieldsOf,
  inputFromForm,
  type OperationCall,
  RefusedError,
} from '../contracts/operation.ts';
import { OperatorError } from '../core/errors.ts';
import { fail, ok } from '../core/result.ts';
import type { EvidenceReader } from '../reputation/address/evidence.ts';
import type { Check } from '../reputation/check/check.ts';
import type { Mailer } from '../signon/mail/mailer.ts';
import type { ResetLinks } from '../signon/people/recovery.ts';
import { inheritable } from '../storage/lmdb/claim.ts';
import { storePath } from '../storage/lmdb/presence.ts';
import { createAudit } from './audit.ts';
import type { Control } from './control.ts';
import { type Execution, execute, findOperation, type Order } from './execute.ts';
import { storeTools, type Workspace } from './workspace.ts';

interface Served extends Pick<Data, 'store' | 'state' | 'member'> {
  readonly check: Check;
  readonly evidence: EvidenceReader;
  readonly sendReset: ResetLinks['sendByOperator'];
  readonly mailer: Mailer;
}

/** Opens operations in the server. */
export function openOperations(opening: Opening, served: Served) {
  const { config, clock, random, log, masterKey } = opening;
  const { store, state, member, check, evidence } = served;
  const { follower } = state;
  const embedded = { path: storePath(config.dataDir), claim: inheritable(config.dataDir) };
  const workspace: Workspace = {
    ...storeTools({ config, clock, random, log, store, masterKey }, true),
    embedded: member === undefined ? embedded : undefined,
    withMemory: async (read) => read({ check, evidence, counts: state.counting.counts }),
    catchUpTo: follower.catchUpTo,
    sendReset: served.sendReset,
    mailer: served.mailer,
  };
  const audit = createAudit(workspace);
  const execution: Execution = { workspace, reading: workspace, withAudit: (run) => run(audit) };
  /** Whoever asked is answered when memory holds what was written. */
  async function answer(order: Order, call: OperationCall): Promise<unknown> {
    const output = await execute(execution, order, call);
    await follower.catchUpTo(await store.lastSeq());
    return output;
  }
  const onConsole: ConsoleOperations = {
    formFields: (act) => formFieldsOf(findOperation(act)),
    async run({ act, fields, ...by }) {
      const order = { ...by, operation: act, input: inputFromForm(findOperation(act), fields) };
      try {
        await answer(order, callOfForm);
        return ok(undefined);
      } catch (error) {
        if (error instanceof RefusedError) return error.failure;
        if (error instanceof OperatorError) return fail('invalid_parameter', error.message);
        throw error;
      }
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
