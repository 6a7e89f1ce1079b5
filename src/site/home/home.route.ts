/** The pages that need no sign-in: home, and the style, script and font behind all pages. */

import type { Clock } from '../../core/clock.ts';
import { languages } from '../../core/language.ts';
import { fail } from '../../core/result.ts';
import { daySeconds } from '../../core/time.ts';
import { negotiate } from '../../http/answer/negotiate.ts';
import { parseForm } from '../../http/request/body.ts';
import { firstHeader, type Header, type Reply, type Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import { createRouter, type PlainRoute } from '../../http/router.ts';
import { type Assets, staticEndpoint } from '../../web/assets.ts';
import {
  type Appearance,
  appearanceOf,
  appearanceText,
  themes,
} from '../../web/guard/appearance.ts';
import type { Cookies } from '../../web/guard/cookies.ts';
import { type Endpoint, openPage, publicFileEndpoint } from '../../web/guard/endpoint.ts';
import { type Guard, movedTo } from '../../web/guard/guard.ts';
import { isOwnOrigin } from '../../web/guard/intake/form.ts';
import { ownPath } from '../../web/guard/intake/unsaved.ts';
import type { AnyPageBuilder } from '../../web/guard/page-builder.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
} from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';
import { type HomePageData, homePage } from './home.page.tsx';

// POST /looks: the language or the theme that a reader chose in the footer, kept in the browser.

/** With the address of the page, which may hold a site's whole request, escaped twice. */
const bodyBytesMax = 65_536;
const backCharsMax = 16_384;
const pairsMax = 256;
const keptSeconds = 400 * daySeconds;

export const appearanceEndpoint = openPage('/looks', {
  method: 'POST',
  headers: [
    'content-type',
    'cookie',
    'origin',
    'referer',
    'sec-fetch-site',
    'host',
    ...pageRequestHeaders,
  ],
  body: { types: ['form'], bytesMax: bodyBytesMax },
  errors: ['invalid_parameter'],
  robots: 'disallow',
});

export function appearanceRoute(options: {
  guard: Guard;
  cookies: Cookies;
  baseUrl: string;
  /** All of the service. */
  endpoints: readonly Endpoint[];
  /** Returns the address of a page with what was typed into its form. */
  withTyped: AnyPageBuilder['withTyped'];
}): PlainRoute {
  const { guard, cookies, baseUrl, endpoints, withTyped } = options;
  const backOf = createBackOf(endpoints);

  return guard.open(appearanceEndpoint, (request): Reply | ReturnType<typeof fail> => {
    if (!isOwnOrigin(request, baseUrl)) return fail('foreign_form');
    // A button of the page's own form sends that form, and its choice in the address.
    const query = parseQuery(request.query, { charsMax: bodyBytesMax });
    const action = query.ok ? query.value.get('of') : undefined;
    const repeatable = action === undefined ? [] : namesIn(request.body);
    const form = parseForm(request.body, { pairsMax, repeatable });
    if (!form.ok || !query.ok) return fail('bad_request');
    const choice = action === undefined ? form.value : query.value;
    const [language, theme] = [choice.get('language'), choice.get('theme')];
    const known: Appearance = appearanceOf(cookies, request);
    const chosen: Appearance = {
      language: languages.find((one) => one === language) ?? known.language,
      theme: theme === 'auto' ? undefined : (themes.find((one) => one === theme) ?? known.theme),
    };
    const isUnknown = (value: string | undefined, values: readonly string[]) =>
      value !== undefined && !values.includes(value);
    if (isUnknown(language, languages)) return fail('invalid_parameter', undefined, 'language');
    if (isUnknown(theme, [...themes, 'auto'])) return fail('invalid_parameter', undefined, 'theme');
    const text = appearanceText(chosen);
    // A page with an address of its own says it; a browser leaves out a long one of itself.
    const page = ownPath(choice.get('back'), backCharsMax) ?? backOf(request);
    const typed = action && withTyped(request, page, { action, form: form.value });
    return {
      status: 303,
      headers: [
        ['Location', typed || (language === undefined ? page : page.replace(askedLanguage, ''))],
        noStore,
        text === undefined ? cookies.clear('looks') : cookies.set('looks', text, keptSeconds),
      ],
    };
  });
}

/** A link may have asked for a language; the reader's choice is newer. */
const askedLanguage = /(?<=\?)language=[a-z]{2}&|[?&]language=[a-z]{2}(?=&|$)/;

/** Names of a form of any page: each may come more than once. */
function namesIn(body: Uint8Array): string[] {
  return [...new Set(new URLSearchParams(Buffer.from(body).toString('utf8')).keys())];
}

/**
 * The page that the reader is on, as far as it is ours. The answer to a form may stand on a path that
 * nobody can open: then the nearest page above it.
 */
function createBackOf(endpoints: readonly Endpoint[]): (request: Request) => string {
  const paths = new Map<string, Pick<Endpoint, 'method' | 'path'>>();
  for (const { method, path } of endpoints) paths.set(`${method} ${path}`, { method, path });
  const handle = () => ({ status: 404, headers: [] });
  const router = createRouter(
    [...paths.values()].map((one) => ({ kind: 'plain', ...one, handle })),
  );
  const pages = new Set(
    endpoints.filter(({ method, docs }) => method === 'GET' && docs === 'page').map((e) => e.path),
  );

  function openPath(path: string): string {
    const resource = router.match(path)?.resource;
    // A path that nobody has is a page that says so.
    if (resource === undefined || resource.byMethod.has('GET')) return path;
    let above = path;
    do {
      above = above.slice(0, above.lastIndexOf('/'));
    } while (above !== '' && !pages.has(router.match(above)?.resource.path ?? ''));
    return above === '' ? '/' : above;
  }

  return (request) => {
    const referer = firstHeader(request, 'referer') ?? '';
    if (!URL.canParse(referer)) return '/';
    const { host, pathname, search } = new URL(referer);
    if (host !== firstHeader(request, 'host') || ownPath(pathname) === undefined) return '/';
    const path = openPath(pathname);
    return path === pathname ? (ownPath(`${path}${search}`, backCharsMax) ?? '/') : path;
  };
}

/** The address is from a range for documentation: a check knows it with demo data alone. */
const sampleAddressDefault = '198.51.100.23';
const dayCache: Header = ['Cache-Control', 'public, max-age=300'];

/** The numbers of the radar are added up anew when they are older. */
const numbersKeptMs = 10_000;
type RadarNumbers = NonNullable<HomePageData['radar']>;

export const homeEndpoint = openPage('/', { headers: pageRequestHeaders });
export const faviconEndpoint = publicFileEndpoint('/favicon.ico');

/** Answers a path of /static/. */
export function staticFiles(assets: Assets, tools: PageTools): (request: Request) => Reply {
  return (request) => {
    const found = assets.assetFor(request.path);
    if (found === undefined) return errorReply(tools, languageOf(request), 404);
    return negotiate(request, found);
  };
}

export interface HomeOptions {
  guard: Guard;
  tools: PageTools;
  assets: Assets;
  secureUrl: string;
  exampleAddresses: readonly string[];
  /** Returns the answer of a check as JSON; undefined if the text is no address. */
  check: { toJson(text: string, nowMs: number): string | undefined };
  /** True once a list was loaded or something reported. */
  hasEntries: () => boolean;
  /** The numbers of the radar in words; undefined where not everybody may see it. */
  radar: ((frame: PageFrame) => RadarNumbers) | undefined;
  clock: Clock;
}

export function pageRoutes(options: HomeOptions): PlainRoute[] {
  const { guard, tools, assets, secureUrl, exampleAddresses, check, radar, clock } = options;
  const sampleAddress = exampleAddresses[1] ?? sampleAddressDefault;

  function checked(address: string) {
    return JSON.parse(check.toJson(address, clock.now())!) as {
      readonly ipAddress: string;
      readonly abuseConfidenceScore: number;
      readonly totalReports: number;
      readonly malicious: boolean;
    };
  }

  /** The last reply by language is kept: the page takes long to make, and rarely changes. */
  const made = new Map<string, { readonly of: string; readonly reply: Reply }>();

  /** The numbers by language are kept: adding them up takes longer than the page's other facts. */
  const counted = new Map<string, { readonly at: number; readonly numbers: RadarNumbers }>();

  function radarNumbers(frame: PageFrame): RadarNumbers | undefined {
    const known = counted.get(frame.language);
    const at = clock.monotonicMs();
    if (radar === undefined || (known && at - known.at < numbersKeptMs)) return known?.numbers;
    const numbers = radar(frame).map(({ value, label }) => ({ value, label }));
    counted.set(frame.language, { at, numbers });
    return numbers;
  }

  function home(request: Request): Reply {
    const language = languageOf(request);
    const frame = tools.frame(language);
    const arrivals = exampleAddresses.map((address) => {
      return { address, score: checked(address).abuseConfidenceScore };
    });
    const { ipAddress, abuseConfidenceScore, totalReports, malicious } = checked(sampleAddress);
    const short = { ipAddress, abuseConfidenceScore, totalReports, malicious };
    const answer = JSON.stringify({ data: short }, null, 2);
    const isEmpty = !options.hasEntries();
    const sample = isEmpty ? undefined : { address: sampleAddress, answer };
    const radar = radarNumbers(frame);
    const data = { secureUrl, exampleAddresses, arrivals, sample, radar, isEmpty };
    const of = JSON.stringify(data);
    const known = made.get(language);
    if (known?.of === of) return known.reply;
    const headers = [...tools.headers(language), dayCache];
    const body = Buffer.from(homePage(frame, data));
    const reply: Reply = { status: 200, headers, body };
    made.set(language, { of, reply });
    return reply;
  }

  return [
    guard.open(homeEndpoint, home),
    guard.open(staticEndpoint, staticFiles(assets, tools)),
    guard.open(faviconEndpoint, () => movedTo(assets.url('favicon.svg'))),
  ];
}
