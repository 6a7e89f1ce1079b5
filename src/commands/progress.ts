/**
 * Progress of an import on standard error: a bar on a terminal, else a plain line every few
 * seconds (a log of a cron job stays readable), and nothing at all with `--json`.
 */

// @ts-expect-error The package brings no types; the part that is used is typed below.
import untypedCliProgress from 'cli-progress';
import type { Clock } from '../core/clock.ts';
import { counted, grouped } from '../core/text-table.ts';
import { hourSeconds } from '../core/time.ts';

interface BarOptions {
  readonly stream: NodeJS.WritableStream;
  /** Text of the whole line; `progress` is 0..1. */
  readonly format: (options: BarOptions, at: { progress: number; maxWidth: number }) => string;
  readonly barsize: number;
  readonly barCompleteChar: string;
  readonly barIncompleteChar: string;
  readonly hideCursor: boolean;
  readonly linewrap: boolean;
  readonly gracefulExit: boolean;
  /** Redraws per second at most. */
  readonly fps: number;
}

interface CliProgress {
  readonly SingleBar: new (
    options: BarOptions,
  ) => {
    start(total: number, startValue: number): void;
    update(current: number): void;
    stop(): void;
  };
  readonly Format: { BarFormat(progress: number, options: BarOptions): string };
}

const cliProgress: CliProgress = untypedCliProgress;

/** The counts at one moment while a list is read. */
interface ProgressState {
  readonly readBytes: number;
  readonly rows: number;
  readonly badLines: number;
}

export interface Progress<State = ProgressState> {
  update(state: State): void;
  /** Draws the last state and gives the line up; call it also when the import fails. */
  stop(): void;
}

interface Terms {
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** True with `--json`: nothing is written. */
  readonly silent: boolean;
  /** Already escaped (`OpenedList.label`). */
  readonly label: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Measures a state and puts it into words. */
interface Meter<State> extends Terms {
  /** Undefined: no bar, the text alone. */
  readonly total: number | undefined;
  readonly done: (state: State) => number;
  readonly text: (state: State, elapsedMs: number) => string;
  readonly first: State;
}

const plainLineEveryMs = 5_000;
const barWidth = 16;
const labelCharactersMax = 32;
const labelCharactersMin = 8;

/** While a list is read. */
export function createProgress(
  options: Terms & { readonly totalBytes: number | undefined },
): Progress {
  const { totalBytes } = options;
  return createMeter<ProgressState>({
    ...options,
    total: totalBytes,
    done: (state) => state.readBytes,
    text: (state, elapsedMs) => progressText(state, totalBytes, elapsedMs),
    first: { readBytes: 0, rows: 0, badLines: 0 },
  });
}

/**
 * While the rows that were read are written; the state is how many are.
 * @param options `verb`: the word for what was done to the rows; absent: `written`
 */
export function createRowProgress(
  options: Terms & { readonly totalRows: number; readonly verb?: string },
): Progress<number> {
  const { totalRows, verb } = options;
  return createMeter<number>({
    ...options,
    total: totalRows,
    done: (rows) => rows,
    text: (rows, elapsedMs) => rowProgressText(rows, totalRows, elapsedMs, verb),
    first: 0,
  });
}

function createMeter<State>(meter: Meter<State>): Progress<State> {
  if (meter.silent) return { update() {}, stop() {} };
  return meter.stream.isTTY === true ? terminalBar(meter) : plainLines(meter);
}

function terminalBar<State>(meter: Meter<State>): Progress<State> {
  const { stream, label, total, clock } = meter;
  const startMs = clock.monotonicMs();
  let state = meter.first;
  const bar = new cliProgress.SingleBar({
    stream,
    barsize: barWidth,
    barCompleteChar: '=',
    barIncompleteChar: ' ',
    // Its own signal handling would swallow the first Ctrl-C; with none of the terminal's
    // settings changed there is nothing to restore.
    gracefulExit: false,
    hideCursor: false,
    linewrap: true,
    fps: 10,
    format(drawing, { progress, maxWidth }) {
      const drawn =
        total === undefined ? '' : `[${cliProgress.Format.BarFormat(progress, drawing)}] `;
      const text = drawn + meter.text(state, clock.monotonicMs() - startMs);
      // A line that wraps would be left behind at every redraw: the label takes what is free.
      const free = Math.min(labelCharactersMax, maxWidth - text.length - 2);
      const line = free < labelCharactersMin ? text : `${shortened(label, free)} ${text}`;
      return line.slice(0, Math.max(1, maxWidth - 1));
    },
  });
  bar.start(total ?? 1, 0);
  return {
    update(next) {
      state = next;
      bar.update(total === undefined ? 0 : Math.min(meter.done(next), total));
    },
    stop: () => bar.stop(),
  };
}

function plainLines<State>(meter: Meter<State>): Progress<State> {
  const { stream, label, clock } = meter;
  const startMs = clock.monotonicMs();
  let writtenMs = startMs;
  let last: State | undefined;
  function write(state: State, nowMs: number): void {
    stream.write(`${label}: ${meter.text(state, nowMs - startMs)}\n`);
    writtenMs = nowMs;
    last = undefined;
  }
  return {
    update(state) {
      last = state;
      const nowMs = clock.monotonicMs();
      if (nowMs - writtenMs >= plainLineEveryMs) write(state, nowMs);
    },
    stop() {
      if (last !== undefined) write(last, clock.monotonicMs());
    },
  };
}

/** "42% 50,000/120,430 written, 61,000 rows/s, ETA 2 s" */
function rowProgressText(
  rows: number,
  totalRows: number,
  elapsedMs: number,
  verb = 'written',
): string {
  const percent = totalRows === 0 ? 100 : Math.min(100, Math.floor((100 * rows) / totalRows));
  // The total may be a guess: what goes beyond it stands alone.
  const share = rows > totalRows ? '' : `${percent}% `;
  const total = rows > totalRows ? '' : `/${grouped(totalRows)}`;
  const parts = [`${share}${grouped(rows)}${total} ${verb}`];
  if (elapsedMs > 0) parts.push(`${grouped(Math.round((1_000 * rows) / elapsedMs))} rows/s`);
  if (rows > 0 && rows < totalRows) {
    const leftMs = (elapsedMs * (totalRows - rows)) / rows;
    parts.push(`ETA ${duration(Math.ceil(leftMs / 1_000))}`);
  }
  return parts.join(', ');
}

/** "42% 1.2/2.9 MB, ETA 3 s, 51,234 rows, 9,120 rows/s"; parts that are unknown are left out. */
export function progressText(
  state: ProgressState,
  totalBytes: number | undefined,
  elapsedMs: number,
): string {
  const { readBytes, rows, badLines } = state;
  const known = totalBytes !== undefined && totalBytes > 0;
  const parts = [
    known
      ? `${Math.min(100, Math.floor((100 * readBytes) / totalBytes))}% ${megabytes(readBytes)}/${megabytes(totalBytes)} MB`
      : `${megabytes(readBytes)} MB`,
  ];
  if (known && readBytes > 0 && readBytes < totalBytes) {
    const leftMs = (elapsedMs * (totalBytes - readBytes)) / readBytes;
    parts.push(`ETA ${duration(Math.ceil(leftMs / 1_000))}`);
  }
  parts.push(counted(rows, 'row'));
  if (badLines > 0) parts.push(`${grouped(badLines)} bad`);
  if (elapsedMs > 0) parts.push(`${grouped(Math.round((1_000 * rows) / elapsedMs))} rows/s`);
  return parts.join(', ');
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < hourSeconds) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / hourSeconds)} h ${Math.floor((seconds % hourSeconds) / 60)} min`;
}

/** Shortens a label: the end of a path says more than its start. */
function shortened(label: string, charactersMax: number): string {
  return label.length <= charactersMax ? label : `…${label.slice(1 - charactersMax)}`;
}
