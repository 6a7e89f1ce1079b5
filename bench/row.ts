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

/** The same with its goal; without its verdict, and with another note, where the peer is missing. */
export function besideInstalled(
  { name, unit, ours }: { name: string; unit: string; ours: readonly number[] },
  peer: { readonly name: string; readonly values: readonly number[]; readonly missing: string },
  goal: string,
  isMet: (ours: number, peer: number) => boolean,
  note: string,
): BenchRow {
  const value = median(ours);
  if (peer.values.length === 0) return { name, unit, ours: value, goal, note: peer.missing };
  const peerValue = median(peer.values);
  const row = besidePeer(name, unit, value, peer.name, peerValue);
  return { ...row, goal, ok: isMet(value, peerValue), note };
}

/** The goal of a row, and whether `value` meets it: `≤ 5 ms`, `≥ 3000/s`. */
export function atMost(value: number, most: number, unit = ''): Pick<BenchRow, 'goal' | 'ok'> {
  return { goal: `≤ ${withUnit(most, unit)}`, ok: value <= most };
}

export function atLeast(value: number, least: number, unit = ''): Pick<BenchRow, 'goal' | 'ok'> {
  return { goal: `≥ ${withUnit(least, unit)}`, ok: value >= least };
}

/** The same of the ratio to the peer. */
export function ratioAtMost<Row extends { readonly ratio: number }>(
  row: Row,
  most: number,
  unit = '',
) {
  return { ...row, ...atMost(row.ratio, most, unit) };
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
