/**
 * GET and POST /removal: who has an address asks the operator to take back what is said of it; signed in,
 * or with a challenge. Of an address about which nothing is said there is nothing to ask.
 */

import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { textBehind } from '../../ip/behind.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { asksForAnother } from '../../web/guard/form-challenges.ts';
import {
  type Asked,
  addressIn,
  isVerified,
  noAddress,
  type PersonVisit,
  type RequestPageOptions,
  tooMany,
} from './asked.route.ts';
import { isBetter } from './queue.ts';
import { readReason, standingOf } from './removals.ts';
import { removalPage } from './requests.page.ts';

export const removalEndpoints = {
  ask: deskPage('/removal', 'anyone', { errors: ['invalid_parameter'] }),
  send: deskForm('/removal', 'anyone', {
    handlerLimits: ['captchaVerify', 'captchaFree', 'removal'],
    errors: ['invalid_parameter', 'capacity_exceeded'],
  }),
};

type Wrong = 'reason' | 'challenge' | 'full';

export function removalRoutes(options: RequestPageOptions): PlainRoute[] {
  const { desk, removals, challenges, callers, check, clock, networkMark, allowDocumentation } =
    options;

  function isSpokenOf({ family, words }: Asked): boolean {
    const { score, reports, anonymousExit } = check.judge(family, words, clock.now());
    return score > 0 || reports > 0 || anonymousExit;
  }

  function askerIn(visit: PersonVisit, { ip }: Asked) {
    const clientIp = textBehind(visit.request.clientIp);
    const told = { fromAddress: clientIp === ip, signedIn: isVerified(visit) };
    return { told, from: { standing: standingOf(told), network: networkMark(clientIp) } };
  }

  async function show(visit: PersonVisit, asked: Asked, reason = '', wrong?: Wrong) {
    const there = await removals.find(asked.ip);
    const isFirst =
      there !== undefined && isBetter(askerIn(visit, asked).from.standing, there.standing);
    const open = isFirst ? undefined : there;
    const isOver = open === undefined && !isSpokenOf(asked);
    const needsChallenge = open === undefined && !isOver && !isVerified(visit);
    const challenge = needsChallenge ? challenges.make(visit.request) : ('signed-in' as const);
    const data = { address: asked.ip, csrf: visit.csrf, open, isOver, reason, wrong, challenge };
    return desk.show(visit, (frame) => removalPage(frame, data), {
      status: wrong === undefined ? 200 : wrong === 'full' ? 503 : 422,
      needs: { media: true, connect: true },
      headers: needsChallenge ? challenges.headers(visit.request) : [],
    });
  }

  async function send(visit: PersonVisit, form: Params): Promise<Reply> {
    const asked = addressIn(form, allowDocumentation);
    if (asked === undefined) return desk.problem(visit, noAddress);
    const typed = form.get('reason') ?? '';
    if (asksForAnother(form)) return show(visit, asked, typed);
    const answer = isVerified(visit) ? undefined : challenges.answerIn(visit.request, form);
    if (answer !== undefined && 'waitSeconds' in answer) {
      return desk.problem(visit, tooMany(answer.waitSeconds));
    }
    const reason = readReason(typed);
    if (reason === undefined) return show(visit, asked, typed, 'reason');
    if (answer !== undefined && (await answer.judge()) !== 'right') {
      return show(visit, asked, reason, 'challenge');
    }
    const waitSeconds = callers.take('removal', visit.request);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    if (!isSpokenOf(asked)) return show(visit, asked, reason);
    const { told, from } = askerIn(visit, asked);
    const done = await removals.add(asked.ip, { reason, ...told }, from);
    if (done.ok) return desk.go(visit, `/removal?address=${asked.ip}`);
    const isFull = done.error === 'capacity_exceeded';
    return isFull ? show(visit, asked, reason, 'full') : desk.problem(visit, done);
  }

  return [
    desk.page(removalEndpoints.ask, (visit, query) => {
      const asked = addressIn(query, allowDocumentation);
      return asked === undefined ? desk.problem(visit, noAddress) : show(visit, asked);
    }),
    desk.form(removalEndpoints.send, send),
  ];
}
