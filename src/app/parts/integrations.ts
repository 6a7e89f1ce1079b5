/**
 * Opens the integrations: those for bouncers on the public port, and those with a listener and a
 * thread of their own, which are off until configured.
 */

import { createKeyRecords } from '../../access/keys/key-records.ts';
import { deriveKey } from '../../access/keys/master-key.ts';
import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Metrics } from '../../core/metrics.ts';
import { ownEntriesList } from '../../index/list-names.ts';
import { metaOf } from '../../index/records.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { createBanStore } from '../../integrations/agents/ban-store.ts';
import { agentTokenKeyPurpose, createAgentTokens } from '../../integrations/agents/tokens.ts';
import { startBouncerUses } from '../../integrations/bouncers/bouncer-uses.ts';
import { allSaid, sayerOf } from '../../integrations/bouncers/decisions.ts';
import { createDecisionStream, createListWords } from '../../integrations/bouncers/stream.ts';
import type { IntegrationCounters } from '../../integrations/integration-counters.ts';
import { isListableNetwork } from '../../integrations/listable.ts';
import { networkBehind } from '../../ip/behind.ts';
import { formatNetwork, type Prefix, parsePrefix, widthOf } from '../../ip/prefix.ts';
import { feeds, variantName } from '../../reputation/blocklists/catalog.ts';
import { maliciousBy } from '../../reputation/check/score.ts';
import { entryFlags } from '../../reputation/state/entry-flags.ts';
import type { State } from '../state.ts';
import type { FrontEndMemory } from '../threads/front-end.ts';
import { startDnsThread } from '../threads/integrations/dns-thread.ts';
import { startSpoeThread } from '../threads/integrations/spoe-thread.ts';
import type { Data } from './data.ts';
import type { Opening } from './dependencies.ts';
import type { ReputationParts } from './reputation.ts';

/** Entries of a whole list for a key that says nothing of it. */
const entriesMaxDefault = 20_000;
const entriesPerWalk = 1_024;

const listFeed = feeds.find(({ name }) => name === 'blocklist.json')!;
const listName = variantName(listFeed, { scoreMin: 75, family: undefined, aggregated: false });

type BouncerParts = Pick<Data, 'store' | 'state' | 'bans'> &
  Pick<ReputationParts, 'feeds' | 'frontEnd'> & { readonly tables: BoundedTables };

/** The stream for bouncers, in the main thread: on as soon as there is a key for one. */
export function openBouncers(
  { clock, random, log, closers }: Opening,
  { store, state, bans, feeds: publisher, frontEnd, tables }: BouncerParts,
) {
  const { index } = state;
  const saidOf = sayerOf(index, (entry) => maliciousBy(index, entry));
  const words = createListWords({
    all: () => allSaid(index),
    saidOf(value) {
      const prefix = parsePrefix(value);
      const entry = prefix.ok ? decidedBy(prefix.value) : 0;
      return entry === 0 ? undefined : saidOf(entry);
    },
  });

  /** Returns the entry that makes all of a prefix malicious, 0 for none. */
  function decidedBy({ family, words, length }: Prefix): number {
    if (length === widthOf(family)) {
      const verdict = frontEnd.check.judge(family, words, clock.now());
      return verdict.malicious ? verdict.decidedBy : 0;
    }
    const own = index.get({ family, words, length });
    if (own !== 0 && maliciousBy(index, own) !== 0) return own;
    const covering = new Int32Array(COVERING_MAX);
    const found = new Uint32Array(4);
    const around = covering
      .subarray(0, index.covering(family, words, covering))
      .filter((entry) => index.readPrefix(entry, found) <= length);
    return around.find((entry) => maliciousBy(index, entry) !== 0) ?? own;
  }

  const stream = createDecisionStream({
    clock,
    words,
    banPosition: bans.position,
    isListed(value) {
      const prefix = parsePrefix(value);
      if (!prefix.ok) return false;
      const { family, words, length } = prefix.value;
      const { malicious, decidedBy } = frontEnd.check.judge(family, words, clock.now());
      return malicious && state.index.readPrefix(decidedBy, words) === length;
    },
    async list(waitMs) {
      const published = await publisher.first(waitMs);
      if (published === undefined) return undefined;
      const { files, changes } = published;
      return { parts: files.get(listName)!.identity.parts, changes };
    },
  });
  publisher.buildImmediatelyWhile(() => stream.cursors.isFollowed(clock.monotonicMs()));
  tables.add(stream.cursors.table);
  const uses = startBouncerUses({ store, clock, log });
  closers.add(uses.close);
  const records = createKeyRecords({ store, clock, random });
  return {
    stream,
    uses,
    manual() {
      const isMalicious = ({ family, words }: Prefix) =>
        frontEnd.check.judge(family, words, clock.now()).malicious;
      return manualBans(state, isMalicious).map(
        ([value, entry]) => [value, saidOf(entry)] as const,
      );
    },
    ownOf(slot: number) {
      const account = state.access.idOf(slot);
      return account === undefined ? undefined : bans.of(account);
    },
    async entriesMaxOf(keyId: string): Promise<number> {
      return (await records.find(keyId))?.record.entriesMax || entriesMaxDefault;
    },
  };
}

/** Returns what the operator banned by hand, but for networks that hold somebody who is never blocked. */
function manualBans(
  { index, entries }: Pick<State, 'index' | 'entries'>,
  isMalicious: (prefix: Prefix) => boolean,
): (readonly [value: string, entry: number])[] {
  const { own, owner } = entries.contributions;
  const bans: (readonly [string, number])[] = [];
  for (const node of own) {
    const entry = owner[node]!;
    const prefix = index.prefixOf(entry);
    if (prefix === undefined || maliciousBy(index, entry) !== ownEntriesList) continue;
    const words = new Uint32Array(4);
    words.set(prefix.words);
    const whole = { ...prefix, words };
    if (!isListableNetwork(whole) || !isMalicious(whole) || sparesAnyIn(whole, index)) continue;
    bans.push([formatNetwork(whole), entry]);
  }
  return bans;
}

/** Opens what CrowdSec agents need in addition to bouncers. */
export async function openAgents(
  { clock, random, masterKey, closers }: Opening,
  { store, state, bans, frontEnd, tables }: BouncerParts,
) {
  const { access, reducer, follower } = state;
  const { catchUpTo } = follower;
  function isSparedAddress(family: 4 | 6, words: Uint32Array): boolean {
    const { allowlisted, knownGood } = frontEnd.check.judge(family, words, clock.now());
    return allowlisted || knownGood;
  }
  function isSpared(prefix: Prefix): boolean {
    const { family, words, length } = prefix;
    return (
      isSparedAddress(family, words) ||
      (length < widthOf(family) && sparesAnyIn(prefix, state.index))
    );
  }
  const stored = createBanStore({ store, clock, random, bans, isSpared, catchUpTo });
  await stored.load();
  const slotOf = (account: string) => access.standingOf(account)?.slot;
  closers.add(bans.start({ slotOf, isSpared, allowChanges: reducer.allowChanges }));
  tables.add(bans.table);
  const key = deriveKey(masterKey, agentTokenKeyPurpose);
  return {
    tokens: createAgentTokens({ key, clock, random }),
    ban: stored.save,
    retract: stored.retract,
    isAllowed: (text: string) => isAllowed(text, state.index, isSparedAddress),
  };
}

const spared = entryFlags.allowlisted | entryFlags.knownGood;

/** Returns whether an allowlisted or known-good entry lies in a network or around it. */
function sparesAnyIn(prefix: Prefix, index: State['index']): boolean {
  let isAny = false;
  const poll = (entry: number) => {
    if (((metaOf(index.records, entry) >>> 8) & spared) !== 0) isAny = true;
  };
  for (let after: Prefix | undefined; !isAny; ) {
    after = index.walk(prefix, poll, { after, limit: entriesPerWalk });
    if (after === undefined) break;
  }
  return isAny;
}

/** Returns whether an address or a whole network is never blocked; undefined if the text is neither. */
function isAllowed(
  text: string,
  index: State['index'],
  isSpared: (family: 4 | 6, words: Uint32Array) => boolean,
): boolean | undefined {
  const parsed = parsePrefix(text, 'mask');
  if (!parsed.ok) return undefined;
  const { family, words, length } = networkBehind(parsed.value);
  if (length === widthOf(family)) return isSpared(family, words);
  const covering = new Int32Array(COVERING_MAX);
  const found = new Uint32Array(4);
  const count = index.covering(family, words, covering);
  return covering.subarray(0, count).some((entry) => {
    const bits = index.readPrefix(entry, found);
    return bits >= 0 && bits <= length && ((metaOf(index.records, entry) >>> 8) & spared) !== 0;
  });
}

interface IntegrationParts {
  readonly state: Pick<State, 'index'>;
  readonly memory: FrontEndMemory;
  readonly integrationCounters: IntegrationCounters;
  readonly metrics: Metrics;
}

export async function openIntegrations(
  opening: Opening,
  parts: IntegrationParts,
): Promise<{ drain: () => void }> {
  parts.metrics.counterBy(
    'portcullis_gate_requests_total',
    'Questions to the gate, by what became of them.',
    ['outcome'],
    () => labelled('outcome', parts.integrationCounters.read('gate')),
  );
  parts.metrics.counterBy(
    'portcullis_decisions_requests_total',
    'Look-ups of bouncers, by what became of them.',
    ['outcome'],
    () => labelled('outcome', parts.integrationCounters.read('decisions')),
  );
  parts.metrics.counterBy(
    'portcullis_dovecot_requests_total',
    'Questions and reports of Dovecot, by what became of them.',
    ['outcome'],
    () => labelled('outcome', parts.integrationCounters.read('dovecot')),
  );
  await openDns(opening, parts);
  return openSpoe(opening, parts);
}

function* labelled(
  label: string,
  counts: Iterable<[string, number]>,
): Generator<[Record<string, string>, number]> {
  for (const [name, count] of counts) yield [{ [label]: name }, count];
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
