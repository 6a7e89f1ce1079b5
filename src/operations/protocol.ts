/**
 * The protocol of commands and the server on the socket in DATA_DIR.
 *
 * A frame is: length of what follows u32, kind u8, number of the request u32, content. All numbers are
 * big-endian. The content is JSON in UTF-8, or bytes (`input`, `output`, `result`). The server greets first;
 * then the command asks, sends its input, and reads until `done` or `failed`. A result that is larger than
 * a frame comes in several `result` frames, which are one text.
 *
 * Invariant: a frame that is too long, or of no known kind, ends the connection: nothing is guessed.
 */

export const protocolVersion = 2;

/** The socket's name in the data directory. */
export const controlSocket = 'control.sock';

export const frameKinds = {
  /** Server: `Greeting`. */
  hello: 1,
  /** Command: `Order` (execute.ts), and how its output is shown. */
  ask: 2,
  /** Command: bytes of its input; without bytes: that was all. */
  input: 3,
  cancel: 4,
  /** Server: `OperationProgress`. */
  progress: 5,
  /** Server: bytes of the result. */
  output: 6,
  /** Server: a line for standard error. */
  note: 7,
  /** Server: a part of the result's JSON. */
  result: 8,
  /** Server: the result is whole. */
  done: 9,
  /** Server: `FailureFrame`. */
  failed: 10,
  /** Server: so much of the input was taken; the command may send as much again. */
  taken: 11,
  /** Command: so much of the output was taken. */
  drained: 12,
} as const;

export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds];

export interface Greeting {
  readonly protocol: number;
  /** The program's version. A command of another version does not send its operation. */
  readonly version: string;
  readonly pid: number;
}

export interface FailureFrame {
  readonly message: string;
  /** `operator`: a sentence for whoever asked; `damage`: of the store; `bug`: nobody expected it. */
  readonly kind: 'operator' | 'damage' | 'bug';
}

export interface ControlFrame {
  readonly kind: FrameKind;
  readonly request: number;
  readonly content: Buffer;
}

/** Content of one frame. */
export const frameBytesMax = 256 * 1024;

const headBytes = 9;
const kinds: ReadonlySet<number> = new Set(Object.values(frameKinds));

export function encodeFrame(kind: FrameKind, request: number, content: Uint8Array): Buffer {
  if (content.length > frameBytesMax) throw new RangeError('a frame is too long');
  const frame = Buffer.allocUnsafe(headBytes + content.length);
  frame.writeUInt32BE(content.length + headBytes - 4, 0);
  frame.writeUInt8(kind, 4);
  frame.writeUInt32BE(request, 5);
  frame.set(content, headBytes);
  return frame;
}

export function encodeJsonFrame(kind: FrameKind, request: number, content: unknown): Buffer {
  return encodeFrame(kind, request, Buffer.from(JSON.stringify(content) ?? 'null'));
}

export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}

/** Makes frames of the bytes of a connection, as they come. */
export function createFrameReader() {
  let rest: Buffer = Buffer.alloc(0);
  return {
    /** @throws ProtocolError */
    *read(bytes: Buffer): Generator<ControlFrame> {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      while (rest.length >= 4) {
        const length = rest.readUInt32BE(0);
        if (length < headBytes - 4 || length > frameBytesMax + headBytes - 4) {
          throw new ProtocolError('a frame has an impossible length');
        }
        if (rest.length < 4 + length) return;
        const kind = rest.readUInt8(4);
        if (!kinds.has(kind)) throw new ProtocolError('a frame is of no known kind');
        const content = rest.subarray(headBytes, 4 + length);
        const request = rest.readUInt32BE(5);
        rest = rest.subarray(4 + length);
        yield { kind: kind as FrameKind, request, content };
      }
    },
  };
}

/** @throws ProtocolError */
export function jsonOfFrame(frame: ControlFrame): unknown {
  try {
    return JSON.parse(frame.content.toString('utf8'));
  } catch {
    throw new ProtocolError('a frame holds no JSON');
  }
}

/** Cuts bytes into contents of frames. */
export function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += frameBytesMax) {
    yield bytes.subarray(at, at + frameBytesMax);
  }
}
