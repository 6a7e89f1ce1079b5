/** Commands, forms and schemas derive from the description of an operation, and hand on what was typed. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { it } from 'node:test';
import { Ajv } from 'ajv';
import type { Command } from 'commander';
import { derivedCommand, type TypedInput } from '../../src/commands/operation-command.ts';
import { inputFromForm } from '../../src/contracts/operation.ts';
import { operations } from '../../src/operations/catalog.ts';
import { readInput } from '../../src/operations/execute.ts';
import { operationDescriptions } from '../../src/operations/operation-descriptions.ts';
import { runCli } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const byName = new Map(operationDescriptions.map((one) => [one.name, one]));

/** What the command of an operation hands on. */
async function typed(name: string, ...args: string[]): Promise<TypedInput> {
  let input: TypedInput = {};
  const command: Command = derivedCommand(byName.get(name)!, async (given) => {
    input = given;
  }).exitOverride();
  command.configureOutput({ writeErr() {} });
  await command.parseAsync(args, { from: 'user' });
  return input;
}

it('a command hands on texts, flags and lists by the names of the parameters', async () => {
  assert.deepEqual(await typed('entry add', '9.9.9.0/24', '--until', 'soon', '--score', '7'), {
    prefix: '9.9.9.0/24',
    score: '7',
    until: 'soon',
  });
  assert.deepEqual(await typed('entry add', '9.9.9.9'), { prefix: '9.9.9.9', score: '100' });
  assert.deepEqual(await typed('removals accept', '9.9.9.9', '--allow'), {
    address: '9.9.9.9',
    allow: true,
  });
  const hosts = ['--host', 'a.example', '--host', 'b.example'];
  assert.deepEqual(await typed('sitekey create', 'ada@example.org', ...hosts), {
    email: 'ada@example.org',
    hosts: ['a.example', 'b.example'],
    level: 'silent',
  });
  assert.deepEqual(await typed('key rename', 'ada@example.org', 'one', 'two'), {
    email: 'ada@example.org',
    name: 'one',
    newName: 'two',
  });
  assert.deepEqual(await typed('account set-quotas', 'ada', '--read-per-minute', 'many'), {
    email: 'ada',
    readPerMinute: 'many',
  });
  assert.deepEqual(await typed('account vouch', 'ada', '--member'), {
    email: 'ada',
    standing: 'member',
  });
});

it('a command refuses what it is not told, or told twice', async () => {
  await assert.rejects(typed('entry add'), /missing required argument 'cidr\|AS\|country'/);
  const list = typed('source add', 'https://lists.example/a.txt');
  await assert.rejects(list, /required option '--format/);
  await assert.rejects(typed('account vouch', 'ada'), /say one of --staff, --member and --none/);
  const both = typed('account vouch', 'ada', '--staff', '--none');
  await assert.rejects(both, /say one of --staff, --member and --none/);
});

/** The line of a key: `federation key` prints such a one. */
const peerKey = 'b.example+4ea9a8b6+AepKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs';

it('what a command hands on without options is what its operation and its schema take', async () => {
  const ajv = new Ajv({ strict: false });
  const values: Record<string, string> = { prefix: '9.9.9.9', address: '9.9.9.9', role: 'member' };
  for (const { name, parameters, input } of operationDescriptions) {
    const required = input.required ?? [];
    const args = Object.entries(parameters)
      .filter(([key, { isArgument }]) => isArgument && required.includes(key))
      .map(([key]) => values[key] ?? 'free');
    const options: Record<string, readonly string[]> = {
      seed: ['--format', 'plain'],
      'source add': ['--format', 'plain'],
      'sitekey set': ['--pass-clean', 'on'],
      'account vouch': ['--none'],
      'removals reopen': ['--reason', 'it is ours now'],
      'peer add': ['--key', peerKey],
      'peer rekey': ['--key', peerKey],
      'tips reopen': ['--categories', '18'],
    };
    if (name === 'mail test') args[0] = 'ada@example.org';
    const hasUrl = name === 'source add' || name === 'source preview';
    if (hasUrl) args[0] = 'https://lists.example/a.txt';
    if (name === 'source on') args[0] = 'ipsum';
    if (name === 'federation publish') args[0] = 'on';
    const given = await typed(name, ...args, ...(options[name] ?? []));
    const schema: object = input;
    assert.ok(ajv.validate(schema, given), `${name}: ${ajv.errorsText()}`);
    assert.ok(readInput(operations.get(name)!, given).ok, name);
    assert.ok(!ajv.validate(schema, { ...given, more: 'x' }), name);
  }
});

it('the JSON schema of an operation says what may be typed', () => {
  const { properties, required } = byName.get('account set-role')!.input;
  assert.deepEqual(properties?.role, { enum: ['member', 'operator'], type: 'string' });
  assert.deepEqual(required, ['email', 'role']);
});

it('what was mistyped makes no store', async () => {
  const place = makeTempDir('mistyped');
  const dataDir = `${place.path}/var`;
  try {
    const { code, stderr } = await runCli(['entry', 'add', '9.9.9.9', '--score', '101'], {
      DATA_DIR: dataDir,
    });
    assert.deepEqual(
      [code, stderr],
      [1, 'portcullis: --score: It must be a whole number from 1 to 100.\n'],
    );
    assert.ok(!existsSync(dataDir));
  } finally {
    place.remove();
  }
});

it('a form is read by the parameters: nothing else, trimmed, and an empty field is none', () => {
  const form: Record<string, string> = {
    prefix: ' 9.9.9.9 ',
    score: '',
    note: '',
    until: '2099-12-31',
    csrf: 'x',
    do: 'add',
  };
  assert.deepEqual(inputFromForm(operations.get('entry add')!, form), {
    prefix: '9.9.9.9',
    until: '2099-12-31',
  });
  for (const allow of ['true', 'false']) {
    const fields = inputFromForm(operations.get('removals accept')!, { allow });
    assert.deepEqual(fields, { allow: allow === 'true' });
  }
});

it('a fault names the option, and of an argument what was typed', () => {
  const faultOf = (name: string, input: object) => {
    const read = readInput(operations.get(name)!, input);
    return read.ok ? '' : read.detail;
  };
  const email = 'ada';
  const quota = faultOf('account set-quotas', { email, readPerMinute: '33554432' });
  assert.equal(quota, '--read-per-minute: It must be a whole number from 0 to 33554431.');
  assert.equal(faultOf('account set-quotas', { email, readPerMinute: '33554431' }), '');
  assert.equal(faultOf('check', { address: '8.8.8.0/24' }), "'8.8.8.0/24' is not an address");
  assert.match(faultOf('account set-role', { email, role: 'king' })!, /^'king' is none of /);
});
