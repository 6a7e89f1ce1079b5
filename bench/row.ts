/**
 * One line of a bench report: ours beside a peer that ran in the same process, interleaved.
 * `ratio` is ours divided by the peer's value, `goal` says in words what is wanted, and `ok` whether it was met.
 */

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
