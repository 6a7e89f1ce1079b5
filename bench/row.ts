/** One line of the table that `npm run bench` prints, and of its JSON. */

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
