/**
 * A private server under attack from inside: accounts that are nobody's sensors, forged categories,
 * IPv6 networks, and reports that come while they are taken back.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { verifyDataDir } from '../../../src/app/verify.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { seededRandom } from '../../support/seeded.ts';
import { startTestServer, type TestServer, within } from '../../support/server/server.ts';

const blockedFrom = 75;
const newcomerMax = 49;

describe('a private server with three threads', () => {
  let server: TestServer;
  let staff: string;
  before(async () => {
    const env = { REGISTRATION: 'closed', TRUSTED_PROXIES: '127.0.0.1,::1' };
    server = await startTestServer({ threads: 3, demo: false, env });
    staff = await keyOf('staff@portcullis.example');
  });
  after(() => server[Symbol.asyncDispose]());

  async function keyOf(email: string, ...flags: string[]): Promise<string> {
    await server.cliJson('account', 'create', email, ...flags);
    const { text } = await server.cliJson('key', 'create', email);
    const headers = { Key: text };
    const ask = () => server.fetch('/api/v2/check?ipAddress=9.9.9.9', { headers });
    await within(async () => (await ask()).status === 200, `the key of ${email} works`);
    return text;
  }

  function report(key: string, ip: string, categories = '18', client = '192.0.2.1') {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const headers = { Key: key, 'X-Forwarded-For': client, ...type };
    const body = new URLSearchParams({ ip, categories }).toString();
    return server.fetch('/api/v2/report', { method: 'POST', headers, body });
  }

  async function look(ip: string) {
    const path = `/api/v2/check?ipAddress=${encodeURIComponent(ip)}`;
    const { body } = await server.fetch(path, { headers: { Key: staff } });
    const { abuseConfidenceScore: score, totalReports: reports } = JSON.parse(body).data;
    return { score, reports };
  }

  it('one report of an own sensor blocks an address, and not its /64', async () => {
    assert.equal((await report(staff, '2a00:1450:9::1')).status, 200);
    assert.ok((await look('2a00:1450:9::1')).score >= blockedFrom);
    assert.ok((await look('2a00:1450:9::2')).score < blockedFrom);
  });

  it('newcomers from two IPv6 /32 block nothing; nor do categories whose source can be forged', async () => {
    for (let i = 1; i <= 2; i++) {
      const key = await keyOf(`n${i}@portcullis.example`, '--standing', 'newcomer');
      for (const ip of ['2a00:1450:a::1', '8.8.4.11']) {
        assert.equal((await report(key, ip, '18', `2a0${i}:${i}::7`)).status, 200);
      }
    }
    for (const ip of ['2a00:1450:a::1', '2a00:1450:a::2', '8.8.4.11']) {
      assert.ok((await look(ip)).score <= newcomerMax, ip);
    }
    for (const [i, categories] of ['4', '6', '14', '4,6,14'].entries()) {
      assert.equal((await report(staff, `2a00:1450:b:${i}::1`, categories)).status, 200);
      assert.ok((await look(`2a00:1450:b:${i}::1`)).score <= newcomerMax, categories);
    }
  });

  it('hosts in nine of sixteen parts make their /24 suspect, which check, page and command say, and no feed has it', async () => {
    for (let part = 0; part < 9; part++) {
      assert.equal((await report(staff, `45.33.9.${16 * part + 1}`)).status, 200);
    }
    const neighbour = '45.33.9.250';
    await within(async () => {
      const { score, reports } = await look(neighbour);
      return score === 71 && reports === 0;
    }, 'lifted');
    const verbose = `/api/v2/check?ipAddress=${neighbour}&verbose`;
    const { why } = JSON.parse(
      (await server.fetch(verbose, { headers: { Key: staff } })).body,
    ).data;
    assert.deepEqual(why.networks, [
      { entry: '45.33.9.0/24', score: 71, ceiling: 74, hosts: 9, parts: 9 },
    ]);
    assert.equal(why.decidedBy, '45.33.9.0/24');
    const page = await server.fetch(`/ip/${neighbour}`);
    for (const words of ['It has no reports, but many of its neighbours do.', 'in 9 of its 16']) {
      assert.ok(page.body.includes(words), words);
    }
    const told = await server.cli('check', neighbour, '--verbose');
    assert.match(
      told.stdout,
      /network 45\.33\.9\.0\/24: 9 reported hosts in 9 of its 16 parts: 71, at most 74/,
    );
    await within(
      async () => (await server.fetch('/feeds/blocklist.txt')).body.includes('45.33.9.1\n'),
      'hosts are in the feed',
    );
    assert.ok(!(await server.fetch('/feeds/blocklist.txt')).body.includes('45.33.9.0/24'));
  });

  it('nobody registers, whatever the way', async () => {
    for (const path of ['/register', '/register/again', '/register/passkey']) {
      const { status } = await server.fetch(path, { method: 'POST', body: 'x=1' });
      assert.ok(status >= 400 && status < 500, `${path} ${status}`);
    }
  });

  it('reports that come while their account is taken back go, or stay whole', async () => {
    const email = 'hijacked@portcullis.example';
    const key = await keyOf(email);
    const addresses = Array.from({ length: 45 }, (_, i) =>
      i % 2 === 0 ? `2a00:1450:c:${i >> 3}::${i}` : `8.8.5.${i}`,
    );
    const retract = () => server.cli('report', 'retract', '--account', email);
    let isTaking = true;
    const taking = Promise.all([retract(), retract()]).finally(() => {
      isTaking = false;
    });
    // Spread over the time that the commands take to start and to end.
    for (const ip of addresses) {
      assert.equal((await report(key, ip)).status, 200);
      if (isTaking) await new Promise((resolve) => setTimeout(resolve, 60));
    }
    for (const { code, stderr } of await taking) assert.equal(code, 0, stderr);
    assert.equal((await retract()).code, 0);
    const last = await server.cliJson('report', 'retract', '--account', email);
    assert.deepEqual([last.reports, last.addresses], [0, 0]);
    await within(async () => {
      for (const ip of addresses) {
        const { score, reports } = await look(ip);
        if (score !== 0 || reports !== 0) return false;
      }
      return true;
    }, 'nothing is left of any of them');
    const [shown] = await server.cliJson('report', 'list', '2A00:1450:0009::0001');
    const both = await Promise.all([1, 2].map(() => server.cli('report', 'retract', shown.id)));
    assert.ok(both.some(({ code }) => code === 0));
    await within(async () => (await look('2a00:1450:9::1')).score === 0);
    assert.equal((await look('2a00:1450:9::2')).score, 0);
  });

  it('and the store agrees with itself', async () => {
    await server.stop();
    const { dataDir } = server;
    const random = seededRandom(9);
    const path = `${dataDir}/store`;
    const { findings } = await verifyDataDir({ dataDir, path, clock: systemClock(), random });
    assert.deepEqual(findings.lines, []);
  });
});
