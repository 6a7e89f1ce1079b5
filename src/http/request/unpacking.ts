/**
 * Request bodies packed by gzip, of one member or several, as they were before. What is packed is unpacked where
 * the caller is known, and never to more than the route's bound: a bomb costs what a body of that size costs.
 * Unpacked bodies have a budget like those that are collected, so that many small ones do not become a heap
 * of memory.
 */

import type { Readable } from 'node:stream';
import { createGunzip, gunzip } from 'node:zlib';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { networksOf } from '../../ip/networks.ts';
import { isGzip } from '../answer/refusal.ts';
import { defaultLimits, type HttpLimits } from '../limits/limits.ts';
import { createBodyBudget } from '../limits/request-slots.ts';
import type { Problem, Request } from './message.ts';

/** Size of the pieces in which a stream is unpacked. */
const pieceBytes = 65_536;

export function isPacked(request: Request): boolean {
  return request.body.length > 0 && isGzip(request);
}

/** One for each thread. */
export function createUnpacking(
  limits: Pick<
    HttpLimits,
    'bodyBytesFree' | 'bodyBytesPerClientMax' | 'bodyBytesInAllMax'
  > = defaultLimits,
) {
  const budget = createBodyBudget(limits);

  async function wholeOfPacked<T>(
    request: Request,
    bytesMax: number,
    use: (unpacked: Result<Request>) => T | Promise<T>,
  ): Promise<T> {
    const share = budget.open(networksOf(request.clientIp));
    try {
      const none = share.hold(bytesMax);
      if (none !== undefined) return await use(failureOf(none));
      const body = await unpacked(request.body, bytesMax);
      return await use(body.ok ? ok({ ...request, body: body.value }) : body);
    } finally {
      share.release();
    }
  }

  return {
    /**
     * Unpacks the body and returns the result of `use` for the request with it. A body without a
     * coding is passed on untouched, in the same turn.
     */
    whole<T>(
      request: Request,
      bytesMax: number,
      use: (unpacked: Result<Request>) => T | Promise<T>,
    ): T | Promise<T> {
      return isPacked(request) ? wholeOfPacked(request, bytesMax, use) : use(ok(request));
    },
  };
}

function unpacked(body: Uint8Array, bytesMax: number): Promise<Result<Uint8Array>> {
  return new Promise((resolve) => {
    gunzip(body, { maxOutputLength: bytesMax, chunkSize: pieceBytes }, (error, value) => {
      resolve(error === null ? ok(value) : refusalOf(error, bytesMax));
    });
  });
}

/** Thrown at the reader of a stream that is no gzip, or too long. */
export class PackedBodyError extends Error {
  override readonly name = 'PackedBodyError';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = failure;
  }
}

/**
 * Unpacks a body that arrives in pieces: it is unpacked as fast as it is read.
 * @param bytesMax asked at each piece: less may be unpacked for an unauthenticated client
 */
export async function* unpackedPieces(
  request: Request,
  body: AsyncIterable<Uint8Array>,
  bytesMax: () => number,
): AsyncGenerator<Uint8Array, void, void> {
  if (!isGzip(request)) {
    yield* body;
    return;
  }
  let bytes = 0;
  try {
    for await (const piece of gunzipped(body)) {
      bytes += piece.length;
      if (bytes > bytesMax()) throw new PackedBodyError(tooLong(bytesMax()));
      yield piece;
    }
  } catch (error) {
    const isCoding = String((error as NodeJS.ErrnoException).code).startsWith('Z_');
    throw isCoding ? new PackedBodyError(brokenGzip) : error;
  }
}

/** One piece in flight on either side: a bomb is never ahead of its reader. */
async function* gunzipped(body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, void> {
  const stream = createGunzip({ chunkSize: pieceBytes });
  // Not waited for: where the reader stops early, the next piece may never come.
  void feed(stream, body);
  try {
    for await (const piece of stream as Readable) yield piece as Buffer;
  } finally {
    stream.destroy();
  }
}

/** Never rejects: errors reach the reader of the stream. */
async function feed(
  stream: ReturnType<typeof createGunzip>,
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    for await (const piece of body) {
      if (stream.destroyed) return;
      if (stream.write(piece)) continue;
      await new Promise<void>((resolve) => {
        stream.once('drain', resolve).once('close', resolve);
      });
    }
    stream.end();
  } catch (error) {
    stream.destroy(error as Error);
  }
}

function refusalOf(error: Error, bytesMax: number): Failure {
  const isLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
  return isLong ? tooLong(bytesMax) : brokenGzip;
}

function tooLong(bytesMax: number): Failure {
  return fail('body_too_large', `The body may have at most ${bytesMax} bytes once it is unpacked.`);
}

const brokenGzip = fail('bad_request', 'The body is no whole gzip stream.');

function failureOf({ code, detail }: Problem): Failure {
  return { ...fail(code, detail), retryAfterSeconds: 1 };
}
