/** Site keys that let clean addresses pass without a puzzle: only by their stored setting. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { siteOrigin as origin } from '../../support/captcha/beside.ts';
import { forFile } from '../../support/server/for-file.ts';
import { demoEmail, startTestServer } from '../../support/server/server.ts';

const server = forFile(
  await startTestServer({ threads: 1, env: { TRUSTED_PROXIES: '127.0.0.1' } }),
);
const make = async (...options: string[]) =>
  (await server.cliJson('sitekey', 'create', demoEmail, ...options)).id as string;
const puzzle = await make();
const passing = await make('--pass-clean', '--host', 'shop.example');

interface New {
  readonly token?: string;
  readonly receipt?: string;
}

async function fresh(query: string, clientIp = '45.60.0.1', from = origin): Promise<New> {
  const headers = { Origin: from, 'X-Forwarded-For': clientIp };
  const answer = await server.fetch(`/captcha/new?${query}`, { headers });
  assert.equal(answer.status, 200, answer.body);
  assert.equal(answer.headers['access-control-allow-origin'], from);
  return answer.json() as New;
}

async function redeem(receipt: string, more: Record<string, string> = {}) {
  const answer = await server.fetch('/captcha/receipt', {
    method: 'POST',
    headers: { Key: server.key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ receipt, ...more }),
  });
  return answer.json() as { ok: boolean; solved?: boolean };
}

it('a clean address passes, and the server of the site sees that nothing was solved', async () => {
  const { receipt, token } = await fresh(`sitekey=${passing}&action=login`);
  assert.equal(token, undefined);
  // The account has a site key that wants a puzzle: only with the name of this one it is good.
  assert.deepEqual(await redeem(receipt!), { ok: false });
  const { ok, solved } = await redeem(receipt!, { sitekey: passing });
  assert.deepEqual([ok, solved], [true, false]);
  assert.deepEqual(await redeem(receipt!, { sitekey: passing }), { ok: false });
});

it('nobody else passes, whatever the request says', async () => {
  const asked: [string, (string | undefined)?, string?][] = [
    [`sitekey=${puzzle}`],
    [`sitekey=${puzzle}&passesClean=true&pass_clean=on&theme=pass`],
    [''],
    ['sitekey=x'],
    [`sitekey=${passing}&sitekey=${passing}`],
    [`sitekey=${passing}%00`],
    // Listed, an anonymous exit, and a page on another host.
    [`sitekey=${passing}`, '198.51.100.7'],
    [`sitekey=${passing}`, '192.0.2.61'],
    [`sitekey=${passing}`, undefined, 'https://else.example'],
    [`sitekey=${passing}`, undefined, 'null'],
  ];
  for (const [query, clientIp, from] of asked) {
    const given = await fresh(query, clientIp, from);
    assert.deepEqual(Object.keys(given), ['token', 'img', 'expires_in'], `${query} ${clientIp}`);
  }
});

it('a client passes ten times a minute, then there is a puzzle', async () => {
  let passes = 0;
  // A window is a minute and what is left of its slice: nobody waits for it here.
  for (let i = 0; i < 14; i++) {
    const { receipt } = await fresh(`sitekey=${passing}`, '45.61.0.1');
    if (receipt !== undefined) passes++;
  }
  assert.equal(passes, 10);
  assert.ok((await fresh(`sitekey=${passing}`, '45.62.0.1')).receipt);
});

it('off ends the receipts that were given, at once', async () => {
  const { receipt } = await fresh(`sitekey=${passing}`, '45.63.0.1');
  const set = await server.cliJson('sitekey', 'set', passing, '--pass-clean', 'off');
  assert.equal(set.passesClean, false);
  assert.ok((await fresh(`sitekey=${passing}`, '45.63.0.1')).token);
  assert.deepEqual(await redeem(receipt!, { sitekey: passing }), { ok: false });
  await server.cliJson('sitekey', 'set', passing, '--pass-clean', 'on');
  assert.equal((await redeem(receipt!, { sitekey: passing })).ok, true);
  const unknown = await server.cli('sitekey', 'set', 'pcs_x', '--pass-clean', 'on');
  assert.deepEqual([unknown.code, /there is no site key/.test(unknown.stderr)], [1, true]);
  const wrong = await server.cli('sitekey', 'set', passing, '--pass-clean', 'maybe');
  assert.notEqual(wrong.code, 0);
});
