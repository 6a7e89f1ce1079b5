/**
 * The operator's allowlist: ranges that are never malicious and never in a feed. The record
 * holds why and since when; the journal event is what the index follows.
 */

import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { formatPrefix, type Prefix, parsePrefix } from '../ip/prefix.ts';
import { createWriter, decode } from '../store/codec.ts';
import { createEventId } from '../store/event-id.ts';
import { allowKey, allowPrefix, type Key } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { encodeEvent } from './events.ts';

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
const pageRows = 500;

export function createAllowlist(options: {
  store: Store;
  clock: Clock;
  random: Random;
}): Allowlist {
  const { store, clock, random } = options;

  const event = (kind: 'allow.added' | 'allow.removed', prefix: Prefix) =>
    encodeEvent(createEventId(clock, random), { kind, ...prefix });

  async function add(text: string, reason: string): Promise<Result<AllowRule>> {
    const prefix = parsePrefix(text.trim());
    if (!prefix.ok) return prefix;
    if (reason.length > reasonLengthMax || /\p{C}/u.test(reason)) {
      return fail(
        'invalid_parameter',
        `a reason has at most ${reasonLengthMax} characters, none of them control characters`,
      );
    }
    const rule = { prefix: formatPrefix(prefix.value), reason, addedAt: clock.now() };
    const value = createWriter().f64(rule.addedAt).text(reason).finish();
    const result = await store.commit({
      set: [{ key: allowKey(rule.prefix), value }],
      events: [event('allow.added', prefix.value)],
    });
    return result.ok ? ok(rule) : fail('store_unavailable');
  }

  async function remove(text: string): Promise<Result<AllowRule>> {
    const prefix = parsePrefix(text.trim());
    if (!prefix.ok) return prefix;
    const name = formatPrefix(prefix.value);
    const entry = await store.get(allowKey(name));
    const rule = entry && decodeRule(name, entry.value);
    if (!entry || !rule) return fail('not_found', `${name} is not on the allowlist`);
    const result = await store.commit({
      check: [{ key: allowKey(name), version: entry.version }],
      del: [allowKey(name)],
      events: [event('allow.removed', prefix.value)],
    });
    if (result.ok) return ok(rule);
    return fail(result.error === 'check_failed' ? 'not_found' : 'store_unavailable');
  }

  async function list(): Promise<AllowRule[]> {
    const rules: AllowRule[] = [];
    let after: Key | undefined;
    for (;;) {
      const page = await store.scan(
        allowPrefix(),
        after === undefined ? { limit: pageRows } : { after, limit: pageRows },
      );
      for (const { key, value } of page) {
        const rule = decodeRule(Buffer.from(key.subarray(1, -1)).toString('utf8'), value);
        if (rule !== undefined) rules.push(rule);
      }
      if (page.length === 0) return rules;
      after = page.at(-1)!.key;
    }
  }

  return { add, remove, list };
}

function decodeRule(prefix: string, value: Uint8Array): AllowRule | undefined {
  return decode(value, (input) => ({ prefix, addedAt: input.f64(), reason: input.text() }));
}
