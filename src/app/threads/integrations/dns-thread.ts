/** The thread of the DNS block list as its owner sees it. */

import type { Log } from '../../../core/log.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import { createDnsCounters, type DnsOutcome } from '../../../integrations/dnsbl/responder.ts';
import type { FrontEndMemory } from '../front-end.ts';
import {
  type IntegrationThread,
  type IntegrationThreadSetup,
  startIntegrationThread,
} from './integration-thread.ts';

export interface DnsThreadSetup extends IntegrationThreadSetup {
  readonly zone: string;
  readonly nameServers: readonly string[];
  /** Begins the address of a page in TXT records. */
  readonly baseUrl: string;
  /** Addresses and prefixes. */
  readonly allow: readonly string[];
  readonly memory: FrontEndMemory;
  readonly counters: SharedArrayBuffer;
  /** Drawn at start. */
  readonly seed: number;
}

export interface DnsThread extends IntegrationThread {
  read(): Iterable<[DnsOutcome, number]>;
}

/** @throws OperatorError when it can't listen */
export async function startDnsThread(
  options: Omit<DnsThreadSetup, 'reader' | 'counters'> & { index: IpIndex; log: Log },
): Promise<DnsThread> {
  const { index, log, listen, ...plain } = options;
  const counters = createDnsCounters();
  const thread = await startIntegrationThread<DnsThreadSetup>({
    name: 'dns',
    setting: 'DNS_LISTEN',
    endMsMax: 0,
    index,
    log,
    listen,
    script: new URL('./dns-thread.worker.js', import.meta.url),
    send: (taken) => log.info({ zone: plain.zone, listen: taken }, 'dns: listening'),
    setup: { ...plain, counters: counters.buffer },
  });
  return { ...thread, read: counters.read };
}
