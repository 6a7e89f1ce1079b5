/** What a monitoring system reads: the names at /metrics, the alert rules, and the dashboard. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { hasTool } from '../support/house/tools.ts';
import { forFile } from '../support/server/for-file.ts';
import { startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const rules = 'data/monitoring/alerts.yml';
const directory = forFile(makeTempDir('monitoring'));
let page = '';

const server = forFile(await startTestServer({ threads: 2 }));
await server.check('192.0.2.75');
page = (await server.fetch('/metrics')).body;

function promtool(args: readonly string[], input = '') {
  const done = spawnSync('promtool', args, { encoding: 'utf8', input });
  return { status: done.status, said: done.stdout + done.stderr };
}

test('metrics have names as Prometheus wants them', (t) => {
  if (!hasTool(t, 'promtool')) return;
  assert.deepEqual(promtool(['check', 'metrics'], page), { status: 0, said: '' });
  const { said } = promtool(['check', 'metrics'], '# TYPE a_total gauge\na_total 1\n');
  assert.match(said, /a_total/, 'promtool would have said so');
});

test('rules and dashboard name metrics that there are', () => {
  const texts = [
    readFileSync(rules, 'utf8'),
    readFileSync('data/monitoring/dashboard.json', 'utf8'),
  ];
  const named = new Set(texts.flatMap((text) => text.match(/\bportcullis_\w+/g) ?? []));
  // A counter by kind has no line before its first one.
  const kinds = [...page.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!);
  const there = new Set(kinds.flatMap((name) => [name, `${name}_sum`, `${name}_bucket`]));
  assert.ok(named.size > 25, `${named.size} names`);
  assert.deepEqual(
    [...named].filter((name) => !there.has(name)),
    [],
  );
  const { panels } = JSON.parse(texts[1]!) as { panels: { id: number; targets: unknown[] }[] };
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const { targets } of panels) assert.ok(targets.length > 0);
});

test('each front-end thread and the main one tell their longest pause', () => {
  for (const thread of [0, 1, 'main']) {
    assert.match(
      page,
      new RegExp(`^portcullis_event_loop_pause_seconds\\{thread="${thread}"\\} `, 'm'),
    );
  }
});

test('what takes its time is told by histograms', async () => {
  await within(async () => {
    // One check in 64 of a thread is timed.
    for (let i = 0; i < 200; i++) await server.check('192.0.2.75');
    page = (await server.fetch('/metrics')).body;
    return /^portcullis_check_duration_seconds_count [1-9]/m.test(page);
  });
  for (const work of ['check', 'forward', 'commit']) {
    const name = `portcullis_${work}_duration_seconds`;
    const count = Number(new RegExp(`^${name}_count (\\d+)$`, 'm').exec(page)?.[1]);
    const sum = Number(new RegExp(`^${name}_sum (\\S+)$`, 'm').exec(page)?.[1]);
    const buckets = [...page.matchAll(new RegExp(`^${name}_bucket\\{le="(.*)"\\} (\\d+)$`, 'gm'))];
    assert.ok(count > 0 && sum > 0, `${name}: ${count}, ${sum}`);
    assert.equal(buckets.at(-1)![1], '+Inf');
    assert.equal(Number(buckets.at(-1)![2]), count);
    const rising = buckets.map((bucket) => Number(bucket[2]));
    assert.deepEqual(
      rising,
      [...rising].sort((a, b) => a - b),
      name,
    );
  }
});

test('the alerts fire for what they are made for, and not otherwise', (t) => {
  if (!hasTool(t, 'promtool')) return;
  assert.equal(promtool(['check', 'rules', rules]).status, 0);
  const minutes = (values: string, metric: string) =>
    `      - { series: '${metric}', values: '${values}' }`;
  const cases = `
rule_files: [${process.cwd()}/${rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
${minutes('1 1 0x20', 'portcullis_store_writable{instance="a"}')}
${minutes('50x30', 'portcullis_table_used{instance="a",table="mails"}')}
${minutes('100x30', 'portcullis_table_limit{instance="a",table="mails"}')}
${minutes('90x30', 'portcullis_table_used{instance="a",table="keys"}')}
${minutes('100x30', 'portcullis_table_limit{instance="a",table="keys"}')}
    alert_rule_test:
      - eval_time: 1m
        alertname: PortcullisCannotWrite
      - eval_time: 5m
        alertname: PortcullisCannotWrite
        exp_alerts:
          - exp_labels: { severity: critical, instance: a }
            exp_annotations:
              summary: The store takes no writes
              description: Checks go on; reports, sign-ins and registrations of a answer 503. Look at the disk and the log.
      - eval_time: 20m
        alertname: PortcullisTableFilling
        exp_alerts:
          - exp_labels: { severity: warning, instance: a, table: keys }
            exp_annotations:
              summary: A bounded table is filling up
              description: keys of a is at 90% of its bound; beyond it is refused.
      - eval_time: 20m
        alertname: PortcullisSlowEventLoop
`;
  const file = `${directory.path}/cases.yml`;
  writeFileSync(file, cases);
  const { status, said } = promtool(['test', 'rules', file]);
  assert.equal(status, 0, said);
});
