/** The sections of the index bench. */

import { changes, heap, tortured } from './index-changes.ts';
import { blockList, lookups4, lookups6, lookupsMixed, memory } from './index-lookups.ts';
import type { IndexPlan } from './index-plan.ts';
import type { BenchRow } from './row.ts';

export const sections: Readonly<
  Record<string, (plan: IndexPlan) => BenchRow[] | Promise<BenchRow[]>>
> = { lookups4, lookupsMixed, blockList, lookups6, memory, changes, heap, tortured };

export interface SectionTask {
  readonly section: string;
  readonly size: 'tiny' | 'full';
}
