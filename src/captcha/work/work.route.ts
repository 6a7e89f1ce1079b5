/**
 * The calls around levels and proof of work: GET /captcha/start says what a visitor has to do, POST
 * /captcha/work takes the work of a widget and gives a receipt, GET /captcha/altcha is a challenge for the
 * widget of ALTCHA, and GET /captcha/work.js the script that works. None of them keeps anything of a challenge.
 */

import * as v from 'valibot';
import { fail } from '../../core/result.ts';
import { about, integer, optionalText, text } from '../../core/schema.ts';
import { firstHeader, type Reply, type Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { StartedChallenge } from '../../web/components/challenge.tsx';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../web/guard/guard.ts';
import { readFields } from '../../web/guard/intake/form.ts';
import { formOrJson, jsonAnswer } from '../../web/openapi.ts';
import { jsonReplyOf } from '../../web/shape.ts';
import {
  audioPath,
  type ChallengeRouteOptions,
  captchaTag,
  clientLimitFailure,
  imagePath,
  issuePassReceipt,
  judgeWork,
  passedAnswer,
  signInPurpose,
  startChallenge,
  startPath,
  Verified,
  verifyBytesMax,
  withCorsHeaders,
} from '../challenge/challenge.route.ts';
import { actionOf } from '../receipts.ts';
import { WorkChallenge } from './work.ts';

const base = {
  who: 'anyone',
  shape: 'captcha',
  thread: 'main',
  cors: { allowHeaders: ['content-type'] },
} as const;

const expiresIn = about(integer(1), 'Seconds.');
const Started = v.union([
  v.strictObject({ level: v.literal('silent'), work: WorkChallenge, expires_in: expiresIn }),
  v.strictObject({
    level: v.picklist(['easy', 'hard']),
    token: text('For /captcha/verify, with the answer.'),
    img: text('Path of the picture.'),
    audio: text('Path of the sound.'),
    expires_in: expiresIn,
  }),
  v.strictObject({ level: v.literal('none'), receipt: text('Nothing is asked.') }),
]);

export const startEndpoint = endpoint({
  ...base,
  method: 'GET',
  path: startPath,
  handlerLimits: ['captchaNew', 'captchaFree'],
  headers: ['cookie', 'origin'],
  errors: ['capacity_exceeded'],
  docs: {
    id: 'startChallenge',
    tag: captchaTag,
    summary: 'What this visitor has to do: work, or a picture. The server alone chooses.',
    query: {
      sitekey: optionalText('Of the page; without it the challenge is for forms of our own.'),
      action: optionalText('What it is for.'),
      picture: optionalText('1: a picture, as the browser can not work.'),
      for: optionalText('`sign-in`: work, which counts for clean addresses and known browsers.'),
    },
    answers: { 200: jsonAnswer('A challenge for one attempt.', Started) },
    schemas: { Started },
  },
});

export const workEndpoint = endpoint({
  ...base,
  method: 'POST',
  path: '/captcha/work',
  handlerLimits: ['captchaVerify', 'captchaFree'],
  headers: ['content-type', 'cookie', 'origin'],
  body: { types: ['form', 'multipart', 'json'], bytesMax: verifyBytesMax },
  errors: ['store_unavailable'],
  docs: {
    id: 'verifyWork',
    tag: captchaTag,
    summary: 'Takes a solution of proof of work, once. Whatever is wrong, the answer is the same.',
    requestBody: formOrJson(
      v.object({
        work: text('Base64 of {"challenge","solution"}.'),
        sitekey: v.optional(v.string()),
        action: v.optional(v.string()),
      }),
    ),
    answers: { 200: jsonAnswer('Good or not.', Verified) },
  },
});

/** Its answer is the challenge itself, as the widget of ALTCHA asks for it; refusals say what is wrong. */
export const altchaEndpoint = endpoint({
  ...base,
  shape: 'api',
  method: 'GET',
  path: '/captcha/altcha',
  handlerLimits: ['captchaNew', 'captchaFree'],
  headers: ['cookie', 'origin'],
  errors: ['invalid_parameter', 'forbidden'],
  docs: {
    id: 'altchaChallenge',
    tag: captchaTag,
    summary:
      'A challenge for the widget of ALTCHA. Its solution is redeemed at siteverify as it is.',
    query: {
      sitekey: text('Of the page; one that takes silent challenges.'),
      action: optionalText('What it is for.'),
    },
    answers: { 200: jsonAnswer('Parameters and signature.', WorkChallenge) },
  },
});

export function workRoutes(
  options: ChallengeRouteOptions & { readonly guard: Guard },
): PlainRoute[] {
  const { guard, visitors, findSite } = options;
  const expires_in = Math.floor(options.lifetimeMs / 1_000);

  async function start(request: Request): Promise<Reply> {
    const receipt = await issuePassReceipt(options, request);
    if (receipt !== undefined)
      return withCorsHeaders(request, jsonReplyOf({ level: 'none', receipt }));
    const params = parseQuery(request.query);
    const get = (name: string) => (params.ok && params.value.get(name)) || '';
    const siteKey = get('sitekey');
    const site = await findSite(siteKey);
    const isSignIn = siteKey === '' && get('for') === signInPurpose;
    const started = await startChallenge(options, request, {
      site: isSignIn ? signInPurpose : (site?.id ?? ''),
      // Nothing that is done for an unknown site key leads anywhere.
      least: site?.least ?? (siteKey === '' && params.ok ? 'silent' : 'easy'),
      origin: originOf(request),
      action: siteKey === '' ? '' : actionOf(get('action')),
      workSuffices: isSignIn,
      wantsPicture: get('picture') !== '' || !params.ok,
    });
    if (!started.ok) return withCorsHeaders(request, guard.failureReply(startEndpoint, started));
    const answer = { ...startedAnswer(started.value), expires_in };
    return withCorsHeaders(request, jsonReplyOf(answer, visitors.browserCookie(request)));
  }

  async function work(request: Request): Promise<Reply> {
    const payment = visitors.take('captchaVerify', request);
    if (payment.waitSeconds > 0) {
      return withCorsHeaders(
        request,
        guard.failureReply(workEndpoint, clientLimitFailure(payment.waitSeconds)),
      );
    }
    const fields = await readFields({ ...request, query: '' });
    const get = (name: string) => (fields.ok ? (fields.value.text(name) ?? '') : '');
    const siteKey = get('sitekey');
    const given = { solution: get('work'), site: siteKey };
    const judged = await judgeWork(options, request, payment, given);
    if (!judged.ok) return withCorsHeaders(request, guard.failureReply(workEndpoint, judged));
    if (!judged.value) return withCorsHeaders(request, jsonReplyOf({ ok: false }));
    const passed = { siteKey, action: get('action'), level: 'silent' } as const;
    return withCorsHeaders(request, await passedAnswer(options, request, passed));
  }

  async function altcha(request: Request): Promise<HandlerResult> {
    const params = parseQuery(request.query);
    if (!params.ok) return params;
    const site = await findSite(params.value.get('sitekey') ?? '');
    const origin = originOf(request);
    if (site === undefined || origin === '') {
      const { waitSeconds } = visitors.take('captchaNew', request);
      if (waitSeconds > 0) return clientLimitFailure(waitSeconds);
      const fault = site
        ? 'The request names no page: it has no Origin.'
        : 'There is no such site key.';
      return fail('invalid_parameter', fault, 'sitekey');
    }
    const started = await startChallenge(options, request, {
      site: site.id,
      least: site.least,
      origin,
      action: actionOf(params.value.get('action') ?? ''),
      wantsPicture: false,
    });
    if (!started.ok) return started;
    if (started.value.level !== 'silent') {
      return fail('forbidden', 'This visitor has to see a picture, which this call has not.');
    }
    const { work } = started.value;
    return withCorsHeaders(request, jsonReplyOf(work, visitors.browserCookie(request)));
  }

  return [
    guard.open(startEndpoint, start),
    guard.open(workEndpoint, work),
    guard.open(altchaEndpoint, altcha),
  ];
}

/** An origin is signed into the work. */
const originCharactersMax = 300;

function originOf(request: Request): string {
  const origin = firstHeader(request, 'origin') ?? '';
  return origin.length > originCharactersMax ? '' : origin;
}

function startedAnswer(started: StartedChallenge): object {
  if (started.level === 'silent') return started;
  const { token, level } = started;
  return { level, token, img: imagePath(token), audio: audioPath(token) };
}
