/**
 * /.portcullis/*: the challenge of the gate, which proxies show under the site's own host. So its picture,
 * sound, styles and cookie belong to the site, and there is no list of sites to redirect to. A right answer
 * is worth a pass (pass.ts).
 */

import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { about, integer, optionalText, text } from '../../core/schema.ts';
import { conditionHeaders } from '../../http/answer/negotiate.ts';
import { parseForm } from '../../http/request/body.ts';
import {
  type Header,
  type Reply,
  type Request,
  requestIdPlaceholder,
} from '../../http/request/message.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { readIp } from '../../ip/address.ts';
import type { Assets } from '../../web/assets.ts';
import { asksForAnother, type FormChallenges } from '../../web/components/challenge.tsx';
import { openPage, publicFileEndpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../web/guard/guard.ts';
import { jsonAnswer } from '../../web/openapi.ts';
import {
  createPageTools,
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
  tooManyText,
} from '../../web/page-tools.ts';
import { jsonReply, noStore } from '../../web/shape.ts';
import type { BlockedPage } from './blocked.page.ts';
import { challengePage } from './challenge.page.tsx';
import { challengePath, guestPath, returnPath } from './check.route.ts';
import { hostOf, type Passes, passCookie, passLifeSeconds } from './pass.ts';

export interface GateChallengeOptions {
  readonly guard: Guard;
  readonly challenges: Pick<FormChallenges, 'issue' | 'start' | 'answerIn' | 'lifetimeSeconds'>;
  /** Handlers of the CAPTCHA, which count the limits of pictures and sounds themselves. */
  readonly media: Readonly<
    Record<'picture' | 'sound', (request: Request) => Promise<HandlerResult>>
  >;
  readonly assets: Pick<Assets, 'url' | 'brand'>;
  /** Answers a path of /static/. */
  readonly asset: (request: Request) => Reply;
  readonly passes: Pick<Passes, 'issue'>;
  readonly clock: Clock;
  readonly blocked: BlockedPage;
}

const answerBytesMax = 16_384;
const newPath = `${guestPath}new`;
const startPath = `${guestPath}start`;
const blockedPath = `${guestPath}blocked`;
const siteHeaders = [
  'host',
  'x-forwarded-host',
  'x-forwarded-proto',
  ...pageRequestHeaders,
] as const;

const seconds = about(integer(1), 'Seconds.');

export const gateEndpoints = {
  show: openPage(challengePath, {
    isGuest: true,
    handlerLimits: ['captchaNew'],
    headers: siteHeaders,
    robots: 'disallow',
  }),
  /** The same page as a blocked visitor gets from the gate itself, for proxies that drop its body. */
  blocked: openPage(blockedPath, { isGuest: true, headers: siteHeaders, robots: 'disallow' }),
  answer: openPage(challengePath, {
    isGuest: true,
    method: 'POST',
    handlerLimits: ['captchaVerify'],
    headers: ['content-type', ...siteHeaders],
    body: { types: ['form'], bytesMax: answerBytesMax },
  }),
  another: publicFileEndpoint(newPath, {
    shape: 'captcha',
    handlerLimits: ['captchaNew'],
    errors: ['capacity_exceeded'],
    docs: {
      id: 'gateChallenge',
      tag: 'Gate',
      summary: 'Another picture for the challenge that the gate shows, under the host of the site.',
      answers: {
        200: jsonAnswer(
          'One attempt, for a short time.',
          v.strictObject({
            token: v.string(),
            img: text('Path of the picture, on the same host.'),
            expires_in: seconds,
          }),
        ),
      },
    },
    robots: 'disallow',
  }),
  start: publicFileEndpoint(startPath, {
    shape: 'captcha',
    handlerLimits: ['captchaNew'],
    errors: ['capacity_exceeded'],
    docs: {
      id: 'gateStart',
      tag: 'Gate',
      summary: 'What the visitor has to do at the gate, as /captcha/start says it.',
      query: { picture: optionalText('1: a picture, as the browser can not work.') },
      answers: {
        200: jsonAnswer(
          'A challenge for one attempt.',
          v.union([
            v.strictObject({ level: v.literal('silent'), work: v.object({}), expires_in: seconds }),
            v.strictObject({
              level: v.picklist(['easy', 'hard']),
              token: v.string(),
              img: text('Path of the picture, on the same host.'),
              audio: text('Path of the sound, on the same host.'),
              expires_in: seconds,
            }),
          ]),
        ),
      },
    },
    robots: 'disallow',
  }),
  picture: publicFileEndpoint(`${guestPath}img/:file`, {
    shape: 'captcha',
    handlerLimits: ['captchaImage'],
    headers: ['range'],
    robots: 'disallow',
  }),
  sound: publicFileEndpoint(`${guestPath}audio/:file`, {
    shape: 'captcha',
    handlerLimits: ['captchaAudio'],
    headers: ['range'],
    robots: 'disallow',
  }),
  file: publicFileEndpoint(`${guestPath}static/*`, {
    headers: ['accept-encoding', ...conditionHeaders, 'accept-language'],
    robots: 'disallow',
  }),
} as const;

const emptyForm: Params = { get: () => undefined, all: () => [], has: () => false, names: [] };
const noIndex: Header = ['X-Robots-Tag', 'noindex'];
const imageOf = (token: string) => `${guestPath}img/${token}.gif`;
const audioOf = (token: string) => `${guestPath}audio/${token}.wav`;
const ownPathOf = (path: string) => path.slice(guestPath.length - 1);

export function gateChallengeRoutes(options: GateChallengeOptions): PlainRoute[] {
  const { guard, challenges, media, passes, clock } = options;
  const assets = { url: (name: string) => `${guestPath}${options.assets.url(name).slice(1)}` };
  // The site decides whether browsers must stay on https, so these pages don't say it.
  const made = createPageTools({ assets, links: {}, https: false, brand: options.assets.brand });
  const frame: PageTools['frame'] = (language) => ({ ...made.frame(language), isGuest: true });
  const tools: PageTools = { ...made, frame };

  function page(request: Request, back: string, wasWrong: boolean): Reply {
    const language = languageOf(request);
    const issued = challenges.issue(request);
    if (!issued.ok && !wasWrong) return refuse(request, issued.retryAfterSeconds ?? 1);
    const challenge = issued.ok && {
      ...issued.value,
      imageHref: imageOf(issued.value.token),
      audioHref: audioOf(issued.value.token),
      startHref: startPath,
    };
    return {
      status: 403,
      headers: [...tools.headers(language, { media: true, connect: true }), noStore, noIndex],
      body: challengePage(tools.frame(language), {
        action: challengePath,
        back,
        host: siteOf(request),
        wasWrong,
        challenge: challenge || undefined,
      }),
    };
  }

  /** For the script of the page: the same as /captcha/new, with a path on the site's host. */
  function another(request: Request): HandlerResult {
    const issued = challenges.issue(request);
    if (!issued.ok) return issued;
    const { token, lifetimeSeconds } = issued.value;
    const body = JSON.stringify({ token, img: imageOf(token), expires_in: lifetimeSeconds });
    return jsonReply(body, [noIndex]);
  }

  async function start(request: Request): Promise<HandlerResult> {
    const query = parseQuery(request.query);
    const wantsPicture = !query.ok || (query.value.get('picture') ?? '') !== '';
    const started = await challenges.start(request, wantsPicture);
    if (!started.ok) return started;
    const { value } = started;
    const paths =
      value.level === 'silent' ? {} : { img: imageOf(value.token), audio: audioOf(value.token) };
    const body = JSON.stringify({ ...value, ...paths, expires_in: challenges.lifetimeSeconds });
    return jsonReply(body, [noIndex]);
  }

  function show(request: Request): Reply {
    const query = parseQuery(request.query);
    return page(request, returnPath(query.ok ? query.value.get('rd') : undefined), false);
  }

  function blocked(request: Request): Reply {
    const language = languageOf(request);
    const visit = {
      language,
      address: request.clientIp,
      atMs: clock.now(),
      id: requestIdPlaceholder,
    };
    return {
      status: 403,
      headers: [...options.blocked.headers, noStore],
      body: options.blocked.render(visit),
    };
  }

  async function answer(request: Request): Promise<Reply> {
    const read = parseForm(request.body);
    const form = read.ok ? read.value : emptyForm;
    if (asksForAnother(form)) return page(request, returnPath(form.get('rd')), false);
    const given = challenges.answerIn(request, form);
    if ('waitSeconds' in given) return refuse(request, given.waitSeconds);
    const back = returnPath(form.get('rd'));
    if ((await given.judge()) !== 'right') return page(request, back, true);
    const headers: Header[] = [['Location', back], noStore, noIndex, ...passFor(request)];
    return { status: 303, headers };
  }

  /** None for what has no address: it is asked again. */
  function passFor(request: Request): Header[] {
    const ip = readIp(request.clientIp);
    if (ip === undefined) return [];
    const pass = passes.issue({ host: siteOf(request), ...ip });
    const isSecure = /(^|,)\s*https\s*$/i.test(lineOf(request, 'x-forwarded-proto') ?? '');
    const rules = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
    return [['Set-Cookie', `${passCookie}=${pass}; ${rules}; Max-Age=${passLifeSeconds}`]];
  }

  function refuse(request: Request, waitSeconds: number): Reply {
    const language = languageOf(request);
    const reply = errorReply(tools, language, 429, tooManyText(language, waitSeconds));
    const retry: Header = ['Retry-After', String(waitSeconds)];
    return { ...reply, headers: [...reply.headers, noIndex, retry] };
  }

  return [
    guard.open(gateEndpoints.show, show),
    guard.open(gateEndpoints.blocked, blocked),
    guard.open(gateEndpoints.answer, answer),
    guard.open(gateEndpoints.another, another),
    guard.open(gateEndpoints.start, start),
    guard.open(gateEndpoints.picture, media.picture),
    guard.open(gateEndpoints.sound, media.sound),
    guard.open(gateEndpoints.file, (request) =>
      options.asset({ ...request, path: ownPathOf(request.path) }),
    ),
  ];
}

function siteOf(request: Request): string {
  return hostOf(lineOf(request, 'x-forwarded-host'), lineOf(request, 'host'));
}

function lineOf({ headers }: Request, name: string): string | undefined {
  return headers[name]?.join(', ');
}
