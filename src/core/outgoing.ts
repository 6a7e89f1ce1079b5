/**
 * One request to an address that somebody else named, such as a webhook or a site: no redirect is followed, the
 * address that is connected to is one that was judged, and the wait and what is read of the answer are bounded.
 */

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { OperatorError } from './errors.ts';
import { repairUtf8 } from './text.ts';

/** The rules of what may be asked at all. */
export interface OutgoingRules {
  /** Rejects with an OperatorError for an address that may not be asked. */
  admit(url: URL): Promise<void>;
  /** Resolves names to addresses that may be asked. */
  readonly lookup: LookupFunction;
}

interface OutgoingRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly waitMsMax: number;
  /** Bytes of the answer that are read; of a longer one nothing is given. Absent: only its status is read. */
  readonly bytesMax?: number;
  readonly signal: AbortSignal;
}

interface OutgoingAnswer {
  /** Its status; 0: there was no answer. */
  readonly status: number;
  /** The status, or one word for what failed. */
  readonly outcome: string;
  readonly text: string;
}

class LongAnswerError extends Error {}

export async function requestOnce(
  url: URL,
  asked: OutgoingRequest,
  { admit, lookup }: OutgoingRules,
): Promise<OutgoingAnswer> {
  const { method, body, bytesMax } = asked;
  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(asked.waitMsMax)]);
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const headers = { 'user-agent': 'portcullis', ...length, ...asked.headers };
  try {
    await admit(url);
    return await new Promise<OutgoingAnswer>((resolve, reject) => {
      const request = url.protocol === 'https:' ? requestHttps : requestHttp;
      request(url, { method, agent: false, signal, headers, lookup })
        .on('response', (response) => {
          const status = response.statusCode ?? 0;
          const outcome = String(status);
          const pieces: Buffer[] = [];
          let bytes = 0;
          response.on('error', reject);
          if (bytesMax === undefined) {
            resolve({ status, outcome, text: '' });
            response.destroy();
            return;
          }
          response.on('data', (piece: Buffer) => {
            bytes += piece.length;
            if (bytes > bytesMax) response.destroy(new LongAnswerError());
            else pieces.push(piece);
          });
          response.on('end', () => {
            resolve({ status, outcome, text: repairUtf8(Buffer.concat(pieces)) });
          });
        })
        .on('error', reject)
        // An answer that switches protocols is neither of them, and the timeout has no effect then.
        .on('close', () => reject(new Error('closed without an answer')))
        .end(body);
    });
  } catch (error) {
    if (error instanceof OperatorError) return failed('private');
    if (error instanceof LongAnswerError) return failed('too_long');
    return failed(signal.aborted ? 'timeout' : 'unreachable');
  }
}

const failed = (outcome: string): OutgoingAnswer => ({ status: 0, outcome, text: '' });
