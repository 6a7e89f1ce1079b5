/** A build: one list in every format, bytes that stay while the content does, also after a restart. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { entryFlags } from '../../../../src/contracts/reputation.ts';
import type { Built, FeedFile } from '../../../../src/reputation/blocklists/builder/build.ts';
import { decodeStep } from '../../../../src/reputation/blocklists/builder/history.ts';
import {
  choicesOf,
  feeds,
  variantName,
} from '../../../../src/reputation/blocklists/feed-definitions.ts';
import { seededRandom } from '../../../support/seeded.ts';
import { createWorld, entriesIn, leftBy, startMs, storedOf, textOf, type World } from './world.ts';

const minuteMs = 60_000;

function fill(world: World, count = 300): World {
  const random = seededRandom(5);
  for (let i = 0; i < count; i++) {
    const host = Math.floor(random.next() * 65_536);
    const score = 70 + Math.floor(random.next() * 31);
    const reports = Math.floor(random.next() * 4);
    const lastReportedAt = reports === 0 ? 0 : 1_795_000_000 + host;
    const text = i % 3 === 0 ? `2001:db8::${host.toString(16)}` : `10.1.${host >> 8}.${host & 255}`;
    world.say(text, { score, reports, lastReportedAt });
  }
  world.say('10.2.0.0/16', { score: 88 });
  world.say('10.2.3.4', { flags: entryFlags.allowlisted });
  world.say('2001:db8:5::/48', { score: 76 });
  world.say('192.0.2.9', { flags: entryFlags.anonymousExit });
  return world;
}

/** The prefix that a policy's name stands for, as the other feeds write it. */
function prefixOfPolicy(name: string): string {
  const [length, ...parts] = name.split('.');
  const isFour = !name.includes('zz') && parts.length === 4;
  const text = parts
    .toReversed()
    .join(isFour ? '.' : ':')
    .replace(/:?zz:?/, '::');
  return length === (isFour ? '32' : '128') ? text : `${text}/${length}`;
}

async function built(world: World, nowMs = startMs): Promise<Built> {
  const result = await world.builder().build(nowMs);
  assert.ok(result);
  return result;
}

function fingerprints(result: Built): [string, number, string, string | undefined][] {
  return result.files.map((file: FeedFile) => [
    file.name,
    file.changedAtMs,
    file.identity.etag,
    file.gzip?.etag,
  ]);
}

describe('a build', () => {
  it('has every variant that may be asked for, and gzip and brotli give the same text', async () => {
    const result = await built(fill(createWorld()));
    const names = feeds.flatMap((feed) =>
      choicesOf(feed).map((choice) => variantName(feed, choice)),
    );
    assert.deepEqual(result.files.map(({ name }) => name).sort(), names.sort());
    for (const { name, identity, gzip, brotli } of result.files) {
      const text = Buffer.concat(identity.parts);
      assert.equal(text.length, identity.bytes, name);
      assert.deepEqual(gunzipSync(Buffer.concat(gzip!.parts)), text, name);
      assert.deepEqual(brotliDecompressSync(Buffer.concat(brotli!.parts)), text, name);
      assert.equal(new Set([identity.etag, gzip!.etag, brotli!.etag]).size, 3, name);
    }
  });

  it('holds one list as text, CSV and JSON, in every tier and family', async () => {
    const result = await built(fill(createWorld()));
    for (const choice of ['75', '85', '95', '75 4', '75 6', '95 4', '95 6']) {
      const text = entriesIn(textOf(result, `blocklist.txt ${choice}`));
      const json = JSON.parse(textOf(result, `blocklist.json ${choice}`));
      const csv = textOf(result, `blocklist.csv ${choice}`).split('\r\n').slice(1, -1);
      assert.equal(json.meta.count, json.data.length);
      assert.equal(json.meta.minimumScore, Number(choice.slice(0, 2)));
      const addresses = json.data.map((one: { ipAddress: string }) => one.ipAddress);
      assert.deepEqual([...addresses].sort(), [...text].sort(), choice);
      assert.deepEqual(
        csv.map((line) => line.split(',')[0]),
        addresses,
        choice,
      );
      const scores = json.data.map(
        (one: { abuseConfidenceScore: number }) => one.abuseConfidenceScore,
      );
      assert.deepEqual(
        scores,
        [...scores].sort((a, b) => b - a),
        'highest score first',
      );
      assert.ok(text.length > 0);
    }
    const text = textOf(result, 'blocklist.txt 75');
    const lines = entriesIn(text);
    const firstSix = lines.findIndex((line) => line.includes(':'));
    assert.ok(
      lines.slice(firstSix).every((line) => line.includes(':')),
      'IPv4 before IPv6',
    );
    assert.ok(!lines.includes('10.2.0.0/16') && lines.includes('10.2.128.0/17'));
    assert.match(text, new RegExp(`^# Entries: ${lines.length} \\(`, 'm'));
    assert.ok(!text.includes('\r'));
  });

  it('writes the seven fields, and nothing for a report that never was', async () => {
    const world = createWorld();
    world.say('10.0.0.1', { score: 80, reports: 2, lastReportedAt: 1_795_244_400 });
    world.say('10.0.0.2', { score: 99, flags: entryFlags.anonymousExit });
    const result = await built(world);
    const { data } = JSON.parse(textOf(result, 'blocklist.json 75'));
    assert.deepEqual(data, [
      {
        ipAddress: '10.0.0.2',
        abuseConfidenceScore: 99,
        countryCode: 'FR',
        isp: 'Example',
        isAnon: true,
        totalReports: 0,
        lastReportedAt: null,
      },
      {
        ipAddress: '10.0.0.1',
        abuseConfidenceScore: 80,
        countryCode: 'FR',
        isp: 'Example',
        isAnon: false,
        totalReports: 2,
        lastReportedAt: '2026-11-21T07:00:00+00:00',
      },
    ]);
    assert.equal(
      textOf(result, 'blocklist.csv 75'),
      'ipAddress,abuseConfidenceScore,countryCode,isp,isAnon,totalReports,lastReportedAt\r\n' +
        '10.0.0.2,99,FR,Example,true,0,\r\n' +
        '10.0.0.1,80,FR,Example,false,2,2026-11-21T07:00:00+00:00\r\n',
    );
  });

  it('quotes provider names, and takes the formula out of them in CSV', async () => {
    const names = ['=cmd|calc', 'A "B", Ltd', '+1', '-x', '@y', 'Société, Ü'];
    const world = createWorld((geo) => names[geo & 255]!);
    for (const [i] of names.entries()) world.say(`10.0.${i}.1`, { score: 80 });
    const result = await built(world);
    const csv = textOf(result, 'blocklist.csv 75').split('\r\n').slice(1, -1);
    const between = csv.map((line) => /,FR,(.*),false,/.exec(line)![1]);
    assert.deepEqual(between, [
      "'=cmd|calc",
      '"A ""B"", Ltd"',
      "'+1",
      "'-x",
      "'@y",
      '"Société, Ü"',
    ]);
    const { data } = JSON.parse(textOf(result, 'blocklist.json 75'));
    assert.deepEqual(
      data.map((one: { isp: string }) => one.isp),
      names,
    );
  });

  it('writes each entry once for every tool', async () => {
    const result = await built(fill(createWorld()));
    const wanted = entriesIn(textOf(result, 'blocklist.txt 75'));
    const four = wanted.filter((line) => !line.includes(':'));
    const found = (name: string, pattern: RegExp) =>
      [...textOf(result, name).matchAll(pattern)].map((match) => match[1]!);
    assert.deepEqual(found('blocklist.ipset 75', /^add portcullis[46]-next (\S+)$/gm), wanted);
    assert.deepEqual(found('blocklist.nft 75', /^([0-9a-f.:/]+),$/gm), wanted);
    assert.deepEqual(found('blocklist.nginx 75', /^deny (\S+);$/gm), wanted);
    assert.deepEqual(found('blocklist.rsc 75', /^add list=portcullis address=(\S+)$/gm), wanted);
    assert.deepEqual(entriesIn(textOf(result, 'blocklist.haproxy 75')), wanted);
    assert.deepEqual(found('blocklist.geo 75', /^(\S+) 1;$/gm), wanted);
    // The test point of RFC 5782 stands before the list.
    const zone = (name: string) => entriesIn(textOf(result, name)).slice(2);
    assert.deepEqual(zone('blocklist.zone 75'), ['127.0.0.2', ...four]);
    assert.deepEqual(zone('blocklist.zone6 75'), ['::ffff:7f00:2', ...wanted.slice(four.length)]);
    const policies = found('blocklist.rpz 75', /^(\S+)\.rpz-ip CNAME \.$/gm);
    assert.deepEqual(policies.map(prefixOfPolicy), wanted);
    assert.deepEqual(entriesIn(textOf(result, 'anon-exits.txt 75')), ['192.0.2.9']);
  });

  it('is valid for every tool when nothing is listed', async () => {
    const result = await built(createWorld());
    assert.deepEqual(JSON.parse(textOf(result, 'blocklist.json 75')).data, []);
    assert.equal(textOf(result, 'blocklist.csv 75').split('\r\n').length, 2);
    assert.ok(!textOf(result, 'blocklist.nft 75').includes('add element'));
    for (const { identity, gzip } of result.files) {
      assert.deepEqual(gunzipSync(Buffer.concat(gzip!.parts)), Buffer.concat(identity.parts));
    }
  });

  it('keeps to its bound: the lowest scores are left out, of one score the last addresses', async () => {
    const world = createWorld();
    for (let i = 0; i < 20; i++) world.say(`10.0.0.${i}`, { score: i < 10 ? 80 : 90 });
    const result = await world.builder(undefined, 13).build(startMs);
    assert.equal(result!.stats.dropped, 7);
    const lines = entriesIn(textOf(result!, 'blocklist.txt 75'));
    const hosts = [0, 1, 2, ...Array.from({ length: 10 }, (_, i) => 10 + i)];
    assert.deepEqual(
      lines,
      hosts.map((host) => `10.0.0.${host}`),
    );
  });
});

describe('what stays the same', () => {
  it('is everything, when nothing changed', async () => {
    const builder = fill(createWorld()).builder();
    assert.ok(await builder.build(startMs));
    assert.equal(await builder.build(startMs + minuteMs), undefined);
  });

  it('is everything, after a restart with the same state', async () => {
    const world = fill(createWorld());
    const first = await built(world);
    const again = await world.builder(storedOf(first)).build(startMs + 17 * minuteMs);
    assert.deepEqual(fingerprints(again!), fingerprints(first));
    assert.equal(again!.step, undefined);
    assert.equal(again!.head.version, first.head.version);
  });

  it('is not by whose word an entry is there: that is told behind a thread that ended, too', async () => {
    const own = entryFlags.seeded;
    const world = createWorld();
    world.say('10.0.0.1', { score: 90, flags: own | entryFlags.listed });
    world.say('10.0.0.2', { score: 90, flags: own | entryFlags.listed });
    const first = await built(world);
    // The list lets it go, and somebody else does not.
    world.say('10.0.0.1', { score: 90, flags: own });
    world.turn('10.0.0.2');
    const next = await world.builder(leftBy(first)).build(startMs + minuteMs);
    assert.equal(Buffer.from(next!.changes.added).toString(), '"10.0.0.1","10.0.0.2"');
    const again = await world.builder(leftBy(first, next!)).build(startMs + 2 * minuteMs);
    assert.equal(again!.step, undefined);
    // Of another process nothing is known, and nothing told.
    assert.equal((await world.builder(storedOf(first)).build(startMs + minuteMs))!.step, undefined);
  });

  it('is each byte, beside a build that has nothing of those before', async () => {
    const random = seededRandom(8);
    const below = (count: number) => Math.floor(random.next() * count);
    const world = fill(createWorld(), 4_000);
    const builder = world.builder();
    const builds = [(await builder.build(startMs))!];
    for (let round = 1; round <= 5; round++) {
      for (let i = 0; i < 1 + below(40); i++) {
        const text = `10.1.${below(256)}.${2 * below(128)}${below(9) === 0 ? '/31' : ''}`;
        if (below(3) === 0) world.forget(text);
        else world.say(text, { score: 70 + below(31), reports: below(3) });
      }
      const nowMs = startMs + round * minuteMs;
      builds.push((await builder.build(nowMs))!);
      const anew = await world.builder(storedOf(...builds)).build(nowMs);
      const bytesOf = ({ files }: Built) =>
        files.map(({ name, identity, gzip, brotli }) => [
          ...[name, identity.etag],
          ...[identity, gzip!, brotli!].map(({ parts }) => Buffer.concat(parts).toString('latin1')),
        ]);
      assert.deepEqual(bytesOf(builds.at(-1)!), bytesOf(anew!));
    }
  });

  it('is the history of steps, but none of it when one of them is damaged', async () => {
    const world = fill(createWorld());
    const builder = world.builder();
    const builds = [await builder.build(startMs)];
    for (let i = 1; i < 4; i++) {
      world.say(`10.3.0.${i}`, { score: 80 });
      builds.push(await builder.build(startMs + i * minuteMs));
    }
    const stored = storedOf(...builds.map((one) => one!));
    const laterMs = startMs + 9 * minuteMs;
    const whole = await world.builder(stored).build(laterMs);
    assert.deepEqual(whole!.changes, builds.at(-1)!.changes);
    assert.equal(whole!.changes.since.length, 4);
    const steps = stored.steps.map((step, i) =>
      i === 1 ? { ...step, value: step.value.subarray(0, step.value.length - 1) } : step,
    );
    const anew = await world.builder({ ...stored, steps }).build(laterMs);
    assert.deepEqual(anew!.changes.since, [laterMs]);
    const base = [stored.base[0]!.subarray(0, 9), stored.base[0]!.subarray(9)];
    const inParts = await world.builder({ ...stored, base }).build(laterMs);
    assert.deepEqual(inParts!.changes, whole!.changes);
  });

  it('is what a change does not touch; the rest has a later date and another ETag', async () => {
    const world = fill(createWorld());
    const builder = world.builder();
    const first = await builder.build(startMs);
    world.say('2001:db8:6::1', { score: 80 });
    const second = await builder.build(startMs + minuteMs);
    const before = new Map(first!.files.map((file) => [file.name, file]));
    const changed = second!.files.filter(
      (file) => file.identity.etag !== before.get(file.name)!.identity.etag,
    );
    for (const file of second!.files) {
      const isChanged = changed.includes(file);
      const old = before.get(file.name)!;
      assert.equal(textOf(first!, file.name) !== textOf(second!, file.name), isChanged, file.name);
      assert.equal(file.changedAtMs > old.changedAtMs, isChanged, file.name);
      const concernsSix =
        !/ 4( a| worst \d+)?$|\.zone |^anon/.test(file.name) && !/ [89]5/.test(file.name);
      assert.equal(isChanged, concernsSix, file.name);
    }
    const { version, value } = second!.step!;
    assert.deepEqual(decodeStep(version, value)!.added, ['2001:db8:6::1']);
    assert.equal(second!.head.version, startMs + minuteMs);
  });

  it('is no version that is too old to ask for changes with', async () => {
    const world = fill(createWorld());
    const builder = world.builder();
    const first = await builder.build(startMs);
    // The last one finds that the first is more than a day old, and forgets its step.
    const hours = [1, 14, 28, 42, 56];
    let last = first;
    for (const [i, hour] of hours.entries()) {
      world.say(`2001:db8:7::${i}`, { score: 80 });
      last = await builder.build(startMs + hour * 60 * minuteMs);
    }
    const { since } = last!.changes;
    assert.ok(since[0]! > startMs, 'the first version is forgotten');
    let shown = 0;
    for (const { name, identity } of last!.files) {
      const text = Buffer.concat(identity.parts).toString();
      const found = /^# Version: (\d+)$/m.exec(text) ?? /"version": ?(\d+)/.exec(text);
      if (found === null) continue;
      shown++;
      assert.ok(since.includes(Number(found[1])), `${name}: ${found[1]}`);
    }
    assert.ok(shown > 30);
    const dateOf = (built: Built, name: string) =>
      built.files.find((file) => file.name === name)!.changedAtMs;
    assert.equal(dateOf(last!, 'anon-exits.txt 75'), dateOf(first!, 'anon-exits.txt 75'));
    assert.ok(dateOf(last!, 'blocklist.txt 95') > dateOf(first!, 'blocklist.txt 95'));
  });

  it('is the list, when only a count of reports changes', async () => {
    const world = createWorld();
    world.say('10.0.0.1', { score: 80, reports: 1, lastReportedAt: 1_795_244_400 });
    const builder = world.builder();
    const first = await builder.build(startMs);
    world.say('10.0.0.1', { score: 80, reports: 2, lastReportedAt: 1_795_244_460 });
    const second = await builder.build(startMs + minuteMs);
    const same = (name: string) => textOf(first!, name) === textOf(second!, name);
    assert.ok(same('blocklist.txt 75') && same('anon-exits.txt 75') && same('blocklist.nft 75'));
    assert.ok(!same('blocklist.csv 75') && !same('blocklist.json 75'));
    assert.equal(second!.step, undefined);
  });

  it('is each file, when only who makes something malicious changed', async () => {
    const world = createWorld();
    world.say('10.0.0.1', { score: 80 });
    const builder = world.builder();
    const first = await builder.build(startMs);
    world.turn('10.0.0.1');
    const second = await builder.build(startMs + minuteMs);
    assert.deepEqual(second!.files, first!.files);
    assert.notEqual(second!.step, undefined);
    assert.equal(await builder.build(startMs + 2 * minuteMs), undefined);
  });

  it('changes its date by a second at least, whatever the clock does', async () => {
    const world = createWorld();
    const builder = world.builder();
    const dates: number[] = [];
    const versions: number[] = [];
    for (const [i, nowMs] of [startMs, startMs + 5, startMs - minuteMs].entries()) {
      world.say(`10.0.0.${i}`, { score: 80 });
      const result = await builder.build(nowMs);
      dates.push(result!.files[0]!.changedAtMs);
      versions.push(result!.head.version);
    }
    assert.deepEqual(
      dates.map((date) => date - dates[0]!),
      [0, 1_000, 2_000],
    );
    assert.deepEqual(
      versions.map((version) => version - startMs),
      [0, 5, 6],
    );
  });
});

it('another builder over the same index adopts files, ETags and versions, and nothing over another one', async () => {
  const [here, there] = [fill(createWorld()), fill(createWorld())];
  const builder = here.builder();
  const first = (await builder.build(startMs))!;
  here.say('10.9.9.9', { score: 90 });
  const second = (await builder.build(startMs + minuteMs))!;
  const { head, steps } = storedOf(first, second);
  const other = there.builder();
  const laterMs = startMs + 2 * minuteMs;
  assert.equal(await other.adopt(laterMs, { head, steps }), undefined);
  there.say('10.9.9.9', { score: 90 });
  const adopted = (await other.adopt(laterMs, { head, steps }))!;
  const shownOf = ({ files, changes }: Built) => ({
    changes,
    files: files.map(({ name, changedAtMs, identity, gzip, brotli }) => {
      const twins = [identity, gzip, brotli].map(
        (file) => file && [file.etag, Buffer.concat(file.parts)],
      );
      return { name, changedAtMs, twins };
    }),
  });
  assert.deepEqual(shownOf(adopted), shownOf(second));
  there.say('10.9.9.10', { score: 90 });
  const next = (await other.build(laterMs + minuteMs))!;
  assert.deepEqual(
    decodeStep(next.step!.version, next.step!.value)!.added,
    ['10.9.9.10'],
    'goes on',
  );
});
