/**
 * The facts by which a report is counted, read right after it was applied: from the event, the index and the lists,
 * which are the same on every node, and from the tables of countries and networks of this server. Nodes
 * with other tables may differ in those two.
 */

import { scoreBand } from '../../core/score-band.ts';
import type { IndexView } from '../../index/reader.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import { openCheck } from '../check/check.ts';
import type { Sources } from '../lists/sources.ts';
import { categoriesOf } from '../reports/categories.ts';
import { type Contributions, contributionKinds, kindOf, refOf } from '../state/contributions.ts';
import type { AddedReport } from '../state/events.ts';
import type { ReportFacts } from './bucket.ts';

/** Looks up country and network of an address in the compiled tables. */
export type PlaceOf = (
  family: 4 | 6,
  words: Uint32Array,
) => { readonly country: string; readonly network: string };

/** Longest name of a network that is kept, UTF-16 units. */
const networkNameMax = 100;

/** @returns the reader of facts; what it gives is good for one report */
export function createReportFacts(options: {
  index: Pick<IndexView, 'covering' | 'records' | 'listTimes'>;
  contributions: Pick<Contributions, 'first' | 'next' | 'tag'>;
  sources: Pick<Sources, 'nameOf'>;
  placeOf: PlaceOf;
}): (event: AddedReport, at: number) => ReportFacts {
  const { index, contributions, sources, placeOf } = options;
  const { judge } = openCheck({ index, geo: { write: (_view, at) => at } });
  const covering = new Int32Array(COVERING_MAX);

  /** Returns the names of the lists of bad addresses and of anonymous exits, each once. */
  function listsOf(family: 4 | 6, words: Uint32Array): string[] {
    const names = new Set<string>();
    const count = index.covering(family, words, covering);
    for (let i = 0; i < count; i++) {
      for (let node = contributions.first(covering[i]!); node !== 0; ) {
        const tag = contributions.tag[node]!;
        const kind = kindOf(tag);
        if (kind === contributionKinds.seed || kind === contributionKinds.anon) {
          const name = sources.nameOf(refOf(tag));
          if (name !== undefined) names.add(name);
        }
        node = contributions.next[node]!;
      }
    }
    return [...names];
  }

  return (event, at) => {
    const { family, words, categories } = event;
    const { country, network } = placeOf(family, words);
    return {
      categories: categoriesOf(categories).map(String),
      country,
      network: network.slice(0, networkNameMax),
      lists: listsOf(family, words),
      band: scoreBand(judge(family, words, at).score),
    };
  };
}
