/**
 * The head of what a server publishes: a signed note (C2SP) that names the last segment and the hash of all bytes so
 * far. The signature is verified before any line is parsed, so an unsigned text never reaches the parser.
 *
 *     portcullis.federation/1 b.example
 *     seq 812
 *     chain 64 hexadecimal digits
 *     made 2026-11-26T10:00:00Z
 *     ends 2026-11-27T10:00:00Z
 *     snapshot 700 <sha256> <bytes> <rows> <chain at its seq>
 *     oldest 301
 *     least 2
 *     licence CC0-1.0
 *     keys b.example+1a2b3c4d+AZ…
 *
 *     — b.example GitNP…
 *
 * Unknown lines are ignored; another major version is refused. A head without the line of a snapshot has none yet.
 */

import { dayMs, minuteMs } from '../../../core/time.ts';
import {
  type FederationKey,
  isSignatureOf,
  isSigningKeyName,
  parseKeyLine,
  type SigningKey,
  signatureOf,
} from './key.ts';

export const headBytesMax = 4_096;
/** A head is valid for this time at most. */
export const headLifeMs = dayMs;
/** The number of the last segment grows by this a day at most: one segment a minute. */
const seqPerDayMax = 1_440;
/** The largest difference between two servers' clocks. */
const clockSkewMs = 5 * minuteMs;
const signaturesMax = 8;
const seqMax = 2 ** 40;
const format = 'portcullis.federation';
const major = 1;

interface SnapshotRef {
  readonly seq: number;
  /** The hash of its bytes, 64 hexadecimal digits. */
  readonly sha256: string;
  readonly bytes: number;
  readonly rows: number;
  /** The chain at its seq: whoever begins with it goes on from there. */
  readonly chain: string;
}

/** A head without its keys. */
interface HeadFacts {
  /** Number of the last segment; 0: there is none. */
  readonly seq: number;
  /** 64 hexadecimal digits. */
  readonly chain: string;
  /** Milliseconds since 1970, whole seconds. */
  readonly madeAt: number;
  readonly endsAt: number;
  readonly snapshot: SnapshotRef | undefined;
  /** The oldest segment that is still served; `seq + 1`: none is. */
  readonly oldest: number;
  /** The number of accounts behind a row at least. */
  readonly least: number;
  readonly licence: string;
}

export interface FederationHead extends HeadFacts {
  /** Name of the key that signs. */
  readonly origin: string;
  /** The one that signs from now on, then the one that it follows. */
  readonly keys: readonly FederationKey[];
}

/** The reason why a head is refused. */
export type HeadFault =
  | 'too_long'
  | 'malformed'
  | 'strange_key'
  | 'bad_signature'
  | 'other_version'
  | 'other_origin'
  | 'from_the_future'
  | 'lives_too_long'
  | 'over'
  | 'replayed'
  | 'forked'
  | 'leaps';

/** Says each reason to operators. */
export const headFaults: Readonly<Record<HeadFault, string>> = {
  too_long: 'it is longer than 4 KiB',
  malformed: 'it is no signed head',
  strange_key: 'another key signed it than the pinned one',
  bad_signature: 'its signature is false',
  other_version: 'it is of another version',
  other_origin: 'it names another server',
  from_the_future: 'it was made in the future, or the clocks differ',
  lives_too_long: 'it is good for more than a day',
  over: 'it is over',
  replayed: 'it is older than the last one',
  forked: 'it tells another history',
  leaps: 'its number leaps too far ahead',
};

type HeadRead =
  | { readonly head: FederationHead; readonly fault?: undefined }
  | { readonly head?: undefined; readonly fault: HeadFault };

/** @param signers the key that signs from now on, in a rotation with the one that it follows */
export function writeHead(head: HeadFacts, signers: readonly SigningKey[]): Buffer {
  const { snapshot } = head;
  const lines = [
    `${format}/${major} ${signers[0]!.name}`,
    `seq ${head.seq}`,
    `chain ${head.chain}`,
    `made ${secondText(head.madeAt)}`,
    `ends ${secondText(head.endsAt)}`,
    ...(snapshot === undefined ? [] : [snapshotLine(snapshot)]),
    `oldest ${head.oldest}`,
    `least ${head.least}`,
    `licence ${head.licence}`,
    `keys ${signers.map(({ line }) => line).join(' ')}`,
  ];
  const text = Buffer.from(`${lines.join('\n')}\n`);
  const signed = signers.map(
    (key) => `— ${key.name} ${signatureOf(key, text).toString('base64')}\n`,
  );
  return Buffer.concat([text, Buffer.from(`\n${signed.join('')}`)]);
}

function snapshotLine({ seq, sha256, bytes, rows, chain }: SnapshotRef): string {
  return `snapshot ${seq} ${sha256} ${bytes} ${rows} ${chain}`;
}

function secondText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/**
 * Reads the head that `key` signed. `strange_key`: the note has no signature of this key, after a rotation that was
 * not followed in time, or from another server.
 */
export function readHead(bytes: Uint8Array, key: FederationKey): HeadRead {
  if (bytes.length > headBytesMax) return { fault: 'too_long' };
  const note = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || note.at(-1) !== 0x0a) return { fault: 'malformed' };
  const text = note.subarray(0, end + 1);
  const signatures = signaturesIn(note.subarray(end + 2));
  if (signatures === undefined) return { fault: 'malformed' };
  const own = signatures.filter(({ name, bytes }) => name === key.name && isOfKey(bytes, key));
  if (own.length === 0) return { fault: 'strange_key' };
  if (!own.some((one) => isSignatureOf(key, text, one.bytes))) return { fault: 'bad_signature' };
  return parseHead(text.toString('utf8'), key);
}

function isOfKey(signature: Uint8Array, key: FederationKey): boolean {
  return Buffer.from(signature.subarray(0, 4)).toString('hex') === key.id;
}

const signatureShape = /^— ([^+\s]{1,255}) ([A-Za-z0-9+/]{91}=)$/;

function signaturesIn(part: Buffer): { name: string; bytes: Buffer }[] | undefined {
  const lines = part.toString('utf8').split('\n').slice(0, -1);
  if (lines.length === 0 || lines.length > signaturesMax) return undefined;
  const found = lines.flatMap((line) => {
    const match = signatureShape.exec(line);
    return match === null ? [] : [{ name: match[1]!, bytes: Buffer.from(match[2]!, 'base64') }];
  });
  return found.length === lines.length ? found : undefined;
}

/** Reads a text that was verified. */
function parseHead(text: string, key: FederationKey): HeadRead {
  const { name } = key;
  const [first = '', ...rest] = text.slice(0, -1).split('\n');
  const title = /^portcullis\.federation\/(\d{1,3}) (\S+)$/.exec(first);
  if (title === null) return { fault: 'malformed' };
  if (Number(title[1]) !== major) return { fault: 'other_version' };
  if (title[2] !== name || !isSigningKeyName(name)) return { fault: 'other_origin' };
  const values = new Map<string, string>();
  for (const line of rest) {
    const blank = line.indexOf(' ');
    if (blank < 1 || values.has(line.slice(0, blank))) return { fault: 'malformed' };
    values.set(line.slice(0, blank), line.slice(blank + 1));
  }
  const take = (field: string) => values.get(field) ?? '';
  const keys = take('keys')
    .split(' ')
    .map((line) => (line === key.line ? key : parseKeyLine(line)));
  const snapshotText = values.get('snapshot');
  const snapshot = snapshotText === undefined ? undefined : parseSnapshot(snapshotText);
  const head = {
    origin: name,
    seq: wholeIn(take('seq'), seqMax),
    chain: take('chain'),
    madeAt: timeIn(take('made')),
    endsAt: timeIn(take('ends')),
    snapshot,
    oldest: wholeIn(take('oldest'), seqMax),
    least: wholeIn(take('least'), 1_000),
    licence: take('licence'),
    keys: keys.filter((key) => key !== undefined && key.name === name) as FederationKey[],
  };
  const numbers = [head.seq, head.madeAt, head.endsAt, head.oldest, head.least];
  const isWhole =
    numbers.every((value) => value >= 0) &&
    hashShape.test(head.chain) &&
    (snapshotText === undefined || (snapshot !== undefined && snapshot.seq <= head.seq)) &&
    head.oldest >= 1 &&
    head.oldest <= head.seq + 1 &&
    keys.length <= 2 &&
    keys.length === head.keys.length;
  return isWhole ? { head } : { fault: 'malformed' };
}

const hashShape = /^[0-9a-f]{64}$/;

function parseSnapshot(text: string): SnapshotRef | undefined {
  const [seq, sha256, bytes, rows, chain, ...more] = text.split(' ');
  const found = {
    seq: wholeIn(seq, seqMax),
    sha256: sha256 ?? '',
    bytes: wholeIn(bytes, 2 ** 32),
    rows: wholeIn(rows, 2 ** 32),
    chain: chain ?? '',
  };
  const isWhole = found.seq >= 0 && found.bytes >= 0 && found.rows >= 0 && more.length === 0;
  return isWhole && hashShape.test(found.sha256) && hashShape.test(found.chain) ? found : undefined;
}

/** Returns -1 for what is not a whole number as it is written. */
function wholeIn(text: string | undefined, max: number): number {
  if (text === undefined || !/^(0|[1-9]\d{0,14})$/.test(text)) return -1;
  return Number(text) <= max ? Number(text) : -1;
}

function timeIn(text: string): number {
  if (!/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return -1;
  const ms = Date.parse(text);
  return Number.isNaN(ms) || secondText(ms) !== text ? -1 : ms;
}

/** The part of a head that was taken before that the next one is compared with. */
type HeadTaken = Pick<FederationHead, 'seq' | 'chain' | 'madeAt'>;

/**
 * Returns why a verified head can't follow the last accepted one; undefined when it can. An old head sent again, an
 * expired one, and one of another history are refused.
 * @param before undefined: none was accepted yet
 */
export function faultOfHead(
  head: FederationHead,
  before: HeadTaken | undefined,
  now: number,
): HeadFault | undefined {
  if (head.madeAt > now + clockSkewMs) return 'from_the_future';
  if (head.endsAt > head.madeAt + headLifeMs || head.endsAt <= head.madeAt) return 'lives_too_long';
  if (head.endsAt <= now) return 'over';
  if (before === undefined) return undefined;
  if (head.seq < before.seq || head.madeAt < before.madeAt) return 'replayed';
  if (head.seq === before.seq && head.chain !== before.chain) return 'forked';
  const days = Math.max(1, (head.madeAt - before.madeAt) / dayMs);
  return head.seq - before.seq > seqPerDayMax * days ? 'leaps' : undefined;
}
