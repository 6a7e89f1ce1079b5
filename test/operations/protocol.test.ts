/** Frames on the control socket: whole, in pieces, too long, of no known kind, without JSON. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  createFrameReader,
  encodeFrame,
  encodeJsonFrame,
  type FrameKind,
  frameBytesMax,
  frameKinds,
  jsonOfFrame,
  ProtocolError,
  piecesOf,
} from '../../src/operations/protocol.ts';
import { seededRandom } from '../support/seeded.ts';

const headBytes = 9;
const empty = Buffer.alloc(0);

function all(pieces: readonly Buffer[]) {
  const reader = createFrameReader();
  return pieces.flatMap((piece) =>
    [...reader.read(piece)].map(({ kind, request, content }) => ({
      kind,
      request,
      content: content.toString('latin1'),
    })),
  );
}

const sent = [
  encodeJsonFrame(frameKinds.ask, 7, { operation: 'stats' }),
  encodeFrame(frameKinds.input, 0, empty),
  encodeFrame(frameKinds.output, 0xffff_ffff, Buffer.alloc(300, 0xfe)),
  encodeFrame(frameKinds.cancel, 7, empty),
];
const expected = [
  { kind: frameKinds.ask, request: 7, content: '{"operation":"stats"}' },
  { kind: frameKinds.input, request: 0, content: '' },
  { kind: frameKinds.output, request: 0xffff_ffff, content: '\xfe'.repeat(300) },
  { kind: frameKinds.cancel, request: 7, content: '' },
];

it('frames come out as they went in, however their bytes are cut', () => {
  const bytes = Buffer.concat(sent);
  assert.deepEqual(all([bytes]), expected);
  assert.deepEqual(all(Array.from(bytes, (byte) => Buffer.of(byte))), expected);
  const random = seededRandom(16);
  for (let round = 0; round < 200; round++) {
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + Math.floor(random.next() * 40);
      pieces.push(bytes.subarray(at, end));
      at = end;
    }
    assert.deepEqual(all(pieces), expected, `round ${round}`);
  }
});

it('half a frame is none yet, at each of its bytes', () => {
  const frame = sent[0]!;
  for (let length = 0; length < frame.length; length++) {
    assert.deepEqual(all([frame.subarray(0, length)]), [], `${length} bytes`);
  }
});

it('the longest frame is taken, one byte more is refused by its length alone', () => {
  const longest = encodeFrame(frameKinds.input, 1, Buffer.alloc(frameBytesMax, 1));
  assert.equal(all([longest])[0]!.content.length, frameBytesMax);
  assert.throws(() => encodeFrame(frameKinds.input, 1, Buffer.alloc(frameBytesMax + 1)));
  for (const length of [frameBytesMax + headBytes - 3, 0x7fff_ffff, 0xffff_ffff]) {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length);
    // Nothing of its content is waited for.
    assert.throws(() => all([head]), ProtocolError, String(length));
  }
});

it('a length that is too short for kind and request is refused', () => {
  for (let length = 0; length < headBytes - 4; length++) {
    assert.throws(() => all([Buffer.from([0, 0, 0, length, 1, 0, 0, 0, 0])]), ProtocolError);
  }
});

it('kinds that nobody knows are refused, and all others are not', () => {
  const known = new Set<number>(Object.values(frameKinds));
  for (let kind = 0; kind < 256; kind++) {
    const frame = encodeFrame(kind as FrameKind, 1, empty);
    if (known.has(kind)) assert.equal(all([frame])[0]!.kind, kind);
    else assert.throws(() => all([frame]), ProtocolError, String(kind));
  }
});

it('frames before a bad one count', () => {
  const reader = createFrameReader();
  const seen: number[] = [];
  assert.throws(() => {
    const bytes = Buffer.concat([sent[0]!, sent[1]!, Buffer.alloc(9, 0xff)]);
    for (const { kind } of reader.read(bytes)) seen.push(kind);
  }, ProtocolError);
  assert.deepEqual(seen, [frameKinds.ask, frameKinds.input]);
});

it('content that is no JSON is refused', () => {
  for (const text of ['', '{', '{"a":}', 'nul', '\0', '\xff\xfe', "{'a':1}", '[1,]', 'NaN']) {
    const frame = { kind: frameKinds.ask, request: 1, content: Buffer.from(text, 'latin1') };
    assert.throws(() => jsonOfFrame(frame), ProtocolError, text);
  }
});

it('nothing of random bytes is anything but frames or a ProtocolError', () => {
  const random = seededRandom(4);
  for (let round = 0; round < 2_000; round++) {
    const bytes = Buffer.from(
      Array.from({ length: Math.floor(random.next() * 64) }, () => Math.floor(random.next() * 256)),
    );
    // So that some come by the length.
    if (round % 2 === 0) bytes.fill(0, 0, Math.min(3, bytes.length));
    try {
      all([bytes]);
    } catch (error) {
      assert.ok(error instanceof ProtocolError, String(error));
    }
  }
});

it('bytes are cut into contents that fit, and none is lost', () => {
  for (const length of [0, 1, frameBytesMax, frameBytesMax + 1, 3 * frameBytesMax]) {
    const pieces = [...piecesOf(new Uint8Array(length))];
    assert.equal(
      pieces.reduce((sum, piece) => sum + piece.length, 0),
      length,
    );
    assert.ok(pieces.every((piece) => piece.length > 0 && piece.length <= frameBytesMax));
  }
});
