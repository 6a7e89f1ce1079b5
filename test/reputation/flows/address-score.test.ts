/** Where the score of an address comes from, and what it was before, on the pages of a whole server. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer } from '../../support/server/server.ts';

const server = forFile(await startTestServer({ env: { CLIENT_LIMITS: 'off' } }));

describe('the score of an address', () => {
  const page = (path: string, headers: Record<string, string> = {}) =>
    server.fetch(path, { headers });

  it('says where a score comes from: lists with their ends, reports, and when it falls', async () => {
    const why = async (ip: string) => {
      const json = await page(`/ip/${ip}`, { Accept: 'application/json' });
      const linked = /href="(\/ip\/[^"]+format=json)"/.exec((await page(`/ip/${ip}`)).body)?.[1];
      assert.deepEqual(JSON.parse((await page(linked!)).body), JSON.parse(json.body));
      const { data } = json.json() as { data: { why: Record<string, unknown> } };
      const checked = await page(`/api/v2/check?verbose&ipAddress=${ip}&key=${server.key}`);
      assert.deepEqual((checked.json() as typeof json & { data: typeof data }).data.why, data.why);
      return data.why as {
        decidedBy: string | null;
        fallsBelowAt: string | null;
        lists: {
          name: string;
          confidence: number;
          entry: string;
          since: string;
          endsAt: string;
        }[];
        reports: { score: number; ceiling: number; totalReports: number }[];
      };
    };
    const listed = await why('198.51.100.7');
    assert.equal(listed.decidedBy, '198.51.100.7');
    assert.equal(listed.lists[0]?.confidence, 99);
    assert.equal(listed.lists[0]?.entry, '198.51.100.7');
    assert.ok(Date.parse(listed.lists[0]!.endsAt) > Date.now());
    const since = Date.parse(listed.lists[0]!.since);
    assert.ok(since <= Date.now() && since > Date.now() - 3_600_000);
    // The list keeps it up, whatever becomes of reports.
    assert.equal(listed.fallsBelowAt, null);
    const html = (await page('/ip/198.51.100.7')).body;
    assert.match(html, /Why 99/);
    assert.ok(html.includes(listed.lists[0]!.name));
    assert.deepEqual(await why('8.8.4.77'), {
      decidedBy: null,
      fallsBelowAt: null,
      lists: [],
      reports: [],
      networks: [],
    });
  });

  it('draws the score of each day from the first known one to today; a single day is said in words', async () => {
    const plotOf = async (ip: string) => {
      const html = (await page(`/ip/${ip}`)).body;
      const [before, plot = ''] = html.split('<svg class="timeline"');
      return { before, table: plot.split('</table>')[0]! };
    };
    for (const ip of ['198.51.100.7', '192.0.2.61']) {
      const { before, table } = await plotOf(ip);
      assert.equal(table, '');
      assert.match(before!, /(Known since|First seen) today/);
    }
    const day = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const row = `198.51.100.77,18,${day(3)},a`;
    const boundary = '-----------------------------735323031399963166993862150';
    const csv = ['IP,Categories,ReportDate,Comment', row].join('\n');
    const head = 'Content-Disposition: form-data; name="csv"; filename="r.csv"';
    const answer = await server.fetch('/api/v2/bulk-report', {
      method: 'POST',
      headers: { Key: server.key, 'Content-Type': `multipart/form-data; boundary=${boundary}` },
      body: Buffer.from(`--${boundary}\r\n${head}\r\n\r\n${csv}\r\n--${boundary}--\r\n`),
    });
    assert.equal((answer.json() as { data: { savedReports: number } }).data.savedReports, 1);
    const json = await page('/ip/198.51.100.77', { Accept: 'application/json' });
    const { data } = json.json() as { data: { abuseConfidenceScore: number } };
    const { table } = await plotOf('198.51.100.77');
    assert.match(
      table,
      new RegExp(`>${data.abuseConfidenceScore}</td><td[^>]*>0</td></tr></tbody>`),
    );
    assert.equal(table.match(/<tr>/g)?.length, 5, 'the head, three days ago to today');
  });
});
