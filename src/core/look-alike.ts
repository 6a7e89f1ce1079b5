/**
 * Tells whether two host names look alike to a person: both are reduced to the plain letters that they
 * resemble, and these are compared. A small part of UTS 39: the lower-case letters of Cyrillic,
 * Greek and Armenian that pass for Latin ones, accents, and the pairs that pass for one letter.
 * A help for the eye, never a rule of who may do what: what is not listed here is not found.
 */

import { domainToUnicode } from 'node:url';

const resembled: Readonly<Record<string, string>> = {
  a: 'аɑαạ',
  b: 'ЬƄ',
  c: 'сϲⅽ',
  d: 'ԁɗ',
  e: 'еєҽэ',
  f: 'ϝƒ',
  g: 'ɡցɢ',
  h: 'һհн',
  i: 'іıιӏ1lј|!',
  k: 'κкқ',
  m: 'мʍ',
  n: 'пոηɴ',
  o: 'о0οօσөøס',
  p: 'рρƿ',
  q: 'ԛզ',
  r: 'гɾ',
  s: 'ѕʂ5',
  t: 'тτ',
  u: 'υսцʋ',
  v: 'νѵ',
  w: 'ԝшѡω',
  x: 'хχ×',
  y: 'уγүʏ',
  z: 'ʐ2',
};
const plainOf = new Map(
  Object.entries(resembled).flatMap(([plain, like]) => [...like].map((c) => [c, plain] as const)),
);
const pairs: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/c[il]/g, 'd'],
  [/ß/g, 'b'],
  [/[æ]/g, 'ae'],
  [/[œ]/g, 'oe'],
];

/** @param host A-labels, lower case */
function skeletonOf(host: string): string {
  const letters = host.includes('xn--') ? domainToUnicode(host) : host;
  const plain = [...letters.normalize('NFKD').replace(/\p{M}/gu, '')]
    .map((letter) => plainOf.get(letter) ?? letter)
    .join('');
  return pairs.reduce((text, [pair, one]) => text.replace(pair, one), plain).replaceAll('-', '');
}

/** Returns the first of the known names that this one resembles without being equal to it. */
export function lookAlikeOf(host: string, known: readonly string[]): string | undefined {
  if (known.includes(host)) return undefined;
  const skeleton = skeletonOf(host);
  return known.find((name) => name !== '' && skeletonOf(name) === skeleton);
}
