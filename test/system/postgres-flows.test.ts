/**
 * Whole-server flows on PostgreSQL, one of each kind. `STORE=postgres npm test` runs all that can,
 * and names what is left out.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { postgresProgram } from '../support/server/postgres.ts';

const someFlows = [
  'captcha/flows/captcha-receipt',
  'console/flows/console.test',
  'integrations/flows/agents',
  'integrations/flows/gate',
  'reputation/flows/report.test',
  'reputation/flows/report-retract',
  'signon/flows/account-data',
  'signon/flows/authorize.test',
  'signon/flows/sign-in.test',
];

test('flows of the whole server work on PostgreSQL', async (t) => {
  if (!hasTool(t, postgresProgram)) return;
  const { NODE_TEST_CONTEXT: _, ...rest } = process.env;
  const env = { ...rest, STORE: 'postgres', TEST_THREADS: '1' };
  const args = ['scripts/test.mjs', ...someFlows, 'app/flows/upgrade'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(code, 0, output.slice(output.indexOf('failing tests:')).slice(0, 20_000));
  assert.match(output, /^left out: test\/app\/flows\/upgrade\.test\.ts: /m);
  const passed = Number(/^(\d+) passed, 0 failed, 1 skipped, 1 files left out$/m.exec(output)?.[1]);
  assert.ok(passed > 60, output.slice(-1_000));
  t.diagnostic(`${passed} passed`);
});
