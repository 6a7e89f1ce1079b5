/** The map of the radar over the state in memory. */

import { openRadarMap, type RadarMap } from '../../reputation/radar/radar-map.ts';
import type { State } from '../state.ts';
import type { Opening } from './dependencies.ts';

export function openRadar({ clock, closers, log }: Opening, state: State): RadarMap {
  const { index, follower } = state;
  const map = openRadarMap({
    ...{ index, clock, position: () => follower.appliedSeq() },
    onFailure: (err) => log.warn({ err }, 'radar: no map was drawn'),
  });
  closers.add(map.close);
  return map;
}
