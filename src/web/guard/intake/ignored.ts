/**
 * Parameters that an endpoint does not know are passed over, but not in silence: their names go back
 * in a header, so that a slip of the pen is found. Names come from anybody: they are percent-encoded,
 * and a few of them are shown, cut.
 */

import type { Header } from '../../../http/request/message.ts';

const ignoredHeader = 'X-Ignored-Parameters';
const namesMax = 8;
const nameCharsMax = 40;

/** Returns undefined when all names are known. More than `namesMax` end in `...`. */
export function ignoredParameters(
  names: readonly string[],
  known: ReadonlySet<string>,
): Header | undefined {
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length === 0) return undefined;
  const shown = unknown.slice(0, namesMax).map(encoded);
  if (unknown.length > namesMax) shown.push('...');
  return [ignoredHeader, shown.join(', ')];
}

/** Letters, digits and `-_.!~*'()` stay; a comma does not. An empty name shows as `""`. */
function encoded(name: string): string {
  if (name === '') return '""';
  const characters = Array.from(name.replace(/\p{Surrogate}/gu, '\ufffd'));
  const head = encodeURIComponent(characters.slice(0, nameCharsMax).join(''));
  return characters.length > nameCharsMax ? `${head}...` : head;
}
