/**
 * GET and POST /removal: who has an address asks the operator to take back what is said of it; signed in,
 * or with a challenge. Of an address about which nothing is said there is nothing to ask.
 */

import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { textBehind } from '../../ip/behind.ts';
import { asksForAnother } from '../../web/guard/form-challenges.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import {
  type Asked,
  addressIn,
  isVerified,
  noAddress,
  type PersonRequest,
  type RequestPageOptions,
  tooMany,
} from './asked.route.ts';
import { isBetter } from './queue.ts';
import { readReason, standingOf } from './removals.ts';
import { removalPage } from './requests.page.tsx';

export const removalEndpoints = {
  ask: sessionPage('/removal', 'anyone', { errors: ['invalid_parameter'] }),
  send: sessionForm('/removal', 'anyone', {
    handlerLimits: ['captchaVerify', 'captchaFree', 'removal'],
    errors: ['invalid_parameter', 'capacity_exceeded'],
  }),
};

type Wrong = 'reason' | 'challenge' | 'full';

export function removalRoutes(options: RequestPageOptions): PlainRoute[] {
  const {
    pageBuilder,
    removals,
    challenges,
    callers,
    check,
    clock,
    networkMark,
    allowDocumentation,
  } = options;

  function isSpokenOf({ family, words }: Asked): boolean {
    const { score, reports, anonymousExit } = check.judge(family, words, clock.now());
    return score > 0 || reports > 0 || anonymousExit;
  }

  function askerIn(context: PersonRequest, { ip }: Asked) {
    const clientIp = textBehind(context.request.clientIp);
    const told = { fromAddress: clientIp === ip, signedIn: isVerified(context) };
    return { told, from: { standing: standingOf(told), network: networkMark(clientIp) } };
  }

  async function show(context: PersonRequest, asked: Asked, reason = '', wrong?: Wrong) {
    const there = await removals.find(asked.ip);
    const isFirst =
      there !== undefined && isBetter(askerIn(context, asked).from.standing, there.standing);
    const open = isFirst ? undefined : there;
    const isOver = open === undefined && !isSpokenOf(asked);
    const needsChallenge = open === undefined && !isOver && !isVerified(context);
    const challenge = needsChallenge ? challenges.make(context.request) : ('signed-in' as const);
    const data = { address: asked.ip, csrf: context.csrf, open, isOver, reason, wrong, challenge };
    return pageBuilder.show(context, (frame) => removalPage(frame, data), {
      status: wrong === undefined ? 200 : wrong === 'full' ? 503 : 422,
      needs: { media: true, connect: true },
      headers: needsChallenge ? challenges.headers(context.request) : [],
    });
  }

  async function send(context: PersonRequest, form: Params): Promise<Reply> {
    const asked = addressIn(form, allowDocumentation);
    if (asked === undefined) return pageBuilder.problem(context, noAddress);
    const typed = form.get('reason') ?? '';
    if (asksForAnother(form)) return show(context, asked, typed);
    const answer = isVerified(context) ? undefined : challenges.answerIn(context.request, form);
    if (answer !== undefined && 'waitSeconds' in answer) {
      return pageBuilder.problem(context, tooMany(answer.waitSeconds));
    }
    const reason = readReason(typed);
    if (reason === undefined) return show(context, asked, typed, 'reason');
    if (answer !== undefined && (await answer.judge()) !== 'right') {
      return show(context, asked, reason, 'challenge');
    }
    const waitSeconds = callers.take('removal', context.request);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    if (!isSpokenOf(asked)) return show(context, asked, reason);
    const { told, from } = askerIn(context, asked);
    const done = await removals.add(asked.ip, { reason, ...told }, from);
    if (done.ok) return pageBuilder.go(context, `/removal?address=${asked.ip}`);
    const isFull = done.error === 'capacity_exceeded';
    return isFull ? show(context, asked, reason, 'full') : pageBuilder.problem(context, done);
  }

  return [
    pageBuilder.page(removalEndpoints.ask, (context, query) => {
      const asked = addressIn(query, allowDocumentation);
      return asked === undefined ? pageBuilder.problem(context, noAddress) : show(context, asked);
    }),
    pageBuilder.form(removalEndpoints.send, send),
  ];
}
