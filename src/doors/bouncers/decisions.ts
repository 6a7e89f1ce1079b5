/**
 * Decisions as bouncers of the CrowdSec local API v1 read them. Each has all seven members, in both
 * arrays: clients written in Go use them unchecked. Origin and scenario never change, since some clients
 * delete only what matches both.
 */

import { createTurns } from '../../core/work/turns.ts';

export const origin = 'lists';
export const scenario = 'portcullis';
/** An element of an ipset ends after 596 hours at most; a stream renews each one daily. */
const lifetime = '576h0m0s';
const over = '-1s';
/**
 * An element of a ban lapses at the client a little before the ban ends here: of an address that is on the
 * list, too, some clients take the list's decision only when no other is left.
 */
const earlyMs = 5_000;

export const decisionType = 'ban';

/** Which kinds of values are wanted. */
export interface Filter {
  readonly hosts: boolean;
  readonly networks: boolean;
  /** Undefined: both. */
  readonly family?: 4 | 6 | undefined;
}

/** The same of filters that let the same through. */
export function filterName({ hosts, networks, family }: Filter): string {
  return `${hosts}${networks}${family ?? ''}`;
}

/** What a client is told of a ban that has so long left. */
export function durationText(leftMs: number): string {
  const seconds = Math.max(1, Math.floor((leftMs - earlyMs) / 1_000));
  return `${Math.floor(seconds / 3_600)}h${Math.floor(seconds / 60) % 60}m${seconds % 60}s`;
}

/** One entry of the list, as the feeds write it: an address, or a network with its length. */
export function decisionText(value: string, duration: string = lifetime): string {
  const scope = value.includes('/') ? 'Range' : 'Ip';
  return `{"id":${idOf(value)},"origin":"${origin}","type":"${decisionType}","scope":"${scope}","value":"${value}","duration":"${duration}","scenario":"${scenario}"}`;
}

/** Of one value always the same, below 2^53. */
function idOf(value: string): number {
  let high = 0x9e3779b9;
  let low = 0x85ebca6b;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    high = Math.imul(high ^ code, 0x27d4eb2d);
    low = Math.imul(low ^ code, 0x165667b1);
  }
  high = Math.imul(high ^ (low >>> 15), 0x2c1b3c6d);
  low = Math.imul(low ^ (high >>> 13), 0x297a2d39);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

/** What a stream is filtered by; parameters that are not known change nothing. */
export function readFilter(params: { get(name: string): string | undefined }): Filter {
  const wanted = (name: string) => {
    const text = params.get(name);
    return text === undefined || text === '' ? undefined : text.toLowerCase().split(',');
  };
  const scopes = wanted('scopes')?.map((scope) => scope.trim());
  const origins = wanted('origins')?.map((one) => one.trim());
  const containing = wanted('scenarios_containing');
  const excluded = wanted('scenarios_not_containing');
  // A filter may name one family, which the scenario that is told never does.
  const [four, six] = ([4, 6] as const).map((family) => {
    const name = `${scenario}-ipv${family}`;
    return (
      (containing === undefined || containing.some((part) => name.includes(part))) &&
      excluded?.some((part) => name.includes(part)) !== true
    );
  });
  const isOurs = (origins === undefined || origins.includes(origin)) && (four || six) === true;
  return {
    hosts: isOurs && (scopes === undefined || scopes.includes('ip')),
    networks: isOurs && (scopes === undefined || scopes.includes('range')),
    family: four === six ? undefined : four ? 4 : 6,
  };
}

const rowsPerLook = 250;
const pieceChars = 1 << 18;

/**
 * Decisions of these values with commas between them, in pieces of shared memory that every thread can
 * send; others get their turn meanwhile.
 * @param entriesMax the first so many that pass the filter
 */
export async function renderDecisions(
  values: Iterable<string>,
  { hosts, networks, family }: Filter,
  {
    isGone = false,
    entriesMax = Number.POSITIVE_INFINITY,
    durationOf = (_value: string): string => (isGone ? over : lifetime),
  } = {},
): Promise<Uint8Array[]> {
  const turns = createTurns();
  const pieces: Uint8Array[] = [];
  let text = '';
  let rows = 0;
  let seen = 0;
  for (const value of values) {
    if (++seen % rowsPerLook === 0 && turns.isOver()) await turns.next();
    if (!(value.includes('/') ? networks : hosts)) continue;
    if (family !== undefined && value.includes(':') !== (family === 6)) continue;
    if (rows >= entriesMax) break;
    text += `${rows > 0 ? ',' : ''}${decisionText(value, durationOf(value))}`;
    rows++;
    if (text.length < pieceChars) continue;
    pieces.push(sharedBytes(text));
    text = '';
  }
  if (text !== '') pieces.push(sharedBytes(text));
  return pieces;
}

export function sharedBytes(from: string | Uint8Array): Uint8Array {
  const bytes = typeof from === 'string' ? Buffer.from(from, 'latin1') : from;
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** Texts in double quotes behind a marker, such as the addresses of a feed in JSON. */
export function* quotedBehind(part: Uint8Array, marker: string): Generator<string> {
  const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
  const opening = Buffer.from(`${marker}"`, 'latin1');
  let at = 0;
  for (;;) {
    const found = bytes.indexOf(opening, at);
    if (found < 0) return;
    const start = found + opening.length;
    const end = bytes.indexOf(0x22, start);
    if (end < 0) return;
    yield bytes.toString('latin1', start, end);
    at = end + 1;
  }
}
