/** The doors beside the web: listeners of their own, each in a thread of its own, off until asked for. */

import type { Metrics } from '../../core/metrics.ts';
import type { State } from '../state.ts';
import { startDnsThread } from '../threads/dns-thread.ts';
import type { FrontEndMemory } from '../threads/front-end.ts';
import type { Opening } from './dependencies.ts';

export async function openDoors(
  { config, random, log, closers }: Opening,
  parts: { state: Pick<State, 'index'>; memory: FrontEndMemory; metrics: Metrics },
): Promise<void> {
  const { dnsZone: zone, dnsNameServers: nameServers, secureUrl: baseUrl } = config;
  if (zone === undefined) return;
  const dns = await startDnsThread({
    ...{ zone, nameServers, baseUrl, log, memory: parts.memory, index: parts.state.index },
    listen: config.dnsListen,
    allow: config.dnsAllow,
    seed: Buffer.from(random.bytes(4)).readUInt32BE(0),
  });
  closers.add(dns.close);
  parts.metrics.counterBy(
    'portcullis_dns_queries_total',
    'Queries to the DNS block list, by what became of them.',
    ['outcome'],
    function* () {
      for (const [outcome, count] of dns.read()) yield [{ outcome }, count];
    },
  );
}
