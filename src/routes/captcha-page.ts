/**
 * GET and POST /captcha/: the page on which people try the challenge. It works as a plain form;
 * its script does the same without leaving the page. The POST is an attempt like any other.
 */

import type { Header, Reply, Request } from '../http/message.ts';
import type { PlainRoute } from '../http/router.ts';
import { type CaptchaPageData, captchaPage } from '../pages/captcha.ts';
import {
  attempt,
  audioPath,
  type CaptchaOptions,
  imagePath,
  issueChallenge,
  verifyBytesMax,
} from './captcha.ts';
import { errorReply, languageOf, type PageTools, pageRequestHeaders } from './pages.ts';
import { noStore } from './problem.ts';

export interface CaptchaPageOptions extends CaptchaOptions {
  readonly tools: PageTools;
  readonly secureUrl: string;
  /** Of the widget that is shown live; the demo's. */
  readonly siteKey: string | undefined;
}

const path = '/captcha/';
const needs = { connect: true, media: true } as const;

export function captchaPageRoutes(options: CaptchaPageOptions): PlainRoute[] {
  const { tools, callers, secureUrl, siteKey } = options;

  function show(request: Request, outcome?: CaptchaPageData['outcome']): Reply {
    const language = languageOf(request);
    // The outcome of an attempt is shown even to one who gets no new challenge.
    const waitSeconds = callers.take('captchaNew', request);
    if (waitSeconds > 0 && outcome === undefined) return refuse(request, waitSeconds);
    const issued = waitSeconds > 0 ? undefined : issueChallenge(options, request);
    const challenge = issued && {
      ...issued,
      imageHref: imagePath(issued.token),
      audioHref: audioPath(issued.token),
      lifetimeSeconds: Math.floor(options.lifetimeMs / 1_000),
    };
    return {
      status: 200,
      headers: [...tools.headers(language, needs), noStore],
      body: captchaPage(tools.frame(language), { secureUrl, siteKey, challenge, outcome }),
    };
  }

  async function answer(request: Request): Promise<Reply> {
    const waitSeconds = callers.take('captchaVerify', request);
    if (waitSeconds > 0) return refuse(request, waitSeconds);
    return show(request, (await attempt(options, request)).right ? 'right' : 'wrong');
  }

  function refuse(request: Request, waitSeconds: number): Reply {
    const reply = errorReply(tools, languageOf(request), 429);
    const retry: Header = ['Retry-After', String(waitSeconds)];
    return { ...reply, headers: [...reply.headers, retry] };
  }

  return [
    {
      kind: 'plain',
      method: 'GET',
      path: '/captcha',
      handle: () => ({
        status: 301,
        headers: [
          ['Location', path],
          ['Cache-Control', 'public, max-age=86400'],
        ],
      }),
    },
    {
      kind: 'plain',
      method: 'GET',
      path,
      headers: pageRequestHeaders,
      handle: (request) => show(request),
    },
    {
      kind: 'plain',
      method: 'POST',
      path,
      headers: ['content-type', ...pageRequestHeaders],
      bodyBytesMax: verifyBytesMax,
      handle: answer,
    },
  ];
}
