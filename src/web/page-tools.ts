/** The tools of every page: the frame, the headers, the language of the reader, the page of an error. */

import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { logoName } from '../config/logo.ts';
import { equalBytes } from '../core/crypto.ts';
import { sentenceFor } from '../core/errors.ts';
import type { Language } from '../core/language.ts';
import { minuteMs } from '../core/time.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/request/message.ts';
import { type Assets, type Brand, loadAssets } from './assets.ts';
import { pickLanguage, translationsFor } from './language.ts';
import { type ErrorStatus, errorPage, type PageFrame, type SiteLinks } from './layout/layout.tsx';
import type { RenderErrorPage } from './shape.ts';

/** Headers that a page's route reads. */
export const pageRequestHeaders = ['accept-language'] as const;

/** Pages that every server has. */
export const siteLinks: SiteLinks = {
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
  brand?: Brand | undefined;
  hasOutbox?: boolean;
}) {
  const { https, brand, ...more } = options;
  const frame = { ...more, siteName: brand?.siteName, logo: brand?.logo && logoName(brand.logo) };
  return {
    frame: (language: Language): PageFrame => ({ language, ...frame }),
    /** `needs` of the page's own; whether it is https is known here. */
    headers: (language: Language, needs?: SecurityNeeds): Header[] =>
      Object.entries(pageHeaders(language, { ...needs, https })),
  };
}

export type PageTools = ReturnType<typeof createPageTools>;

export function languageOf(request: Request): Language {
  return pickLanguage(firstHeader(request, 'accept-language'));
}

const pageStatuses: readonly ErrorStatus[] = [400, 403, 404, 405, 408, 413, 415, 429, 500, 503];
/** The text for these is written for programs: people get the words of the page. */
const transportStatuses: readonly number[] = [405, 408, 413, 415];

/** The page for a status; one without a page of its own shows the nearest. */
export function errorReply(
  tools: PageTools,
  language: Language,
  status: number,
  detail?: string,
  more: {
    readonly back?: string | undefined;
    readonly keepsOpener?: boolean | undefined;
    readonly typed?: string | undefined;
  } = {},
): Reply {
  const { back, keepsOpener, typed } = more;
  const page = pageStatuses.find((s) => s === status) ?? (status < 500 ? 400 : 503);
  return {
    status,
    headers: [...tools.headers(language, { keepsOpener }), ['Cache-Control', 'no-store']],
    body: errorPage(tools.frame(language), { status: page, detail, back, typed }),
  };
}

/** Texts of the transport are few: more are not kept. */
const keptPagesMax = 64;

/** Returns the sentence with the time after which to try again. */
function withWait(language: Language, detail: string, seconds: number | undefined): string {
  if (seconds === undefined) return detail;
  return `${detail} ${translationsFor(language).error.tryAgainIn(seconds)}`;
}

export function tooManyText(language: Language, seconds: number): string {
  return withWait(language, sentenceFor('client_limit_exceeded', language), seconds);
}

/**
 * Renders the pages of refusals by the transport and the guard, once for each text: a flood of refused requests
 * must not cost a page each.
 */
export function createRenderErrorPage(tools: PageTools): RenderErrorPage {
  const kept = new Map<string, ReturnType<RenderErrorPage>>();
  return (status, english, { code, acceptLanguage, waitSeconds, back, keepsOpener } = {}) => {
    const language = pickLanguage(acceptLanguage);
    const said = language === 'en' || code === undefined ? english : sentenceFor(code, language);
    const isForPrograms = transportStatuses.includes(status) || code === 'not_found';
    const detail = isForPrograms ? undefined : withWait(language, said, waitSeconds);
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

export function openAssets(brand?: Brand): Assets {
  return loadAssets(staticFolder, brand);
}

/** Error pages alone, for a front-end thread that has no other page. */
export function openErrorPages(
  https: boolean,
  brand?: Brand,
  links: SiteLinks = siteLinks,
): RenderErrorPage {
  const assets = openAssets(brand);
  return createRenderErrorPage(createPageTools({ assets, links, https, brand }));
}

// Response headers of every HTML page. The policy starts from nothing; a page that needs more says
// which. Inline style attributes and inline scripts without the nonce are blocked everywhere.

export interface PageNeeds {
  /**
   * `'self'` unless a form's answer redirects to another site: Chromium applies `form-action` to
   * the whole redirect chain, so sign-in and consent leave it out.
   */
  readonly formAction?: 'self' | 'unrestricted';
  /** Scripts of the page may call this host, and work in the background. */
  readonly connect?: boolean;
  /** The page frames answers of this host. */
  readonly frames?: boolean;
  /** The page plays audio from this host. */
  readonly media?: boolean;
  /** Origins of images besides this host, e.g. `https://gravatar.com`. */
  readonly imageOrigins?: readonly string[];
  /**
   * The page stays in touch with the window that opened it: it may stand on the way of a sign-in that a
   * site began in a window of its own. It can't be framed all the same.
   */
  readonly keepsOpener?: boolean | undefined;
}

interface SecurityNeeds extends PageNeeds {
  /** Random per response, base64 or base64url; allows `<script nonce>` and `<style nonce>`. */
  readonly nonce?: string | undefined;
  /** The page is served over https: browsers shall not come back over http. */
  readonly https?: boolean;
}

const sourceText = /^[A-Za-z0-9+/=_:.-]+$/;

function checkSource(value: string): string {
  // A space or semicolon would add sources or directives of the writer's choice.
  if (!sourceText.test(value)) throw new TypeError('not a Content-Security-Policy source');
  return value;
}

export function contentSecurityPolicy(needs: SecurityNeeds = {}): string {
  const nonce = needs.nonce === undefined ? '' : ` 'nonce-${checkSource(needs.nonce)}'`;
  const images = (needs.imageOrigins ?? []).map((origin) => ` ${checkSource(origin)}`).join('');
  const directives = [
    "default-src 'none'",
    `style-src 'self'${nonce}`,
    `script-src 'self'${nonce}`,
    "font-src 'self'",
    `img-src 'self'${images}`,
    "manifest-src 'self'",
    needs.connect ? "connect-src 'self'; worker-src 'self'" : '',
    needs.frames ? "frame-src 'self'" : '',
    needs.media ? "media-src 'self'" : '',
    needs.formAction === 'unrestricted' ? '' : "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return directives.filter((directive) => directive !== '').join('; ');
}

/** Every header of an HTML page apart from caching; names in lower case. */
export function pageHeaders(language: string, needs: SecurityNeeds = {}): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-language': language,
    vary: 'Accept-Language',
    'content-security-policy': contentSecurityPolicy(needs),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // `no-referrer` would turn the Origin of our own forms into null.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': needs.keepsOpener ? 'unsafe-none' : 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(needs.https ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}

// The signed tag in a page's address by which the page confirms what was just done:
// `<name>.<ms>.<mac>`, with HMAC-SHA-256 by a secret of the session or browser. A link of somebody
// else can't make a page show it.

/** A page shows the confirmation for this long. */
const shownMs = minuteMs;

/**
 * @param secret of the session (its form token) or of the browser, and the same when the page is shown
 * @param name of what was done; letters and `_`
 */
export function doneTag(secret: string, name: string, atMs: number): string {
  const mac = createHmac('sha256', secret).update(`done ${name} ${atMs}`).digest('base64url');
  return `${name}.${atMs}.${mac}`;
}

/** Returns the name in a tag; undefined when it is missing, old, or made with another secret. */
export function doneIn(secret: string, now: number, tag = ''): string | undefined {
  const [, name = '', time = ''] = /^([a-z_]+)\.(\d+)\./.exec(tag) ?? [];
  const atMs = Number.parseInt(time, 10);
  // Clocks of two nodes may differ a little, so it may be ahead of this one.
  if (!(Math.abs(now - atMs) < shownMs)) return undefined;
  return equalBytes(Buffer.from(tag), Buffer.from(doneTag(secret, name, atMs))) ? name : undefined;
}
