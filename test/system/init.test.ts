/** `portcullis init` at a terminal: a wrong answer is told and asked for again, and loses none of the others. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { hasTool } from '../support/house/tools.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('init-terminal');
after(() => directory.remove());

/** @param typed lines that are typed ahead */
function initAtTerminal(name: string, typed: readonly string[]) {
  const file = `${directory.path}/${name}.env`;
  const command = `bin/portcullis.js init ${file} --data-dir ${directory.path}/${name}`;
  const { stdout, status } = spawnSync('script', ['-qec', command, '/dev/null'], {
    input: typed.map((line) => `${line}\n`).join(''),
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { file, said: stdout.replaceAll('\r', ''), status };
}

it('each wrong answer is asked for again', (t) => {
  if (!hasTool(t, 'script')) return;
  const { file, said, status } = initAtTerminal('good', [
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

it('nothing is written before the last answer', (t) => {
  if (!hasTool(t, 'script')) return;
  const { file, said, status } = initAtTerminal('stopped', ['https://id.example.com', '\x03']);
  assert.equal(status, 1, said);
  assert.match(said, /\nportcullis: stopped; nothing is written\n/);
  assert.ok(!existsSync(file));
});
