/** A steady load for some minutes: memory, files and latency must not rise with time. */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../support/seeded.ts';
import { startTestServer } from '../support/server/server.ts';
import { errorsIn, type Knock, openFiles, residentMb } from './knock.ts';

const minutes = 4;
const sampleMs = 5_000;
/** Of the samples: pages, caches and compiled code are made in the first part. */
const warmShare = 0.4;

interface Sample {
  readonly minute: number;
  readonly memoryMb: number;
  readonly files: number;
  /** 99 % of the checks since the sample before. */
  readonly latencyMs: number;
}

/** Least squares, a minute. */
function slope(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (values: number[]) => values.reduce((sum, v) => sum + v, 0) / values.length;
  const x = mean(samples.map(({ minute }) => minute));
  const y = mean(samples.map(of));
  const above = samples.reduce((sum, s) => sum + (s.minute - x) * (of(s) - y), 0);
  return above / samples.reduce((sum, s) => sum + (s.minute - x) ** 2, 0);
}

export const soak: Knock = {
  name: 'soak',
  promise: 'Under a steady load memory, open files and latency do not rise with time.',
  async run({ seed }) {
    const { next } = seededRandom(seed);
    const env = { CLIENT_LIMITS: 'off' };
    await using server = await startTestServer({ threads: 2, env });
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const below = (n: number) => Math.floor(next() * n);
    let times: number[] = [];
    let asked = 0;
    let isOver = false;

    function send(method: string, path: string, body = ''): Promise<number> {
      const headers = {
        Key: server.key,
        ...(body === '' ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' }),
      };
      return new Promise((resolve, reject) => {
        const place = { host: '127.0.0.1', port: server.port, method, path, headers, agent };
        const sent = request(place, (response) => {
          response.on('end', () => resolve(response.statusCode!));
          response.resume();
        });
        sent.on('error', reject);
        sent.end(body);
      });
    }

    async function client(): Promise<void> {
      const pages = [
        '/',
        '/ip/192.0.2.75',
        '/docs',
        '/feeds',
        '/sign-in',
        '/api/v2/blacklist?limit=20',
      ];
      while (!isOver) {
        const kind = below(20);
        const ip = `9.${below(64)}.${below(256)}.${below(256)}`;
        const startMs = performance.now();
        if (kind === 0) await send('POST', '/api/v2/report', `ip=${ip}&categories=18`);
        else if (kind === 1) await send('GET', pages[below(pages.length)]!);
        else {
          assert.equal(await send('GET', `/api/v2/check?ipAddress=${ip}`), 200);
          times.push(performance.now() - startMs);
        }
        asked += 1;
        await delay(4);
      }
    }

    const clients = Promise.all(Array.from({ length: 8 }, client));
    const samples: Sample[] = [];
    const startMs = performance.now();
    const storeBytes = () => statSync(`${server.dataDir}/store/data.mdb`).size;
    while (performance.now() - startMs < minutes * 60_000) {
      await Promise.race([delay(sampleMs), clients]);
      const sorted = times.sort((a, b) => a - b);
      samples.push({
        minute: (performance.now() - startMs) / 60_000,
        memoryMb: residentMb(server.pid),
        files: openFiles(server.pid),
        latencyMs: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
      });
      times = [];
    }
    isOver = true;
    await clients;
    agent.destroy();
    assert.deepEqual(errorsIn(server), []);
    const warm = samples.slice(Math.floor(samples.length * warmShare));
    const memory = slope(warm, (s) => s.memoryMb);
    const files = slope(warm, (s) => s.files);
    const latency = slope(warm, (s) => s.latencyMs);
    const told = [
      `memory ${warm[0]!.memoryMb} → ${warm.at(-1)!.memoryMb} MB, ${memory.toFixed(1)} MB/min`,
      `files ${files.toFixed(2)}/min`,
      `99 % of checks ${latency.toFixed(1)} ms/min`,
      `store ${Math.round(storeBytes() / 1_048_576)} MB`,
    ].join(', ');
    assert.ok(memory < 15 && files < 3 && latency < 15, told);
    return `${asked} requests in ${minutes} min: ${told}`;
  },
};
