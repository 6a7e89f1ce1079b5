/**
 * What a bouncer says that it saw and stopped: sums over all its items, whatever their labels are.
 * Firewall bouncers say the same traffic in packets and in bytes; bytes are left out.
 */

import * as v from 'valibot';

const item = v.looseObject({
  name: v.string(),
  unit: v.optional(v.nullable(v.string())),
  value: v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER)),
});
const metric = v.looseObject({
  items: v.optional(v.nullable(v.pipe(v.array(item), v.maxLength(1_000)))),
});
const component = v.looseObject({
  metrics: v.optional(v.nullable(v.pipe(v.array(metric), v.maxLength(64)))),
});
const schema = v.looseObject({
  remediation_components: v.optional(v.nullable(v.pipe(v.array(component), v.maxLength(64)))),
});

export interface BouncerUsage {
  readonly processed: number;
  readonly dropped: number;
}

/** Undefined when the bytes are nothing of the kind. */
export function readUsage(body: Uint8Array): BouncerUsage | undefined {
  let given: unknown;
  try {
    given = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
  const read = v.safeParse(schema, given, { abortEarly: true });
  // An array is a loose object, too.
  if (!read.success || Array.isArray(given)) return undefined;
  const sums = { processed: 0, dropped: 0 };
  for (const { metrics } of read.output.remediation_components ?? []) {
    for (const { items } of metrics ?? []) {
      for (const { name, unit, value } of items ?? []) {
        if (unit === 'byte') continue;
        if (name === 'processed' || name === 'dropped') sums[name] += value;
      }
    }
  }
  return sums;
}
