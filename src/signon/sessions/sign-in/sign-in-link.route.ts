/**
 * /signin/link: the link that an owner gets by mail when the sign-in is limited. It works in the
 * browser that asked for it. Opening it changes nothing: mail scanners open links too, so a button
 * does it.
 */

import type { Reply } from '../../../http/request/message.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { sessionForm, sessionPage } from '../../../web/guard/session-endpoint.ts';
import type { Signon } from '../../open-signon.ts';
import { checkMailPage } from '../../people/register.page.tsx';
import { type RegisterOptions, tooMany } from '../../people/register.route.ts';
import { linkWait } from '../../people/verify.route.ts';
import type { PageBuilder, RequestContext } from '../../request-context.route.ts';
import type { Onward } from '../onward.page.tsx';
import { carriesRequest, type Onwards, onwardKept } from '../onward.route.ts';
import type { SecondFactorNeeded, SignedIn } from './sign-in.ts';
import { otherBrowserPage, signInLinkPage } from './sign-in-link.page.tsx';

const signInLinkPath = '/signin/link';
export const linkSentPath = `${signInLinkPath}/sent`;

export const signInLinkEndpoints = {
  show: sessionPage(signInLinkPath, 'anyone', { ...carriesRequest, errors: ['invalid_link'] }),
  use: sessionForm(signInLinkPath, 'anyone', {
    ...carriesRequest,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link', 'sign_in_refused'],
  }),
  sent: sessionPage(linkSentPath, 'anyone', carriesRequest),
};

export function signInLinkRoutes(options: {
  pageBuilder: PageBuilder;
  signon: Pick<Signon, 'signIn'>;
  onwards: Pick<Onwards, 'ofQuery'>;
  callers: RegisterOptions['callers'];
  /** Answers a proof of identity, whatever its kind. */
  goOn(
    context: RequestContext,
    done: SignedIn | SecondFactorNeeded,
    onward: Onward,
  ): Promise<Reply>;
}): PlainRoute[] {
  const { pageBuilder, signon, onwards, callers, goOn } = options;
  const elsewhere = (context: RequestContext, status: number) =>
    pageBuilder.show(context, (frame) => otherBrowserPage(frame), { status });

  return [
    pageBuilder.page(signInLinkEndpoints.show, async (context, query) => {
      const token = query.get('token') ?? '';
      const state = await signon.signIn.linkState(token, context.visitor);
      if (state === 'over')
        return pageBuilder.problem(context, { ok: false, error: 'invalid_link' });
      if (state === 'other_browser') return elsewhere(context, 200);
      const data = { csrf: context.csrf, token, action: signInLinkPath };
      // The redirect may lead to the consent of a site: Chromium applies form-action to all of it.
      const needs = { formAction: 'unrestricted' } as const;
      return pageBuilder.show(context, (frame) => signInLinkPage(frame, data), { needs });
    }),
    pageBuilder.form(signInLinkEndpoints.use, async (context, form) => {
      const token = form.get('token') ?? '';
      // Counted for itself where it works alone: who has a copy elsewhere uses up nothing of it.
      const works = (await signon.signIn.linkState(token, context.visitor)) === 'ready';
      const waitSeconds = linkWait(callers, context, token, works);
      if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
      const done = await signon.signIn.withLink({ token, visitor: context.visitor });
      if (done.ok) return goOn(context, done.value.done, onwardKept(done.value.onward));
      return done.error === 'forbidden'
        ? elsewhere(context, 403)
        : pageBuilder.problem(context, done);
    }),
    pageBuilder.page(signInLinkEndpoints.sent, (context, query) => {
      const onward = onwards.ofQuery(context, query);
      return pageBuilder.show(context, (frame) => checkMailPage(frame, 'signIn', onward));
    }),
  ];
}
