/**
 * /signin/link: the link that an owner gets by mail when the sign-in is limited. It works in the
 * browser that asked for it. Opening it changes nothing: mail scanners open links too, so a button
 * does it.
 */

import type { Reply } from '../../../http/message.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { deskForm, deskPage } from '../../../web/guard/desk-endpoint.ts';
import type { Desk, Visit } from '../../desk.route.ts';
import type { Signon } from '../../open-signon.ts';
import { linkWait } from '../../people/pages/recover.route.ts';
import { type RegisterOptions, tooMany } from '../../people/pages/register.route.ts';
import { checkMailPage } from '../../people/pages/sent.page.ts';
import type { Onward } from '../onward.page.ts';
import { carriesRequest, type Onwards, onwardKept } from '../onward.route.ts';
import type { SecondFactorNeeded, SignedIn } from './sign-in.ts';
import { otherBrowserPage, signInLinkPage } from './sign-in-link.page.ts';

const signInLinkPath = '/signin/link';
export const linkSentPath = `${signInLinkPath}/sent`;

export const signInLinkEndpoints = {
  show: deskPage(signInLinkPath, 'anyone', { ...carriesRequest, errors: ['invalid_link'] }),
  use: deskForm(signInLinkPath, 'anyone', {
    ...carriesRequest,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link', 'sign_in_refused'],
  }),
  sent: deskPage(linkSentPath, 'anyone', carriesRequest),
};

export function signInLinkRoutes(options: {
  desk: Desk;
  signon: Pick<Signon, 'signIn'>;
  onwards: Pick<Onwards, 'ofQuery'>;
  callers: RegisterOptions['callers'];
  /** Answers a proof of identity, whatever its kind. */
  goOn(visit: Visit, done: SignedIn | SecondFactorNeeded, onward: Onward): Promise<Reply>;
}): PlainRoute[] {
  const { desk, signon, onwards, callers, goOn } = options;
  const elsewhere = (visit: Visit, status: number) =>
    desk.show(visit, (frame) => otherBrowserPage(frame), { status });

  return [
    desk.page(signInLinkEndpoints.show, async (visit, query) => {
      const token = query.get('token') ?? '';
      const state = await signon.signIn.linkState(token, visit.visitor);
      if (state === 'over') return desk.problem(visit, { ok: false, error: 'invalid_link' });
      if (state === 'other_browser') return elsewhere(visit, 200);
      const data = { csrf: visit.csrf, token, action: signInLinkPath };
      // The redirect may lead to the consent of a site: Chromium applies form-action to all of it.
      const needs = { formAction: 'unrestricted' } as const;
      return desk.show(visit, (frame) => signInLinkPage(frame, data), { needs });
    }),
    desk.form(signInLinkEndpoints.use, async (visit, form) => {
      const token = form.get('token') ?? '';
      // Counted for itself where it works alone: who has a copy elsewhere uses up nothing of it.
      const works = (await signon.signIn.linkState(token, visit.visitor)) === 'ready';
      const waitSeconds = linkWait(callers, visit, token, works);
      if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
      const done = await signon.signIn.withLink({ token, visitor: visit.visitor });
      if (done.ok) return goOn(visit, done.value.done, onwardKept(done.value.onward));
      return done.error === 'forbidden' ? elsewhere(visit, 403) : desk.problem(visit, done);
    }),
    desk.page(signInLinkEndpoints.sent, (visit, query) => {
      const onward = onwards.ofQuery(visit, query);
      return desk.show(visit, (frame) => checkMailPage(frame, 'signIn', onward));
    }),
  ];
}
