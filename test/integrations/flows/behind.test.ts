/** Whoever comes through a translator or tunnel is judged, reported, banned and let in as his IPv4 address. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import {
  type AccuserKeys,
  accuserKeys,
  accuserSettings,
  allAccusers,
  proveAgreement,
} from '../../support/integrations/accusers.ts';
import { formsOf } from '../../support/ip-forms.ts';
import { startTestServer, type TestServer, threadCounts } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const email = 'sensor@example.org';
const listed = '45.30.0.7';
const allowed = '45.30.0.8';
const reported = '45.31.0.7';
const good = '8.8.4.4';
/** Feeds list the IPv4 address alone. */
const allButFeed = allAccusers.replace('feed ', '');

for (const threads of threadCounts) {
  describe(`with ${threads} threads`, () => {
    const data = makeTempDir('behind');
    let server: TestServer;
    let keys: AccuserKeys;

    before(async () => {
      server = await startTestServer({ threads, demo: false, env: accuserSettings });
      await server.cliJson('account', 'create', email);
      keys = await accuserKeys(server, email);
      // In the list in one form, and asked for in all.
      writeFileSync(`${data.path}/list.txt`, `64:ff9b::${listed}\n${allowed}\n64:ff9b::10.0.0.9\n`);
      const kind = ['--format', 'plain', '--confidence', '90', '--source', 'bad'];
      const done = await server.cliJson('seed', `${data.path}/list.txt`, ...kind);
      assert.deepEqual([done.rows, done.notPublic], [2, 1]);
      const rule = await server.cliJson('allow', 'add', `2002:2d1e:8::/48`, '--reason', 'ours');
      assert.equal(rule.prefix, `${allowed}/32`);
    });
    after(async () => {
      await server?.[Symbol.asyncDispose]();
      data.remove();
    });

    const api = async (method: string, path: string, body?: string) => {
      const answer = await server.fetch(path, {
        method,
        headers: { Key: keys.api, 'Content-Type': 'application/x-www-form-urlencoded' },
        ...(body === undefined ? {} : { body }),
      });
      return { status: answer.status, ...JSON.parse(answer.body) };
    };
    const scoreOf = async (ip: string) =>
      (await api('GET', `/api/v2/check?ipAddress=${ip}`)).data.abuseConfidenceScore;

    it('all integrations say of each form what they say of the address', async () => {
      const wanted: Record<string, string> = { [listed]: allAccusers, [allowed]: '' };
      for (const form of Object.values(formsOf(listed))) wanted[form] = allButFeed;
      for (const form of Object.values(formsOf(allowed))) wanted[form] = '';
      for (const form of Object.values(formsOf('10.0.0.9'))) wanted[form] = '';
      await proveAgreement(server, keys, wanted);
    });

    it('many at once and the policy for mail say the same', async () => {
      const forms = Object.values(formsOf(listed));
      const bulk = await server.fetch('/api/v2/check-bulk', {
        method: 'POST',
        headers: { Key: keys.api, 'Content-Type': 'application/json' },
        body: JSON.stringify(forms),
      });
      const { data: rows } = JSON.parse(bulk.body);
      assert.equal(rows.length, forms.length);
      for (const row of rows) assert.equal(row.malicious, true, row.ipAddress);
      for (const form of forms) {
        const policy = await server.fetch('/policy/dovecot?command=allow', {
          method: 'POST',
          headers: { 'X-Api-Key': keys.bouncer },
          body: JSON.stringify({ remote: form }),
        });
        assert.equal(JSON.parse(policy.body).status, -1, form);
      }
    });

    it('a report in any form is one of the address, which is taken back by any other', async () => {
      const [first, ...others] = Object.values(formsOf(reported));
      const done = await api('POST', '/api/v2/report', `ip=${first}&categories=18`);
      assert.equal(done.status, 200);
      assert.equal(done.data.ipAddress, reported);
      for (const form of others) {
        const again = await api('POST', '/api/v2/report', `ip=${form}&categories=18`);
        assert.equal(again.status, 429, `${form}: the same once more`);
      }
      const wanted: Record<string, string> = { [reported]: allAccusers };
      for (const form of Object.values(formsOf(reported))) wanted[form] = allButFeed;
      await proveAgreement(server, keys, wanted);
      const block = await api('GET', '/api/v2/check-block?network=64:ff9b::45.31.0.0/120');
      assert.deepEqual(
        block.data.reportedAddress.map((row: { ipAddress: string }) => row.ipAddress),
        [reported],
      );
      const { data: said } = await api('GET', `/api/v2/reports?ipAddress=${others[3]}`);
      assert.equal(said.total, 1);
      const gone = await api('DELETE', `/api/v2/clear-address?ipAddress=${others[4]}`);
      assert.equal(gone.data.numReportsDeleted, 1);
      assert.equal(await scoreOf(reported), 0);
    });

    it('private addresses in any form can be neither reported nor accused', async () => {
      for (const form of Object.values(formsOf('10.0.0.9'))) {
        const done = await api('POST', '/api/v2/report', `ip=${form}&categories=18`);
        assert.equal(done.status, 422, form);
      }
    });

    it('an agent bans nobody who is known good in whatever form, and others in all forms', async () => {
      const banned = '45.32.0.7';
      const agent = (await server.cliJson('bouncer', 'add', email, 'agent', '--agent')).text;
      const login = await server.fetch('/v1/watchers/login', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ machine_id: 'agent', password: agent, scenarios: [] }),
      });
      const { token } = JSON.parse(login.body);
      const alertOf = (value: string) => ({
        scenario: 'crowdsecurity/ssh-bf',
        message: '',
        events_count: 6,
        simulated: false,
        start_at: new Date().toISOString(),
        stop_at: new Date().toISOString(),
        source: { scope: 'Ip', value },
      });
      const alerts = [...Object.values(formsOf(good)), formsOf(banned).nat64!].map(alertOf);
      const told = await server.fetch('/v1/alerts', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(alerts),
      });
      assert.equal(told.status, 201, told.body);
      const decisionOn = async (ip: string) =>
        JSON.parse(
          (await server.fetch(`/v1/decisions?ip=${ip}`, { headers: { 'X-Api-Key': keys.bouncer } }))
            .body,
        );
      for (const ip of [good, ...Object.values(formsOf(good))]) {
        assert.equal(await decisionOn(ip), null, ip);
      }
      for (const ip of [banned, ...Object.values(formsOf(banned))]) {
        const made = (await decisionOn(ip)) as { scenario: string }[] | null;
        assert.ok(
          made?.some(({ scenario }) => scenario === 'crowdsecurity/ssh-bf'),
          ip,
        );
      }
    });
  });
}
