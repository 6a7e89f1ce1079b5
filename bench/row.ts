/** One line of the bench report: a figure of ours, what ran beside it, and the goal it is held to. */

export interface BenchRow {
  name: string;
  unit: string;
  ours: number;
  peer?: string;
  peerValue?: number;
  ratio?: number;
  goal?: string;
  ok?: boolean;
  p50?: number;
  p99?: number;
  note?: string;
}

/** The upper one of the two in the middle where their number is even; NaN of none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** The value that so many per cent are below. */
export function percentile(values: readonly number[], percent: number): number {
  const rising = values.toSorted((a, b) => a - b);
  return rising[Math.floor((percent / 100) * (rising.length - 1))]!;
}

/** A figure of ours beside that of a peer, with their ratio. */
export function besidePeer(
  name: string,
  unit: string,
  ours: number,
  peer: string,
  peerValue: number,
) {
  return { name, unit, ours, peer, peerValue, ratio: ours / peerValue };
}

/** The goal of a row, and whether `value` meets it: `≤ 5 ms`, `≥ 3000/s`. */
export function atMost(value: number, most: number, unit = ''): Pick<BenchRow, 'goal' | 'ok'> {
  return { goal: `≤ ${withUnit(most, unit)}`, ok: value <= most };
}

export function atLeast(value: number, least: number, unit = ''): Pick<BenchRow, 'goal' | 'ok'> {
  return { goal: `≥ ${withUnit(least, unit)}`, ok: value >= least };
}

/** Makes a row whose figure must stay under its goal. */
export function rowAtMost(
  name: string,
  unit: string,
  ours: number,
  most: number,
  goalUnit = '',
): BenchRow {
  return { name, unit, ours, ...atMost(ours, most, goalUnit) };
}

/** Makes a row whose figure must reach its goal. */
export function rowAtLeast(
  name: string,
  unit: string,
  ours: number,
  least: number,
  goalUnit = '',
): BenchRow {
  return { name, unit, ours, ...atLeast(ours, least, goalUnit) };
}

/** Rounds to so many digits that say something. */
export function round(value: number, digits = 3): number {
  return Number(value.toPrecision(digits));
}

function withUnit(value: number, unit: string): string {
  return unit === '' || unit.startsWith('/') ? `${value}${unit}` : `${value} ${unit}`;
}
