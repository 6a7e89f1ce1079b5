/**
 * The thread that builds the feeds: reads the index and the geo tables in shared memory as a
 * front end does, renders and compresses, and hands shared buffers back. It holds nothing up: its
 * reads of the index are short, and it yields the processor to threads that answer requests.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { entryFlags } from '../../contracts/reputation.ts';
import { openGarbageCollection, yieldToRequests } from '../../core/threads.ts';
import { countryOf, openGeoReader, providerOf } from '../../geo/reader.ts';
import { openIpIndexReader } from '../../index/reader.ts';
import { createFeedBuilder, scoreMin } from '../../reputation/blocklists/builder/build.ts';
import { collect } from '../../reputation/blocklists/builder/collect.ts';
import { entryScore, halfLivesAt } from '../../reputation/check/score.ts';
import type { FeedThreadSetup, FromFeedThread, ToFeedThread } from './feed-thread.ts';

const setup = workerData as FeedThreadSetup;
const collectGarbage = openGarbageCollection();
const index = openIpIndexReader(setup.reader);
const geo = openGeoReader(setup.geo);
const builder = createFeedBuilder({
  collect(hourMs) {
    const nowHalfLives = halfLivesAt(hourMs);
    return collect({
      index,
      enter: () => index.enter(),
      leave: () => index.leave(),
      pause: () => new Promise((resolve) => setImmediate(resolve)),
      score: (listScore, ceiling, strength) =>
        entryScore(listScore, ceiling, strength, nowHalfLives),
      flags: entryFlags,
      geo: (family, words) => geo.find(family, words),
      scoreMin,
      rowsMax: setup.rowsMax,
    });
  },
  names: {
    country: (ids) => geo.country(countryOf(ids)),
    provider: (ids) => geo.provider(providerOf(ids)),
  },
  operatorTexts: setup.operatorTexts,
  restored: setup.restored,
  entriesMax: setup.entriesMax,
});

function send(message: FromFeedThread): void {
  parentPort!.postMessage(message);
}

parentPort!.on('message', (message: ToFeedThread) => {
  // Between two pieces of a build, at a place where nothing is half made.
  if ('end' in message) process.exit(0);
  const { nowMs, adopted } = message;
  const building = adopted === undefined ? builder.build(nowMs) : builder.adopt(nowMs, adopted);
  building.then(
    (built) => {
      send({ built });
      if (built !== undefined) setImmediate(collectGarbage);
    },
    (error: unknown) => {
      // The builder may be between two states: the thread is replaced.
      send({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      process.exit(1);
    },
  );
});
yieldToRequests();
