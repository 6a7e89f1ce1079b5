/**
 * The names that sites give themselves in their web manifests, for the consent page (CONSENT_SITE_NAMES). Nobody
 * verifies them: a name is shown next to the domain and never instead of it. A name that could pass for another
 * domain, or that has invisible characters, is not shown.
 *
 * A page never waits for a name: the first consent of a site starts the look-up, and a later one shows the name. Only
 * signed-in people start look-ups. A look-up makes two requests at most, to the origin that the answer goes to;
 * redirects are not followed, and private addresses are not asked. Look-ups at a time and a minute are limited;
 * results are kept in memory for a day.
 */

import { domainToUnicode } from 'node:url';
import type { Clock } from '../../core/clock.ts';
import { type OutgoingRules, requestOnce } from '../../core/outgoing.ts';
import { createJobs } from '../../core/scheduling.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';

const nameLifeMs = dayMs;
const noneLifeMs = hourMs;
const sitesMax = 2_048;
const underWayMax = 4;
const perMinuteMax = 30;
const requestMsMax = 5_000;
const pageBytesMax = 512 * 1_024;
const manifestBytesMax = 64 * 1_024;
const nameCharsMax = 40;

/** Full stops of other scripts, which the usual forms (NFKC) do not make one. */
const otherDots = /[\u06d4\u0701\u0702\u3002\ua4f8]/g;

/** Returns the name as it may be shown; undefined for one that may not. */
export function shownName(name: unknown, registrable: string): string | undefined {
  if (typeof name !== 'string' || name.length > 1_000) return undefined;
  const text = name
    .normalize('NFC')
    .replaceAll('\ufe0f', '')
    .replace(/[\t\n\r\p{Zs}]+/gu, ' ')
    .trim();
  // Marks of direction, controls and what is invisible; letters under piles of marks.
  const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|\p{M}{3}/u;
  if (text === '' || hidden.test(text)) return undefined;
  // Letters of other forms are read as the usual ones.
  const plain = text.normalize('NFKC');
  if (!/[\p{L}\p{N}]/u.test(plain) || /[@/\\:]/.test(plain)) return undefined;
  if (/[\u2044\u2215\u29f8]/.test(text)) return undefined;
  // A part that looks like a domain must be the site's own; other full stops pass for a dot.
  const domains = plain.replace(otherDots, '.').match(/[^\s.]+(?:\.[^\s.]+)+/gu) ?? [];
  if (domains.some((found) => found.toLowerCase() !== registrable)) return undefined;
  const letters = [...text];
  return letters.length > nameCharsMax ? `${letters.slice(0, nameCharsMax - 1).join('')}…` : text;
}

/** Returns the address of the web manifest that a page names, if it is of the page's own origin. */
export function siteManifestOf(html: string, origin: string): URL | undefined {
  const head = html.slice(0, html.search(/<\/head|<body/i) >>> 0);
  // Another tag ends one, or a page of tags without an end would be read anew from each.
  for (const [tag] of head.matchAll(/<link\s[^<>]{0,2000}>/gi)) {
    const attribute = (name: string) => {
      const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(
        tag,
      );
      return found?.[1] ?? found?.[2] ?? found?.[3];
    };
    if (!attribute('rel')?.toLowerCase().split(/\s+/).includes('manifest')) continue;
    const href = attribute('href')?.replaceAll('&amp;', '&');
    if (href === undefined || !URL.canParse(href, `${origin}/`)) return undefined;
    const url = new URL(href, `${origin}/`);
    return url.origin === origin ? url : undefined;
  }
  return undefined;
}

export type SiteNames = ReturnType<typeof createSiteNames>;

export function createSiteNames(options: {
  clock: Clock;
  destinations: OutgoingRules;
  isOn: boolean;
}) {
  const { clock, destinations, isOn } = options;
  const known = new Map<string, { readonly name: string | undefined; readonly until: number }>();
  const jobs = createJobs<string>(underWayMax, () => {
    // A name that was not read is looked up again for a later page.
  });
  const { signal } = jobs;
  let begun: number[] = [];

  async function read(url: URL, bytesMax: number): Promise<string | undefined> {
    const headers = { accept: '*/*' };
    const asked = { method: 'GET', headers, waitMsMax: requestMsMax, bytesMax, signal } as const;
    const { status, text } = await requestOnce(url, asked, destinations);
    return status === 200 ? text : undefined;
  }

  async function nameAt(origin: string, registrable: string): Promise<string | undefined> {
    const page = await read(new URL('/', origin), pageBytesMax);
    const manifest = page === undefined ? undefined : siteManifestOf(page, origin);
    const text = manifest && (await read(manifest, manifestBytesMax));
    if (text === undefined) return undefined;
    try {
      const { name, short_name: short } = JSON.parse(text) as { [member: string]: unknown };
      return shownName(name, registrable) ?? shownName(short, registrable);
    } catch {
      return undefined;
    }
  }

  async function lookUpName(origin: string, registrable: string): Promise<void> {
    const name = await nameAt(origin, registrable);
    if (signal.aborted) return;
    const lifeMs = name === undefined ? noneLifeMs : nameLifeMs;
    known.delete(origin);
    known.set(origin, { name, until: clock.monotonicMs() + lifeMs });
    if (known.size > sitesMax) known.delete(known.keys().next().value!);
  }

  function begin(origin: string, registrable: string): void {
    const now = clock.monotonicMs();
    begun = begun.filter((at) => now - at < minuteMs);
    if (begun.length >= perMinuteMax) return;
    if (jobs.begin(registrable, () => lookUpName(origin, registrable))) begun.push(now);
  }

  return {
    /** Returns the name if it is known; one that is not, or is of long ago, is looked up for the next time. */
    of(origin: string, registrable: string): string | undefined {
      if (!isOn) return undefined;
      const found = known.get(origin);
      if (found === undefined || clock.monotonicMs() >= found.until) begin(origin, registrable);
      return found?.name;
    },
    idle: jobs.idle,
    table: { name: 'site_names', used: () => known.size, limit: sitesMax },
    close: jobs.stop,
  };
}

// Tells whether two host names look alike to a person: both are reduced to the plain letters that they
// resemble, and these are compared. A small part of UTS 39: the lower-case letters of Cyrillic,
// Greek and Armenian that pass for Latin ones, accents, and the pairs that pass for one letter.
// A help for the eye, never a rule of who may do what: what is not listed here is not found.

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
