/** Operations in the server: on its own store, and on the memory that it answers from. */

import type { Data } from '../app/parts/data.ts';
import type { Opening } from '../app/parts/dependencies.ts';
import type { EvidenceReader } from '../reputation/address/evidence/evidence.ts';
import type { Check } from '../reputation/check/check.ts';
import type { ResetLinks } from '../signon/people/reset-links.ts';
import { storePath } from '../storage/presence.ts';
import { createAudit } from './audit.ts';
import type { Control } from './control.ts';
import { type Execution, execute } from './execute.ts';
import { storeTools, type Workspace } from './workspace.ts';

interface Served extends Pick<Data, 'store' | 'state' | 'member'> {
  readonly check: Check;
  readonly evidence: EvidenceReader;
  readonly sendReset: ResetLinks['sendByOperator'];
}

/** Runs commands' operations in the server. A command is answered when memory holds what it wrote. */
export function serveOperations(control: Control, opening: Opening, served: Served): void {
  const { config, clock, random, log, masterKey } = opening;
  const { store, state, member, check, evidence } = served;
  const { follower } = state;
  const embedded = {
    path: storePath(config.dataDir),
    claim: { dataDir: config.dataDir, pid: process.pid },
  };
  const workspace: Workspace = {
    ...storeTools({ config, clock, random, log, store, masterKey }, true),
    embedded: member === undefined ? embedded : undefined,
    withMemory: async (read) => read({ check, evidence, counts: state.counting.counts }),
    catchUpTo: follower.catchUpTo,
    sendReset: served.sendReset,
  };
  const audit = createAudit(workspace);
  const execution: Execution = { workspace, reading: workspace, withAudit: (run) => run(audit) };
  control.serve(async (order, call) => {
    const output = await execute(execution, order, call);
    await follower.catchUpTo(await store.lastSeq());
    return output;
  });
}
