/**
 * GET and POST /captcha/: the page on which people try the challenge. It works as a plain form;
 * its script does the same without leaving the page. The POST is an attempt like any other.
 */

import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { openPage, routeFacts } from '../../web/guard/endpoint.ts';
import { movedTo } from '../../web/guard/guard.ts';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
  tooManyText,
} from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';
import { newChallenge, verifyBytesMax } from '../challenge/challenge.endpoints.ts';
import {
  attempt,
  audioPath,
  type ChallengeRouteOptions,
  imagePath,
  issueChallenge,
} from '../challenge/challenge.route.ts';
import { shownSize } from '../picture/profiles.ts';
import { type CaptchaPageData, captchaPage } from './captcha.page.tsx';

export interface CaptchaPageOptions extends ChallengeRouteOptions {
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
      newHref: newChallenge.path,
    };
    return {
      status: 200,
      headers: [...tools.headers(language, needs), noStore, ...visitors.greeting(request)],
      body: captchaPage(tools.frame(language), {
        secureUrl,
        siteKey,
        challenge: challenge || undefined,
        outcome,
      }),
    };
  }

  async function answer(request: Request): Promise<Reply> {
    const payment = visitors.take('captchaVerify', request);
    if (payment.waitSeconds > 0) return refuse(request, payment.waitSeconds);
    return show(request, (await attempt(options, request, payment)).right ? 'right' : 'wrong');
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
