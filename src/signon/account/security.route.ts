/** /account/security: password, second factor, passkeys, sessions and the log of what happened. */

import { type Failure, fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { statusOf } from '../../web/errors.ts';
import { enrolPath } from '../../web/guard/desk.ts';
import { deskCall, deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { localPath } from '../../web/guard/intake/local-path.ts';
import type { NewCodes } from '../proofs/factors/second-factors.ts';
import { onwardHref } from '../sessions/onward.page.ts';
import { frameText } from '../words/words.ts';
import { backupCodesPage, enrolmentPage } from './pages/second-factor.page.ts';
import { type SecurityView, securityPage } from './pages/security.page.ts';
import type { OwnVisit, Space, ViewChange } from './space.route.ts';

const totpPath = '/account/security/totp';

/** The errors of `changes.make`, which asks for a proof as strong as the account's own. */
const ofChange = ['reauthentication_required', 'too_many_attempts'] as const;
const ofCode = { errors: [...ofChange, 'conflict', 'invalid_code'] } as const;

export const securityEndpoints = {
  show: deskPage(enrolPath, 'enrolling', { errors: ['store_unavailable'] }),
  changePassword: deskForm('/account/security/password', 'verified', {
    errors: [...ofChange, 'invalid_parameter', 'weak_password'],
  }),
  showTotp: deskPage(totpPath, 'enrolling', { errors: ofChange }),
  beginTotp: deskForm(`${totpPath}/begin`, 'enrolling', ofCode),
  enableTotp: deskForm(`${totpPath}/enable`, 'enrolling', ofCode),
  renewCodes: deskForm(`${totpPath}/renew`, 'verified', ofCode),
  disableTotp: deskForm(`${totpPath}/disable`, 'verified', ofCode),
  passkeyOptions: deskCall('/account/security/passkeys/options', 'enrolling', ofCode),
  addPasskey: deskCall('/account/security/passkeys', 'enrolling', ofCode),
  removePasskey: deskForm('/account/security/passkeys/remove', 'verified', {
    errors: [...ofChange, 'unknown_key'],
  }),
  endSession: deskForm('/account/security/sessions/end', 'verified', { errors: ['not_found'] }),
  endOthers: deskForm('/account/security/sessions/end-others', 'verified', { errors: ofChange }),
};

export function securityRoutes(space: Space): PlainRoute[] {
  const { desk, signon } = space;
  const at = securityEndpoints;
  const { secondFactors, passkeys, sessions, securityLog, recovery, changes } = signon;

  async function show(
    visit: OwnVisit,
    change: ViewChange & { readonly status?: number } = {},
    passwordError?: SecurityView['passwordError'],
  ): Promise<Reply> {
    const { accountId, id, person } = visit.session;
    const view: SecurityView = {
      ...(await space.viewOf(visit, change)),
      account: visit.session.email,
      fresh: await changes.allows(visit.session),
      isDue: visit.session.factorDue !== undefined,
      returnTo: localPath(change.query?.get('return')),
      passwordChangedAt: person.credentials.passwordChangedAt,
      passwordError,
      secondFactor: await secondFactors.state(accountId),
      passkeys: await passkeys.list(accountId),
      sessions: await sessions.list(accountId, id),
      log: await securityLog.list(accountId),
    };
    return desk.show(visit, (frame) => securityPage(frame, view), {
      status: change.status ?? 200,
      needs: { connect: true },
    });
  }

  async function changePassword(visit: OwnVisit, form: Params): Promise<Reply> {
    const password = form.get('password') ?? '';
    const done = await recovery.changePassword(visit.session, password, visit.visitor);
    if (done.ok) return space.back(visit, 'security', 'password_changed', done.value);
    const failed = frameText(visit.frame).account.failed.form;
    const change = { status: statusOf(done.error), failed };
    if (done.error === 'weak_password') return show(visit, change, 'weak');
    if (done.error === 'invalid_parameter') return show(visit, change, 'length');
    return space.refuse(visit, 'security', done);
  }

  /** Refuses as `space.refuse` does; the proof of identity leads back here and then to `back`. */
  function refuse(visit: OwnVisit, failure: Failure, back: string | undefined): Reply {
    if (failure.error !== 'reauthentication_required' || back === undefined) {
      return space.refuse(visit, 'security', failure);
    }
    return desk.go(
      visit,
      onwardHref('/account/confirm', { back: onwardHref(enrolPath, { back }) }),
    );
  }

  async function beginTotp(visit: OwnVisit, form: Params): Promise<Reply> {
    const back = localPath(form.get('return'));
    const begun = await secondFactors.begin(visit.session);
    return begun.ok ? desk.go(visit, onwardHref(totpPath, { back })) : refuse(visit, begun, back);
  }

  async function showTotp(
    visit: OwnVisit,
    back: string | undefined,
    codeError = false,
  ): Promise<Reply> {
    const begun = await secondFactors.begun(visit.session);
    if (!begun.ok) return refuse(visit, begun, back);
    if (begun.value === undefined) return desk.go(visit, onwardHref(enrolPath, { back }));
    const text = frameText(visit.frame).account.failed;
    const view = await space.viewOf(visit, codeError ? { failed: text.form } : {});
    const shown = { ...view, ...begun.value, codeError, returnTo: back };
    return desk.show(visit, (frame) => enrolmentPage(frame, shown), {
      status: codeError ? 422 : 200,
    });
  }

  async function enableTotp(visit: OwnVisit, form: Params): Promise<Reply> {
    const code = (form.get('code') ?? '').slice(0, 64);
    const back = localPath(form.get('return'));
    const codes = await secondFactors.enable(visit.session, code, visit.visitor);
    if (codes.ok) return showCodes(visit, codes.value, back);
    return codes.error === 'invalid_code'
      ? showTotp(visit, back, true)
      : refuse(visit, codes, back);
  }

  async function renewCodes(visit: OwnVisit): Promise<Reply> {
    const codes = await secondFactors.renewBackupCodes(visit.session, visit.visitor);
    return codes.ok ? showCodes(visit, codes.value) : space.refuse(visit, 'security', codes);
  }

  async function showCodes(
    former: OwnVisit,
    { codes, token }: NewCodes,
    returnTo?: string,
  ): Promise<Reply> {
    const visit = await desk.renewed(former, token);
    const view = { ...(await space.viewOf(visit)), codes, returnTo };
    return desk.show(visit, (frame) => backupCodesPage(frame, view));
  }

  async function disableTotp(visit: OwnVisit): Promise<Reply> {
    const done = await secondFactors.disable(visit.session, visit.visitor);
    return done.ok
      ? space.back(visit, 'security', 'totp_disabled', done.value)
      : space.refuse(visit, 'security', done);
  }

  async function removePasskey(visit: OwnVisit, form: Params): Promise<Reply> {
    const done = await passkeys.remove(visit.session, form.get('id') ?? '', visit.visitor);
    return done.ok
      ? space.back(visit, 'security', 'passkey_removed', done.value)
      : space.refuse(visit, 'security', done);
  }

  async function endSession(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const id = form.get('id') ?? '';
    const own = (await sessions.list(accountId)).some((session) => session.id === id);
    const done = own ? await sessions.end(accountId, id) : fail('not_found');
    if (!done.ok) return space.refuse(visit, 'security', done);
    await securityLog.add(accountId, 'sessions_ended', visit.visitor);
    return space.back(visit, 'security', 'session_ended');
  }

  async function endOthers(visit: OwnVisit): Promise<Reply> {
    const { session, visitor } = visit;
    const done = await sessions.endOthers(session, visitor);
    if (!done.ok) return space.refuse(visit, 'security', done);
    await securityLog.add(session.accountId, 'sessions_ended', visitor);
    return space.back(visit, 'security', 'sessions_ended', done.value);
  }

  return [
    desk.page(at.show, (visit, query) => show(visit, { query })),
    desk.form(at.changePassword, changePassword),
    desk.page(at.showTotp, (visit, query) => showTotp(visit, localPath(query.get('return')))),
    desk.form(at.beginTotp, beginTotp),
    desk.form(at.enableTotp, enableTotp),
    desk.form(at.renewCodes, renewCodes),
    desk.form(at.disableTotp, disableTotp),
    desk.call(at.passkeyOptions, (visit) => passkeys.registrationOptions(visit.session)),
    desk.call(at.addPasskey, async (visit, { name, response, return: asked }) => {
      const text = typeof name === 'string' ? name : '';
      const added = await passkeys.register(visit.session, response, text, visit.visitor);
      if (!added.ok) return added;
      const { passkey, token } = added.value;
      const done = space.donePath(await desk.renewed(visit, token), 'security', 'passkey_added');
      const next = (typeof asked === 'string' ? localPath(asked) : undefined) ?? done;
      const headers = desk.sessionCookies({ token });
      return { ok: true, value: { id: passkey.id, next }, headers };
    }),
    desk.form(at.removePasskey, removePasskey),
    desk.form(at.endSession, endSession),
    desk.form(at.endOthers, endOthers),
  ];
}
