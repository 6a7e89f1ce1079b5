/**
 * Metrics in the Prometheus text format (prom-client). The hot path never touches prom-client:
 * front ends count in shared memory, and a collector reads those counts when /metrics is asked.
 */

import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import type { Histogram } from './timings.ts';

const prefix = 'portcullis_';

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix });
  // These are gauges under a counter's name; the same values are also given by kind.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`${prefix}nodejs_active_${what}_total`);
  }
  return {
    contentType: registry.contentType,
    /** Returns the whole page in the Prometheus text exposition format. */
    render: () => registry.metrics(),
    /** Adds a value that is read when the page is rendered. */
    gauge(name: string, help: string, read: () => number): void {
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(read());
        },
      });
    },
    /** Adds values by one label, read when the page is rendered. */
    gaugeBy(
      name: string,
      help: string,
      label: string,
      read: () => Iterable<[string, number]>,
    ): void {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [registry],
        collect() {
          this.reset();
          for (const [value, amount] of read()) this.set({ [label]: value }, amount);
        },
      });
    },
    /** Adds counts below each bound, and above all; kept elsewhere and read when the page is rendered. */
    histogram(name: string, help: string, bounds: readonly number[], read: () => Histogram): void {
      registry.registerMetric(readHistogram(name, help, bounds, read));
    },
    /** Adds a total that only grows, kept elsewhere and read when the page is rendered. */
    counterBy(
      name: string,
      help: string,
      labels: readonly string[],
      read: () => Iterable<[Record<string, string>, number]>,
    ): void {
      new Counter({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset();
          for (const [values, amount] of read()) this.inc(values, amount);
        },
      });
    },
  };
}

/** The package's own histogram takes one value after the other, and can't be set. */
function readHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
  read: () => Histogram,
): Metric {
  const own = {
    name,
    aggregator: 'sum',
    reset() {},
    async get() {
      const { cumulative, sum } = read();
      const count = cumulative.at(-1)!;
      const values = [
        ...bounds.map((le, i) => ({
          metricName: `${name}_bucket`,
          labels: { le },
          value: cumulative[i]!,
        })),
        { metricName: `${name}_bucket`, labels: { le: '+Inf' }, value: count },
        { metricName: `${name}_sum`, labels: {}, value: sum },
        { metricName: `${name}_count`, labels: {}, value: count },
      ];
      return { name, help, type: 'histogram', aggregator: 'sum', values };
    },
  };
  return own as unknown as Metric;
}

export type Metrics = ReturnType<typeof createMetrics>;

// Totals by name of what this process did since its start: each act is counted once, where it is done.

export function createTotals<Name extends string>() {
  const totals = new Map<Name, number>();
  return {
    count: (name: Name): void => void totals.set(name, (totals.get(name) ?? 0) + 1),
    /** Yields the totals; names that never came are left out. */
    read: (): Iterable<readonly [Name, number]> => totals,
  };
}
