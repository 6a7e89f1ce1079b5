/** The thread that writes a group of networks out as rows: the ranges of a system or a country as prefixes. */

import { isMainThread } from 'node:worker_threads';
import { yieldToRequests } from '../../core/threads.ts';
import { type NetworkGroup, rangesOfCountry } from '../../geo/network-groups.ts';
import type { GeoSource } from '../../geo/sources.ts';
import { openSystemIndex, type SystemIndex } from '../../geo/systems/system-index.ts';
import buildSystems from '../../geo/systems/systems.worker.ts';
import type { IpRange } from '../../ip/prefix.ts';
import { joinRows, sortRows } from '../lists/import/parse.ts';
import { createRowSink } from '../lists/import/rows.ts';
import type { RowBatch } from '../state/events.ts';

export interface ExpandJob {
  readonly group: NetworkGroup;
  readonly score: number;
  /** The compiled tables, for countries. */
  readonly tables: SharedArrayBuffer;
  /** The file of the systems; undefined: there is none. */
  readonly systems: GeoSource | undefined;
}

/** It stays while the thread does, which ends after a quiet minute. */
let systems: SystemIndex | undefined;

function rangesOf({ group, tables, systems: source }: ExpandJob): Iterable<IpRange> {
  if (group.kind === 'country') return rangesOfCountry(tables, group.code);
  if (source === undefined) return [];
  systems ??= openSystemIndex(buildSystems(source));
  return systems.rangesOf(group.number).ranges;
}

if (!isMainThread) yieldToRequests();

export default function expand(job: ExpandJob): RowBatch {
  // Nobody has a documentation address: demos and tests may name one.
  const sink = createRowSink({ allowDocumentation: true });
  for (const range of rangesOf(job)) sink.range(range, job.score);
  const { batches, rows } = sortRows(sink.take(true), sink.stats.rows);
  return joinRows(batches, rows);
}
