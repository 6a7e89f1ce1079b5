/** A list of decisions that changes, as the feeds publish it. */

import type { DecisionList } from '../../../src/integrations/crowdsec/stream.ts';
import { changesOf, type HistoryStep } from '../../../src/reputation/blocklists/builder/history.ts';

/** Only the newest steps are remembered. */
export function createList(stepsMax: number) {
  let version = 1_000;
  let floor = version;
  const steps: HistoryStep[] = [];
  const held = new Set<string>();
  let now = publish();

  function publish(): DecisionList {
    const rows = [...held].map((ip) => `{"ipAddress":"${ip}","isp":"a \\"{b"}`).join(',\n');
    const parts = [Buffer.from(`{"meta":{},"data":[\n${rows}\n]}\n`)];
    return { parts, changes: changesOf({ version, floor, baseVersion: 0, steps }) };
  }

  return {
    held,
    toggle(values: readonly string[]) {
      const added = values.filter((value) => !held.has(value));
      const removed = values.filter((value) => held.has(value));
      for (const value of added) held.add(value);
      for (const value of removed) held.delete(value);
      steps.push({ version: ++version, added, removed });
      if (steps.length > stepsMax) floor = steps.shift()!.version;
      now = publish();
    },
    /** They stay, and are told anew: by other words. */
    tellAgain(values: readonly string[]) {
      steps.push({ version: ++version, added: values, removed: [] });
      if (steps.length > stepsMax) floor = steps.shift()!.version;
      now = publish();
    },
    now: async () => now,
  };
}
