/** One line of a bench's table. A bench exports `run(size)`, which returns rows and prints nothing. */
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
