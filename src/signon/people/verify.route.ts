/**
 * /verify: the link of a registration's mail, and another link for people who are signed in and have not opened it.
 * Opening a link changes nothing, since mail scanners open links too: a button does it.
 *
 * /recover, /reset and the confirmation of a new mail address. The answer to /recover is the same for every address.
 * The page that the person was going to is kept with the link, as at the registration.
 */

import { isAccountId } from '../../access/accounts/records.ts';
import { type ErrorCode, statusOf } from '../../core/errors.ts';
import { readKnownAddress } from '../../core/mail-address.ts';
import { type Failure, fail } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionCall, sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { jsonOf } from '../../web/guard/intake/form.ts';
import { doneIn, doneTag } from '../../web/page-tools.ts';
import { tooMany } from '../proofs/attempts.ts';
import {
  onwardKept,
  onwardQuery,
  type RequestContext,
  siteRequestOptions,
  targetOf,
} from '../sessions/onward.route.ts';
import { failureText, onwardHref } from '../sessions/parts.page.tsx';
import { translationsFor } from '../words.ts';
import { termsOfQuery, termsQuery } from './pacing.ts';
import { checkMailPage, emailLengthMax } from './register.page.tsx';
import type { RegisterOptions } from './register.route.ts';
import {
  choosePasskeyPage,
  confirmEmailPage,
  linkButtonPage,
  recoverPage,
  resetPage,
  unverifiedPage,
} from './verify.page.tsx';

const confirmPath = '/account/email/confirm';

export const recoverEndpoints = {
  ask: sessionPage('/recover', 'anyone', siteRequestOptions),
  request: sessionForm('/recover', 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['recover'],
    errors: ['invalid_parameter'],
  }),
  sent: sessionPage('/recover/sent', 'anyone', siteRequestOptions),
  askReset: sessionPage('/reset', 'anyone', { ...siteRequestOptions, errors: ['invalid_link'] }),
  reset: sessionForm('/reset', 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link', 'weak_password', 'invalid_parameter'],
  }),
  askConfirm: sessionPage(confirmPath, 'verified', { errors: ['invalid_link'] }),
  confirm: sessionForm(confirmPath, 'verified', {
    ...siteRequestOptions,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link', 'conflict', 'reauthentication_required'],
  }),
};

/**
 * Returns whole seconds to wait, 0 when the use is counted and may go on. A mailed link that works
 * shares no limit with other clients behind the same address.
 */
export function linkWait(
  callers: Pick<RegisterOptions['callers'], 'takeOrWait' | 'takeOrWaitFor'>,
  { request }: RequestContext,
  token: string,
  works: boolean,
): number {
  return works
    ? callers.takeOrWaitFor('mailedLink', `link ${token}`)
    : callers.takeOrWait('deadLink', request);
}

export function recoverRoutes(
  options: Pick<RegisterOptions, 'pageBuilder' | 'signon' | 'onwards' | 'callers' | 'clock'>,
): PlainRoute[] {
  const { pageBuilder, signon, onwards, callers } = options;

  /** An owner's browser has a limit of its own; all other browsers share that of their address. */
  async function waitFor({ request, visitor }: RequestContext, email: string): Promise<number> {
    const owner = await signon.signIn.ownersBrowser(email, visitor);
    return owner === undefined
      ? callers.takeOrWait('recover', request)
      : callers.takeOrWaitFor('recover', `browser ${owner}`);
  }

  return [
    pageBuilder.page(recoverEndpoints.ask, (context, query) => {
      const data = { ...onwards.ofQuery(context, query), csrf: context.csrf };
      return pageBuilder.show(context, (frame) => recoverPage(frame, data));
    }),
    pageBuilder.form(
      recoverEndpoints.request,
      async (context, form) => {
        const email = form.get('email') ?? '';
        const waitSeconds = await waitFor(context, email);
        if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
        const onward = onwards.ofForm(context, form.get);
        if (readKnownAddress(email) === undefined && !isAccountId(email.trim())) {
          const error = translationsFor(context.language).signon.emailMalformed;
          const shown = email.slice(0, emailLengthMax);
          const data = { ...onward, csrf: context.csrf, email: shown, error };
          return pageBuilder.show(context, (frame) => recoverPage(frame, data), { status: 422 });
        }
        const held = await onwards.hold(context, onward, 'reset');
        const request = { email, visitor: context.visitor, onward: onwardQuery(held) };
        const done = await signon.recovery.request(request);
        return done.ok
          ? pageBuilder.go(context, onwardHref('/recover/sent', held))
          : pageBuilder.problem(context, done);
      },
      [],
      (context, form, failure) => {
        const email = (form.get('email') ?? '').slice(0, emailLengthMax);
        const error = failureText(context.language, failure);
        const data = { ...onwards.ofStale(context, form), csrf: context.csrf, email, error };
        const status = statusOf(failure.error);
        return pageBuilder.show(context, (frame) => recoverPage(frame, data), { status, failure });
      },
    ),
    pageBuilder.page(recoverEndpoints.sent, (context, query) => {
      const onward = onwards.ofQuery(context, query);
      return pageBuilder.show(context, (frame) => checkMailPage(frame, 'recover', onward));
    }),
    ...resetRoutes(options),
    ...confirmRoutes(options),
  ];
}

function resetRoutes({
  pageBuilder,
  signon,
  callers,
  clock,
}: Pick<RegisterOptions, 'pageBuilder' | 'signon' | 'callers' | 'clock'>): PlainRoute[] {
  async function waitFor(context: RequestContext, token: string): Promise<number> {
    return linkWait(callers, context, token, await signon.recovery.isOpen(token));
  }

  const show = async (context: RequestContext, token: string, error?: string) => {
    const account = await signon.recovery.accountOf(token);
    const data = { csrf: context.csrf, token, account, error };
    const status = error === undefined ? 200 : 422;
    return pageBuilder.show(context, (frame) => resetPage(frame, data), { status });
  };
  return [
    pageBuilder.page(recoverEndpoints.askReset, async (context, query) => {
      const token = query.get('token') ?? '';
      if (await signon.recovery.isOpen(token)) return show(context, token);
      return pageBuilder.problem(context, fail('invalid_link'));
    }),
    pageBuilder.form(recoverEndpoints.reset, async (context, form) => {
      const token = form.get('token') ?? '';
      const password = form.get('password') ?? '';
      const { visitor, language } = context;
      const waitSeconds = await waitFor(context, token);
      if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
      const done = await signon.recovery.reset({ token, password, visitor });
      if (done.ok) {
        const onward = onwardKept(done.value.onward);
        const tag = doneTag(context.browserId, 'reset', clock.now());
        return pageBuilder.go(context, onwardHref('/signin', onward, { done: tag }));
      }
      if (done.error === 'weak_password') return show(context, token, failureText(language, done));
      if (done.error !== 'invalid_parameter') return pageBuilder.problem(context, done);
      return show(context, token, translationsFor(language).signon.passwordLength);
    }),
  ];
}

function confirmRoutes({
  pageBuilder,
  signon,
  callers,
}: Pick<RegisterOptions, 'pageBuilder' | 'signon' | 'callers'>): PlainRoute[] {
  return [
    pageBuilder.page(recoverEndpoints.askConfirm, async (context, query) => {
      const token = query.get('token') ?? '';
      const offered = await signon.emailChange.offered(context.session, token);
      if (!offered.ok) return pageBuilder.problem(context, offered);
      const data = { csrf: context.csrf, token, action: confirmPath };
      const addresses = { from: context.session.email, to: offered.value.email };
      return pageBuilder.show(context, (frame) =>
        confirmEmailPage(frame, { ...data, ...addresses }),
      );
    }),
    pageBuilder.form(recoverEndpoints.confirm, async (context, form) => {
      const { session, visitor } = context;
      const token = form.get('token') ?? '';
      const { ok: works } = await signon.emailChange.offered(session, token);
      const waitSeconds = linkWait(callers, context, token, works);
      if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
      const done = await signon.emailChange.confirm(session, token, visitor);
      return done.ok
        ? pageBuilder.signedIn(context, done.value, '/account')
        : pageBuilder.problem(context, done);
    }),
  ];
}

/** The errors after which the form of the link can be sent again. */
const askedAgain: readonly ErrorCode[] = [
  'sign_in_refused',
  'too_many_attempts',
  'weak_password',
  'invalid_parameter',
  'invalid_passkey',
];

export const verifyEndpoints = {
  ask: sessionPage('/verify', 'anyone', { ...siteRequestOptions, errors: ['invalid_link'] }),
  verify: sessionForm('/verify', 'anyone', {
    ...siteRequestOptions,
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: [...askedAgain, 'invalid_link', 'conflict', 'forbidden'],
  }),
  passkeyOptions: sessionCall('/verify/passkey/options', 'anyone', {
    handlerLimits: ['mailedLink', 'deadLink'],
    errors: ['invalid_link'],
  }),
  resend: sessionForm('/verify/resend', 'signed-in', {
    ...siteRequestOptions,
    handlerLimits: ['ownMail'],
    errors: ['invalid_parameter'],
  }),
};

export function verifyRoutes(
  options: Pick<RegisterOptions, 'pageBuilder' | 'signon' | 'onwards' | 'clock' | 'callers'>,
): PlainRoute[] {
  const { pageBuilder, signon, onwards, callers, clock } = options;

  /** Returns a tag that is valid in this browser: a session may begin or end with what was done. */
  function doneTagOf(context: RequestContext, name: string): string {
    return doneTag(context.browserId, name, clock.now());
  }

  async function waitFor(context: RequestContext, token: string): Promise<number> {
    return linkWait(callers, context, token, await signon.registration.isOpen(token));
  }

  async function show(context: RequestContext, token: string, failure?: Failure) {
    const asks = await signon.registration.asks(token, context.visitor);
    const text = translationsFor(context.language).signon;
    // "The password is wrong" would be no help where a passkey was refused.
    const isPasskey = asks === 'passkey' && failure?.error === 'sign_in_refused';
    const sentence = failure && failureText(context.language, failure);
    const shown = failure?.error === 'invalid_parameter' ? text.passwordLength : sentence;
    const isMade = failure?.error === 'invalid_passkey';
    const refused = isMade ? text.createPasskey.refused : shown;
    const error = isPasskey ? text.verify.proveFailed : refused;
    const worksFrom = asks === 'later' ? await signon.registration.worksFrom(token) : 0;
    const account = await signon.registration.accountOf(token);
    const data = { csrf: context.csrf, token, action: '/verify', account, asks, worksFrom, error };
    const needs = { connect: asks === 'passkey' };
    return pageBuilder.show(context, (frame) => linkButtonPage(frame, data), { needs, failure });
  }

  async function askForPasskey(context: RequestContext, token: string) {
    const asked = await signon.registration.choiceOptions(token);
    if (!asked.ok) return pageBuilder.problem(context, asked);
    const data = { ...asked.value, csrf: context.csrf, token };
    return pageBuilder.show(context, (frame) => choosePasskeyPage(frame, data));
  }

  return [
    pageBuilder.page(verifyEndpoints.ask, async (context, query) => {
      const { csrf, session } = context;
      const token = query.get('token');
      if (token !== undefined) {
        const isOpen = await signon.registration.isOpen(token);
        return isOpen ? show(context, token) : pageBuilder.problem(context, fail('invalid_link'));
      }
      const onward = onwards.ofQuery(context, query);
      if (session === undefined) return pageBuilder.go(context, onwardHref('/signin', onward));
      if (session.verified) return pageBuilder.go(context, targetOf(onward, true));
      const { email } = session;
      const { worksFrom } = termsOfQuery(query, clock.now());
      const sent = doneIn(context.browserId, clock.now(), query.get('done')) === 'sent';
      const data = { ...onward, csrf, email, sent, worksFrom };
      return pageBuilder.show(context, (frame) => unverifiedPage(frame, data));
    }),
    pageBuilder.form(verifyEndpoints.verify, async (context, form) => {
      const token = form.get('token') ?? '';
      const { visitor, session } = context;
      const waitSeconds = await waitFor(context, token);
      if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
      const said = form.get('passkey') || undefined;
      if (form.get('with') === 'passkey' && said === undefined)
        return askForPasskey(context, token);
      const passkey = said === undefined ? undefined : jsonOf(said);
      const given = { password: form.get('password'), passkey, session };
      const done = await signon.registration.verify(token, visitor, given);
      if (!done.ok) {
        return askedAgain.includes(done.error)
          ? show(context, token, done)
          : pageBuilder.problem(context, done);
      }
      const { token: renewed, browser, accountId, proof } = done.value;
      const known = browser === undefined ? [] : [pageBuilder.browserCookie(browser)];
      const onward = onwardKept(done.value.onward);
      if (renewed !== undefined) {
        return pageBuilder.signedIn(context, { token: renewed, browser }, targetOf(onward, true));
      }
      // In the browser that registered the person is known: the password was typed there, or the passkey made.
      if (browser !== undefined && session === undefined) {
        const own = { ...visitor, browser };
        const signedIn = await signon.signIn.afterVerification(accountId, own, proof);
        if (signedIn !== undefined) {
          const target = await onwards.entered(context, onward, signedIn);
          return pageBuilder.signedIn(context, signedIn, target);
        }
      }
      return pageBuilder.go(
        context,
        onwardHref('/signin', onward, {
          hint: done.value.email,
          done: doneTagOf(context, 'verified'),
        }),
        known,
      );
    }),
    pageBuilder.call(verifyEndpoints.passkeyOptions, async (context, body) => {
      const token = typeof body.token === 'string' ? body.token : '';
      const waitSeconds = await waitFor(context, token);
      if (waitSeconds > 0) return tooMany(waitSeconds);
      return signon.registration.proofOptions(token);
    }),
    pageBuilder.form(verifyEndpoints.resend, async (context, form) => {
      const { session, visitor } = context;
      // The limit is the account's: other clients behind the same address can't use it up.
      const waitSeconds = callers.takeOrWaitFor('ownMail', session.accountId);
      if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
      const onward = onwards.ofForm(context, form.get);
      const held = await onwards.hold(context, onward, 'verify');
      const kept = onwardQuery(held);
      const done = await signon.registration.resend(session.person, visitor, kept);
      if (!done.ok && done.error !== 'conflict') return pageBuilder.problem(context, done);
      const from = done.ok && done.value ? termsQuery(done.value).from : undefined;
      return pageBuilder.go(
        context,
        onwardHref('/verify', held, { done: doneTagOf(context, 'sent'), from }),
      );
    }),
  ];
}
