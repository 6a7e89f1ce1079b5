/** The examples in docs/CAPTCHA.md, run as they stand there against a server. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { issue, openBeside } from '../support/captcha-beside.ts';
import { demoEmail, startTestServer, type TestServer } from '../support/server.ts';
import { hasTool } from '../support/tools.ts';

let server: TestServer;
let siteKey = '';
before(async () => {
  server = await startTestServer({ threads: 1 });
  siteKey = (await server.cliJson('sitekey', 'create', demoEmail, '--host', 'shop.example')).id;
});
after(() => server[Symbol.asyncDispose]());

/** The last block in a language, with the server's address put in as the published page does. */
function example(language: string, containing: string): string {
  const docs = readFileSync('docs/CAPTCHA.md', 'utf8');
  const blocks = [...docs.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .filter(([, name, code]) => name === language && code!.includes(containing))
    .map(([, , code]) => code!);
  assert.equal(blocks.length, 1, `${language} examples with ${containing}`);
  return blocks[0]!.replaceAll('{secure_url}', server.baseUrl);
}

function run(command: string, args: string[], input: string, env: Record<string, string>) {
  return new Promise<string>((resolve, reject) => {
    const child = spawn(command, args, { env: { PATH: process.env.PATH ?? '', ...env } });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      output += String(chunk);
    });
    child.on('error', reject);
    child.on('close', () => resolve(output.trim()));
    child.stdin.end(input);
  });
}

async function newReceipt(): Promise<string> {
  const beside = openBeside(server.dataDir);
  try {
    return await issue(beside.receipts, siteKey);
  } finally {
    await beside.store.close();
  }
}

it('curl', async (context) => {
  if (!hasTool(context, 'curl')) return;
  const env = { KEY: server.key, RECEIPT: await newReceipt() };
  const script = example('sh', '/captcha/receipt');
  assert.match(await run('sh', [], script, env), /^\{"ok":true,"hostname":"shop\.example"/);
  assert.equal(await run('sh', [], script, env), '{"ok":false}');
});

it('PHP', async (context) => {
  if (!hasTool(context, 'php')) return;
  const field = JSON.stringify(await newReceipt());
  const form = `$_POST = ['portcullis-receipt' => ${field}];`;
  const script = `<?php ${form}\n${example('php', '$solved')}\necho $solved ? 'yes' : 'no';`;
  const env = { PORTCULLIS_KEY: server.key };
  assert.equal(await run('php', [], script, env), 'yes');
  assert.equal(await run('php', [], script, env), 'no');
  assert.equal(await run('php', [], script.replace(form, ''), env), 'no');
  assert.equal(await run('php', [], script, { PORTCULLIS_KEY: 'x' }), 'no');
});

it('Node', async () => {
  const form = `const form = { 'portcullis-receipt': ${JSON.stringify(await newReceipt())} };`;
  const script = `${form}\n${example('js', 'solved')}\nconsole.log(solved);`;
  const args = ['--input-type=module', '-'];
  const env = { PORTCULLIS_KEY: server.key };
  assert.equal(await run(process.execPath, args, script, env), 'true');
  assert.equal(await run(process.execPath, args, script, env), 'false');
});
