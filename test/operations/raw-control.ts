/** A connection to a control socket whose bytes are the test's own. */

import { connect } from 'node:net';
import {
  type ControlFrame,
  controlSocket,
  createFrameReader,
  encodeJsonFrame,
  frameKinds,
  jsonOfFrame,
} from '../../src/operations/protocol.ts';

export interface RawControl {
  send(bytes: Uint8Array): void;
  ask(operation: string, input: unknown): void;
  readonly frames: readonly ControlFrame[];
  /** Resolves at the first frame of this kind. Rejects when the connection ends without one. */
  first(kind: number): Promise<ControlFrame>;
  /** What `failed` says. */
  failure(): Promise<string>;
  /** The JSON of all results; rejects when the operation failed. */
  result(): Promise<unknown>;
  /** When the server has closed it. */
  readonly closed: Promise<void>;
  pause(): void;
  resume(): void;
  destroy(): void;
}

/** @param allowHalfOpen whether this side stays open when the server's ends */
export function rawControl(dataDir: string, allowHalfOpen = false): RawControl {
  const socket = connect({ path: `${dataDir}/${controlSocket}`, allowHalfOpen });
  const frames: ControlFrame[] = [];
  const reader = createFrameReader();
  const looks = new Set<() => void>();
  let isClosed = false;
  const tell = () => {
    for (const look of looks) look();
  };
  socket.on('data', (bytes: Buffer) => {
    for (const { content, ...frame } of reader.read(bytes)) {
      frames.push({ ...frame, content: Buffer.from(content) });
    }
    tell();
  });
  // A connection that is refused may be reset.
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      isClosed = true;
      resolve();
      tell();
    });
  });
  function first(kind: number): Promise<ControlFrame> {
    return new Promise((resolve, reject) => {
      function look(): void {
        const found = frames.find((frame) => frame.kind === kind);
        if (found === undefined && !isClosed) return;
        looks.delete(look);
        if (found !== undefined) resolve(found);
        else reject(new Error(`closed before a frame of kind ${kind}: ${told()}`));
      }
      looks.add(look);
      look();
    });
  }
  function told(): string {
    const failed = frames.find(({ kind }) => kind === frameKinds.failed);
    return failed === undefined ? 'nothing said' : failed.content.toString();
  }
  return {
    send: (bytes) => void socket.write(bytes),
    ask(operation, input) {
      const order = { operation, input, user: 'a test' };
      socket.write(encodeJsonFrame(frameKinds.ask, 1, order));
    },
    frames,
    first,
    failure: async () =>
      (jsonOfFrame(await first(frameKinds.failed)) as { readonly message: string }).message,
    async result() {
      await first(frameKinds.done);
      const parts = frames.filter(({ kind }) => kind === frameKinds.result);
      return JSON.parse(Buffer.concat(parts.map(({ content }) => content)).toString());
    },
    closed,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    destroy: () => void socket.destroy(),
  };
}
