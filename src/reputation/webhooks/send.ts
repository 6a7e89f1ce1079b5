/**
 * One delivery: a signed POST as Standard Webhooks describes it. Redirects are not followed, nothing of the
 * answer is read but its status, and the address that is connected to is one that was judged.
 */

import { createHmac } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { OperatorError } from '../../core/errors.ts';
import type { Destinations } from '../lists/import/download.ts';
import type { WaitingEvent } from './hooks.ts';

const waitMsMax = 10_000;
const secretStart = 'whsec_';

export interface SentEvent {
  readonly ok: boolean;
  /** The status, or one word for what failed. */
  readonly outcome: string;
}

/** @param seconds since 1970 */
export function signatureOf(secret: string, id: string, seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(secretStart.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
}

export async function sendEvent(
  hook: { readonly url: string; readonly secret: string },
  { id, body }: WaitingEvent,
  options: {
    readonly destinations: Destinations;
    readonly now: number;
    readonly signal: AbortSignal;
  },
): Promise<SentEvent> {
  const url = new URL(hook.url);
  const { destinations, now } = options;
  const seconds = Math.floor(now / 1_000);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'user-agent': 'portcullis',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatureOf(hook.secret, id, seconds, body),
  };
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(waitMsMax)]);
  try {
    destinations.admit(url);
    const status = await new Promise<number>((resolve, reject) => {
      const request = url.protocol === 'https:' ? requestHttps : requestHttp;
      const how = { method: 'POST', agent: false, signal, headers, lookup: destinations.lookup };
      request(url, how)
        .on('response', (response) => {
          response.on('error', () => {});
          response.destroy();
          resolve(response.statusCode ?? 0);
        })
        .on('error', reject)
        // An answer that switches protocols is neither of them, and the end of the wait tells no more then.
        .on('close', () => reject(new Error('closed without an answer')))
        .end(body);
    });
    return { ok: status >= 200 && status < 300, outcome: String(status) };
  } catch (error) {
    if (error instanceof OperatorError) return { ok: false, outcome: 'private' };
    return { ok: false, outcome: signal.aborted ? 'timeout' : 'unreachable' };
  }
}
