/**
 * Reads what a bouncer says that it saw and stopped: sums over all its items, whatever their labels
 * are. Firewall bouncers report the same traffic in packets and in bytes; bytes are left out. An
 * agent says what it read: that is checked, and not kept.
 */

import * as v from 'valibot';
import { fail, ok, type Result } from '../../core/result.ts';

const item = v.looseObject({
  name: v.string(),
  unit: v.optional(v.nullable(v.string())),
  value: v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER)),
});
const metric = v.looseObject({
  items: v.optional(v.nullable(v.pipe(v.array(item), v.maxLength(1_000)))),
});
const component = v.looseObject({
  version: v.optional(v.nullable(v.string())),
  utc_startup_timestamp: v.optional(v.nullable(v.number())),
  hub_items: v.optional(v.nullable(v.looseObject({}))),
  datasources: v.optional(v.nullable(v.looseObject({}))),
  metrics: v.optional(v.nullable(v.pipe(v.array(metric), v.maxLength(64)))),
});
const components = v.optional(v.nullable(v.pipe(v.array(component), v.maxLength(64))));
const schema = v.looseObject({ remediation_components: components, log_processors: components });

/** The members that a component of each kind must have. */
const needed = {
  remediation_components: ['version', 'utc_startup_timestamp'],
  log_processors: ['version', 'utc_startup_timestamp', 'hub_items', 'datasources'],
} as const;

export interface BouncerUsage {
  readonly processed: number;
  readonly dropped: number;
}

/** `bad_request` when the bytes are nothing of the kind, `invalid_parameter` when something is missing in it. */
export function readUsage(body: Uint8Array): Result<BouncerUsage> {
  const notRead = fail('bad_request', 'the body is no usage metrics');
  let given: unknown;
  try {
    given = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return notRead;
  }
  const read = v.safeParse(schema, given, { abortEarly: true });
  // An array is a loose object, too.
  if (!read.success || Array.isArray(given)) return notRead;
  const missing = missingIn(read.output);
  if (missing !== undefined) return fail('invalid_parameter', `${missing} is required`);
  const sums = { processed: 0, dropped: 0 };
  for (const { metrics } of read.output.remediation_components ?? []) {
    for (const { items } of metrics ?? []) {
      for (const { name, unit, value } of items ?? []) {
        if (unit === 'byte') continue;
        if (name === 'processed' || name === 'dropped') sums[name] += value;
      }
    }
  }
  return ok(sums);
}

/** Names the first member that is not there. */
function missingIn(usage: v.InferOutput<typeof schema>): string | undefined {
  for (const kind of ['remediation_components', 'log_processors'] as const) {
    for (const [i, one] of (usage[kind] ?? []).entries()) {
      const lacking = needed[kind].find((name) => one[name] === undefined || one[name] === null);
      if (lacking !== undefined) return `${kind}.${i}.${lacking}`;
    }
  }
  return undefined;
}
