/** /account/security: password, second factor, passkeys, sessions and the log of what happened. */

import { statusOf } from '../../core/errors.ts';
import { type Failure, fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionCall, sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { localPath } from '../../web/guard/intake/unsaved.ts';
import { enrolPath } from '../../web/guard/page-builder.ts';
import type { NewCodes } from '../proofs/second-factors.ts';
import { onwardHref } from '../sessions/parts.page.tsx';
import { frameText } from '../words.ts';
import type { AccountArea, AccountRequest, ViewChange } from './account.route.ts';
import {
  backupCodesPage,
  enrolmentPage,
  type SecurityView,
  securityPage,
} from './security.page.tsx';

const totpPath = '/account/security/totp';

/** The errors of `changes.make`, which asks for a proof as strong as the account's own. */
const ofChange = ['reauthentication_required', 'too_many_attempts'] as const;
const ofCode = { errors: [...ofChange, 'conflict', 'invalid_code'] } as const;
const ofPasskey = { errors: [...ofChange, 'conflict', 'invalid_passkey'] } as const;

export const securityEndpoints = {
  show: sessionPage(enrolPath, 'enrolling', { errors: ['store_unavailable'] }),
  changePassword: sessionForm('/account/security/password', 'verified', {
    errors: [...ofChange, 'invalid_parameter', 'weak_password'],
  }),
  showTotp: sessionPage(totpPath, 'enrolling', { errors: ofChange }),
  beginTotp: sessionForm(`${totpPath}/begin`, 'enrolling', ofCode),
  enableTotp: sessionForm(`${totpPath}/enable`, 'enrolling', ofCode),
  renewCodes: sessionForm(`${totpPath}/renew`, 'verified', ofCode),
  disableTotp: sessionForm(`${totpPath}/disable`, 'verified', ofCode),
  passkeyOptions: sessionCall('/account/security/passkeys/options', 'enrolling', ofPasskey),
  addPasskey: sessionCall('/account/security/passkeys', 'enrolling', ofPasskey),
  removePasskey: sessionForm('/account/security/passkeys/remove', 'verified', {
    errors: [...ofChange, 'unknown_key'],
  }),
  endSession: sessionForm('/account/security/sessions/end', 'verified', { errors: ['not_found'] }),
  endOthers: sessionForm('/account/security/sessions/end-others', 'verified', { errors: ofChange }),
  endTrust: sessionForm('/account/security/trusted/end', 'verified', { errors: ['not_found'] }),
};

export function securityRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, signon } = area;
  const at = securityEndpoints;
  const { secondFactors, trustedBrowsers, passkeys, sessions } = signon;
  const { securityLog, recovery, changes } = signon;

  async function show(
    context: AccountRequest,
    change: ViewChange = {},
    passwordError?: SecurityView['passwordError'],
  ): Promise<Reply> {
    const { accountId, id, person, factorDue, operator } = context.session;
    const returnTo = localPath(change.query?.get('return'));
    const secondFactor = await secondFactors.state(accountId);
    const ownPasskeys = await passkeys.list(accountId);
    const hasNone = !secondFactor.enabled && ownPasskeys.length === 0;
    const own = {
      account: context.session.email,
      fresh: await changes.allows(context.session),
      // The console sends an operator here who has none yet.
      isDue: factorDue !== undefined || (operator && returnTo !== undefined && hasNone),
      returnTo,
      passwordChangedAt: person.credentials.passwordChangedAt,
      passwordError,
      secondFactor,
      passkeys: ownPasskeys,
      ownHandle: Buffer.from(accountId).toString('base64url'),
      sessions: await sessions.list(accountId, id),
      trusted: await trustedBrowsers.list(person),
      log: await securityLog.list(accountId),
    };
    return area.show(context, change, securityPage, own, { connect: true });
  }

  async function changePassword(context: AccountRequest, form: Params): Promise<Reply> {
    const password = form.get('password') ?? '';
    const done = await recovery.changePassword(context.session, password, context.visitor);
    if (done.ok) return area.back(context, 'security', 'password_changed', done.value);
    const failed = frameText(context.frame).account.failed.form;
    const change = { status: statusOf(done.error), failed };
    if (done.error === 'weak_password') return show(context, change, 'weak');
    if (done.error === 'invalid_parameter') return show(context, change, 'length');
    return area.refuse(context, 'security', done);
  }

  /** Refuses as `area.refuse` does; the proof of identity leads back here and then to `back`. */
  function refuse(context: AccountRequest, failure: Failure, back: string | undefined): Reply {
    if (failure.error !== 'reauthentication_required' || back === undefined) {
      return area.refuse(context, 'security', failure);
    }
    return pageBuilder.go(
      context,
      onwardHref('/account/confirm', { back: onwardHref(enrolPath, { back }) }),
    );
  }

  async function beginTotp(context: AccountRequest, form: Params): Promise<Reply> {
    const back = localPath(form.get('return'));
    const begun = await secondFactors.begin(context.session);
    return begun.ok
      ? pageBuilder.go(context, onwardHref(totpPath, { back }))
      : refuse(context, begun, back);
  }

  async function showTotp(
    context: AccountRequest,
    back: string | undefined,
    codeError = false,
  ): Promise<Reply> {
    const begun = await secondFactors.begun(context.session);
    if (!begun.ok) return refuse(context, begun, back);
    if (begun.value === undefined) return pageBuilder.go(context, onwardHref(enrolPath, { back }));
    const text = frameText(context.frame).account.failed;
    const change = codeError ? { status: 422, failed: text.form } : {};
    const own = { ...begun.value, codeError, returnTo: back };
    return area.show(context, change, enrolmentPage, own);
  }

  async function enableTotp(context: AccountRequest, form: Params): Promise<Reply> {
    const code = (form.get('code') ?? '').slice(0, 64);
    const back = localPath(form.get('return'));
    const codes = await secondFactors.enable(context.session, code, context.visitor);
    if (codes.ok) return showCodes(context, codes.value, back);
    return codes.error === 'invalid_code'
      ? showTotp(context, back, true)
      : refuse(context, codes, back);
  }

  async function renewCodes(context: AccountRequest): Promise<Reply> {
    const codes = await secondFactors.renewBackupCodes(context.session, context.visitor);
    return codes.ok ? showCodes(context, codes.value) : area.refuse(context, 'security', codes);
  }

  async function showCodes(
    former: AccountRequest,
    { codes, token }: NewCodes,
    returnTo?: string,
  ): Promise<Reply> {
    const context = await pageBuilder.renewed(former, token);
    return area.show(context, {}, backupCodesPage, { codes, returnTo });
  }

  async function disableTotp(context: AccountRequest): Promise<Reply> {
    const done = await secondFactors.disable(context.session, context.visitor);
    return done.ok
      ? area.back(context, 'security', 'totp_disabled', done.value)
      : area.refuse(context, 'security', done);
  }

  async function removePasskey(context: AccountRequest, form: Params): Promise<Reply> {
    const done = await passkeys.remove(context.session, form.get('id') ?? '', context.visitor);
    return done.ok
      ? area.back(context, 'security', 'passkey_removed', done.value)
      : area.refuse(context, 'security', done);
  }

  async function endSession(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const own = (await sessions.list(accountId)).some((session) => session.id === id);
    const done = own ? await sessions.end(accountId, id) : fail('not_found');
    if (!done.ok) return area.refuse(context, 'security', done);
    await securityLog.add(accountId, 'sessions_ended', context.visitor);
    return area.back(context, 'security', 'session_ended');
  }

  async function endOthers(context: AccountRequest): Promise<Reply> {
    const { session, visitor } = context;
    const done = await sessions.endOthers(session, visitor);
    if (!done.ok) return area.refuse(context, 'security', done);
    await securityLog.add(session.accountId, 'sessions_ended', visitor);
    return area.back(context, 'security', 'sessions_ended', done.value);
  }

  async function endTrust(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const done = await trustedBrowsers.end(accountId, form.get('id') ?? '');
    if (!done.ok) return area.refuse(context, 'security', done);
    await securityLog.add(accountId, 'browser_untrusted', context.visitor);
    return area.back(context, 'security', 'trust_ended');
  }

  return [
    pageBuilder.page(at.show, (context, query) => show(context, { query })),
    pageBuilder.form(at.changePassword, changePassword),
    pageBuilder.page(at.showTotp, (context, query) =>
      showTotp(context, localPath(query.get('return'))),
    ),
    pageBuilder.form(at.beginTotp, beginTotp),
    pageBuilder.form(at.enableTotp, enableTotp),
    pageBuilder.form(at.renewCodes, renewCodes),
    pageBuilder.form(at.disableTotp, disableTotp),
    pageBuilder.call(at.passkeyOptions, (context) => passkeys.registrationOptions(context.session)),
    pageBuilder.call(at.addPasskey, async (context, { name, response, return: asked }) => {
      const text = typeof name === 'string' ? name : '';
      const added = await passkeys.register(context.session, response, text, context.visitor);
      if (!added.ok) return added;
      const { passkey, token } = added.value;
      const done = area.donePath(
        await pageBuilder.renewed(context, token),
        'security',
        'passkey_added',
      );
      const next = (typeof asked === 'string' ? localPath(asked) : undefined) ?? done;
      const headers = pageBuilder.sessionCookies({ token });
      return { ok: true, value: { id: passkey.id, next }, headers };
    }),
    pageBuilder.form(at.removePasskey, removePasskey),
    pageBuilder.form(at.endSession, endSession),
    pageBuilder.form(at.endOthers, endOthers),
    pageBuilder.form(at.endTrust, endTrust),
  ];
}
