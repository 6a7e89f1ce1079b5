/** The open figures of a whole server: what they tell, what they keep, and that kill -9 changes none. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import {
  metricsHeaders,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON, looked at field by field
type Json = any;

const server = forFile(await startTestServer({ threads: 1 }));

describe('GET /api/v2/stats', () => {
  async function stats(from: TestServer = server): Promise<Json> {
    const answer = await from.fetch('/api/v2/stats');
    assert.equal(answer.status, 200, answer.body);
    return (answer.json() as Json).data;
  }

  async function report(ip: string, categories: string): Promise<void> {
    const path = `/api/v2/report?ip=${ip}&categories=${categories}`;
    const answer = await server.fetch(path, { method: 'POST', headers: { Key: server.key } });
    assert.equal(answer.status, 200, answer.body);
  }

  it('counts reports by time, category and country, for anybody', async () => {
    const before = await stats();
    await report('198.51.100.201', '18,22');
    await report('198.51.100.202', '22');
    await within(async () => (await stats()).reports.total === before.reports.total + 2);
    const { last24Hours, last7Days, last90Days, reports } = await stats();
    for (const [period, length, step] of [
      [last24Hours, 96, 900],
      [last7Days, 168, 3_600],
      [last90Days, 90, 86_400],
    ]) {
      assert.equal(period.stepSeconds, step);
      assert.equal(period.series.length, length);
      const sum = period.series.reduce((a: number, b: number) => a + b, 0);
      assert.equal(sum, period.reports);
      assert.equal(period.reports, reports.total);
      const before22 = before.last24Hours.categories.find((c: Json) => c.category === 22);
      const ssh = period.categories.find((c: Json) => c.category === 22);
      assert.deepEqual(ssh, { category: 22, name: 'SSH', reports: (before22?.reports ?? 0) + 2 });
      const inCountries = period.countries.reduce((a: number, c: Json) => a + c.reports, 0);
      assert.equal(inCountries, reports.total);
    }
  });

  it('tells entries by band, once they are surveyed', async () => {
    await within(async () => (await stats()).entries !== null);
    const { total, clean, low, suspect, malicious } = (await stats()).entries;
    assert.equal(clean + low + suspect + malicious, total);
    assert.ok(malicious > 0, 'the demo has malicious entries');
  });

  it('may be read by scripts of other origins and kept for ten seconds', async () => {
    const { headers, body } = await server.fetch('/api/v2/stats', {
      headers: { Origin: 'https://elsewhere.example' },
    });
    assert.equal(headers['access-control-allow-origin'], '*');
    assert.equal(headers['cache-control'], 'public, max-age=10');
    assert.doesNotMatch(body, /network|isp|checks|sign|challenge/i);
  });

  it('gives /metrics the same totals', async () => {
    const { reports } = await stats();
    const { body } = await server.fetch('/metrics', { headers: metricsHeaders });
    assert.match(body, new RegExp(`^portcullis_reports_total ${reports.total}$`, 'm'));
    assert.match(body, /^portcullis_reports_by_category_total\{category="22"\} \d+$/m);
    assert.match(body, /^portcullis_reports_by_country_total\{country="[A-Z]{2}"\} \d+$/m);
    assert.match(body, /^portcullis_reports_by_band_total\{band="\w+"\} \d+$/m);
    assert.match(body, /^portcullis_entries_by_band\{band="malicious"\} \d+$/m);
    assert.match(body, /^portcullis_reports_late_total 0$/m);
  });

  it('gives /metrics what this server did, by outcome', async () => {
    const { token } = (await server.fetch('/captcha/new')).json() as Json;
    const body = JSON.stringify({ token, answer: 'wrong' });
    const headers = { 'Content-Type': 'application/json' };
    await server.fetch('/captcha/verify', { method: 'POST', headers, body });
    await server.fetch('/signin', { method: 'POST', body: '' });
    await within(async () => {
      const told = (await server.fetch('/metrics', { headers: metricsHeaders })).body;
      return [
        /^portcullis_challenges_total\{outcome="given"\} [1-9]/m,
        /^portcullis_challenges_total\{outcome="failed"\} 1$/m,
        /^portcullis_sign_on_events_total\{event="refused"\} 1$/m,
      ].every((line) => line.test(told));
    }, 'the counts at /metrics');
  });

  it('tells the same after kill -9', async () => {
    const { reports, last90Days } = await stats();
    await server.kill();
    const { dataDir } = server;
    await using again = await startTestServer({ threads: 1, dataDir });
    const now = await stats(again);
    assert.deepEqual(now.reports, reports);
    assert.deepEqual(now.last90Days.categories, last90Days.categories);
    assert.deepEqual(now.last90Days.countries, last90Days.countries);
  });
});
