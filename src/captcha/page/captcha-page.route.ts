/**
 * GET and POST /captcha/: the page on which people try the challenge in a plain form. The POST is an attempt
 * like any other, or asks for another picture. GET
 * /captcha/widget.js puts the challenge into another site's form, and GET /captcha/api.js, which holds
 * the first, into pages written for reCAPTCHA, hCaptcha or Turnstile. GET /captcha/work.js does the work.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { conditionHeaders, negotiate } from '../../http/answer/negotiate.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { encodeAsset } from '../../web/assets.ts';
import { anotherField } from '../../web/components/challenge.tsx';
import {
  type Endpoint,
  openPage,
  publicFileEndpoint,
  routeFacts,
} from '../../web/guard/endpoint.ts';
import { type Guard, movedTo } from '../../web/guard/guard.ts';
import { readFields } from '../../web/guard/intake/form.ts';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
  tooManyText,
} from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';
import {
  audioPath,
  type ChallengeRouteOptions,
  imagePath,
  issueChallenge,
  startPath,
  verifyAnswer,
  verifyBytesMax,
} from '../challenge/challenge.route.ts';
import { shownSize } from '../picture/profiles.ts';
import { type CaptchaPageData, captchaPage } from './captcha.page.tsx';

interface CaptchaPageOptions extends ChallengeRouteOptions {
  readonly tools: PageTools;
  readonly secureUrl: string;
  /** The demo's site key, with which the page shows the widget live. */
  readonly siteKey: string | undefined;
}

const path = '/captcha/';
const needs = { connect: true, media: true } as const;

export const captchaMovedEndpoint = openPage('/captcha');
export const captchaPageEndpoint = openPage(path, {
  handlerLimits: ['captchaNew', 'captchaFree'],
  headers: ['cookie', ...pageRequestHeaders],
});
export const captchaAnswerEndpoint = openPage(path, {
  method: 'POST',
  handlerLimits: ['captchaVerify', 'captchaFree'],
  headers: ['content-type', 'cookie', ...pageRequestHeaders],
  body: { types: ['form', 'multipart'], bytesMax: verifyBytesMax },
});

export function captchaPageRoutes(options: CaptchaPageOptions): PlainRoute[] {
  const { tools, visitors, secureUrl, siteKey } = options;

  function show(request: Request, outcome?: CaptchaPageData['outcome']): Reply {
    const language = languageOf(request);
    // The outcome of an attempt is shown even to one who gets no new challenge.
    const issued = issueChallenge(options, request);
    if (!issued.ok && outcome === undefined) return refuse(request, issued.retryAfterSeconds ?? 1);
    const challenge = issued.ok && {
      token: issued.value.token,
      ...shownSize,
      imageHref: imagePath(issued.value.token),
      audioHref: audioPath(issued.value.token),
      lifetimeSeconds: Math.floor(options.lifetimeMs / 1_000),
      startHref: startPath,
      level: issued.value.level,
    };
    return {
      status: 200,
      headers: [...tools.headers(language, needs), noStore, ...visitors.browserCookie(request)],
      body: captchaPage(tools.frame(language), {
        secureUrl,
        siteKey,
        challenge: challenge || undefined,
        outcome,
      }),
    };
  }

  async function answer(request: Request): Promise<Reply> {
    // The query takes no part: addresses end up in logs and histories.
    const fields = await readFields({ ...request, query: '' });
    const text = (name: string) => (fields.ok ? (fields.value.text(name) ?? '') : '');
    if (text(anotherField) !== '') return show(request);
    const payment = visitors.take('captchaVerify', request);
    if (payment.waitSeconds > 0) return refuse(request, payment.waitSeconds);
    const given = { token: text('captcha_token'), answer: text('captcha_answer') };
    return show(
      request,
      (await verifyAnswer(options, request, payment, given)).right ? 'right' : 'wrong',
    );
  }

  function refuse(request: Request, waitSeconds: number): Reply {
    const language = languageOf(request);
    const reply = errorReply(tools, language, 429, tooManyText(language, waitSeconds));
    const retry: Header = ['Retry-After', String(waitSeconds)];
    return { ...reply, headers: [...reply.headers, retry] };
  }

  return [
    { kind: 'plain', ...routeFacts(captchaMovedEndpoint), handle: () => movedTo(path) },
    { kind: 'plain', ...routeFacts(captchaPageEndpoint), handle: (request) => show(request) },
    { kind: 'plain', ...routeFacts(captchaAnswerEndpoint), handle: answer },
  ];
}

/** Found from the compiled file: dist/src/captcha/page/. */
const widgetFolder = fileURLToPath(new URL('../../../../data/widget', import.meta.url));

/** The path stays while the content may change: an hour, then asked again by its ETag. */
const cacheControl = 'public, max-age=3600';

/** Other sites load it, also those that isolate themselves (COEP). */
const headers: readonly Header[] = [['Cross-Origin-Resource-Policy', 'cross-origin']];

/**
 * Without indents and lines of comment. Line by line, so it is exact as long as no string goes
 * over a line's end and every comment has its lines to itself; the script is written that way.
 */
export function servedLines(source: string): string {
  const lines = source.split('\n').map((line) => line.trim());
  const code = lines.filter((line) => line !== '' && !/^(\/\/|\/\*.*\*\/$)/.test(line));
  return `${code.join('\n')}\n`;
}

export const widgetEndpoint = publicFileEndpoint('/captcha/widget.js', {
  headers: ['accept-encoding', ...conditionHeaders],
  cors: { allowHeaders: [] },
});

/** Its query is for the script itself, which reads its own address. */
export const namesEndpoint = publicFileEndpoint('/captcha/api.js', {
  headers: ['accept-encoding', ...conditionHeaders],
  cors: { allowHeaders: [] },
});

/** The script that works, which a page of another site can't start from its address: for the widget. */
export const workFileEndpoint = publicFileEndpoint('/captcha/work.js', {
  headers: ['accept-encoding', ...conditionHeaders],
  cors: { allowHeaders: [] },
});

export function captchaWidgetRoutes(guard: Guard): PlainRoute[] {
  const [widget = '', names = '', work = ''] = ['widget.js', 'names.js', '../static/work.js'].map(
    (name) => servedLines(readFileSync(`${widgetFolder}/${name}`, 'utf8')),
  );
  function script(declared: Endpoint, name: string, text: string): PlainRoute {
    const asset = encodeAsset(name, Buffer.from(text), cacheControl);
    return guard.open(declared, (request) => {
      const reply = negotiate(request, asset);
      return { ...reply, headers: [...reply.headers, ...headers] };
    });
  }
  return [
    script(widgetEndpoint, 'widget.js', widget),
    script(namesEndpoint, 'api.js', widget + names),
    script(workFileEndpoint, 'work.js', work),
  ];
}
