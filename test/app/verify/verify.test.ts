/** Verification finds each thing that does not agree with the rest, and nothing in a store that is right. */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { verifyDataDir } from '../../../src/app/verify.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { journalRowKey, namespaces } from '../../../src/storage/keys.ts';
import { openTables } from '../../../src/storage/lmdb/environment.ts';
import type { Tables } from '../../../src/storage/lmdb/tables.ts';
import { encodeEntry, readEntry, sealEntry } from '../../../src/storage/rows.ts';
import { seededRandom } from '../../support/seeded.ts';
import { runCli, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('verify');
const original = `${directory.path}/original`;

before(async () => {
  mkdirSync(original);
  await using server = await startTestServer({
    threads: 1,
    dataDir: original,
    env: { FEED_INTERVAL_SECONDS: '1' },
  });
  await server.cliJson('allow', 'add', '9.9.9.0/24');
  for (const ip of ['8.8.4.7', '1.0.0.77', '2001:4860::7']) {
    assert.equal((await server.report(ip, { comment: `about ${ip}` })).status, 200);
  }
  // A first build, so that the list makes a step.
  await within(async () => (await server.fetch('/feeds/blocklist.txt')).status === 200);
  const list = `${directory.path}/list.txt`;
  writeFileSync(list, '8.8.4.0/24\n2001:4860::/48\n9.9.9.9\n9.9.8.0/24\n');
  await server.cliJson('seed', list, '--format', 'plain', '--confidence', '90');
  await within(async () =>
    (await server.fetch('/feeds/blocklist.txt')).body.includes('8.8.4.0/24'),
  );
  // A word of the operator makes a step of an entry that is listed already.
  const version = async () =>
    Number((await server.fetch('/feeds/blocklist.txt')).headers['x-feed-version']);
  const former = await version();
  await server.cliJson('entry', 'add', '9.9.8.0/24', '--score', '80');
  await within(async () => (await version()) > former);
  await server.stop();
});
after(() => directory.remove());

/** The first row of a kind, and with `nth` a later one. */
function rowOf(tables: Tables, space: number, nth = 0): { key: Uint8Array; value: Buffer } {
  const start = Uint8Array.of(space);
  const range = tables.entries.getRange({ start, end: Uint8Array.of(space + 1) });
  return [...range].map(({ key, value }) => ({ key, value }))[nth]!;
}

const faults: readonly [name: string, change: (tables: Tables) => void, found: RegExp][] = [
  [
    'a flipped byte of a row',
    (tables) => {
      const { key, value } = rowOf(tables, namespaces.reportByAddress);
      value[value.length - 8]! ^= 1;
      tables.entries.putSync(key, value);
    },
    /the row 30[0-9a-f]+ of entries is damaged/,
  ],
  [
    'a flipped byte of an event',
    (tables) => {
      const value = tables.journal.get(journalRowKey(3))!;
      value[20]! ^= 1;
      tables.journal.putSync(journalRowKey(3), value);
    },
    /the row 0000000000000003 of journal is damaged/,
  ],
  [
    'an event that is gone',
    (tables) => void tables.journal.removeSync(journalRowKey(4)),
    /the journal has 5 where 4 must be/,
  ],
  [
    'the last event gone',
    (tables) => {
      const last = [...tables.journal.getKeys({ reverse: true, limit: 1 })][0]!;
      tables.journal.removeSync(last);
    },
    /the journal ends at \d+, and not at \d+/,
  ],
  [
    'an id that leads to another event',
    (tables) => {
      const [{ key, value } = assert.fail()] = [...tables.eventIds.getRange({ limit: 1 })];
      value[5]! += 1;
      tables.eventIds.putSync(key, value);
    },
    /the event \d+ of the journal is not found by its id/,
  ],
  [
    'a row without its other half',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.reportById).key),
    /the row 30[0-9a-f]+ names 31[0-9a-f]+, which is not there/,
  ],
  [
    'an API key that its account does not find',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.ownedApiKey).key),
    /the row 12[0-9a-f]+ names 1c[0-9a-f]+, which is not there/,
  ],
  [
    'an account that finds an API key that is gone',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.apiKey).key),
    /the row 1c[0-9a-f]+ names 12[0-9a-f]+, which is not there/,
  ],
  [
    'an expiry that is gone',
    (tables) => {
      for (const key of [...tables.expiry.getKeys()]) tables.expiry.removeSync(key);
    },
    /expires, and nothing will remove it/,
  ],
  [
    'a page of the projection that is gone',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.projectionPage).key),
    /the projection has \d+ entries, the journal \d+/,
  ],
  [
    'a page of the projection that is damaged behind a right checksum of its row',
    (tables) => {
      const { key, value: row } = rowOf(tables, namespaces.projectionPage);
      const { value, version } = readEntry(key, row);
      const changed = encodeEntry(value.subarray(0, -1), 0);
      sealEntry(changed, key, version);
      tables.entries.putSync(key, changed);
    },
    /projection page \d+ is damaged/,
  ],
  [
    'a report without an event',
    (tables) => {
      for (const space of [namespaces.reportByAddress, namespaces.reportById]) {
        tables.entries.removeSync(rowOf(tables, space, 1).key);
      }
    },
    /has \d reports in the store|reports that the store does not have/,
  ],
  [
    'a rule without an event',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.allow).key),
    /the allowlist has 0 rules in the store, 1 in the index/,
  ],
  [
    'a manual entry without an event',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.ownEntry).key),
    /the operator has 0 manual rules in the store, 1 in the index/,
  ],
  [
    'a part of the feeds that is gone',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.feedBase).key),
    /the stored list has 0 of 1 parts/,
  ],
  [
    'a step of the feeds that is gone',
    (tables) => void tables.entries.removeSync(rowOf(tables, namespaces.feedStep).key),
    /the stored feeds are (not what|of before)|of the feeds does not follow/,
  ],
];

async function verify(dataDir: string) {
  const random = seededRandom(51);
  return verifyDataDir({ dataDir, path: `${dataDir}/store`, clock: systemClock(), random });
}

it('nothing is found in a store that is right, whose feeds are compared too', async () => {
  const { findings, seen } = await verify(original);
  assert.deepEqual([findings.lines, findings.notes], [[], []]);
  assert.ok(seen.events > 5 && seen.entries > 30);
});

for (const [name, change, found] of faults) {
  it(`found: ${name}`, async () => {
    const copy = makeTempDir('verify-fault');
    cpSync(original, copy.path, { recursive: true });
    const tables = openTables(`${copy.path}/store`);
    change(tables);
    await tables.root.close();
    const { findings } = await verify(copy.path);
    assert.match([...findings.lines, ...findings.notes].join('\n'), found);
    copy.remove();
  });
}

it('feeds of before a restore that took the journal back are no fault', async () => {
  const file = `${directory.path}/whole.backup`;
  const target = `${directory.path}/target`;
  mkdirSync(target);
  cpSync(`${original}/master.key`, `${target}/master.key`);
  const made = await runCli(['backup', file], { DATA_DIR: original });
  assert.equal(made.code, 0, made.stderr);
  const restored = await runCli(['restore', file, '--to', '1'], { DATA_DIR: target });
  assert.equal(restored.code, 0, restored.stderr);
  const { findings } = await verify(target);
  assert.deepEqual(findings.lines, []);
  assert.match(findings.notes.join('\n'), /the stored feeds are of before the restore/);
});

it('the command ends with 1 and says what; a snapshot that is damaged is a note', async () => {
  const file = `${original}/index.snapshot`;
  const bytes = readFileSync(file);
  bytes[bytes.length - 100]! ^= 1;
  writeFileSync(file, bytes);
  const noted = await runCli(['verify'], { DATA_DIR: original });
  assert.equal(noted.code, 0, noted.stderr);
  assert.match(noted.stdout, /note: index\.snapshot is damaged/);
  const tables = openTables(`${original}/store`);
  faults[0]![1](tables);
  await tables.root.close();
  const failed = await runCli(['verify', '--json'], { DATA_DIR: original });
  assert.equal(failed.code, 1);
  assert.match(JSON.parse(failed.stdout).found.join(), faults[0]![2]);
  assert.match(
    failed.stderr,
    /^portcullis: 1 fault in [\d,]+ rows and \d+ events: restore a backup$/m,
  );
});
