/**
 * Requests of known clients that read, as they send them, and what they make of the answers: the
 * rules of each, written anew from its source.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, startTestServer, type TestServer } from '../../support/server/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at field by field
type Json = any;

const datePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
const listed = '198.51.100.7';

describe('known readers', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer({ threads: 1 });
  });
  after(() => server[Symbol.asyncDispose]());

  async function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await server.fetch(`/api/v2/${path}`, {
      headers: { Key: server.key, Accept: 'application/json', ...headers },
    });
    assert.equal(answer.status, 200, answer.body);
    return answer;
  }
  const dataOf = async (path: string): Promise<Json> => ((await get(path)).json() as Json).data;

  /** The typed properties of AbuseIPDB/laravel's CheckResponse; a wrong type is a TypeError there. */
  function asLaravel(data: Json): void {
    const strings = ['ipAddress', 'usageType', 'isp'];
    const numbers = ['ipVersion', 'abuseConfidenceScore', 'totalReports', 'numDistinctUsers'];
    for (const name of strings) assert.equal(typeof data[name], 'string', name);
    for (const name of numbers) assert.ok(Number.isInteger(data[name]), name);
    for (const name of ['isPublic', 'isTor', 'isWhitelisted']) {
      assert.equal(typeof data[name], 'boolean', name);
    }
    assert.ok(Array.isArray(data.hostnames));
    assert.ok(data.domain === null || typeof data.domain === 'string');
    // DateTime::ATOM, or nothing.
    assert.ok(data.lastReportedAt === null || datePattern.test(data.lastReportedAt));
  }

  it('Laravel: a check with and without a window has every typed property', async () => {
    for (const ip of [listed, '8.8.8.8', '10.0.0.1', '2001:db8:bad::1']) {
      for (const query of [`ipAddress=${ip}`, `ipAddress=${ip}&maxAgeInDays=30`]) {
        asLaravel(await dataOf(`check?${query}`));
        asLaravel(await dataOf(`check?${query}&verbose=1`));
      }
    }
  });

  it('MISP: the flags are booleans and the score is a number', async () => {
    const answer = await get(`check?ipAddress=${listed}&maxAgeInDays=90`, { key: server.key });
    const { data } = answer.json() as Json;
    const flags = [data.isWhitelisted, data.isTor, data.isPublic];
    assert.deepEqual(flags, [false, false, false]);
    assert.ok(data.abuseConfidenceScore >= 70);
  });

  it('go-abuseipdb: what it decodes has the types of its struct', async () => {
    const data = await dataOf(`check?ipAddress=${listed}&maxAgeInDays=90`);
    asLaravel(data);
    assert.equal(typeof data.countryCode, 'string');
    const { lastReportedAt } = await dataOf(`check?ipAddress=${listed}`);
    assert.ok(!Number.isNaN(Date.parse(lastReportedAt)));
  });

  it('Cortex XSOAR and Wazuh: a listed address is not taken for an unknown one', async () => {
    const data = await dataOf(`check?ipAddress=${listed}`);
    const total = data.totalReports || data.numReports || 0;
    const score = Number(data.abuseConfidenceScore);
    const dbot = total === 0 ? 0 : score < 20 ? 1 : score < 80 ? 2 : 3;
    assert.equal(dbot, 3);
    assert.match(data.lastReportedAt, datePattern);
  });

  it('Cortex XSOAR: verbose brings the reports that it adds up', async () => {
    const data = await dataOf(`check?maxAgeInDays=30&verbose=verbose&ipAddress=${listed}`);
    assert.deepEqual(
      data.reports.flatMap((report: Json) => report.categories),
      [],
    );
    await dataOf('check?maxAgeInDays=30&ipAddress=127.0.0.2');
  });
});
