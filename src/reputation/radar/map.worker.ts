/** The thread that draws the map of IPv4: it reads the index in shared memory as a front end does. */

import { openIpIndexReader, type ReaderHandle } from '../../index/reader.ts';
import { countMap, type DrawnMap, drawMap, pngsOf } from './map.ts';

export interface MapJob {
  readonly reader: ReaderHandle;
  readonly nowMs: number;
}

export default function draw({ reader, nowMs }: MapJob): DrawnMap {
  const counts = countMap(openIpIndexReader(reader).records, nowMs);
  return { at: nowMs, counts, pictures: pngsOf(drawMap(counts)) };
}
