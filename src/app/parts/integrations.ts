/** Opens the integrations with a listener and a thread of their own, which are off until configured. */

import type { Metrics } from '../../core/metrics.ts';
import { labelled } from '../../integrations/counters.ts';
import type { State } from '../state.ts';
import type { FrontEndMemory } from '../threads/front-end.ts';
import { startDnsThread } from '../threads/integrations/dns-thread.ts';
import { startSpoeThread } from '../threads/integrations/spoe-thread.ts';
import type { Opening } from './dependencies.ts';

interface IntegrationParts {
  readonly state: Pick<State, 'index'>;
  readonly memory: FrontEndMemory;
  readonly metrics: Metrics;
}

/** Opens the listeners of integrations; a server without their settings has none. */
export async function openListeners(
  opening: Opening,
  parts: IntegrationParts,
): Promise<{ drain: () => void }> {
  await openDns(opening, parts);
  return openSpoe(opening, parts);
}

async function openDns(
  { config, random, log, closers }: Opening,
  { state, memory, metrics }: IntegrationParts,
): Promise<void> {
  const { dnsZone: zone, dnsNameServers: nameServers, secureUrl: baseUrl } = config;
  if (zone === undefined) return;
  const dns = await startDnsThread({
    zone,
    nameServers,
    baseUrl,
    log,
    memory,
    index: state.index,
    listen: config.dnsListen,
    allow: config.dnsAllow,
    seed: Buffer.from(random.bytes(4)).readUInt32BE(0),
  });
  closers.add(dns.close);
  metrics.counterBy(
    'portcullis_dns_queries_total',
    'Queries to the DNS block list, by what became of them.',
    ['outcome'],
    () => labelled('outcome', dns.read()),
  );
}

async function openSpoe(
  { config, log, closers }: Opening,
  { state, memory, metrics }: IntegrationParts,
): Promise<{ drain: () => void }> {
  const { spoeListen: listen, logLevel } = config;
  if (listen === undefined) return { drain() {} };
  const spoe = await startSpoeThread({ listen, logLevel, log, memory, index: state.index });
  closers.add(spoe.close);
  metrics.counterBy(
    'portcullis_spoe_requests_total',
    'Questions of HAProxy, by what became of them.',
    ['outcome'],
    () => labelled('outcome', spoe.outcomes()),
  );
  metrics.counterBy(
    'portcullis_spoe_connections_ended_total',
    'Connections of HAProxy that ended, by the reason.',
    ['reason'],
    () => labelled('reason', spoe.ends()),
  );
  metrics.gauge('portcullis_spoe_connections', 'Connections of HAProxy.', spoe.open);
  return spoe;
}
