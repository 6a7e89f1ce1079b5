/** `portcullis check` and the reports of `portcullis stats`: the same as the running server says. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forFile } from '../../support/server/for-file.ts';
import { startTestServer, within } from '../../support/server/server.ts';

const reported = '5.6.7.8';
/** On lists of the demo, and reported. */
const addresses = ['203.0.113.200', '2001:DB8:bad::1', reported];

const server = forFile(await startTestServer({ threads: 1 }));
const headers = { Key: server.key };
assert.equal((await server.report(reported, { categories: '18,22' })).status, 200);

const answerOf = async (path: string) => {
  const answer = await server.fetch(path, { headers });
  assert.equal(answer.status, 200, answer.body);
  // biome-ignore lint/suspicious/noExplicitAny: what the API answers.
  return (answer.json() as { data: any }).data;
};

it('check says what the API says, and why', async () => {
  for (const address of addresses) {
    const said = await answerOf(`/api/v2/check?ipAddress=${address}`);
    assert.deepEqual(await server.cliJson('check', address), said, address);
  }
  const { why } = await answerOf(`/api/v2/check?ipAddress=${reported}&verbose`);
  assert.equal(why.reports.length, 1);
  const told = await server.cliJson('check', reported, '--verbose');
  assert.deepEqual(told.why, why);
  const lines = (await server.cli('check', '198.51.100.7', '--verbose')).stdout;
  assert.match(lines, /^198\.51\.100\.7: 99 of 100, malicious, blocked\n/);
  assert.match(lines, /^ {2}Lists +demo$/m);
  assert.doesNotMatch(lines, /abuseConfidenceScore|Reports/);
  assert.match((await server.cli('check', reported)).stdout, /^ {2}Reports +1, the last 20/m);
  assert.match(
    lines,
    /^list \S+ names 198\.51\.100\.\S+: confidence 99, known since 20\S+, loaded 20/m,
  );
  assert.match(lines, /^decided by 198\.51\.100\./m);
  const unseen = (await server.cli('check', '5.6.7.9', '--verbose')).stdout;
  assert.match(unseen, /^5\.6\.7\.9: 0 of 100, clean, never seen\n/);
  assert.match(unseen, /^no entry decides: not observed$/m);
});

it('check refuses what is no address, and leaves no entry in the audit log', async () => {
  const wrong = await server.cli('check', '8.8.8.0/24');
  assert.equal(wrong.code, 1);
  assert.equal(wrong.stderr, "portcullis: '8.8.8.0/24' is not an address\n");
  const entries: { command: string }[] = await server.cliJson('audit');
  assert.ok(!entries.some(({ command }) => command.startsWith('check')));
});

it('stats has the reports that GET stats has', async () => {
  const { reports } = await server.cliJson('stats');
  assert.ok(reports.total > 0);
  // The answer is kept for some seconds.
  await within(
    async () => (await answerOf('/api/v2/stats')).reports.total === reports.total,
    'the answer is of now',
  );
  const known = await answerOf('/api/v2/stats');
  assert.equal(reports.since, known.reports.since);
  for (const period of ['last24Hours', 'last7Days', 'last90Days'] as const) {
    assert.equal(reports[period].reports, known[period].reports, period);
    assert.deepEqual(
      reports[period].categories,
      known[period].categories.map(
        ({ name, reports: count }: { name: string; reports: number }) => ({
          name,
          reports: count,
        }),
      ),
    );
    assert.equal(reports[period].countries[0].reports, known[period].countries[0].reports, period);
    assert.ok(reports[period].networks.length > 0);
  }
  assert.match((await server.cli('stats')).stdout, /^last24Hours +\d+ +\S/m);
});
