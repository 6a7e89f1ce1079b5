/** `portcullis init` at a terminal: a wrong answer is told and asked for again, and loses none of the others. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('init-terminal');
after(() => directory.remove());

/**
 * @param typed lines that are typed ahead
 * @param stopAt the question at which Ctrl-C is pressed; before it the terminal would end the program itself
 */
async function initAtTerminal(name: string, typed: readonly string[], stopAt?: string) {
  const file = `${directory.path}/${name}.env`;
  const command = `bin/portcullis.js init ${file} --data-dir ${directory.path}/${name}`;
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { timeout: 60_000 });
  terminal.stdin.write(typed.map((line) => `${line}\n`).join(''));
  let said = '';
  let isStopped = false;
  for await (const chunk of terminal.stdout.setEncoding('utf8')) {
    said += String(chunk).replaceAll('\r', '');
    if (stopAt === undefined || isStopped || !said.includes(stopAt)) continue;
    terminal.stdin.write('\x03');
    isStopped = true;
  }
  if (terminal.exitCode === null) await once(terminal, 'exit');
  return { file, said, status: terminal.exitCode };
}

it('each wrong answer is asked for again', async (t) => {
  if (!hasTool(t, 'script')) return;
  const { file, said, status } = await initAtTerminal('good', [
    'id.example.com',
    'https://id.example.com',
    'é@example.com',
    'op@example.com',
    'mail.example.com',
    'smtp://u:p$x@mail.example.com',
    'smtps://u:p@mail.example.com',
    'maybe',
    'open',
  ]);
  assert.equal(status, 0, said);
  for (const told of [
    'id.example.com: it is no address such as https://id.example.com. Please try again.',
    'é@example.com: it is no mail address such as you@example.com. Please try again.',
    'The mail server must be a URL that begins with smtp:// or smtps://. Please try again.',
    "The mail server can't stand in a file of settings: it has a space, quote, #, $ or \\. Please try again.",
    'maybe: it is open or closed. Please try again.',
  ]) {
    assert.ok(said.includes(told), `${told} in ${said}`);
  }
  const text = readFileSync(file, 'utf8');
  assert.match(text, /\nSMTP_URL=smtps:\/\/u:p@mail\.example\.com\n/);
  assert.match(text, /\nREGISTRATION=open\n/);
});

it('nothing is written before the last answer', async (t) => {
  if (!hasTool(t, 'script')) return;
  const { file, said, status } = await initAtTerminal(
    'stopped',
    ['https://id.example.com'],
    'Your mail address: ',
  );
  assert.equal(status, 1, said);
  assert.match(said, /\nportcullis: stopped; nothing is written\n/);
  assert.ok(!existsSync(file));
});
