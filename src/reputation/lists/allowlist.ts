/**
 * The operator's allowlist: ranges that are never malicious and never in a feed. The record
 * holds why and since when; the journal event is what the index follows.
 */

import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { formatPrefix, type Prefix } from '../../ip/prefix.ts';
import { readPrefix } from '../../ip/written.ts';
import { commitOnce, untilUndisturbed, written } from '../../store/change.ts';
import { createWriter, decode } from '../../store/codec.ts';
import { createEventId } from '../../store/event-id.ts';
import { allowKey, allowPrefix } from '../../store/keys.ts';
import { type LedgerEntry, readLedger } from '../../store/ledger.ts';
import { pagesUnder } from '../../store/pages.ts';
import type { Store } from '../../store/store.ts';
import { encodeEvent } from '../state/events.ts';
import { askRoom } from './room.ts';

export interface AllowRule {
  /** Canonical CIDR text. */
  readonly prefix: string;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly addedAt: number;
}

export interface Allowlist {
  /** Adding a rule that exists replaces its reason. */
  add(prefix: string, reason: string): Promise<Result<AllowRule>>;
  /** `not_found` when there is no such rule. */
  remove(prefix: string): Promise<Result<AllowRule>>;
  list(): Promise<AllowRule[]>;
}

const reasonLengthMax = 200;

export function createAllowlist(options: {
  store: Store;
  clock: Clock;
  random: Random;
  rulesMax?: number;
}): Allowlist {
  const { store, clock, random, rulesMax = capacities.allowRules } = options;

  const event = (kind: 'allow.added' | 'allow.removed', prefix: Prefix) =>
    encodeEvent(createEventId(clock, random), { kind, ...prefix });

  async function add(text: string, reason: string): Promise<Result<AllowRule>> {
    const prefix = readPrefix(text.trim());
    if (!prefix.ok) return prefix;
    if (reason.length > reasonLengthMax || /\p{C}/u.test(reason)) {
      return fail(
        'invalid_parameter',
        `a reason has at most ${reasonLengthMax} characters, none of them control characters`,
      );
    }
    const rule = { prefix: formatPrefix(prefix.value), reason, addedAt: clock.now() };
    const value = createWriter().f64(rule.addedAt).text(reason).finish();
    const key = allowKey(rule.prefix);
    return await untilUndisturbed(async () => {
      const before = await store.get(key);
      const counted = before === undefined ? await countOneMore(prefix.value) : ok(undefined);
      if (!counted.ok) return counted;
      const done = await commitOnce(store, {
        check: [
          { key, version: before?.version ?? null },
          ...(counted.value === undefined ? [] : [counted.value.check]),
        ],
        set: [{ key, value }, ...(counted.value === undefined ? [] : [counted.value.set])],
        events: [event('allow.added', prefix.value)],
      });
      return written(done, rule);
    });
  }

  /** Before the first change since rules are counted, the rows are the count. */
  async function used(ledger: LedgerEntry): Promise<number> {
    return ledger.check.version === null ? (await list()).length : ledger.used;
  }

  /** A rule that had no effect because the index is full would be worse than none. */
  async function countOneMore(prefix: Prefix) {
    const ledger = await readLedger(store, 'allow_rules');
    const rules = await used(ledger);
    if (rules >= rulesMax) {
      return fail('capacity_exceeded', `the allowlist is full: ${rulesMax} rules`);
    }
    const { family, words, length } = prefix;
    const families = Uint8Array.of(family);
    const lengths = Uint8Array.of(length);
    const one = { count: 1, families, words, lengths, scores: new Uint8Array(1) };
    const room = await askRoom(store, [one], 0, {
      entriesMax: capacities.entries,
      contributionsMax: capacities.entries * capacities.contributionsPerEntry,
    });
    return room.ok ? ok({ check: ledger.check, set: ledger.set(rules + 1) }) : room;
  }

  async function remove(text: string): Promise<Result<AllowRule>> {
    const prefix = readPrefix(text.trim());
    if (!prefix.ok) return prefix;
    const name = formatPrefix(prefix.value);
    const entry = await store.get(allowKey(name));
    const rule = entry && decodeRule(name, entry.value);
    if (!entry || !rule) return fail('not_found', `${name} is not on the allowlist`);
    const ledger = await readLedger(store, 'allow_rules');
    const result = await store.commit({
      check: [{ key: allowKey(name), version: entry.version }, ledger.check],
      set: [ledger.set((await used(ledger)) - 1)],
      del: [allowKey(name)],
      events: [event('allow.removed', prefix.value)],
    });
    if (result.ok) return ok(rule);
    if (result.error === 'store_unavailable') return fail('store_unavailable');
    // Another rule came or went at the same time: the count is another one.
    return result.failedCheck === 1 ? remove(text) : fail('not_found');
  }

  async function list(): Promise<AllowRule[]> {
    const rules: AllowRule[] = [];
    for await (const page of pagesUnder(store, allowPrefix())) {
      for (const { key, value } of page) {
        const rule = decodeRule(Buffer.from(key.subarray(1, -1)).toString('utf8'), value);
        if (rule !== undefined) rules.push(rule);
      }
    }
    return rules;
  }

  return { add, remove, list };
}

function decodeRule(prefix: string, value: Uint8Array): AllowRule | undefined {
  return decode(value, (input) => ({ prefix, addedAt: input.f64(), reason: input.text() }));
}
