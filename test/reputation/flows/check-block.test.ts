/** GET /api/v2/check-block of a whole server: the answer's form, its refusals, its price. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import {
  type Answer,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';

const email = 'block@portcullis.example';
/** Rows of the seed in 20.0.0.0/16. */
const seeded = 3_000;

interface Block {
  readonly networkAddress: string;
  readonly netmask: string;
  readonly minAddress: string;
  readonly maxAddress: string;
  readonly numPossibleHosts: number;
  readonly addressSpaceDesc: string;
  readonly reportedAddress: {
    readonly ipAddress: string;
    readonly numReports: number;
    readonly mostRecentReport: string;
    readonly abuseConfidenceScore: number;
    readonly countryCode: string;
  }[];
}

/** What is asked, the status, and the parameter that is blamed. */
const refusals: [string, number, string][] = [
  ['', 422, 'network'],
  ['network=', 422, 'network'],
  ['network=x', 422, 'network'],
  ['network=8.8.8.0/33', 422, 'network'],
  ['network=8.8.8.0/-1', 422, 'network'],
  ['network=8.8.8.0/08', 422, 'network'],
  ['network=8.8.8.0/255.0.255.0', 422, 'network'],
  ['network=8.8.8.0/24/24', 422, 'network'],
  ['network=8.8.8/24', 422, 'network'],
  ['network=010.8.8.0/24', 422, 'network'],
  ['network=8.8.8.0-8.8.8.9', 422, 'network'],
  ['network=2a00::/129', 422, 'network'],
  ['network=fe80::1%25eth0/64', 422, 'network'],
  [`network=${'1'.repeat(300)}/24`, 422, 'network'],
  ['network=8.8.8.0/24%00', 422, 'network'],
  ['network=%ff/24', 422, 'network'],
  ['network=8.8.8.0/24&network=8.8.8.0/24', 422, 'network'],
  ['network[]=8.8.8.0/24', 422, 'network'],
  ['network=8.8.8.0/24&maxAgeInDays=0', 422, 'maxAgeInDays'],
  ['network=8.8.8.0/24&maxAgeInDays=366', 422, 'maxAgeInDays'],
  ['network=8.8.8.0/24&maxAgeInDays=', 422, 'maxAgeInDays'],
  ['network=8.8.8.0/24&maxAgeInDays=1e1', 422, 'maxAgeInDays'],
  ['network=8.8.8.0/15', 402, 'network'],
  ['network=0.0.0.0/0', 402, 'network'],
  ['network=2a00::/47', 402, 'network'],
  ['network=::/0', 402, 'network'],
  ['network=::ffff:0:0/96', 402, 'network'],
];

describe('check-block', () => {
  let server: TestServer;
  let key = '';
  before(async () => {
    server = await startTestServer();
    await server.cliJson('account', 'create', email);
    const made = ['--read-per-minute', '3', '--write-per-minute', '1000'];
    key = (await server.cliJson('key', 'create', email, ...made)).text;
    await within(async () => (await report('8.8.4.9')).status === 200);
  });
  after(() => server[Symbol.asyncDispose]());

  const report = (ip: string): Promise<Answer> =>
    server.fetch(`/api/v2/report?ip=${ip}&categories=18`, {
      method: 'POST',
      headers: { Key: key },
    });
  const ask = (query: string, asKey = server.key, method = 'GET'): Promise<Answer> =>
    server.fetch(`/api/v2/check-block?${query}`, { method, headers: { Key: asKey } });
  async function block(query: string): Promise<Block> {
    const answer = await ask(query);
    assert.equal(answer.status, 200, answer.body);
    return (answer.json() as { data: Block }).data;
  }

  it('lists the reported hosts of a network with the score that a check shows', async () => {
    for (const ip of ['8.8.8.7', '8.8.8.9', '2a00:1450:4001::7']) {
      assert.equal((await report(ip)).status, 200);
    }
    const { reportedAddress, ...head } = await block('network=8.8.8.1/24');
    assert.deepEqual(head, {
      networkAddress: '8.8.8.0',
      netmask: '255.255.255.0',
      minAddress: '8.8.8.1',
      maxAddress: '8.8.8.254',
      numPossibleHosts: 254,
      addressSpaceDesc: 'Internet',
    });
    assert.deepEqual(reportedAddress.map(({ ipAddress }) => ipAddress).sort(), [
      '8.8.8.7',
      '8.8.8.9',
    ]);
    for (const row of reportedAddress) {
      const checked = await server.check(row.ipAddress);
      assert.equal(row.abuseConfidenceScore, checked.abuseConfidenceScore);
      assert.equal(row.countryCode, checked.countryCode);
      assert.equal(row.numReports, 1);
      assert.match(row.mostRecentReport, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    }
    const six = await ask('network=2a00:1450:4001::/48&maxAgeInDays=1');
    assert.match(six.body, /"numPossibleHosts":1208925819614629174706176,/);
    const { data } = six.json() as { data: Block };
    // Not its /64, which the report counted for too.
    assert.deepEqual(
      data.reportedAddress.map(({ ipAddress }) => ipAddress),
      ['2a00:1450:4001::7'],
    );
    assert.deepEqual((await block('network=10.0.0.0/16')).reportedAddress, []);
  });

  it('refuses what is no network, and with 402 what is too large', async () => {
    for (const [query, status, parameter] of refusals) {
      const answer = await ask(query);
      assert.equal(answer.status, status, `${query}: ${answer.body}`);
      const { errors } = answer.json() as { errors: { source: { parameter: string } }[] };
      assert.equal(errors[0]!.source.parameter, parameter, query);
      assert.match(String(answer.headers['x-ratelimit-remaining']), /^\d+$/);
    }
    assert.equal((await ask('network=8.8.8.0/24', 'pcl_no_key')).status, 401);
    const wrong = await ask('network=8.8.8.0/24', server.key, 'POST');
    assert.equal(wrong.status, 405);
    assert.equal(wrong.headers.allow, 'GET, HEAD');
    const head = await ask('network=8.8.8.0/24', server.key, 'HEAD');
    assert.deepEqual([head.status, head.body], [200, '']);
  });

  it('costs one read for each 1,000 entries, and ends with the quota', async () => {
    const list = `${server.dataDir}/block.txt`;
    writeFileSync(
      list,
      Array.from({ length: seeded }, (_, i) => `20.0.${i >> 8}.${i & 255}\n`).join(''),
    );
    await server.cliJson('seed', list, '--format', 'plain', '--source', 'block');
    await within(async () => (await server.check('20.0.11.183')).malicious);
    const remaining = (answer: Answer) => Number(answer.headers['x-ratelimit-remaining']);
    // Reads of a minute ago come back meanwhile: never does it seem to cost more than it does.
    await within(async () => {
      const before = remaining(await ask('network=20.1.0.0/24'));
      const walked = await ask('network=20.0.0.0/16');
      assert.equal(walked.status, 200);
      const cost = before - remaining(walked);
      assert.ok(cost <= 4, `${cost}: three for 3,000, and a look whether there are more`);
      return cost === 4;
    }, 'a walk that costs four');
    const refused = await ask('network=20.0.0.0/16', key);
    assert.equal(refused.status, 429);
    assert.match(String(refused.headers['retry-after']), /^\d+$/);
    assert.equal(remaining(refused), 0);
    assert.equal((await ask('network=8.8.8.0/24', key)).status, 429);
  });
});
