/**
 * /signin: password, second factor, passkey. Afterwards the visitor goes on to the page that they came from
 * (onward.route.ts), or to the account. A limited visitor gets a challenge in the form, and after that a link by mail
 * (/signin/link), which works in the browser that asked for it. Opening it changes nothing, since mail scanners open
 * links too: a button does it.
 *
 * Limits per address and neighbourhood are for unknown browsers: the owner's browser and passkeys have their own, so
 * that somebody who tries passwords from the same network does not keep them out.
 */

import { statusOf } from '../../core/errors.ts';
import { type Failure, fail, type Result } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { alternativeField, asksForAnother } from '../../web/components/challenge.tsx';
import { sessionCall, sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { draftIn } from '../../web/guard/intake/unsaved.ts';
import type { ShowOptions } from '../../web/guard/page-builder.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { doneIn } from '../../web/page-tools.ts';
import { checkMailPage, emailLengthMax } from '../people/register.page.tsx';
import type { RegisterOptions } from '../people/register.route.ts';
import { linkWait } from '../people/verify.route.ts';
import { tooMany } from '../proofs/attempts.ts';
import { trustLifeMs } from '../proofs/trusted-browsers.ts';
import { translationsFor } from '../words.ts';
import {
  hintOf,
  onwardKept,
  onwardQuery,
  type RequestContext,
  siteRequestOptions,
  targetOf,
} from './onward.route.ts';
import { failureText, isForSite, type Onward, onwardHref } from './parts.page.tsx';
import {
  otherBrowserPage,
  type SignInForm,
  secondFactorPage,
  signInLinkPage,
  signInPage,
} from './sign-in.page.tsx';
import type { SecondFactorNeeded, SignedIn } from './sign-in.ts';

const path = '/signin';
const codePath = `${path}/second-factor`;
const linkPath = `${path}/link`;
const linkSentPath = `${linkPath}/sent`;
const needs = { formAction: 'unrestricted', connect: true } as const;

const passkey = {
  limits: ['passkey'],
  errors: ['sign_in_refused', 'passkey_refused', 'review_required'],
} as const;

export const signInEndpoints = {
  ask: sessionPage(path, 'anyone', siteRequestOptions),
  /** Its limits depend on whose browser it is. */
  withPassword: sessionForm(path, 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['signIn', 'signInNear', 'signInOwner'],
    errors: ['sign_in_refused', 'invalid_link'],
  }),
  /** A browser without an open ticket begins with the password. */
  secondFactor: sessionPage(codePath, 'anyone', siteRequestOptions),
  withSecondFactor: sessionForm(codePath, 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['signIn', 'signInOwner'],
    errors: ['invalid_link', 'invalid_code', 'sign_in_refused'],
  }),
  passkeyOptions: sessionCall(`${path}/passkey/options`, 'anyone', passkey),
  withPasskey: sessionCall(`${path}/passkey`, 'anyone', passkey),
  showLink: sessionPage(linkPath, 'anyone', { ...siteRequestOptions, errors: ['invalid_link'] }),
  useLink: sessionForm(linkPath, 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link', 'sign_in_refused'],
  }),
  linkSent: sessionPage(linkSentPath, 'anyone', siteRequestOptions),
  /** Works before the mail address is verified, too. */
  signOut: sessionForm('/signout', 'signed-in'),
};

const doneNames = ['verified', 'reset'] as const;
/** The errors of a person, after which the form is shown again. */
const shownAgain: readonly Failure['error'][] = ['sign_in_refused', 'too_many_attempts'];

type SignInRoutesOptions = Pick<
  RegisterOptions,
  'pageBuilder' | 'signon' | 'onwards' | 'callers' | 'formChallenges' | 'clock' | 'registrationOpen'
>;

/** The values of the form when it is shown again. */
interface Again {
  /** Undefined when another picture was asked for, and nothing else. */
  readonly failure?: Failure;
  readonly answerError?: string | undefined;
  /** It had a challenge, or would need one now; `work`: one without a picture. */
  readonly challenged: boolean | 'work';
}

export function signInRoutes(options: SignInRoutesOptions): PlainRoute[] {
  const { pageBuilder, signon, onwards, callers, formChallenges, clock, registrationOpen } =
    options;
  const at = signInEndpoints;

  function show(context: RequestContext, data: SignInForm, more: ShowOptions = {}): Reply {
    const whole = { csrf: context.csrf, registrationOpen, ...data };
    return pageBuilder.show(context, (frame) => signInPage(frame, whole), { needs, ...more });
  }

  function showAgain(
    context: RequestContext,
    data: SignInForm,
    { failure, answerError, challenged }: Again,
  ): Reply {
    const challenge =
      challenged === true ? (formChallenges.make(context.request) ?? ('busy' as const)) : undefined;
    const work = challenged === 'work' ? formChallenges.signInWork : undefined;
    // The text above the challenge says what to do about a limit.
    const isExplained = failure === undefined || failure.error === 'too_many_attempts';
    const error = isExplained ? {} : { error: failureText(context.language, failure) };
    const isRefused = failure?.error === 'sign_in_refused';
    const whole = { ...data, ...error, isRefused, challenge, work, answerError };
    return show(context, whole, {
      failure,
      needs: { ...needs, media: challenged !== false },
      headers: challenged !== false ? formChallenges.headers(context.request) : [],
    });
  }

  function ask(context: RequestContext, query: Params): Reply {
    const onward = onwards.ofQuery(context, query);
    // An authorization asks again even if there is a session; it decides what is needed.
    if (context.session !== undefined && !isForSite(onward)) {
      return pageBuilder.go(context, targetOf(onward, context.session.verified));
    }
    const doneName = doneIn(context.browserId, clock.now(), query.get('done'));
    const done =
      doneNames.find((name) => name === doneName) ??
      lostOf(onward) ??
      (context.isRenewed ? 'renewed' : undefined);
    return show(context, { ...onward, done, hint: hintOf(query) });
  }

  /** Ends the session that this browser had: a browser has one. */
  async function endFormerSession({ session }: RequestContext): Promise<void> {
    // If it can't be ended now it ends by itself: the sign-in is worth more.
    if (session !== undefined) await signon.sessions.end(session.accountId, session.id);
  }

  async function enter(
    context: RequestContext,
    signedIn: SignedIn,
    onward: Onward,
  ): Promise<Reply> {
    await endFormerSession(context);
    const target = await onwards.entered(context, onward, signedIn);
    const over = context.ticket === undefined ? [] : [pageBuilder.ticketCookie('')];
    const { trusted } = signedIn;
    const trust = trusted === undefined ? [] : [pageBuilder.trustedCookie(trusted, trustLifeMs)];
    const cookies = [...pageBuilder.sessionCookies(signedIn), ...trust, ...over];
    return pageBuilder.go(context, target, cookies);
  }

  /** An owner's browser has a limit of its own; all other browsers share those of their networks. */
  function waitFor({ request }: RequestContext, owner: string | undefined): number {
    if (owner !== undefined) return callers.takeOrWaitFor('signInOwner', owner);
    const near = callers.networksOf(request).neighbourhood;
    return callers.takeOrWait('signIn', request) || callers.takeOrWaitFor('signInNear', near);
  }

  async function withPassword(context: RequestContext, form: Params): Promise<Reply> {
    const onward = onwards.ofForm(context, form.get);
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    const { visitor } = context;
    const owner = await signon.signIn.ownersBrowser(email, visitor);
    // Neither a known browser nor a clean address ever has to read a picture (WCAG 2.2, 3.3.8).
    const workSuffices = owner !== undefined || callers.isClean(context.request);
    const kind = workSuffices ? 'work' : true;
    if (asksForAnother(form)) {
      const filled = { ...onward, email: email.slice(0, emailLengthMax) };
      return showAgain(context, filled, { challenged: kind });
    }
    const waitSeconds = waitFor(context, owner);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    const mailsLink = workSuffices && form.has(alternativeField);
    const answered = mailsLink
      ? undefined
      : formChallenges.answerIn(context.request, form, { workSuffices });
    const answer =
      answered === undefined ? 'none' : 'judge' in answered ? await answered.judge() : 'wrong';
    const challenged = answer === 'right';
    let held = onward;
    const keep = async () => {
      held = await onwards.hold(context, onward, 'reset');
      return onwardQuery(held);
    };
    const request = { email, password, visitor, challenged, mailsLink, onward: keep };
    const done = await signon.signIn.withPassword(request);
    if (!done.ok) {
      if (!shownAgain.includes(done.error)) return pageBuilder.problem(context, done);
      const isLimited = done.error === 'too_many_attempts';
      const { challengeWrong } = translationsFor(context.language).signon;
      return showAgain(
        context,
        { ...onward, email: email.slice(0, emailLengthMax) },
        {
          failure: done,
          answerError: isLimited && answer === 'wrong' ? challengeWrong : undefined,
          challenged: (isLimited || answer !== 'none') && kind,
        },
      );
    }
    if (done.value.kind !== 'link_mailed') return continueTo(context, done.value, onward);
    const cookie = pageBuilder.askedCookie(done.value.asked);
    return pageBuilder.go(context, onwardHref(linkSentPath, held), [cookie]);
  }

  async function continueTo(
    context: RequestContext,
    done: SignedIn | SecondFactorNeeded,
    onward: Onward,
  ) {
    if (done.kind === 'signed_in') return enter(context, done, onward);
    // An expired request can't continue in an address.
    if (onward.requestEnded) return askForCode(context, { ...onward, ticket: done.ticket });
    return pageBuilder.go(context, onwardHref(codePath, onward), [
      pageBuilder.ticketCookie(done.ticket),
    ]);
  }

  async function askForCode(
    context: RequestContext,
    data: Onward & { ticket: string; trusts?: boolean },
    failure?: Failure,
    more: ShowOptions = {},
  ): Promise<Reply> {
    const error = failure && { error: failureText(context.language, failure) };
    const offersTrust = await signon.signIn.offersTrust(data.ticket);
    const whole = { csrf: context.csrf, ...data, ...error, offersTrust };
    const page = (frame: PageFrame) => secondFactorPage(frame, whole);
    return pageBuilder.show(context, page, { failure, needs, ...more });
  }

  /** The second step of this browser, loaded again: in another language, or by its address. */
  async function codeAgain(context: RequestContext, query: Params): Promise<Reply> {
    const onward = onwards.ofQuery(context, query);
    const { ticket = '' } = context;
    const isOpen = await signon.signIn.isTicketOpen(ticket);
    return isOpen
      ? askForCode(context, { ...onward, ticket })
      : pageBuilder.go(context, onwardHref(path, onward));
  }

  /** Whoever is signed in by now goes on; anybody else gets the form again. */
  function passwordAgain(context: RequestContext, form: Params, failure: Failure): Reply {
    const onward = onwards.ofStale(context, form);
    const { session } = context;
    if (session !== undefined) return pageBuilder.go(context, targetOf(onward, session.verified));
    const email = (form.get('email') ?? '').slice(0, emailLengthMax);
    return showFailure(context, { ...onward, email }, failure);
  }

  function showFailure(context: RequestContext, data: SignInForm, failure: Failure): Reply {
    const error = failureText(context.language, failure);
    return show(context, { error, ...data }, { failure, status: statusOf(failure.error) });
  }

  async function codeStale(context: RequestContext, form: Params, failure: Failure) {
    const onward = onwards.ofStale(context, form);
    const { session } = context;
    if (session !== undefined) return pageBuilder.go(context, targetOf(onward, session.verified));
    const data = { ...onward, ticket: form.get('ticket') ?? '' };
    return askForCode(context, data, failure, { status: statusOf(failure.error) });
  }

  async function withSecondFactor(context: RequestContext, form: Params): Promise<Reply> {
    const onward = onwards.ofForm(context, form.get);
    const ticket = form.get('ticket') ?? '';
    const code = form.get('code') ?? '';
    const owner = await signon.signIn.ownersBrowserOf(ticket, context.visitor);
    const waitSeconds =
      owner === undefined
        ? callers.takeOrWait('signIn', context.request)
        : callers.takeOrWaitFor('signInOwner', owner);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    const trusts = form.get('trust') === 'on';
    const { visitor } = context;
    const done = await signon.signIn.withSecondFactor({ ticket, code, visitor, trusts });
    if (done.ok) return enter(context, done.value, onward);
    const again = done.error === 'invalid_code' || done.error === 'too_many_attempts';
    if (again) return askForCode(context, { ...onward, ticket, trusts }, done);
    if (done.error !== 'invalid_link') return pageBuilder.problem(context, done);
    const error = translationsFor(context.language).signon.secondFactor.over;
    return showFailure(context, { ...onward, error }, done);
  }

  async function withPasskey(context: RequestContext, body: { readonly [name: string]: unknown }) {
    const done: Result<SignedIn> = await signon.passkeys.signIn(body.response, context.visitor);
    if (!done.ok) return done;
    await endFormerSession(context);
    const onward = onwards.ofForm(context, (name) => body[name]);
    const next = await onwards.entered(context, onward, done.value);
    const headers = pageBuilder.sessionCookies(done.value);
    return { ok: true as const, value: { next }, headers };
  }

  const elsewhere = (context: RequestContext, status: number) =>
    pageBuilder.show(context, (frame) => otherBrowserPage(frame), { status });

  async function showLink(context: RequestContext, query: Params): Promise<Reply> {
    const token = query.get('token') ?? '';
    const state = await signon.signIn.linkState(token, context.visitor);
    if (state === 'over') return pageBuilder.problem(context, fail('invalid_link'));
    if (state === 'other_browser') return elsewhere(context, 200);
    const data = { csrf: context.csrf, token, action: linkPath };
    // The redirect may lead to the consent of a site: Chromium applies form-action to all of it.
    const needs = { formAction: 'unrestricted' } as const;
    return pageBuilder.show(context, (frame) => signInLinkPage(frame, data), { needs });
  }

  async function useLink(context: RequestContext, form: Params): Promise<Reply> {
    const token = form.get('token') ?? '';
    // Counted for itself where it works alone: who has a copy elsewhere uses up nothing of it.
    const works = (await signon.signIn.linkState(token, context.visitor)) === 'ready';
    const waitSeconds = linkWait(callers, context, token, works);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    const done = await signon.signIn.withLink({ token, visitor: context.visitor });
    if (done.ok) return continueTo(context, done.value.done, onwardKept(done.value.onward));
    return done.error === 'forbidden'
      ? elsewhere(context, 403)
      : pageBuilder.problem(context, done);
  }

  return [
    pageBuilder.page(at.ask, ask),
    pageBuilder.form(at.withPassword, withPassword, [], passwordAgain),
    pageBuilder.page(at.showLink, showLink),
    pageBuilder.form(at.useLink, useLink),
    pageBuilder.page(at.linkSent, (context, query) => {
      const onward = onwards.ofQuery(context, query);
      return pageBuilder.show(context, (frame) => checkMailPage(frame, 'signIn', onward));
    }),
    pageBuilder.form(at.signOut, async (context) => {
      const ended = await signon.sessions.end(context.session.accountId, context.session.id);
      return ended.ok ? pageBuilder.signedOut(context, '/') : pageBuilder.problem(context, ended);
    }),
    pageBuilder.page(at.secondFactor, codeAgain),
    pageBuilder.form(at.withSecondFactor, withSecondFactor, [], codeStale),
    pageBuilder.call(at.passkeyOptions, (context) =>
      signon.passkeys.signInOptions(context.browserId),
    ),
    pageBuilder.call(at.withPasskey, withPasskey),
  ];
}

/**
 * Returns whether a form led here because its session had ended: its values are kept (`unsaved`) or not
 * (`undone`).
 */
function lostOf({ back = '' }: Onward): 'unsaved' | 'undone' | undefined {
  const lost = draftIn(back);
  return lost && (lost === 'kept' ? 'unsaved' : 'undone');
}
