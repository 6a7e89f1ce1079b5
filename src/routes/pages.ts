/** The pages that need no sign-in: home, the errors, and the style, script and font behind them. */

import { fileURLToPath } from 'node:url';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import { negotiate } from '../http/negotiate.ts';
import type { PlainRoute } from '../http/router.ts';
import { type Assets, loadAssets } from '../pages/assets.ts';
import { type ErrorStatus, errorPage } from '../pages/error.ts';
import { homePage } from '../pages/home.ts';
import { type Language, pickLanguage } from '../pages/language.ts';
import type { PageFrame, SiteLinks } from '../pages/layout.ts';
import { pageHeaders, type SecurityNeeds } from '../pages/security-headers.ts';
import type { RenderErrorPage } from './problem.ts';

/** Headers that a page's route reads. */
export const pageRequestHeaders = ['accept-language'] as const;

const dayCache: Header = ['Cache-Control', 'public, max-age=300'];

/** CC BY 4.0 asks for it wherever provider names are shown. */
export const providerAttribution = {
  name: 'ip-location-db / asn (RouteViews, DB-IP)',
  href: 'https://github.com/sapics/ip-location-db',
  licence: 'CC BY 4.0',
} as const;

export interface PageTools {
  frame(language: Language): PageFrame;
  /** `needs` of the page's own; whether it is https is known here. */
  headers(language: Language, needs?: Omit<SecurityNeeds, 'https'>): Header[];
}

/** Pages that every server has. */
export const siteLinks: SiteLinks = {
  captchaDemo: '/captcha/',
  feeds: '/feeds',
  kit: '/kit.zip',
  account: '/account',
  register: '/register',
  docs: '/docs',
  manifest: '/manifest',
  guide: '/llms.txt',
};

export function createPageTools(options: {
  assets: Assets;
  links: SiteLinks;
  https: boolean;
}): PageTools {
  const { assets, links, https } = options;
  return {
    frame: (language) => ({ language, assets, links }),
    headers: (language, needs) => Object.entries(pageHeaders(language, { ...needs, https })),
  };
}

export function languageOf(request: Request): Language {
  return pickLanguage(firstHeader(request, 'accept-language'));
}

export function pageRoutes(options: {
  tools: PageTools;
  assets: Assets;
  secureUrl: string;
  exampleAddresses: readonly string[];
}): PlainRoute[] {
  const { tools, assets, secureUrl, exampleAddresses } = options;

  function home(request: Request): Reply {
    const language = languageOf(request);
    return {
      status: 200,
      headers: [...tools.headers(language), dayCache],
      body: homePage(tools.frame(language), { secureUrl, exampleAddresses }),
    };
  }

  function asset(request: Request): Reply {
    const found = assets.assetFor(request.path);
    if (found === undefined) return errorReply(tools, languageOf(request), 404);
    return negotiate(request, found);
  }

  return [
    { kind: 'plain', method: 'GET', path: '/', headers: pageRequestHeaders, handle: home },
    {
      kind: 'plain',
      method: 'GET',
      path: '/static/*',
      headers: ['accept-encoding', 'if-none-match', 'accept-language'],
      handle: asset,
    },
    {
      kind: 'plain',
      method: 'GET',
      path: '/favicon.ico',
      handle: () => ({
        status: 301,
        headers: [
          ['Location', assets.url('favicon.svg')],
          ['Cache-Control', 'public, max-age=86400'],
        ],
      }),
    },
  ];
}

const pageStatuses: readonly ErrorStatus[] = [400, 403, 404, 429, 500, 503];

/** The page for a status; one without a page of its own shows the nearest. */
export function errorReply(
  tools: PageTools,
  language: Language,
  status: number,
  detail?: string,
): Reply {
  const page = pageStatuses.find((s) => s === status) ?? (status < 500 ? 400 : 503);
  return {
    status,
    headers: [...tools.headers(language), ['Cache-Control', 'no-store']],
    body: errorPage(tools.frame(language), { status: page, detail }),
  };
}

/** For refusals by the transport, which knows no language of the reader. */
export function createRenderErrorPage(tools: PageTools): RenderErrorPage {
  return (status, detail) => {
    const reply = errorReply(tools, 'en', status, detail);
    return { html: String(reply.body), headers: reply.headers };
  };
}

/** Folder of styles, scripts and fonts, found from the compiled file: dist/src/routes/. */
const staticFolder = fileURLToPath(new URL('../../../data/static', import.meta.url));

export function openAssets(): Assets {
  return loadAssets(staticFolder);
}

/** Error pages alone, for a front-end thread that has no other page. */
export function openErrorPages(https: boolean): RenderErrorPage {
  return createRenderErrorPage(createPageTools({ assets: openAssets(), links: siteLinks, https }));
}
