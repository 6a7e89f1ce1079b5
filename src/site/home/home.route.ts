/** The pages that need no sign-in: home, and the style, script and font behind all pages. */

import type { Clock } from '../../core/clock.ts';
import { negotiate } from '../../http/answer/negotiate.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { Assets } from '../../web/assets.ts';
import { openFile, openPage } from '../../web/guard/endpoint.ts';
import { type Guard, movedTo } from '../../web/guard/guard.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
} from '../../web/page-tools.ts';
import { type HomePageData, homePage } from './home.page.tsx';
import { staticEndpoint } from './static.endpoint.ts';

/** The address is from a range for documentation: a check knows it with demo data alone. */
const sampleElsewhere = '198.51.100.23';
const dayCache: Header = ['Cache-Control', 'public, max-age=300'];

/** The numbers of the radar are added up anew when they are older. */
const numbersKeptMs = 10_000;
type RadarNumbers = NonNullable<HomePageData['radar']>;

export const homeEndpoint = openPage('/', { headers: pageRequestHeaders });
export const faviconEndpoint = openFile('/favicon.ico');

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
  /** The numbers of the radar in words; undefined where not everybody may see it. */
  radar: ((frame: PageFrame) => RadarNumbers) | undefined;
  clock: Clock;
}

export function pageRoutes(options: HomeOptions): PlainRoute[] {
  const { guard, tools, assets, secureUrl, exampleAddresses, check, radar, clock } = options;
  const sampleAddress = exampleAddresses[1] ?? sampleElsewhere;

  function checked(address: string): { abuseConfidenceScore: number } {
    return JSON.parse(check.toJson(address, clock.now())!);
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
    const answer = JSON.stringify({ data: checked(sampleAddress) }, null, 2);
    const sample = { address: sampleAddress, answer };
    const data = { secureUrl, exampleAddresses, arrivals, sample, radar: radarNumbers(frame) };
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
