/** One line of the bench report. Ratios compare things run beside each other in one run. */

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
