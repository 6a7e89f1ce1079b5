/** Commands beside a node: what they changed counts there when they return; a node that hangs is told of. */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { startCluster, type TestCluster } from '../support/server/cluster.ts';
import { type TestServer, within } from '../support/server/server.ts';

let cluster: TestCluster | undefined;
let node: TestServer;
let key = '';
const waiting = 'portcullis: done, but the running server has not taken it up yet';

before(async (context) => {
  cluster = await startCluster(context, { CLIENT_LIMITS: 'off' });
  if (cluster === undefined) return;
  node = await cluster.startNode(1);
});
after(() => cluster?.[Symbol.asyncDispose]());

async function isAllowed(address: string, text: string): Promise<boolean> {
  const path = `/api/v2/check?ipAddress=${address}`;
  const answer = await node.fetch(path, { headers: { Key: text } });
  assert.equal(answer.status, 200, answer.body);
  return (answer.json() as { data: { isWhitelisted: boolean } }).data.isWhitelisted;
}

it('a key works and a rule counts on the node as soon as the command has returned', async () => {
  if (cluster === undefined) return;
  for (let round = 0; round < 5; round++) {
    const email = `p${round}@mail.example`;
    await node.cliJson('account', 'create', email);
    const made = await node.cli('key', 'create', email, '--json');
    assert.deepEqual([made.code, made.stderr], [0, '']);
    const { text } = JSON.parse(made.stdout) as { text: string };
    assert.equal(await isAllowed(`9.9.${round}.1`, text), false, 'the key is known');
    await node.cliJson('allow', 'add', `9.9.${round}.0/24`);
    assert.equal(await isAllowed(`9.9.${round}.1`, text), true);
    key = text;
  }
});

it('a command waits for a node that is late', async () => {
  if (cluster === undefined) return;
  const { postgres, env } = cluster;
  const lastSeq = async () => {
    const { rows } = await postgres.ask(env.DATABASE_URL!, 'select last_seq from journal_head');
    return Number(rows[0].last_seq);
  };
  const before = await lastSeq();
  let hasEnded = false;
  process.kill(node.pid, 'SIGSTOP');
  try {
    const running = node.cli('allow', 'add', '9.6.0.0/24').finally(() => (hasEnded = true));
    await within(async () => (await lastSeq()) > before);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    assert.equal(hasEnded, false);
    process.kill(node.pid, 'SIGCONT');
    const done = await running;
    assert.deepEqual([done.code, done.stderr], [0, '']);
    assert.equal(await isAllowed('9.6.0.1', key), true);
  } finally {
    process.kill(node.pid, 'SIGCONT');
  }
});

it('a node that is stopped does not keep the command: it is done, and says what is not', async () => {
  if (cluster === undefined) return;
  process.kill(node.pid, 'SIGSTOP');
  try {
    const done = await node.cli('allow', 'add', '9.8.0.0/24', '--json');
    assert.deepEqual([done.code, done.stderr.trim()], [0, waiting]);
    const looked = await node.cli('allow', 'list', '--json');
    assert.match(looked.stdout, /9\.8\.0\.0\/24/);
  } finally {
    process.kill(node.pid, 'SIGCONT');
  }
});

it('without a node on the directory nobody is waited for', async () => {
  if (cluster === undefined) return;
  await node.stop();
  const done = await node.cli('allow', 'add', '9.7.0.0/24', '--json');
  assert.deepEqual([done.code, done.stderr], [0, '']);
});
