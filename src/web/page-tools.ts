/** The tools of every page: the frame, the headers, the language of the reader, the page of an error. */

import { fileURLToPath } from 'node:url';
import { sentenceFor } from '../core/errors.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/request/message.ts';
import { type Assets, loadAssets } from './assets.ts';
import { catalogueFor, type Language, pickLanguage } from './language.ts';
import { type ErrorStatus, errorPage } from './layout/error.page.tsx';
import type { PageFrame, SiteLinks } from './layout/layout.tsx';
import { pageHeaders, type SecurityNeeds } from './security-headers.ts';
import type { RenderErrorPage } from './shape.ts';

/** Headers that a page's route reads. */
export const pageRequestHeaders = ['accept-language'] as const;

export interface PageTools {
  frame(language: Language): PageFrame;
  /** `needs` of the page's own; whether it is https is known here. */
  headers(language: Language, needs?: Omit<SecurityNeeds, 'https'>): Header[];
}

/** Pages that every server has. */
export const siteLinks: SiteLinks = {
  captchaDemo: '/captcha/',
  connect: '/connect',
  feeds: '/feeds',
  kit: '/kit.zip',
  account: '/account',
  register: '/register',
  docs: '/docs',
  manifest: '/manifest',
  guide: '/llms.txt',
};

export function createPageTools(options: {
  assets: Pick<Assets, 'url'>;
  links: SiteLinks;
  https: boolean;
  /** Scheme and host of the pages. */
  origin?: string;
  siteName?: string | undefined;
  hasOutbox?: boolean;
}): PageTools {
  const { https, ...frame } = options;
  return {
    frame: (language) => ({ language, ...frame }),
    headers: (language, needs) => Object.entries(pageHeaders(language, { ...needs, https })),
  };
}

export function languageOf(request: Request): Language {
  return pickLanguage(firstHeader(request, 'accept-language'));
}

const pageStatuses: readonly ErrorStatus[] = [400, 403, 404, 405, 408, 413, 415, 429, 500, 503];
/** The transport's text for these is written for programs: people get the words of the page. */
const transportStatuses: readonly number[] = [405, 408, 413, 415];

/** The page for a status; one without a page of its own shows the nearest. */
export function errorReply(
  tools: PageTools,
  language: Language,
  status: number,
  detail?: string,
  more: { readonly back?: string | undefined; readonly keepsOpener?: boolean | undefined } = {},
): Reply {
  const { back, keepsOpener } = more;
  const page = pageStatuses.find((s) => s === status) ?? (status < 500 ? 400 : 503);
  return {
    status,
    headers: [...tools.headers(language, { keepsOpener }), ['Cache-Control', 'no-store']],
    body: errorPage(tools.frame(language), { status: page, detail, back }),
  };
}

/** Texts of the transport are few: more are not kept. */
const keptPagesMax = 64;

/**
 * Renders the pages of refusals by the transport and the guard, once for each text: a flood of refused requests shall not pay with our time.
 */
/** The sentence, and when to try again. */
function withWait(language: Language, detail: string, seconds: number | undefined): string {
  if (seconds === undefined) return detail;
  return `${detail} ${catalogueFor(language).error.tryAgainIn(seconds)}`;
}

/** Returns the text of a 429 page. */
export function tooManyText(language: Language, seconds: number): string {
  return withWait(language, sentenceFor('client_limit_exceeded', language), seconds);
}

export function createRenderErrorPage(tools: PageTools): RenderErrorPage {
  const kept = new Map<string, ReturnType<RenderErrorPage>>();
  return (status, english, { code, acceptLanguage, waitSeconds, back, keepsOpener } = {}) => {
    const language = pickLanguage(acceptLanguage);
    const said = language === 'en' || code === undefined ? english : sentenceFor(code, language);
    const isTransports = transportStatuses.includes(status);
    const detail = isTransports ? undefined : withWait(language, said, waitSeconds);
    const key = `${language} ${status} ${detail ?? ''} ${back ?? ''} ${keepsOpener === true}`;
    const known = kept.get(key);
    if (known !== undefined) return known;
    const reply = errorReply(tools, language, status, detail, { back, keepsOpener });
    const page = { html: String(reply.body), headers: reply.headers };
    if (kept.size < keptPagesMax) kept.set(key, page);
    return page;
  };
}

/** Folder of styles, scripts and fonts, found from the compiled file: dist/src/web/. */
const staticFolder = fileURLToPath(new URL('../../../data/static', import.meta.url));

export function openAssets(): Assets {
  return loadAssets(staticFolder);
}

/** Error pages alone, for a front-end thread that has no other page. */
export function openErrorPages(https: boolean): RenderErrorPage {
  return createRenderErrorPage(createPageTools({ assets: openAssets(), links: siteLinks, https }));
}
