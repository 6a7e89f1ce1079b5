/**
 * What it costs to send a request from a front end to the main thread and its answer back: processor
 * time of both threads, without the transport and without a handler. At load a turn of the event loop
 * brings many requests, which cross as one message; alone each pays for its own.
 */

import { Worker } from 'node:worker_threads';
import { createForwarder, type Forwarder } from '../src/http/forward.ts';
import type { Request } from '../src/http/request/message.ts';
import type { Caller } from '../src/http/router.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rounds: 1, requests: 640 },
  full: { rounds: 7, requests: 64_000 },
} as const;

const atLoad = 64;
const goalUs = 25;
const nobody: Caller = { onGone: () => undefined };
const report: Request = {
  method: 'POST',
  path: '/api/v2/report',
  param: '',
  query: '',
  headers: {
    key: ['0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'],
    'content-type': ['application/x-www-form-urlencoded'],
  },
  body: Buffer.from('ip=192.0.2.1&categories=18,22&comment=Failed+password+for+root').subarray(0),
  clientIp: '198.51.100.7',
  id: 'r1',
};

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rounds, requests } = sizes[size];
  const worker = new Worker(new URL('./forward.worker.js', import.meta.url));
  try {
    const forwarder = createForwarder({ port: worker as never, outstandingMax: atLoad });
    const loaded: number[] = [];
    const alone: number[] = [];
    // The first round warms up and is not counted.
    for (let round = rounds > 1 ? -1 : 0; round < rounds; round++) {
      const many = await cpuUsOf(forwarder, requests, atLoad);
      const one = await cpuUsOf(forwarder, requests / atLoad, 1);
      if (round < 0) continue;
      loaded.push(many);
      alone.push(one);
    }
    const [ours, peerValue] = [median(loaded), median(alone)];
    return [
      {
        name: `a forwarded request, ${atLoad} in flight`,
        unit: 'µs of processor time',
        ours,
        peer: 'one in flight',
        peerValue,
        ratio: ours / peerValue,
        goal: `≤ ${goalUs} µs`,
        ok: ours <= goalUs,
        note: 'both threads and both ways, without transport and handler',
      },
    ];
  } finally {
    await worker.terminate();
  }
}

/** Of one request, with so many on their way at any time. */
async function cpuUsOf(forwarder: Forwarder, requests: number, inFlight: number): Promise<number> {
  let left = requests;
  const before = process.cpuUsage();
  async function send(): Promise<void> {
    while (left-- > 0) {
      const result = await forwarder.forward(report, nobody, 60_000);
      if (!result.ok) throw new Error(result.detail);
    }
  }
  await Promise.all(Array.from({ length: inFlight }, send));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requests;
}
