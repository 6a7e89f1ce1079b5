/** Asks an address once, by `node:http`: the global fetch needs an address space of gigabytes. */

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface BriefAnswer {
  readonly status: number;
  /** The `Date` header, by which the clock of the other side is compared with this one. */
  readonly date: string | undefined;
  /** Its beginning, where it is longer than was asked for. */
  readonly body: string;
}

/** Follows no redirect. @throws Error whose message says in words why nothing came */
export async function ask(url: string, waitMs: number, bodyBytesMax: number): Promise<BriefAnswer> {
  const request = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  const late = AbortSignal.timeout(waitMs);
  return new Promise((resolve, reject) => {
    function fail(error: Error): void {
      reject(late.aborted ? new Error(`no answer in ${waitMs / 1_000} s`) : inWords(error));
    }
    const asked = request(url, { agent: false, signal: late }, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      function end(): void {
        const body = Buffer.concat(parts).subarray(0, bodyBytesMax).toString('utf8');
        resolve({ status: response.statusCode!, date: response.headers.date, body });
        response.destroy();
      }
      response.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > bodyBytesMax) end();
      });
      response.on('end', end);
      response.on('error', fail);
    });
    asked.on('error', fail);
    asked.end();
  });
}

/** A host with several addresses fails by a list of errors, which has no words of its own. */
function inWords(error: Error): Error {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return first ?? error;
}
