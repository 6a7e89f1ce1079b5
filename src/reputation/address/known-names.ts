/**
 * Names of scanners and crawlers by their networks, read once from data/seed/known-names.txt. A
 * name shows a reader whose address it is; it never changes a score.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { IpFamily } from '../../ip/address.ts';
import { contains, type Prefix, parsePrefix } from '../../ip/prefix.ts';

export interface KnownName {
  readonly name: string;
  readonly kind: 'scanner' | 'crawler';
}

/** Checked from the compiled file: dist/src/reputation/address/. */
const bundled = fileURLToPath(new URL('../../../../data/seed/known-names.txt', import.meta.url));

/** @throws Error for a line that is not `network kind name`: the file is part of the service */
export function openKnownNames(text = readFileSync(bundled, 'utf8')) {
  const rows: (KnownName & { readonly prefix: Prefix })[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, network = '', kind, name] = /^(\S+) (scanner|crawler) (\S.*)$/.exec(line) ?? [];
    const prefix = parsePrefix(network);
    if (name === undefined || !prefix.ok) throw new Error(`not a known name: ${line}`);
    rows.push({ prefix: prefix.value, kind: kind as KnownName['kind'], name });
  }

  function of(family: IpFamily, words: Uint32Array): KnownName | undefined {
    return rows.find(({ prefix }) => contains(prefix, family, words));
  }

  return { of };
}
