/** What `--help` says of each command: nothing is left out, and it fits a screen. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Command } from 'commander';
import { examples, program } from '../../src/commands/program.ts';
import { commandsDocument } from '../../src/commands/reference.ts';

interface NamedCommand {
  readonly name: string;
  readonly command: Command;
}

const columns = 80;

/** Each command below `command`, groups of commands too. */
function below(command: Command, path: readonly string[] = []): NamedCommand[] {
  return command.commands.flatMap((child) => {
    const names = [...path, child.name()];
    return [{ name: names.join(' '), command: child }, ...below(child, names)];
  });
}

const root = program();
const all = below(root);
const isGroup = ({ command }: NamedCommand) => command.commands.length > 0;
const orders = all.filter((one) => !isGroup(one));

/** Lines of `--help` on a terminal of 80 columns. */
function linesOf(command: Command): string[] {
  command.configureOutput({ getOutHelpWidth: () => columns, getOutHasColors: () => false });
  return command.helpInformation().split('\n');
}

test('each command, argument and option says what it is', () => {
  assert.ok(orders.length > 50 && all.length > orders.length);
  const silent = all.flatMap(({ name, command }) => [
    ...(command.description() === '' ? [name] : []),
    ...command.registeredArguments
      .filter(({ description }) => description === '')
      .map((argument) => `${name} <${argument.name()}>`),
    ...command.options
      .filter(({ description }) => description === '')
      .map(({ flags }) => `${name} ${flags}`),
  ]);
  assert.deepEqual(silent, []);
});

test('each command but the server has --json', () => {
  const without = orders
    .filter(({ command }) => !command.options.some(({ long }) => long === '--json'))
    .map(({ name }) => name);
  assert.deepEqual(without.sort(), ['serve']);
});

test('the help of each command names --settings and has no line beyond 80 columns', () => {
  for (const { name, command } of all) {
    const lines = linesOf(command);
    assert.ok(
      lines.some((line) => /^ +--settings <file>/.test(line)),
      `${name}: ${lines.join('\n')}`,
    );
    // The usage stands on one line, however long the names of the arguments are.
    const long = lines.slice(1).filter((line) => line.length > columns);
    assert.deepEqual(long, [], name);
  }
});

test('the help of all has its commands in groups, none left over', () => {
  const lines = linesOf(root);
  assert.ok(lines.indexOf('Start and set up:') < lines.indexOf('Addresses:'));
  assert.equal(lines.indexOf('Commands:'), -1);
});

test('each example of the help is one that its command takes', async () => {
  const names = new Set(['', ...all.map(({ name }) => name)]);
  for (const [name, lines] of Object.entries(examples)) {
    assert.ok(names.has(name), name);
    for (const line of lines) {
      const tree = program();
      let ran = '';
      for (const one of below(tree)) {
        one.command.exitOverride().configureOutput({ writeErr() {} });
        if (one.command.commands.length > 0) continue;
        one.command.action(() => {
          ran = one.name;
        });
      }
      const [, ...words] = line.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ''));
      await tree.parseAsync(words, { from: 'user' });
      assert.ok(ran !== '' && (name === '' || ran === name), line);
    }
  }
});

test('the help of each command has an example', () => {
  const without = orders.map(({ name }) => name).filter((name) => !Object.hasOwn(examples, name));
  assert.deepEqual(without, []);
});

test('each way to ask for the help of a command shows its own, and an unknown command is one', async () => {
  async function shown(words: readonly string[]): Promise<string> {
    const tree = program();
    let text = '';
    const take = (some: string) => {
      text += some;
    };
    for (const { command } of [{ command: tree }, ...below(tree)]) {
      command.exitOverride().configureOutput({ writeOut: take, writeErr: take });
    }
    await assert.rejects(tree.parseAsync(words, { from: 'user' }), { name: 'CommanderError' });
    return text;
  }
  for (const { name } of all) {
    const words = name.split(' ');
    const [last] = words.splice(-1);
    const ways = [
      [...words, last!, '--help'],
      ['help', ...words, last!],
      [...words, 'help', last!],
    ];
    for (const way of ways) {
      const [first, ...more] = (await shown(way)).split('\n');
      assert.match(first!, new RegExp(`^Usage: portcullis ${name} `), way.join(' '));
      assert.ok(!more.some((line) => line.startsWith('Usage:')), way.join(' '));
    }
  }
  for (const group of ['', ...all.filter(isGroup).map(({ name }) => name)]) {
    const path = group === '' ? [] : [group];
    for (const way of [
      [...path, 'sett', '--help'],
      ['help', ...path, 'sett'],
    ]) {
      assert.equal(await shown(way), "error: unknown command 'sett'\n", way.join(' '));
    }
  }
});

test('no help ends with an empty default', () => {
  for (const { name, command } of all)
    assert.doesNotMatch(linesOf(command).join(' '), /default: \[/, name);
});

test('docs/CLI.md is what the program makes of its commands, and names each', () => {
  const page = readFileSync('docs/CLI.md', 'utf8');
  assert.equal(page, commandsDocument(program()), 'portcullis reference commands > docs/CLI.md');
  const named = new Set([...page.matchAll(/^### (.+)$/gm)].map(([, name]) => name));
  assert.deepEqual(
    orders.map(({ name }) => name).filter((name) => !named.has(name)),
    [],
  );
});
