/**
 * /account/review: where a session comes until the review after a reset is done. Every page of the
 * account leads here before (desk.ts), and so does a site's request.
 */

import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { reviewPath } from '../../web/guard/desk.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { type Decide, decisions, reviewNames } from '../people/review.ts';
import { type Onward, onwardHref } from '../sessions/onward.page.ts';
import { carriesRequest, targetOf } from '../sessions/onward.route.ts';
import { reviewPage } from './pages/review.page.ts';
import type { OwnVisit, Space } from './space.route.ts';

/** The review itself is done by both: opening it ends one that has nothing to decide. */
const errors = [
  'invalid_parameter',
  'reauthentication_required',
  'too_many_attempts',
  'store_unavailable',
] as const;

export const reviewEndpoints = {
  ask: deskPage(reviewPath, 'reviewing', { ...carriesRequest, errors }),
  decide: deskForm(reviewPath, 'reviewing', { ...carriesRequest, errors }),
};

const undecided: Decide = () => undefined;

export function reviewRoutes(space: Space): PlainRoute[] {
  const { desk, review, signon, onwards } = space;

  async function show(
    visit: OwnVisit,
    onward: Onward,
    decide: Decide,
    isIncomplete: boolean,
  ): Promise<Reply> {
    const { accountId } = visit.session;
    const reviewed = await review.of(accountId);
    const hasFactor = await signon.secondFactors.isEnabled(accountId);
    const { csrf } = visit;
    const view = { ...onward, csrf, reviewed, hasFactor, decide, isIncomplete };
    return desk.show(visit, (frame) => reviewPage(frame, view), {
      status: isIncomplete ? 422 : 200,
    });
  }

  async function ask(visit: OwnVisit, query: Params): Promise<Reply> {
    const onward = notHere(onwards.ofQuery(visit, query));
    if (!visit.session.reviewing) return desk.go(visit, targetOf(onward, true));
    // All of it was removed meanwhile by the operator: there is nothing to decide.
    const isEmpty = reviewNames(await review.of(visit.session.accountId)).length === 0;
    return isEmpty && visit.session.fresh
      ? finish(visit, onward, undecided)
      : show(visit, onward, undecided, false);
  }

  async function decided(visit: OwnVisit, form: Params): Promise<Reply> {
    const onward = notHere(onwards.ofForm(visit, form.get));
    if (!visit.session.reviewing) return desk.go(visit, targetOf(onward, true));
    return finish(visit, onward, (name) => decisions.find((known) => known === form.get(name)));
  }

  async function finish(visit: OwnVisit, onward: Onward, decide: Decide): Promise<Reply> {
    const done = await review.finish(visit.session, decide, visit.visitor);
    if (done.ok) {
      await space.catchUp();
      return desk.signedIn(visit, done.value, targetOf(onward, true));
    }
    if (done.error === 'invalid_parameter') return show(visit, onward, decide, true);
    if (done.error !== 'reauthentication_required') return desk.problem(visit, done);
    const back = onwardHref(reviewPath, onward);
    return desk.go(visit, onwardHref('/account/confirm', { back }));
  }

  return [desk.page(reviewEndpoints.ask, ask), desk.form(reviewEndpoints.decide, decided)];
}

/** Back to the review itself leads nowhere. */
function notHere(onward: Onward): Onward {
  return onward.back?.startsWith(reviewPath) ? { ...onward, back: undefined } : onward;
}
