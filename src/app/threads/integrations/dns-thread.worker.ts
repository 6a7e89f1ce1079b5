/** The thread of the DNS block list: reads the sockets, answers from shared memory, asks nobody. */

import { parentPort, workerData } from 'node:worker_threads';
import { openAccountsTable } from '../../../access/accounts/accounts-table.ts';
import { openKeyTableReader, openLabelReader } from '../../../access/keys/key-table.ts';
import { createMarkSpotter } from '../../../access/marks.ts';
import { openQuotas, quotaKind } from '../../../access/quota/quota.ts';
import { entryFlags } from '../../../contracts/reputation.ts';
import { openSharedTime } from '../../../core/clock.ts';
import { createGeoFragments, openGeoReader } from '../../../geo/reader.ts';
import { openIpIndexReader } from '../../../index/reader.ts';
import { flagsOf, metaOf, type Records, reportsOf, seedScoreOf } from '../../../index/records.ts';
import { createBelow } from '../../../integrations/dnsbl/below.ts';
import { createConnections, listenTcp, listenUdp } from '../../../integrations/dnsbl/listeners.ts';
import {
  createDnsCounters,
  createResponder,
  createResponseRate,
} from '../../../integrations/dnsbl/responder.ts';
import { readEndpoint } from '../../../integrations/endpoint.ts';
import { isListable } from '../../../integrations/listable.ts';
import { formatIp, parseIp } from '../../../ip/address.ts';
import { contains } from '../../../ip/prefix.ts';
import { readPrefix } from '../../../ip/written.ts';
import { openCheck } from '../../../reputation/check/check.ts';
import { duringTurn } from '../front-end.ts';
import type { DnsThreadSetup } from './dns-thread.ts';
import type { FromIntegrationThread } from './integration-thread.ts';

function send(message: FromIntegrationThread): void {
  parentPort?.postMessage(message);
}

function isAccused(records: Records, entry: number): boolean {
  const meta = metaOf(records, entry);
  const isExit = (flagsOf(meta) & entryFlags.anonymousExit) !== 0;
  return isExit || seedScoreOf(meta) > 0 || reportsOf(records, entry) > 0;
}

async function run(setup: DnsThreadSetup): Promise<void> {
  const { memory, zone, nameServers, baseUrl } = setup;
  const clock = openSharedTime(memory.time);
  const reader = openIpIndexReader(setup.reader);
  const accounts = openAccountsTable(memory.accounts);
  const quotas = openQuotas({ handle: memory.quotas, accounts, clock });
  const labels = openLabelReader(openKeyTableReader(memory.keys));
  const { judge } = openCheck({
    index: reader,
    geo: createGeoFragments(openGeoReader(memory.geo)),
  });
  const allowed = setup.allow.map((text) => {
    const prefix = readPrefix(text);
    if (!prefix.ok) throw new Error(`'${text}' is not a prefix`);
    return prefix.value;
  });
  const counters = createDnsCounters(setup.counters);
  const responder = createResponder({
    zone,
    nameServers,
    baseUrl,
    judge,
    counters,
    clock,
    isListable,
    hasBelow: createBelow(reader, (entry) => isAccused(reader.records, entry)),
    format: formatIp,
    isAllowed: (family, words) => allowed.some((prefix) => contains(prefix, family, words)),
    accountOf(label) {
      const slot = labels.accountOf(label);
      return slot >= 0 && accounts.isDisabled(slot) ? -1 : slot;
    },
    spend: (slot) => quotas.take(slot, quotaKind.read, 1, clock.monotonicMs()),
    spotMark: createMarkSpotter(memory.marks, clock),
    rate: createResponseRate(setup.seed),
  });
  const connections = createConnections();
  const within = duringTurn(reader);
  for (const text of setup.listen) {
    const endpoint = readEndpoint(text);
    if (endpoint === undefined) throw new Error(`'${text}' is no address to listen on`);
    const tcp = await listenTcp({ endpoint, responder, parse: parseIp, within, connections });
    const bound = tcp.address() as { port: number };
    const taken = { ...endpoint, port: bound.port };
    await listenUdp({ endpoint: taken, responder, counters, parse: parseIp, within });
    send({ listening: taken });
  }
  send({ ready: true });
}

// Nothing here holds what others need: the thread may be ended at any moment.
try {
  await run(workerData as DnsThreadSetup);
} catch (error) {
  send({ failed: error instanceof Error ? error.message : String(error) });
  process.exit(1);
}
