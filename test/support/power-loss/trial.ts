/**
 * A trial of power cuts: one run of the writer under the recorder, then the disk as it may be at many
 * moments of it, each looked at by a process that may die of it.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import type { Random } from '../../../src/core/random.ts';
import { compilePreload } from '../house/preload.ts';
import { seededRandom } from '../seeded.ts';
import { startChild, startCommand } from '../server/child.ts';
import { makeTempDir } from '../server/temp-dir.ts';
import { Disk } from './disk.ts';
import { readRecording, type Step } from './recording.ts';

interface TrialOptions {
  readonly seed: number;
  readonly commits: number;
  /** About so many moments, half of them right behind a promise; each makes two disks. */
  readonly cuts: number;
  /** What lmdb is opened with besides. */
  readonly lmdb?: Readonly<Record<string, unknown>>;
}

interface TrialResult {
  readonly images: number;
  /** Promises that had to hold, over all images. */
  readonly promises: number;
  /** What did not hold, a line for each image. */
  readonly lost: readonly string[];
  readonly syncs: number;
}

export async function powerLossTrial(options: TrialOptions): Promise<TrialResult> {
  const directory = makeTempDir('power-loss');
  try {
    const root = `${directory.path}/data`;
    mkdirSync(root);
    const steps = await record(root, `${directory.path}/recording`, options);
    const random = seededRandom(options.seed);
    const images = `${directory.path}/images`;
    const made = makeImages(new Disk(root), steps, images, options.cuts, random);
    const child = startChild(new URL('./reader-child.js', import.meta.url), [
      images,
      ...lmdbArgument(options),
    ]);
    const { code, signal } = await child.ended;
    const lost = child.lines.filter((line) => line.startsWith('lost '));
    const looked = child.lines.filter((line) => /^(ok|lost) /.test(line)).length;
    if (looked < made.images) lost.push(`lost ${looked} the reader ended: ${code ?? signal}`);
    const syncs = steps.filter(({ kind }) => kind === 'E' || kind === 'D').length;
    return { ...made, lost, syncs };
  } finally {
    directory.remove();
  }
}

function lmdbArgument({ lmdb }: TrialOptions): string[] {
  return lmdb === undefined ? [] : [JSON.stringify(lmdb)];
}

async function record(root: string, recording: string, options: TrialOptions): Promise<Step[]> {
  const { seed, commits } = options;
  const child = startCommand(
    process.execPath,
    [
      new URL('./writer-child.js', import.meta.url).pathname,
      ...[root, String(commits), String(seed)],
      ...lmdbArgument(options),
    ],
    {
      PATH: process.env.PATH ?? '',
      LD_PRELOAD: compilePreload('test/support/power-loss/recorder.c'),
      RECORD_ROOT: root,
      RECORD_LOG: recording,
      RECORD_SYNC_US: '5000',
    },
  );
  const { code, signal } = await child.ended;
  if (code !== 0) throw new Error(`the writer ended (${code ?? signal}): ${child.stderr()}`);
  return readRecording(recording);
}

function makeImages(
  disk: Disk,
  steps: readonly Step[],
  folder: string,
  cuts: number,
  random: Random & { next(): number },
): { images: number; promises: number } {
  let images = 0;
  let promises = 0;
  let printed = '';
  const toss = () => random.next() < 0.5;
  const promiseCount = steps.filter(
    ({ kind }, at) => kind === 'A' && steps[at - 1]?.kind !== 'A',
  ).length;
  for (const [at, step] of steps.entries()) {
    disk.apply(step);
    if (step.kind === 'A') printed += step.bytes.toString();
    const isPromise = step.kind === 'A' && steps[at - 1]?.kind !== 'A';
    const among = isPromise ? promiseCount : steps.length;
    const isCut = at === steps.length - 1 || random.next() < cuts / 2 / among;
    const said = printed.slice(0, printed.lastIndexOf('\n') + 1);
    if (!isCut || said === '') continue;
    for (const survivors of ['none', { toss }] as const) {
      const image = `${folder}/${images++}`;
      mkdirSync(`${image}/data`, { recursive: true });
      disk.writeTo(`${image}/data`, survivors);
      writeFileSync(`${image}/promises`, said);
      promises += said.split('\n').length - 1;
    }
  }
  return { images, promises };
}
