/**
 * /account/review: where a session comes until the review after a reset is done. Every page of the
 * account leads here before (page-builder.ts), and so does a site's request.
 */

import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { reviewPath } from '../../web/guard/page-builder.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import { type Decide, decisions, reviewNames } from '../people/review.ts';
import { type Onward, onwardHref } from '../sessions/onward.page.tsx';
import { carriesRequest, targetOf } from '../sessions/onward.route.ts';
import type { AccountArea, AccountRequest } from './account-area.route.ts';
import { reviewPage } from './pages/review.page.tsx';

/** The review itself is done by both: opening it ends one that has nothing to decide. */
const errors = [
  'invalid_parameter',
  'reauthentication_required',
  'too_many_attempts',
  'store_unavailable',
] as const;

export const reviewEndpoints = {
  ask: sessionPage(reviewPath, 'reviewing', { ...carriesRequest, errors }),
  decide: sessionForm(reviewPath, 'reviewing', { ...carriesRequest, errors }),
};

const undecided: Decide = () => undefined;

export function reviewRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, review, signon, onwards } = area;

  async function show(
    context: AccountRequest,
    onward: Onward,
    decide: Decide,
    isIncomplete: boolean,
  ): Promise<Reply> {
    const { accountId } = context.session;
    const reviewed = await review.of(accountId);
    const hasFactor = await signon.secondFactors.isEnabled(accountId);
    const { csrf } = context;
    const view = { ...onward, csrf, reviewed, hasFactor, decide, isIncomplete };
    return pageBuilder.show(context, (frame) => reviewPage(frame, view), {
      status: isIncomplete ? 422 : 200,
    });
  }

  async function ask(context: AccountRequest, query: Params): Promise<Reply> {
    const onward = notHere(onwards.ofQuery(context, query));
    if (!context.session.reviewing) return pageBuilder.go(context, targetOf(onward, true));
    // All of it was removed meanwhile by the operator: there is nothing to decide.
    const isEmpty = reviewNames(await review.of(context.session.accountId)).length === 0;
    return isEmpty && context.session.fresh
      ? finish(context, onward, undecided)
      : show(context, onward, undecided, false);
  }

  async function decided(context: AccountRequest, form: Params): Promise<Reply> {
    const onward = notHere(onwards.ofForm(context, form.get));
    if (!context.session.reviewing) return pageBuilder.go(context, targetOf(onward, true));
    return finish(context, onward, (name) => decisions.find((known) => known === form.get(name)));
  }

  async function finish(context: AccountRequest, onward: Onward, decide: Decide): Promise<Reply> {
    const done = await review.finish(context.session, decide, context.visitor);
    if (done.ok) {
      await area.catchUp();
      return pageBuilder.signedIn(context, done.value, targetOf(onward, true));
    }
    if (done.error === 'invalid_parameter') return show(context, onward, decide, true);
    if (done.error !== 'reauthentication_required') return pageBuilder.problem(context, done);
    const back = onwardHref(reviewPath, onward);
    return pageBuilder.go(context, onwardHref('/account/confirm', { back }));
  }

  return [
    pageBuilder.page(reviewEndpoints.ask, ask),
    pageBuilder.form(reviewEndpoints.decide, decided),
  ];
}

/** Back to the review itself leads nowhere. */
function notHere(onward: Onward): Onward {
  return onward.back?.startsWith(reviewPath) ? { ...onward, back: undefined } : onward;
}
