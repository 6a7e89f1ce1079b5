/**
 * The challenge as programs use it: new, picture, sound, verify. Main thread only, so a token is
 * taken by one request whatever the others do. Every refusal has the one body `{"ok":false}`.
 */

import * as v from 'valibot';
import type { LeastLevel } from '../../access/keys/site-keys.ts';
import type { CaptchaLimitName } from '../../config/limits.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { about, integer, optionalText, text } from '../../core/schema.ts';
import { parseByteRange } from '../../http/answer/negotiate.ts';
import { firstHeader, type Header, type Reply, type Request } from '../../http/request/message.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type {
  ChallengeView,
  FormChallenges,
  StartedChallenge,
} from '../../web/components/challenge.tsx';
import type { Callers } from '../../web/guard/callers.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../web/guard/guard.ts';
import { readFields } from '../../web/guard/intake/form.ts';
import { answer, type EndpointDocs, formOrJson, jsonAnswer } from '../../web/openapi.ts';
import { jsonReplyOf, noStore } from '../../web/shape.ts';
import type { CaptchaVisitors, LimitCharge } from '../page/captcha-visitors.route.ts';
import { shownSize } from '../picture/profiles.ts';
import type { ReceiptSiteKey, Receipts } from '../receipts.ts';
import { isAtLeast, type Level, type Levels, levelOf } from '../work/levels.ts';
import type { SolvedWork, Work } from '../work/work.ts';
import type { CaptchaVisitor, Challenges } from './challenge.ts';
import { ticketPattern } from './ticket.ts';

const cors = { allowHeaders: ['content-type'] } as const;
/** A token and an answer are short; a multipart form around them is not. */
export const verifyBytesMax = 4_096;

const base = {
  method: 'GET',
  who: 'anyone',
  shape: 'captcha',
  thread: 'main',
  cors,
} as const;

export const captchaTag = 'CAPTCHA';
const sentToken = v.pipe(v.string(), v.regex(new RegExp(`^${ticketPattern}$`)));

function mediaDocs(
  id: string,
  type: string,
  [ending, endings]: readonly [pattern: string, shown: string],
  summary: string,
): EndpointDocs {
  const content = { [type]: {} };
  const range = { 'Content-Range': { required: true, schema: v.string() } };
  const file = v.regex(new RegExp(`^${ticketPattern}(?:${ending})$`));
  return {
    id,
    tag: captchaTag,
    summary,
    path: { file: about(v.pipe(v.string(), file), `The token, then ${endings}.`) },
    answers: {
      200: answer('The whole.', content),
      206: answer('The range that was asked for.', content, range),
      416: answer('The range lies outside.', content, range),
    },
  };
}

const ChallengeOrReceipt = v.union([
  v.strictObject({
    token: sentToken,
    img: text('Path of the picture.'),
    expires_in: about(integer(1), 'Seconds.'),
  }),
  v.strictObject({ receipt: text('In place of a challenge: nothing is asked.') }),
]);
export const Verified = v.strictObject({
  ok: v.boolean(),
  receipt: optionalText(
    "With `sitekey`, from a page of the site key's hosts: for the site's server.",
  ),
  level: v.exactOptional(
    about(v.picklist(['easy', 'hard']), 'Right, but this level has to be passed.'),
  ),
});

export const newChallenge = endpoint({
  ...base,
  path: '/captcha/new',
  handlerLimits: ['captchaNew', 'captchaFree'],
  headers: ['cookie', 'origin'],
  errors: ['capacity_exceeded'],
  docs: {
    id: 'newChallenge',
    tag: captchaTag,
    summary: 'A new challenge.',
    query: {
      sitekey: optionalText('Of the page; one that lets clean addresses pass may give a receipt.'),
      action: optionalText('For that receipt: what it is for.'),
    },
    answers: { 200: jsonAnswer('One attempt, for a short time.', ChallengeOrReceipt) },
    schemas: { Challenge: ChallengeOrReceipt },
  },
});

export const challengePicture = endpoint({
  ...base,
  path: '/captcha/img/:file',
  handlerLimits: ['captchaImage', 'captchaFree'],
  headers: ['cookie', 'range'],
  errors: ['not_found'],
  docs: mediaDocs('challengePicture', 'image/gif', ['\\.gif', '.gif'], 'The moving picture.'),
});

export const challengeSound = endpoint({
  ...base,
  path: '/captcha/audio/:file',
  handlerLimits: ['captchaAudio', 'captchaFree'],
  headers: ['cookie', 'range'],
  errors: ['not_found'],
  docs: mediaDocs(
    'challengeSound',
    'audio/wav',
    ['\\.wav|\\.fr\\.wav', '.wav, or .fr.wav for French'],
    'Six spoken digits instead.',
  ),
});

export const verifyChallenge = endpoint({
  ...base,
  method: 'POST',
  path: '/captcha/verify',
  handlerLimits: ['captchaVerify', 'captchaFree'],
  headers: ['content-type', 'cookie', 'origin'],
  body: { types: ['form', 'multipart', 'json'], bytesMax: verifyBytesMax },
  errors: [],
  docs: {
    id: 'verifyChallenge',
    tag: captchaTag,
    summary: 'One attempt. Whatever is wrong, the answer is the same.',
    requestBody: formOrJson(
      v.object({
        token: sentToken,
        answer: v.string(),
        sitekey: v.optional(v.string()),
        action: v.optional(v.string()),
      }),
    ),
    answers: { 200: jsonAnswer('Right or not.', Verified) },
    schemas: { Verified },
  },
});

export interface ChallengeRouteOptions {
  readonly challenges: Challenges;
  readonly levels: Pick<Levels, 'choose' | 'byAddress'>;
  readonly work: Pick<Work, 'make' | 'open' | 'use'>;
  readonly findSite: (siteKey: string) => Promise<ReceiptSiteKey | undefined>;
  readonly callers: Pick<Callers, 'networksOf' | 'isClean' | 'abuseScoreOf'>;
  readonly visitors: CaptchaVisitors;
  readonly receipts: Pick<Receipts, 'issue' | 'pass'>;
  /** A challenge can be answered for this long after its issue. */
  readonly lifetimeMs: number;
  /** Called for each challenge that is given or answered. */
  readonly onChallenge: (event: ChallengeEvent) => void;
}

export type ChallengeEvent = 'given' | 'solved' | 'failed';

interface IssuedChallenge {
  readonly token: string;
  /** As the server chose it: a page may show the picture although the visitor need not see it. */
  readonly level: Level;
  readonly longWord: boolean;
}

const tokenShape = new RegExp(`^${ticketPattern}$`);
/** Bounds the `Origin` of a request, because it is echoed in a response header. */
const originShape = /^[\x21-\x7e]{1,300}$/;
/** A wrong answer counts as this many right ones against the limit. */
const wrongAnswerCost = 3;

/** Sites embed picture and sound, also those that isolate themselves (COEP). */
const mediaHeaders: readonly Header[] = [
  noStore,
  ['Cross-Origin-Resource-Policy', 'cross-origin'],
  ['X-Content-Type-Options', 'nosniff'],
];

/**
 * The purpose of work that serves a sign-in alone. Whoever asks gets it; it counts only where the address is clean or
 * the account knows the browser. It is signed as the work's site, so that an older node, which knows no such
 * purpose, takes it in no form.
 */
export const signInPurpose = 'sign-in';

/** GET: a challenge of the level that the visitor needs. */
export const startPath = '/captcha/start';
/** For sign-ins: they get work at the most, never a picture. */
const signInStart = `${startPath}?for=${signInPurpose}`;
export const imagePath = (token: string) => `/captcha/img/${token}.gif`;
export const audioPath = (token: string) => `/captcha/audio/${token}.wav`;

/** Issues a picture of the level that is chosen for the client. Fails with `client_limit_exceeded`. */
export function issueChallenge(
  options: ChallengeRouteOptions,
  request: Request,
  least: LeastLevel = 'silent',
): Result<IssuedChallenge> {
  const { waitSeconds } = options.visitors.take('captchaNew', request);
  if (waitSeconds > 0) return clientLimitFailure(waitSeconds);
  return issuePicture(options, request, options.levels.choose(request, least).level);
}

function issuePicture(
  { challenges, callers, onChallenge }: ChallengeRouteOptions,
  request: Request,
  level: Level,
): Result<IssuedChallenge> {
  const networks = callers.networksOf(request);
  const waitSeconds = challenges.waitSeconds(networks);
  if (waitSeconds > 0) return clientLimitFailure(waitSeconds);
  onChallenge('given');
  const longWord = level === 'hard' || challenges.needsLongWord(networks);
  const shownLevel = longWord && level === 'easy' ? 'hard' : level;
  return ok({ token: challenges.issue({ longWord }), level: shownLevel, longWord });
}

interface StartFor {
  /** Site key; empty for forms of our own, but for `signInPurpose`. */
  readonly site: string;
  readonly least: LeastLevel;
  readonly origin: string;
  readonly action: string;
  /** The page can't work, or has tried for too long. */
  readonly wantsPicture: boolean;
  /** Work whatever the level: it is judged by who brings it. */
  readonly workSuffices?: boolean;
}

/** Fails with `client_limit_exceeded`. */
export async function startChallenge(
  options: ChallengeRouteOptions,
  request: Request,
  { least, wantsPicture, site, origin, action, workSuffices = false }: StartFor,
): Promise<Result<StartedChallenge>> {
  const { visitors, levels, callers, work } = options;
  const { waitSeconds } = visitors.take('captchaNew', request);
  if (waitSeconds > 0) return clientLimitFailure(waitSeconds);
  const { level, triesMax } = levels.choose(request, least);
  if (workSuffices || (level === 'silent' && !wantsPicture)) {
    const networks = callers.networksOf(request);
    const score = callers.abuseScoreOf(request);
    const made = await work.make({ site, networks, origin, action, score, triesMax });
    if (made.ok) {
      options.onChallenge('given');
      return ok({ level: 'silent', work: made.value });
    }
    if (workSuffices) return made;
    // Many wait for work: threads of their own make pictures.
  }
  const issued = issuePicture(options, request, level);
  if (!issued.ok) return issued;
  const { token, longWord } = issued.value;
  return ok({ level: longWord ? 'hard' : 'easy', token });
}

export function clientLimitFailure(retryAfterSeconds: number): Failure {
  return { ok: false, error: 'client_limit_exceeded', retryAfterSeconds };
}

interface GivenWork {
  readonly solution: string;
  readonly site: string;
  /** A sign-in of which work is asked at the most, whatever the address. */
  readonly workSuffices?: boolean;
}

/** Uses up a solution of proof of work, if it is good. Anything else counts as a wrong answer. */
export async function judgeWork(
  { work, callers, levels, onChallenge }: ChallengeRouteOptions,
  request: Request,
  payment: LimitCharge,
  { solution, site, workSuffices = false }: GivenWork,
): Promise<Result<boolean>> {
  const solved = work.open(solution, callers.networksOf(request));
  const isFor = ({ site: made, action }: SolvedWork) =>
    workSuffices
      ? made === signInPurpose || made === ''
      : made === site &&
        made !== signInPurpose &&
        // An older node signs the purpose as the action.
        (made !== '' || action === '') &&
        levels.byAddress(request) === 'silent';
  const isGood = solved && isFor(solved) && isOfPage(solved.origin, site, request);
  const used = isGood ? await work.use(solved) : ok(false);
  if (!used.ok) return used;
  onChallenge(used.value ? 'solved' : 'failed');
  if (!used.value) payment.charge(wrongAnswerCost - 1);
  return used;
}

/** Pages of our own ask without an origin, and send their forms with one. */
function isOfPage(origin: string, site: string, request: Request): boolean {
  return site === '' || origin === '' || origin === firstHeader(request, 'origin');
}

interface AnswerAttempt extends JudgedAnswer {
  /** The key that the page sent; empty when it sent none. */
  readonly siteKey: string;
  /** The page's name for the action that it protects; empty when it sent none. */
  readonly action: string;
}

interface JudgedAnswer {
  readonly right: boolean;
  readonly level: Level;
  /** The answer was right, and the address that brought it has to pass a higher level. */
  readonly isTooLow: boolean;
}

/** Takes the challenge, whatever the answer; a wrong one counts for more. */
export async function verifyAnswer(
  {
    challenges,
    callers,
    levels,
    onChallenge,
  }: Pick<ChallengeRouteOptions, 'challenges' | 'callers' | 'levels' | 'onChallenge'>,
  request: Request,
  payment: LimitCharge,
  { token, answer }: { readonly token: string; readonly answer: string },
): Promise<JudgedAnswer> {
  const passed = await challenges.verify(token, answer, callers.networksOf(request));
  const level = passed === 'long' ? 'hard' : 'easy';
  const isTooLow = passed === 'normal' && levels.byAddress(request) === 'hard';
  const right = passed !== undefined && !isTooLow;
  onChallenge(right ? 'solved' : 'failed');
  if (passed === undefined) payment.charge(wrongAnswerCost - 1);
  return { right, level, isTooLow };
}

/** The answer to a challenge that was passed: with a receipt, or with the level that the site key asks for by now. */
export async function passedAnswer(
  { callers, receipts, findSite }: ChallengeRouteOptions,
  request: Request,
  passed: { readonly siteKey: string; readonly action: string; readonly level: Level },
): Promise<Reply> {
  const origin = firstHeader(request, 'origin');
  const abuseScore = callers.abuseScoreOf(request);
  const receipt = await receipts.issue({ ...passed, origin, abuseScore });
  const site = receipt === undefined ? await findSite(passed.siteKey) : undefined;
  if (site !== undefined && !isAtLeast(passed.level, site.least)) {
    return jsonReplyOf({ ok: false, level: levelOf(site.least) });
  }
  // Left out of the JSON when there is none.
  return jsonReplyOf({ ok: true, receipt });
}

/** One attempt by a form or JSON. What can't be read is a wrong answer to no challenge. */
export async function attempt(
  options: ChallengeRouteOptions,
  request: Request,
  payment: LimitCharge,
): Promise<AnswerAttempt> {
  // The query takes no part: addresses end up in logs and histories.
  const fields = await readFields({ ...request, query: '' });
  const text = (name: string) => (fields.ok ? (fields.value.text(name) ?? '') : '');
  const given = { token: text('token'), answer: text('answer') };
  const judged = await verifyAnswer(options, request, payment, given);
  return { ...judged, siteKey: text('sitekey'), action: text('action') };
}

/**
 * Any site's page may read the answer, with the one cookie that is sent along: that of the
 * browser's share. A request without `Origin` gets the transport's `*`.
 */
export function withCorsHeaders(request: Request, reply: Reply): Reply {
  const origin = firstHeader(request, 'origin');
  if (origin === undefined || !originShape.test(origin)) return reply;
  const headers: Header[] = [
    ['Access-Control-Allow-Origin', origin],
    ['Access-Control-Allow-Credentials', 'true'],
    ['Vary', 'Origin'],
  ];
  return { ...reply, headers: [...reply.headers, ...headers] };
}

type AnswerMedia = (request: Request) => Promise<HandlerResult>;

/** Picture and sound of a challenge, by the file's name in the path. The limits are taken here. */
export function captchaMedia(options: ChallengeRouteOptions): {
  readonly picture: AnswerMedia;
  readonly sound: AnswerMedia;
} {
  const { challenges, callers, levels, visitors } = options;

  const media =
    (
      limit: CaptchaLimitName,
      type: string,
      suffix: string,
      fetch: (token: string, visitor: CaptchaVisitor) => Promise<Result<Uint8Array>>,
    ): AnswerMedia =>
    async (request) => {
      const { waitSeconds } = visitors.take(limit, request);
      if (waitSeconds > 0) return clientLimitFailure(waitSeconds);
      const french = suffix === '.wav' ? tokenIn(request.param, `.fr${suffix}`) : undefined;
      const token = french ?? tokenIn(request.param, suffix);
      if (token === undefined) return fail('not_found');
      const networks = callers.networksOf(request);
      const longWord = levels.byAddress(request) === 'hard';
      const language = french === undefined ? 'en' : 'fr';
      const found = await fetch(token, { networks, longWord, language });
      return found.ok ? rangeReply(request, type, found.value) : found;
    };

  return {
    picture: media('captchaImage', 'image/gif', '.gif', challenges.image),
    sound: media('captchaAudio', 'audio/wav', '.wav', challenges.clip),
  };
}

/** Returns a receipt for nothing, where the site key lets clean addresses pass. */
export async function issuePassReceipt(
  { callers, receipts, visitors }: ChallengeRouteOptions,
  request: Request,
): Promise<string | undefined> {
  const params = parseQuery(request.query);
  const siteKey = params.ok ? params.value.get('sitekey') : undefined;
  if (!params.ok || siteKey === undefined) return undefined;
  const origin = firstHeader(request, 'origin');
  const action = params.value.get('action') ?? '';
  const abuseScore = callers.abuseScoreOf(request);
  if (!callers.isClean(request)) return undefined;
  const receipt = await receipts.pass({ siteKey, origin, abuseScore, action });
  return receipt !== undefined && visitors.takePass(request) ? receipt : undefined;
}

export function captchaRoutes(
  options: ChallengeRouteOptions & { readonly guard: Guard },
): PlainRoute[] {
  const { guard, visitors, lifetimeMs } = options;

  async function create(request: Request): Promise<Reply> {
    const receipt = await issuePassReceipt(options, request);
    if (receipt !== undefined) return withCorsHeaders(request, jsonReplyOf({ receipt }));
    const params = parseQuery(request.query);
    const site = await options.findSite((params.ok && params.value.get('sitekey')) || '');
    const issued = issueChallenge(options, request, site?.least ?? 'easy');
    if (!issued.ok) return withCorsHeaders(request, guard.failureReply(newChallenge, issued));
    const { token } = issued.value;
    const expires_in = Math.floor(lifetimeMs / 1_000);
    const reply = jsonReplyOf(
      { token, img: imagePath(token), expires_in },
      visitors.browserCookie(request),
    );
    return withCorsHeaders(request, reply);
  }

  async function verify(request: Request): Promise<Reply> {
    const payment = visitors.take('captchaVerify', request);
    if (payment.waitSeconds > 0) {
      return withCorsHeaders(
        request,
        guard.failureReply(verifyChallenge, clientLimitFailure(payment.waitSeconds)),
      );
    }
    const { right, level, isTooLow, siteKey, action } = await attempt(options, request, payment);
    if (!right)
      return withCorsHeaders(
        request,
        jsonReplyOf({ ok: false, ...(isTooLow && { level: 'hard' }) }),
      );
    return withCorsHeaders(
      request,
      await passedAnswer(options, request, { siteKey, action, level }),
    );
  }

  const { picture, sound } = captchaMedia(options);
  // The limits here count browsers and networks: they are taken in the handlers.
  return [
    guard.open(newChallenge, create),
    guard.open(challengePicture, picture),
    guard.open(challengeSound, sound),
    guard.open(verifyChallenge, verify),
  ];
}

function tokenIn(file: string, suffix: string): string | undefined {
  if (!file.endsWith(suffix)) return undefined;
  const token = file.slice(0, -suffix.length);
  return tokenShape.test(token) ? token : undefined;
}

/** The whole, or the range that was asked for: Safari plays no sound from a server without. */
function rangeReply(request: Request, type: string, bytes: Uint8Array): Reply {
  const headers: Header[] = [['Content-Type', type], ['Accept-Ranges', 'bytes'], ...mediaHeaders];
  const lines = request.method === 'GET' ? (request.headers.range ?? []) : [];
  const range = parseByteRange(lines, bytes.length);
  if (range === undefined) return { status: 200, headers, body: bytes };
  if (range === 'unsatisfiable') {
    headers.push(['Content-Range', `bytes */${bytes.length}`]);
    return { status: 416, headers, body: '' };
  }
  const { first, last } = range;
  headers.push(['Content-Range', `bytes ${first}-${last}/${bytes.length}`]);
  return { status: 206, headers, body: bytes.subarray(first, last + 1) };
}

export function createFormChallenges(captcha: ChallengeRouteOptions): FormChallenges {
  const lifetimeSeconds = Math.floor(captcha.lifetimeMs / 1_000);

  function issue(request: Request): Result<ChallengeView> {
    const issued = issueChallenge(captcha, request);
    if (!issued.ok) return issued;
    const { token, level } = issued.value;
    const paths = { imageHref: imagePath(token), audioHref: audioPath(token) };
    return ok({ token, level, ...paths, ...shownSize, lifetimeSeconds, startHref: startPath });
  }

  async function judgeIn(
    request: Request,
    payment: LimitCharge,
    form: Params,
    workSuffices: boolean,
  ): Promise<boolean> {
    const answer = form.get('captcha_answer') ?? '';
    const solution = form.get('captcha_work') ?? '';
    if (answer !== '' || solution === '') {
      const token = form.get('captcha_token') ?? '';
      return (await verifyAnswer(captcha, request, payment, { token, answer })).right;
    }
    const used = await judgeWork(captcha, request, payment, { solution, site: '', workSuffices });
    return used.ok && used.value;
  }

  return {
    lifetimeSeconds,
    signInWork: { startHref: signInStart, lifetimeSeconds },
    issue,
    make(request) {
      const issued = issue(request);
      return issued.ok ? issued.value : undefined;
    },
    start: (request, wantsPicture) =>
      startChallenge(captcha, request, {
        site: '',
        least: 'silent',
        origin: '',
        action: '',
        wantsPicture,
      }),
    headers: (request) => captcha.visitors.browserCookie(request),
    answerIn(request, form, { workSuffices = false } = {}) {
      // A browser that can't work sends the field of a form without a picture as it was: empty.
      if (!form.has('captcha_token') && (form.get('captcha_work') ?? '') === '') {
        return { judge: async () => 'none' };
      }
      const payment = captcha.visitors.take('captchaVerify', request);
      if (payment.waitSeconds > 0) return { waitSeconds: payment.waitSeconds };
      return {
        judge: async () =>
          (await judgeIn(request, payment, form, workSuffices)) ? 'right' : 'wrong',
      };
    },
  };
}
