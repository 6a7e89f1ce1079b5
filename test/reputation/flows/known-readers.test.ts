/**
 * Requests of known clients that read, as they send them, and what they make of the answers: the
 * rules of each, written anew from its source.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { type Answer, startTestServer } from '../../support/server/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at field by field
type Json = any;

const datePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/;
const listed = '198.51.100.7';

const server = forFile(await startTestServer({ threads: 1 }));

describe('known readers', () => {
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

  /** Another one for each, reported now. */
  async function reported(ip: string): Promise<string> {
    const headers = { Key: server.key };
    const path = `/api/v2/report?ip=${ip}&categories=18,22&comment=ssh`;
    const { status, body } = await server.fetch(path, { method: 'POST', headers });
    assert.equal(status, 200, body);
    return ip;
  }

  it('Laravel: each report has its typed properties, in `reports` and in a verbose check', async () => {
    const ip = await reported('8.8.4.71');
    const page = await dataOf(`reports?ipAddress=${ip}&maxAgeInDays=30&page=1&perPage=25`);
    for (const name of ['total', 'page', 'perPage', 'lastPage']) {
      assert.ok(Number.isInteger(page[name]), name);
    }
    const { reports } = await dataOf(`check?ipAddress=${ip}&maxAgeInDays=30&verbose=1`);
    assert.deepEqual([page.results.length, reports.length], [1, 1]);
    for (const report of [page.results[0], reports[0]]) {
      const texts = ['reportedAt', 'comment', 'reporterCountryCode', 'reporterCountryName'];
      for (const name of texts) assert.equal(typeof report[name], 'string', name);
      assert.ok(Number.isInteger(report.reporterId));
      assert.deepEqual(report.categories, [18, 22]);
    }
  });

  it('Laravel: the blacklist with its defaults, arrays as PHP writes them', async () => {
    const query = 'confidenceMinimum=100&limit=10000&ipVersion%5B0%5D=4&ipVersion%5B1%5D=6';
    assert.ok((await dataOf(`blacklist?${query}`)).length > 1);
  });

  /** Cortex XSOAR's verdict, threshold 80: 0 unknown, 1 good, 2 suspicious, 3 bad. */
  function dbotScore(data: Json): number {
    const total = data.totalReports || data.numReports || 0;
    const score = Number(data.abuseConfidenceScore);
    return total === 0 ? 0 : score < 20 ? 1 : score < 80 ? 2 : 3;
  }

  it('a script that names no window does not take a listed address for an unknown one', async () => {
    const data = await dataOf(`check?ipAddress=${listed}`);
    assert.equal(dbotScore(data), 3);
    assert.match(data.lastReportedAt, datePattern);
  });

  it('Cortex XSOAR: its checks, its block and its blacklist are what it adds up', async () => {
    const ip = await reported('8.8.4.72');
    const data = await dataOf(`check?maxAgeInDays=30&verbose=verbose&ipAddress=${ip}`);
    assert.deepEqual(
      data.reports.flatMap((report: Json) => report.categories),
      [18, 22],
    );
    assert.equal(dbotScore(data), 2, 'one report');
    const block = await dataOf('check-block?network=8.8.4.0%2F24&maxAgeInDays=30');
    const mine = block.reportedAddress.find((row: Json) => row.ipAddress === ip);
    assert.equal(dbotScore(mine), 2);
    const rows = await dataOf('blacklist?maxAgeInDays=30&confidenceMinimum=100&limit=50');
    assert.ok(rows.some((row: Json) => row.ipAddress === listed));
    // Its test of the connection.
    await dataOf('check?maxAgeInDays=30&ipAddress=127.0.0.2');
  });

  it('Wazuh: an address is found once it was reported within its 90 days', async () => {
    const asked = async (ip: string) => {
      const headers = { 'Accept-Encoding': 'gzip, deflate' };
      const answer = await get(`check?maxAgeInDays=90&ipAddress=${ip}`, headers);
      return (answer.json() as Json).data;
    };
    assert.equal((await asked('8.8.4.73')).totalReports, 0);
    assert.equal((await asked(await reported('8.8.4.73'))).totalReports, 1);
    // Of a window reports alone are counted; the score tells of the list (docs/API.md).
    const onList = await asked(listed);
    assert.deepEqual([onList.totalReports, onList.abuseConfidenceScore], [0, 99]);
  });
});
