/**
 * The block list over DNS: on where DNS_ZONE names its zone. It has a thread, which reads the sockets,
 * answers from shared memory and asks nobody.
 */

import { openLabelReader } from '../../access/keys/key-table.ts';
import { quotaKind } from '../../access/quota/quota.ts';
import type { Config } from '../../config.ts';
import { entryFlags } from '../../contracts/reputation.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Random } from '../../core/random.ts';
import { flagsOf, metaOf, type Records, reportsOf, seedScoreOf } from '../../index/records.ts';
import { contains } from '../../ip/prefix.ts';
import { readPrefix } from '../../ip/written.ts';
import { labelled } from '../counters.ts';
import { isListable } from '../listable.ts';
import type { RunningIntegration, StartThread, ThreadParts } from '../thread.ts';
import { createConnections, listenTcp, listenUdp } from './listeners.ts';
import {
  createBelow,
  createDnsCounters,
  createResponder,
  createResponseRate,
} from './responder.ts';

interface DnsblSetup {
  readonly zone: string;
  readonly nameServers: readonly string[];
  /** Begins the address of a page in TXT records. */
  readonly baseUrl: string;
  /** Addresses and prefixes. */
  readonly allow: readonly string[];
  readonly counters: SharedArrayBuffer;
  /** Drawn at start. */
  readonly seed: number;
}

/** @throws OperatorError when it can't listen */
export async function openDnsbl(needs: {
  readonly config: Pick<Config, 'dnsZone' | 'dnsNs' | 'dnsListen' | 'dnsAllow' | 'secureUrl'>;
  readonly random: Random;
  readonly startThread: StartThread;
}) {
  const { dnsZone: zone, dnsNs: nameServers, ...config } = needs.config;
  if (zone === undefined) return {};
  const counters = createDnsCounters();
  const own: DnsblSetup = {
    zone,
    nameServers,
    baseUrl: config.secureUrl,
    allow: config.dnsAllow,
    counters: counters.buffer,
    seed: Buffer.from(needs.random.bytes(4)).readUInt32BE(0),
  };
  const thread = await needs.startThread({
    name: 'dns',
    setting: 'DNS_LISTEN',
    listen: config.dnsListen,
    own,
    facts: { zone },
  });
  return {
    close: thread.close,
    metrics(metrics: Metrics): void {
      metrics.counterBy(
        'portcullis_dns_queries_total',
        'Queries to the DNS block list, by what became of them.',
        ['outcome'],
        () => labelled('outcome', counters.read()),
      );
    },
  };
}

/** Runs in the thread. */
export async function runDnsbl(parts: ThreadParts, setup: DnsblSetup): Promise<RunningIntegration> {
  const { index, judge, accounts, quotas, keys, clock, spotMark, within } = parts;
  const { zone, nameServers, baseUrl } = setup;
  const allowed = setup.allow.map((text) => {
    const prefix = readPrefix(text);
    if (!prefix.ok) throw new Error(`'${text}' is not a prefix`);
    return prefix.value;
  });
  const labels = openLabelReader(keys);
  const counters = createDnsCounters(setup.counters);
  const responder = createResponder({
    zone,
    nameServers,
    baseUrl,
    judge,
    counters,
    clock,
    isListable,
    hasBelow: createBelow(index, (entry) => isAccused(index.records, entry)),
    isAllowed: (family, words) => allowed.some((prefix) => contains(prefix, family, words)),
    accountOf(label) {
      const slot = labels.accountOf(label);
      return slot >= 0 && accounts.isDisabled(slot) ? -1 : slot;
    },
    spend: (slot) => quotas.take(slot, quotaKind.read, 1, clock.monotonicMs()),
    spotMark,
    rate: createResponseRate(setup.seed),
  });
  const connections = createConnections();
  for (const endpoint of parts.listen) {
    const tcp = await listenTcp({ endpoint, responder, within, connections });
    const bound = tcp.address() as { port: number };
    const taken = { ...endpoint, port: bound.port };
    await listenUdp({ endpoint: taken, responder, counters, within });
    parts.onListening(taken);
  }
  return {};
}

function isAccused(records: Records, entry: number): boolean {
  const meta = metaOf(records, entry);
  const isExit = (flagsOf(meta) & entryFlags.anonymousExit) !== 0;
  return isExit || seedScoreOf(meta) > 0 || reportsOf(records, entry) > 0;
}
