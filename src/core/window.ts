/** Bounds the bytes on their way through a socket: a sender waits until the receiver has taken some. */

/** Bytes on their way that nobody has taken yet, in each direction. */
export const windowBytes = 1024 * 1024;

export function createWindow(bytesMax: number) {
  let underWay = 0;
  let failure: Error | undefined;
  let waiting: { resolve: () => void; reject: (error: Error) => void } | undefined;
  return {
    /** Resolves when `bytes` more may be sent. Rejects when the other side is gone. One sender waits at a time. */
    async take(bytes: number): Promise<void> {
      while (failure === undefined && underWay > 0 && underWay + bytes > bytesMax) {
        await new Promise<void>((resolve, reject) => {
          waiting = { resolve, reject };
        });
      }
      if (failure !== undefined) throw failure;
      underWay += bytes;
    },
    /** Called when the other side has consumed `bytes`. */
    give(bytes: number): void {
      underWay = Math.max(0, underWay - bytes);
      waiting?.resolve();
      waiting = undefined;
    },
    /** Nobody will take any more. */
    close(error: Error): void {
      failure ??= error;
      waiting?.reject(error);
      waiting = undefined;
    },
  };
}

export type Window = ReturnType<typeof createWindow>;

/** Bytes that came and wait to be read, as a stream. `onTaken` is called as they are. */
export function createByteQueue(onTaken: (bytes: number) => void) {
  const chunks: Buffer[] = [];
  let isEnded = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  async function* read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        yield chunk;
        onTaken(chunk.length);
      } else if (failure !== undefined) throw failure;
      else if (isEnded) return;
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }
  function change(): void {
    wake?.();
    wake = undefined;
  }
  return {
    read,
    push(chunk: Buffer): void {
      chunks.push(chunk);
      change();
    },
    end(): void {
      isEnded = true;
      change();
    },
    fail(error: Error): void {
      failure ??= error;
      change();
    },
  };
}
