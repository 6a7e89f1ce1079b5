/** What an index holds and what a model says it must hold, as comparable texts. */

import type { IpIndex } from '../../../src/index/ip-index.ts';
import { flagsOf, listScoreOf, metaOf, reportsOf, strengthOf } from '../../../src/index/records.ts';
import { formatPrefix } from '../../../src/ip/prefix.ts';
import type { ListModel } from './list-model.ts';

/** `prefix score flags` of every entry; no list leaves reports or community evidence behind. */
export function indexShown(index: IpIndex): string[] {
  const lines: string[] = [];
  for (const family of [4, 6] as const) {
    const all = { family, words: new Uint32Array(4), length: 0 };
    index.walk(all, (entry) => {
      const prefix = index.prefixOf(entry)!;
      const { records } = index;
      const meta = metaOf(records, entry);
      const extra =
        reportsOf(records, entry) === 0 && strengthOf(records, entry) === Number.NEGATIVE_INFINITY
          ? ''
          : ' reported';
      lines.push(`${formatPrefix(prefix)} ${listScoreOf(meta)} ${flagsOf(meta)}${extra}`);
    });
  }
  return lines.sort();
}

export function modelShown(model: ListModel): string[] {
  return [...model.entries()].map(([name, { score, flags }]) => `${name} ${score} ${flags}`).sort();
}
