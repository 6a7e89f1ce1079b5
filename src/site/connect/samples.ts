/** Samples of the documentation, as they stand in docs/ and as the system tests run them. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The code of a fence. `number` is its place among those of its language, from 0. */
export type TakeSample = (file: string, language: string, number?: number) => string;

/** @param folder docs/. Throws for a sample that is not there. */
export function openSamples(folder: string): TakeSample {
  const read = new Map<string, string>();
  return (file, language, number = 0) => {
    const text = read.get(file) ?? readFileSync(join(folder, file), 'utf8');
    read.set(file, text);
    const fences = [...text.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)];
    const found = fences.filter(([, name]) => name === language)[number]?.[2];
    if (found === undefined) throw new Error(`${file}: no sample ${number} in ${language}`);
    return found;
  };
}

/** `text` with each pair's first replaced by its second. Throws where one is not there. */
export function filledIn(text: string, pairs: readonly (readonly [string, string])[]): string {
  let filled = text;
  for (const [from, to] of pairs) {
    if (!filled.includes(from)) throw new Error(`a sample has no ${from}`);
    filled = filled.replaceAll(from, to);
  }
  return filled;
}
