/** Addresses as people paste them, at every place that people paste into: lists, commands, forms, the address box. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = forFile(makeTempDir('typed'));

const server = forFile(await startTestServer({ threads: 1, demo: false, withKey: true }));

async function seed(text: string, ...flags: string[]) {
  writeFileSync(`${directory.path}/list`, text);
  return await server.cliJson('seed', `${directory.path}/list`, '--source', 'typed', ...flags);
}
const scoreOf = async (ip: string) => (await server.check(ip)).abuseConfidenceScore;

it('a list keeps no row for brackets, ports, masks and what nobody sees', async () => {
  const lines = ['[2a0b:f4c2::4]', '[2a0b:f4c2::3]:9001', '20.8.0.1:443', '20.9.1.0/255.255.255.0'];
  lines.push(
    '\u200b20.8.0.2\u200b',
    '\u00a020.8.0.3\u00a0',
    '２０．８．０．４',
    '\u202a20.8.0.5\u202c',
  );
  lines.push(
    '20.10.1.0 255.255.255.0',
    '20.8.0.6–20.8.0.7',
    '20.11.0.0/255.0.255.0',
    '20.12.0.0/0.0.0.255',
  );
  const done = await seed(
    `\ufeff${lines.join('\r\n')}\r\n`,
    '--format',
    'plain',
    '--confidence',
    '80',
  );
  assert.deepEqual([done.rows, done.badLines], [10, 2], JSON.stringify(done));
  for (const ip of [
    '2a0b:f4c2::4',
    '2a0b:f4c2::3',
    '20.8.0.1',
    '20.8.0.2',
    '20.8.0.3',
    '20.8.0.4',
  ]) {
    assert.equal(await scoreOf(ip), 80, ip);
  }
  for (const ip of ['20.8.0.5', '20.8.0.6', '20.8.0.7', '20.9.1.77', '20.10.1.77']) {
    assert.equal(await scoreOf(ip), 80, ip);
  }
  assert.equal(await scoreOf('20.9.2.1'), 0);
});

it('a list of ranges as DShield writes it blocks the networks, in both formats', async () => {
  const text = '20.1.1.0\t20.1.1.255\t24\t100\tX\n20.1.2.0\t20.1.2.255\t24\t37\tY\n';
  for (const format of ['csv', 'plain']) {
    await seed(text, '--format', format, '--confidence', '85');
    for (const ip of ['20.1.1.0', '20.1.1.200', '20.1.2.255']) assert.equal(await scoreOf(ip), 85);
    assert.equal(await scoreOf('20.1.3.0'), 0);
  }
});

it('rules and entries take a mask, brackets and a port, and say what is wrong with another mask', async () => {
  const rule = await server.cliJson('allow', 'add', '20.20.1.0/255.255.255.0', '--reason', 'ours');
  assert.equal(rule.prefix, '20.20.1.0/24');
  const entry = await server.cliJson('entry', 'add', '\u200b[2a0b:f4c2::9]:443', '--score', '90');
  assert.equal(entry.prefix, '2a0b:f4c2::9/128');
  assert.equal(await scoreOf('2a0b:f4c2::9'), 90);
  await server.cliJson('entry', 'remove', '［2a0b:f4c2::9］');
  for (const [mask, said] of [
    ['255.0.255.0', /holes/],
    ['0.0.0.255', /wildcard: write \/24/],
  ] as const) {
    for (const words of [
      ['allow', 'add', `20.21.0.0/${mask}`, '--reason', 'x'],
      ['entry', 'add', `20.21.0.0/${mask}`, '--score', '90'],
    ]) {
      const { code, stderr } = await server.cli(...words);
      assert.equal(code, 1, words.join(' '));
      assert.match(stderr, said);
    }
  }
});

it('check-block takes a mask; check and report stay strict', async () => {
  const api = async (path: string, init: object = {}) => {
    const answer = await server.fetch(`/api/v2/${path}`, { ...init, headers: { Key: server.key } });
    return { status: answer.status, ...JSON.parse(answer.body) };
  };
  const block = await api('check-block?network=20.9.1.0/255.255.255.0');
  assert.deepEqual([block.status, block.data.netmask], [200, '255.255.255.0']);
  assert.equal((await api('check-block?network=20.9.0.0%2F255.254.0.0')).status, 402);
  for (const [mask, said] of [
    ['255.0.255.0', /holes/],
    ['0.0.0.255', /wildcard/],
    ['255.255.255.256', /mask/],
  ] as const) {
    const bad = await api(`check-block?network=20.9.1.0/${mask}`);
    assert.equal(bad.status, 422);
    assert.match(bad.errors[0].detail, said);
  }
  for (const text of ['[2a0b:f4c2::4]', '20.8.0.1:443', '\u200b20.8.0.1', '２０.8.0.1']) {
    assert.equal((await api(`check?ipAddress=${encodeURIComponent(text)}`)).status, 422, text);
    const report = `report?ip=${encodeURIComponent(text)}&categories=18`;
    assert.equal((await api(report, { method: 'POST' })).status, 422, text);
  }
});

it('the address box and the forms about an address take what is pasted', async () => {
  for (const text of [
    '\u200b20.8.0.1\u200b',
    '２０．８．０．１',
    '\u202a20.8.0.1:443\u202c',
    '\u00a020.8.0.1',
  ]) {
    const asked = encodeURIComponent(text);
    const found = await server.fetch(`/ip?address=${asked}`);
    assert.deepEqual([found.status, found.headers.location], [303, '/ip/20.8.0.1'], text);
    for (const path of ['removal', 'report']) {
      const form = await server.fetch(`/${path}?address=${asked}`);
      assert.equal(form.status, 200, `${path} ${text}`);
      assert.ok(form.body.includes('20.8.0.1') && !form.body.includes('20.8.0.1:443'), text);
    }
  }
});
