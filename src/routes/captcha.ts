/**
 * The challenge as programs use it: new, picture, sound, verify. Main thread only, so a token is
 * taken by one request whatever the others do. Every refusal has the one body `{"ok":false}`.
 */

import type { Challenges } from '../captcha/challenge.ts';
import type { Receipts } from '../captcha/receipts.ts';
import type { ClientLimitName } from '../config.ts';
import { fail, type Result } from '../core/result.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import { parseRange } from '../http/ranges.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Callers } from './callers.ts';
import { readFields } from './fields.ts';
import { captchaProblem, jsonType, noStore } from './problem.ts';

export interface CaptchaOptions {
  readonly challenges: Challenges;
  readonly callers: Callers;
  readonly receipts: Pick<Receipts, 'issue'>;
  /** Of a challenge from its issue on. */
  readonly lifetimeMs: number;
}

export interface IssuedChallenge {
  readonly token: string;
  readonly longWord: boolean;
}

/** A token and an answer are short; a multipart form around them is not. */
export const verifyBytesMax = 4_096;
const cors = { allowHeaders: ['content-type'] } as const;
const tokenShape = /^[A-Za-z0-9_-]{22}$/;
/** What a wrong answer counts for, in right ones. */
const wrongAnswerCost = 3;

/** Sites embed picture and sound, also those that isolate themselves (COEP). */
const mediaHeaders: readonly Header[] = [
  noStore,
  ['Cross-Origin-Resource-Policy', 'cross-origin'],
  ['X-Content-Type-Options', 'nosniff'],
];

export const imagePath = (token: string) => `/captcha/img/${token}.gif`;
export const audioPath = (token: string) => `/captcha/audio/${token}.wav`;

/** A client address with a bad name gets a longer word. */
export function issueChallenge(
  { challenges, callers }: CaptchaOptions,
  request: Request,
): IssuedChallenge {
  const longWord = callers.isMalicious(request);
  return { token: challenges.issue({ client: callers.clientOf(request), longWord }), longWord };
}

export interface Attempt {
  readonly right: boolean;
  /** As the page sent it; empty when it sent none. */
  readonly siteKey: string;
}

/** Takes the challenge, whatever the answer; a wrong one counts for more. */
export function judge(
  { challenges, callers }: Pick<CaptchaOptions, 'challenges' | 'callers'>,
  request: Request,
  token: string,
  answer: string,
): boolean {
  const right = challenges.verify(token, answer);
  if (!right) callers.charge('captchaVerify', request, wrongAnswerCost - 1);
  return right;
}

/** One attempt by a form or JSON. What can't be read is a wrong answer to no challenge. */
export async function attempt(options: CaptchaOptions, request: Request): Promise<Attempt> {
  // The query takes no part: addresses end up in logs and histories.
  const fields = await readFields({ ...request, query: '' });
  const text = (name: string) => (fields.ok ? (fields.value.text(name) ?? '') : '');
  const right = judge(options, request, text('token'), text('answer'));
  return { right, siteKey: text('sitekey') };
}

export function captchaRoutes(options: CaptchaOptions): PlainRoute[] {
  const { challenges, callers, lifetimeMs } = options;

  function create(request: Request): Reply {
    const { token } = issueChallenge(options, request);
    return json({ token, img: imagePath(token), expires_in: Math.floor(lifetimeMs / 1_000) });
  }

  async function verify(request: Request): Promise<Reply> {
    const { right, siteKey } = await attempt(options, request);
    if (!right) return json({ ok: false });
    // Left out of the JSON when there is none.
    const origin = firstHeader(request, 'origin');
    return json({ ok: true, receipt: await options.receipts.issue({ siteKey, origin }) });
  }

  const media =
    (type: string, suffix: string, fetch: (token: string) => Promise<Result<Uint8Array>>) =>
    async (request: Request): Promise<Reply> => {
      const token = tokenIn(request.param, suffix);
      const found = token === undefined ? fail('not_found') : await fetch(token);
      if (!found.ok) return captchaProblem(found);
      return part(request, type, found.value);
    };

  const limited =
    (limit: ClientLimitName, handle: PlainRoute['handle']): PlainRoute['handle'] =>
    (request, caller) => {
      const waitSeconds = callers.take(limit, request);
      if (waitSeconds === 0) return handle(request, caller);
      return captchaProblem(fail('client_limit_exceeded'), [['Retry-After', String(waitSeconds)]]);
    };

  return [
    {
      kind: 'plain',
      method: 'GET',
      path: '/captcha/new',
      cors,
      handle: limited('captchaNew', create),
    },
    {
      kind: 'plain',
      method: 'GET',
      path: '/captcha/img/:file',
      headers: ['range'],
      cors,
      handle: limited('captchaImage', media('image/gif', '.gif', challenges.image)),
    },
    {
      kind: 'plain',
      method: 'GET',
      path: '/captcha/audio/:file',
      headers: ['range'],
      cors,
      handle: limited('captchaAudio', media('audio/wav', '.wav', challenges.clip)),
    },
    {
      kind: 'plain',
      method: 'POST',
      path: '/captcha/verify',
      headers: ['content-type', 'origin'],
      bodyBytesMax: verifyBytesMax,
      cors,
      handle: limited('captchaVerify', verify),
    },
  ];
}

function json(value: object): Reply {
  return { status: 200, headers: [jsonType, noStore], body: JSON.stringify(value) };
}

function tokenIn(file: string, suffix: string): string | undefined {
  if (!file.endsWith(suffix)) return undefined;
  const token = file.slice(0, -suffix.length);
  return tokenShape.test(token) ? token : undefined;
}

/** The whole, or the range that was asked for: Safari plays no sound from a server without. */
function part(request: Request, type: string, bytes: Uint8Array): Reply {
  const headers: Header[] = [['Content-Type', type], ['Accept-Ranges', 'bytes'], ...mediaHeaders];
  const lines = request.method === 'GET' ? (request.headers.range ?? []) : [];
  const range = parseRange(lines, bytes.length);
  if (range === undefined) return { status: 200, headers, body: bytes };
  if (range === 'unsatisfiable') {
    headers.push(['Content-Range', `bytes */${bytes.length}`]);
    return { status: 416, headers, body: '' };
  }
  const { first, last } = range;
  headers.push(['Content-Range', `bytes ${first}-${last}/${bytes.length}`]);
  return { status: 206, headers, body: bytes.subarray(first, last + 1) };
}
