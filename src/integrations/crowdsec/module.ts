/**
 * What CrowdSec's programs ask: bouncers for decisions, look-ups aside (live.route.ts, in the front
 * ends), agents with their alerts. On as soon as there is a key for one.
 */

import { createKeyRecords } from '../../access/keys/api-keys.ts';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { Config } from '../../config.ts';
import {
  type AccountOf,
  type CatchUpTo,
  entryFlags,
  type Judge,
  type SendReports,
  type SlotOf,
} from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Random } from '../../core/random.ts';
import type { Scheduler, SliceScheduler } from '../../core/scheduling.ts';
import { dayMs, hourMs } from '../../core/time.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { flagsOf, metaOf } from '../../index/records.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { manualEntriesList } from '../../index/trie/memory.ts';
import type { IpFamily } from '../../ip/address.ts';
import { embeddedNetwork, isListableNetwork } from '../../ip/embedded-ipv4.ts';
import { formatNetwork, type Prefix, parsePrefix, widthOf, withoutHoles } from '../../ip/prefix.ts';
import type { Store } from '../../storage/store.ts';
import type { Callers } from '../../web/guard/callers.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { type IntegrationCounters, labelled } from '../counters.ts';
import * as agents from './agents.route.ts';
import { type Bans, banBounds, createBanStore } from './bans.ts';
import { bouncerRoutes, streamEndpoint, usageEndpoint } from './bouncers.route.ts';
import {
  agentTokenKeyPurpose,
  createAgentCallers,
  createAgentTokens,
  startBouncerUses,
} from './callers.route.ts';
import {
  type AgentDecisions,
  allAttributions,
  attributionsOf,
  byOperator,
  byScore,
  type DecisionAttribution,
  type DecisionFacts,
  type Filter,
  type MaliciousBy,
} from './decisions.ts';
import { liveEndpoint, upEndpoint } from './live.route.ts';
import {
  createManager,
  createStandingDecisions,
  mergeDecisions,
  type OperatorActs,
} from './manage.ts';
import { openSettledPolls } from './settled-polls.ts';
import {
  createDecisionStream,
  createListWords,
  type DecisionList,
  type ManualDecision,
} from './stream.ts';

export const crowdsecEndpoints: readonly Endpoint[] = [
  upEndpoint,
  liveEndpoint,
  streamEndpoint,
  usageEndpoint,
  agents.loginEndpoint,
  agents.registerEndpoint,
  agents.leaveEndpoint,
  agents.heartbeatEndpoint,
  agents.alertsEndpoint,
  agents.decideEndpoint,
  agents.takeBackEndpoint,
  agents.takeBackOneEndpoint,
  agents.takeAlertsBackEndpoint,
  agents.takeAlertBackEndpoint,
  agents.ownAlertsEndpoint,
  agents.ownAlertEndpoint,
  agents.allowlistsEndpoint,
  agents.allowlistEndpoint,
  agents.allowlistCheckEndpoint,
  agents.allowlistsCheckEndpoint,
];

/** Entries of a whole list for a key that says nothing of it. */
const entriesMaxDefault = 20_000;
const entriesPerWalk = 1_024;
/** A network with more allow rules in it is answered by the stream alone. */
const holesMax = 1_024;
const spared = entryFlags.allowlisted | entryFlags.knownGood;

export async function openCrowdsec(needs: {
  readonly store: Store;
  readonly clock: Clock;
  readonly scheduler: SliceScheduler;
  readonly guard: Guard;
  readonly quotaGuard: QuotaGuard;
  readonly random: Random;
  readonly log: Log;
  readonly config: Pick<Config, 'decisionsCaptchaFrom'>;
  readonly masterKey: MasterKey;
  /** Counts with the front ends, which answer some of the same calls. */
  readonly callers: Callers;
  readonly index: IpIndex;
  readonly judge: Judge;
  readonly maliciousBy: MaliciousBy;
  /** Yields the entries that the operator made by hand. */
  readonly manualEntries: () => Iterable<number>;
  readonly bans: Bans;
  readonly counters: IntegrationCounters;
  /** Memory of `createSettledMemory`, which front ends read. */
  readonly settled: SharedArrayBuffer;
  /** The list that the stream is made of. */
  readonly blocklist: {
    list(waitMs: number): Promise<DecisionList | undefined>;
    /** From then on the list is built at once when it changes, while this says so. */
    buildImmediatelyWhile(isFollowed: () => boolean): void;
    /** Returns the addresses and networks with such scores, the worst first. */
    between(asked: {
      readonly from: number;
      readonly below: number;
      readonly max: number;
    }): Promise<readonly string[]>;
  };
  readonly slotOf: SlotOf;
  /** See `Reducer.allowlistVersion`. */
  readonly allowlistVersion: () => number;
  /** Acts of operators, for keys that may manage. */
  readonly operator: OperatorActs;
  readonly accountOf: AccountOf;
  readonly catchUpTo: CatchUpTo;
  readonly sendReports: SendReports;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
}) {
  const { store, clock, random, log, quotaGuard, callers, index, judge, bans } = needs;
  const { accountOf, maliciousBy, scheduler } = needs;
  const attributionOf = attributionsOf(index, maliciousBy);
  const listWords = createListWords({
    all: () => allAttributions(index),
    attributionsOf(value) {
      const prefix = parsePrefix(value);
      return prefix.ok ? attributionsIn(prefix.value) : [];
    },
  });

  /** Returns the words of the entry of exactly this prefix, or else of the one that decides about all of it. */
  function attributionsIn(prefix: Prefix): readonly DecisionAttribution[] {
    const { malicious, knownGood } = judge(prefix.family, prefix.words, clock.now());
    if (!malicious && prefix.length === widthOf(prefix.family)) return [];
    const exact = index.get(prefix);
    const own = exact === 0 ? [] : attributionOf(exact, knownGood);
    if (own.length > 0) return own;
    const entry = decidedBy(prefix);
    return entry === 0 ? [] : attributionOf(entry, knownGood);
  }

  const isByHand = (entry: number) => maliciousBy(entry).includes(manualEntriesList);

  /** Returns the entry that makes all of a prefix malicious, 0 for none. */
  function decidedBy({ family, words, length }: Prefix): number {
    if (length === widthOf(family)) {
      const verdict = judge(family, words, clock.now());
      return verdict.malicious ? verdict.decidedBy : 0;
    }
    const own = index.get({ family, words, length });
    if (own !== 0 && maliciousBy(own).length > 0) return own;
    const covering = new Int32Array(COVERING_MAX);
    const found = new Uint32Array(4);
    const around = covering
      .subarray(0, index.covering(family, words, covering))
      .filter((entry) => index.readPrefix(entry, found) <= length);
    return around.find((entry) => maliciousBy(entry).length > 0) ?? own;
  }

  /**
   * Returns whether the list has exactly this prefix: all entries in what is malicious are on it, whichever of them
   * decides, and a network with somebody allowed in it is there in parts alone.
   */
  function isOnList(prefix: Prefix): boolean {
    const { family, words, length } = prefix;
    if (index.get(prefix) === 0) return false;
    if (length === widthOf(family)) return judge(family, words, clock.now()).malicious;
    const entry = decidedBy(prefix);
    if (entry === 0 || maliciousBy(entry).length === 0) return false;
    return !holdsAny(prefix, index, entryFlags.allowlisted);
  }

  /** Returns what the operator banned by hand; of a network the pieces that hold nobody who is allowed. */
  async function manual(): Promise<readonly ManualDecision[]> {
    const found: ManualDecision[] = [];
    for (const entry of [...needs.manualEntries()]) {
      if (scheduler.shouldYield()) await scheduler.yield();
      const prefix = index.prefixOf(entry);
      if (prefix === undefined) continue;
      const words = new Uint32Array(4);
      words.set(prefix.words);
      const whole = { ...prefix, words };
      // An entry with a low score may lie in a network that the operator banned.
      const by = isByHand(entry) ? entry : decidedBy(whole);
      if (by === 0 || !isByHand(by)) continue;
      if (!isListableNetwork(whole)) continue;
      // The first address of a network may be allowed where the others are not.
      const holes = await allowedIn(whole, index, scheduler);
      if (holes.length === 0 && !judge(whole.family, words, clock.now()).malicious) continue;
      if (holes.length > holesMax) continue;
      // In the pieces of the list, which leaves out who is allowed.
      for (const piece of withoutHoles(whole, holes)) {
        found.push([formatNetwork(piece), byOperator]);
        if (scheduler.shouldYield()) await scheduler.yield();
      }
    }
    return found;
  }

  const stream = createDecisionStream({
    clock,
    words: listWords,
    banPosition: bans.position,
    isListed(value) {
      const prefix = parsePrefix(value);
      return prefix.ok && isOnList(prefix.value);
    },
    list: needs.blocklist.list,
  });
  needs.blocklist.buildImmediatelyWhile(() => stream.cursors.isFollowed(clock.monotonicMs()));
  const uses = startBouncerUses({ store, clock, log });
  const records = createKeyRecords({ store, clock, random });
  function ownOf(slot: number): AgentDecisions | undefined {
    const account = accountOf(slot);
    return account === undefined ? undefined : bans.of(account);
  }

  function isExemptAddress(family: IpFamily, words: Uint32Array): boolean {
    const { allowlisted, knownGood } = judge(family, words, clock.now());
    return allowlisted || knownGood;
  }
  function isExempt(prefix: Prefix): boolean {
    const { family, words, length } = prefix;
    return (
      isExemptAddress(family, words) || (length < widthOf(family) && hasExemptIn(prefix, index))
    );
  }
  const stored = createBanStore({
    store,
    clock,
    random,
    bans,
    catchUpTo: needs.catchUpTo,
    isExempt,
  });
  await stored.load();
  const { allowlistVersion, slotOf } = needs;
  const stopBans = bans.start({ slotOf, isExempt, allowlistVersion });
  const key = deriveKey(needs.masterKey, agentTokenKeyPurpose);
  const tokens = createAgentTokens({ key, clock, random });
  const agentCallers = createAgentCallers({ quotaGuard, callers, tokens, uses });
  const manager = createManager({ operator: needs.operator, store, clock });
  const groups = createStandingDecisions({
    name: '(operator)',
    read: manager.groups,
    keep: stored.keep,
    freshMs: 1_000,
    lifeMs: 2 * dayMs,
    bans,
    clock,
  });
  const captchaFrom = needs.config.decisionsCaptchaFrom;
  /** Returns what is suspect by its score, but for whoever is never blocked, and networks with such. */
  async function suspects() {
    const found = new Map<string, DecisionFacts>();
    const below = needs.operator.maliciousScore;
    const asked = { from: captchaFrom, below, max: banBounds.perAccountMax };
    const atMs = clock.now();
    for (const value of await needs.blocklist.between(asked)) {
      if (scheduler.shouldYield()) await scheduler.yield();
      const prefix = parsePrefix(value);
      if (!prefix.ok || !isListableNetwork(prefix.value) || isExempt(prefix.value)) continue;
      found.set(value, { ...byScore, atMs, untilMs: Number.POSITIVE_INFINITY });
    }
    return found;
  }
  const scores = createStandingDecisions({
    name: '(scores)',
    read: suspects,
    freshMs: 2_000,
    lifeMs: 4 * hourMs,
    bans,
    clock,
  });
  /**
   * Returns how to look up an account's decisions with those that no agent made, as far as the filter asks for
   * such.
   */
  async function decisionsFor(filter: Filter) {
    const wanted: (typeof groups)[] = [];
    if (filter.countries === true || filter.systems === true) wanted.push(groups);
    const isCaptcha = filter.types?.includes('captcha') !== false;
    if (captchaFrom > 0 && isCaptcha && (filter.hosts || filter.networks)) wanted.push(scores);
    for (const one of wanted) await one.refresh();
    return {
      of: (slot: number) =>
        wanted.reduce((all, one) => mergeDecisions(all, one.decisions()), ownOf(slot)),
      areRead: wanted.length > 0,
    };
  }
  const routes: readonly PlainRoute[] = [
    ...bouncerRoutes({
      clock,
      guard: needs.guard,
      quotaGuard,
      callers,
      index,
      agents: agentCallers,
      stream,
      settled: openSettledPolls(needs.settled, clock),
      uses,
      decisionsFor,
      manual,
      entriesMaxOf: async (keyId) =>
        (await records.find(keyId))?.record.entriesMax || entriesMaxDefault,
    }),
    ...agents.agentRoutes({
      clock,
      scheduler,
      guard: needs.guard,
      quotaGuard,
      callers,
      accountOf,
      sendReports: needs.sendReports,
      serverAddresses: needs.serverAddresses,
      agents: agentCallers,
      tokens,
      manager,
      ban: stored.save,
      retract: stored.retract,
    }),
    ...agents.agentReadRoutes({
      clock,
      guard: needs.guard,
      agents: agentCallers,
      manager,
      ownOf,
      isAllowed: (text) => isAllowed(text, index, isExemptAddress),
    }),
  ];
  return {
    routes,
    tables: [stream.cursors.table, bans.table],
    metrics(metrics: Metrics): void {
      metrics.counterBy(
        'portcullis_decisions_requests_total',
        'Look-ups of bouncers, by what became of them.',
        ['outcome'],
        () => labelled('outcome', needs.counters.read('decisions')),
      );
    },
    async close(): Promise<void> {
      stopBans();
      await uses.close();
    },
  };
}

/** Returns the allow rules around a network or in it, in order, up to `holesMax` and one more. */
async function allowedIn(prefix: Prefix, index: IpIndex, scheduler: Scheduler): Promise<Prefix[]> {
  const holes: Prefix[] = [];
  const note = (entry: number) => {
    if ((flagsOf(metaOf(index.records, entry)) & entryFlags.allowlisted) === 0) return;
    const { family, words, length } = index.prefixOf(entry)!;
    const whole = new Uint32Array(4);
    whole.set(words);
    if (holes.length <= holesMax) holes.push({ family, words: whole, length });
  };
  for (let after: Prefix | undefined; holes.length <= holesMax; ) {
    after = index.walk(prefix, note, { after, limit: entriesPerWalk });
    if (after === undefined) break;
    if (scheduler.shouldYield()) await scheduler.yield();
  }
  return holes;
}

/** Returns whether an allowlisted or known-good entry lies in a network or around it. */
function hasExemptIn(prefix: Prefix, index: IpIndex): boolean {
  return holdsAny(prefix, index, spared);
}

/** Returns whether an entry with one of the flags lies in a network or around it. */
function holdsAny(prefix: Prefix, index: IpIndex, flags: number): boolean {
  let isAny = false;
  const poll = (entry: number) => {
    if ((flagsOf(metaOf(index.records, entry)) & flags) !== 0) isAny = true;
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
  index: IpIndex,
  isExempt: (family: IpFamily, words: Uint32Array) => boolean,
): boolean | undefined {
  const parsed = parsePrefix(text, 'mask');
  if (!parsed.ok) return undefined;
  const { family, words, length } = embeddedNetwork(parsed.value);
  if (length === widthOf(family)) return isExempt(family, words);
  const covering = new Int32Array(COVERING_MAX);
  const found = new Uint32Array(4);
  const count = index.covering(family, words, covering);
  return covering.subarray(0, count).some((entry) => {
    const bits = index.readPrefix(entry, found);
    return bits >= 0 && bits <= length && (flagsOf(metaOf(index.records, entry)) & spared) !== 0;
  });
}
