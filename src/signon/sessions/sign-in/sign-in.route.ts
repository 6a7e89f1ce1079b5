/**
 * /signin: password, second factor, passkey. Afterwards the visitor goes on to where they were
 * going (onward.route.ts), or to the account. Who is limited gets a challenge in the form, and after that
 * a link by mail (sign-in-link.route.ts).
 *
 * Limits per address and neighbourhood are for strangers: the browser of an owner and passkeys have
 * their own, so that whoever tries passwords from the same network does not keep them out.
 */

import type { Failure, Result } from '../../../core/result.ts';
import type { Reply } from '../../../http/message.ts';
import type { Params } from '../../../http/query.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { doneIn } from '../../../web/done-mark.ts';
import { statusOf } from '../../../web/errors.ts';
import { deskCall, deskForm, deskPage } from '../../../web/guard/desk-endpoint.ts';
import { asksForAnother } from '../../../web/guard/form-challenges.ts';
import { lostIn } from '../../../web/guard/intake/unsaved.ts';
import type { Visit } from '../../desk.route.ts';
import { emailLengthMax } from '../../people/pages/register.page.ts';
import { type RegisterOptions, tooMany } from '../../people/pages/register.route.ts';
import { catalogueFor } from '../../words/words.ts';
import { failureText } from '../failure.page.ts';
import { isForSite, type Onward, onwardHref } from '../onward.page.ts';
import { carriesRequest, hintOf, keptOnward, targetOf } from '../onward.route.ts';
import { type SignInPageData, secondFactorPage, signInPage } from './sign-in.page.ts';
import type { SecondFactorNeeded, SignedIn } from './sign-in.ts';
import { linkSentPath, signInLinkRoutes } from './sign-in-link.route.ts';

const path = '/signin';
const codePath = `${path}/second-factor`;
const needs = { formAction: 'unrestricted', connect: true } as const;

const passkey = { limits: ['passkey'], errors: ['sign_in_refused', 'review_required'] } as const;

export const signInEndpoints = {
  ask: deskPage(path, 'anyone', carriesRequest),
  /** Its limits depend on whose browser it is. */
  withPassword: deskForm(path, 'anyone', {
    ...carriesRequest,
    handlerLimits: ['signIn', 'signInNear', 'signInOwner'],
    errors: ['sign_in_refused', 'invalid_link'],
  }),
  /** A browser without an open ticket begins with the password. */
  secondFactor: deskPage(codePath, 'anyone', carriesRequest),
  withSecondFactor: deskForm(codePath, 'anyone', {
    ...carriesRequest,
    handlerLimits: ['signIn', 'signInOwner'],
    errors: ['invalid_link', 'invalid_code', 'sign_in_refused'],
  }),
  passkeyOptions: deskCall(`${path}/passkey/options`, 'anyone', passkey),
  withPasskey: deskCall(`${path}/passkey`, 'anyone', passkey),
};

const doneNames = ['verified', 'reset'] as const;
/** The errors of a person, after which the form is shown again. */
const shownAgain: readonly Failure['error'][] = ['sign_in_refused', 'too_many_attempts'];

type SignInRoutesOptions = Pick<
  RegisterOptions,
  'desk' | 'signon' | 'onwards' | 'callers' | 'challenges' | 'clock'
>;

/** The values of the form when it is shown again. */
interface Again {
  /** Undefined when another picture was asked for, and nothing else. */
  readonly failure?: Failure;
  readonly answerError?: string | undefined;
  /** It had a challenge, or would need one now. */
  readonly challenged: boolean;
}

export function signInRoutes(options: SignInRoutesOptions): PlainRoute[] {
  const { desk, signon, onwards, callers, challenges, clock } = options;
  const at = signInEndpoints;

  function show(visit: Visit, data: Omit<SignInPageData, 'csrf'>): Reply {
    return desk.show(visit, (frame) => signInPage(frame, { csrf: visit.csrf, ...data }), { needs });
  }

  function showAgain(visit: Visit, data: Omit<SignInPageData, 'csrf'>, again: Again): Reply {
    const { failure, answerError, challenged } = again;
    const isLimited = failure?.error === 'too_many_attempts';
    const challenge = challenged
      ? (challenges.make(visit.request) ?? ('busy' as const))
      : undefined;
    // The text above the challenge says what to do about a limit.
    const error =
      failure === undefined || isLimited ? {} : { error: failureText(visit.language, failure) };
    const whole = { csrf: visit.csrf, ...data, ...error, challenge, answerError };
    return desk.show(visit, (frame) => signInPage(frame, whole), {
      failure,
      needs: { ...needs, media: challenged },
      headers: challenged ? challenges.headers(visit.request) : [],
    });
  }

  function ask(visit: Visit, query: Params): Reply {
    const onward = onwards.ofQuery(visit, query);
    // An authorization asks anew even if there is a session; it decides what is needed.
    if (visit.session !== undefined && !isForSite(onward)) {
      return desk.go(visit, targetOf(onward, visit.session.verified));
    }
    const told = doneIn(visit.browserId, clock.now(), query.get('done'));
    const done =
      doneNames.find((name) => name === told) ??
      lostOf(onward) ??
      (visit.isRenewed ? 'renewed' : undefined);
    return show(visit, { ...onward, done, hint: hintOf(query) });
  }

  /** Ends the session that this browser had: a browser has one. */
  async function leaveFormer({ session }: Visit): Promise<void> {
    // If it can't be ended now it ends by itself: the sign-in is worth more.
    if (session !== undefined) await signon.sessions.end(session.accountId, session.id);
  }

  async function enter(visit: Visit, signedIn: SignedIn, onward: Onward): Promise<Reply> {
    await leaveFormer(visit);
    const target = await onwards.entered(visit, onward, signedIn);
    const over = visit.ticket === undefined ? [] : [desk.ticketCookie('')];
    return desk.go(visit, target, [...desk.sessionCookies(signedIn), ...over]);
  }

  /** An owner's browser has a limit of its own; strangers share those of their networks. */
  async function waitFor({ request, visitor }: Visit, email: string): Promise<number> {
    const owner = await signon.signIn.ownersBrowser(email, visitor);
    if (owner !== undefined) return callers.takeFor('signInOwner', owner);
    const near = callers.networkOf(request).wide;
    return callers.take('signIn', request) || callers.takeFor('signInNear', near);
  }

  async function withPassword(visit: Visit, form: Params): Promise<Reply> {
    const onward = onwards.ofForm(visit, form.get);
    const email = form.get('email') ?? '';
    const password = form.get('password') ?? '';
    if (asksForAnother(form)) {
      const filled = { ...onward, email: email.slice(0, emailLengthMax) };
      return showAgain(visit, filled, { challenged: true });
    }
    const waitSeconds = await waitFor(visit, email);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    const answered = challenges.answerIn(visit.request, form);
    const answer = 'judge' in answered ? await answered.judge() : 'wrong';
    const { visitor } = visit;
    const challenged = answer === 'right';
    let held = onward;
    const keep = async () => {
      held = await onwards.hold(visit, onward, 'reset');
      return keptOnward(held);
    };
    const request = { email, password, visitor, challenged, onward: keep };
    const done = await signon.signIn.withPassword(request);
    if (!done.ok) {
      if (!shownAgain.includes(done.error)) return desk.problem(visit, done);
      const isLimited = done.error === 'too_many_attempts';
      const { challengeWrong } = catalogueFor(visit.language).signon;
      return showAgain(
        visit,
        { ...onward, email: email.slice(0, emailLengthMax) },
        {
          failure: done,
          answerError: isLimited && answer === 'wrong' ? challengeWrong : undefined,
          challenged: isLimited || answer !== 'none',
        },
      );
    }
    if (done.value.kind !== 'link_mailed') return goOn(visit, done.value, onward);
    const cookie = desk.askedCookie(done.value.asked);
    return desk.go(visit, onwardHref(linkSentPath, held), [cookie]);
  }

  async function goOn(visit: Visit, done: SignedIn | SecondFactorNeeded, onward: Onward) {
    if (done.kind === 'signed_in') return enter(visit, done, onward);
    // A request that is over can't go on in an address.
    if (onward.requestEnded) return askForCode(visit, { ...onward, ticket: done.ticket });
    return desk.go(visit, onwardHref(codePath, onward), [desk.ticketCookie(done.ticket)]);
  }

  function askForCode(visit: Visit, data: Onward & { ticket: string }, failure?: Failure): Reply {
    const error = failure && { error: failureText(visit.language, failure) };
    const whole = { csrf: visit.csrf, ...data, ...error };
    return desk.show(visit, (frame) => secondFactorPage(frame, whole), { failure, needs });
  }

  /** The second step of this browser, loaded again: in another language, or by its address. */
  async function codeAgain(visit: Visit, query: Params): Promise<Reply> {
    const onward = onwards.ofQuery(visit, query);
    const { ticket = '' } = visit;
    const isOpen = await signon.signIn.isTicketOpen(ticket);
    return isOpen
      ? askForCode(visit, { ...onward, ticket })
      : desk.go(visit, onwardHref(path, onward));
  }

  /** Whoever is signed in by now goes on; anybody else gets the form again. */
  function passwordAgain(visit: Visit, form: Params, failure: Failure): Reply {
    const onward = onwards.ofStale(visit, form);
    const { session } = visit;
    if (session !== undefined) return desk.go(visit, targetOf(onward, session.verified));
    const email = (form.get('email') ?? '').slice(0, emailLengthMax);
    return shownAnew(visit, { ...onward, email }, failure);
  }

  function shownAnew(visit: Visit, data: Omit<SignInPageData, 'csrf'>, failure: Failure): Reply {
    const whole = { csrf: visit.csrf, error: failureText(visit.language, failure), ...data };
    const status = statusOf(failure.error);
    return desk.show(visit, (frame) => signInPage(frame, whole), { failure, status, needs });
  }

  async function codeStale(visit: Visit, form: Params, failure: Failure): Promise<Reply> {
    const onward = onwards.ofStale(visit, form);
    const { session } = visit;
    if (session !== undefined) return desk.go(visit, targetOf(onward, session.verified));
    const error = failureText(visit.language, failure);
    const whole = { ...onward, csrf: visit.csrf, ticket: form.get('ticket') ?? '', error };
    const status = statusOf(failure.error);
    return desk.show(visit, (frame) => secondFactorPage(frame, whole), { failure, status, needs });
  }

  async function withSecondFactor(visit: Visit, form: Params): Promise<Reply> {
    const onward = onwards.ofForm(visit, form.get);
    const ticket = form.get('ticket') ?? '';
    const code = form.get('code') ?? '';
    const owner = await signon.signIn.ownersBrowserOf(ticket, visit.visitor);
    const waitSeconds =
      owner === undefined
        ? callers.take('signIn', visit.request)
        : callers.takeFor('signInOwner', owner);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    const done = await signon.signIn.withSecondFactor({ ticket, code, visitor: visit.visitor });
    if (done.ok) return enter(visit, done.value, onward);
    const again = done.error === 'invalid_code' || done.error === 'too_many_attempts';
    if (again) return askForCode(visit, { ...onward, ticket }, done);
    if (done.error !== 'invalid_link') return desk.problem(visit, done);
    const error = catalogueFor(visit.language).signon.secondFactor.over;
    return shownAnew(visit, { ...onward, error }, done);
  }

  async function withPasskey(visit: Visit, body: { readonly [name: string]: unknown }) {
    const done: Result<SignedIn> = await signon.passkeys.signIn(body.response, visit.visitor);
    if (!done.ok) return done;
    await leaveFormer(visit);
    const onward = onwards.ofForm(visit, (name) => body[name]);
    const next = await onwards.entered(visit, onward, done.value);
    const headers = desk.sessionCookies(done.value);
    return { ok: true as const, value: { next }, headers };
  }

  return [
    desk.page(at.ask, ask),
    desk.form(at.withPassword, withPassword, [], passwordAgain),
    ...signInLinkRoutes({ desk, signon, onwards, callers, goOn }),
    desk.page(at.secondFactor, codeAgain),
    desk.form(at.withSecondFactor, withSecondFactor, [], codeStale),
    desk.call(at.passkeyOptions, () => signon.passkeys.signInOptions()),
    desk.call(at.withPasskey, withPasskey),
  ];
}

/** Tells whether a form led here because its session had ended: its values are kept (`unsaved`) or not (`undone`). */
function lostOf({ back = '' }: Onward): 'unsaved' | 'undone' | undefined {
  const lost = lostIn(back);
  return lost && (lost === 'kept' ? 'unsaved' : 'undone');
}
