/** A change that can't be noted in the audit log is not made, and it is noted before it is made. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { OperationCall } from '../../src/contracts/operation.ts';
import type { Audit } from '../../src/operations/audit.ts';
import { type Execution, execute } from '../../src/operations/execute.ts';
import type { Workspace } from '../../src/operations/workspace.ts';

const order = { operation: 'allow add', input: { prefix: '9.9.9.0/24' }, user: 'ada' };
const call = { note() {}, progress() {} } as unknown as OperationCall;

/** Says in which order the log is written and the store is touched, which fails. */
function traced(audit: Partial<Audit>) {
  const said: string[] = [];
  const workspace = new Proxy({} as Workspace, {
    get(_, name) {
      if (!said.includes('run')) said.push('run');
      throw new Error(`no ${String(name)}`);
    },
  });
  const log: Audit = {
    async begin() {
      said.push('begin');
      return {} as never;
    },
    async end(_begun, _operation, _input, ok) {
      said.push(`end ${ok}`);
    },
    async refused() {
      said.push('refused');
    },
    ...audit,
  };
  const execution: Execution = { workspace, reading: workspace, withAudit: (run) => run(log) };
  return { said, execution };
}

it('a change is noted before it is made, and its end behind it', async () => {
  const { said, execution } = traced({});
  await assert.rejects(execute(execution, order, call));
  assert.deepEqual(said, ['begin', 'run', 'end false']);
});

it('a change that can not be noted is not made', async () => {
  const { said, execution } = traced({
    begin: () => Promise.reject(new Error('the log is full')),
  });
  await assert.rejects(execute(execution, order, call), /the log is full/);
  assert.deepEqual(said, []);
});

it('input that is refused is noted and does nothing', async () => {
  const { said, execution } = traced({});
  await assert.rejects(execute(execution, { ...order, input: { prefix: 9 } }, call));
  assert.deepEqual(said, ['refused']);
});
