/** /account/security: password, second factor, passkeys, sessions and the log of what happened. */

import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { backupCodesPage, enrolmentPage } from '../../pages/account/second-factor.ts';
import { type SecurityView, securityPage } from '../../pages/account/security.ts';
import { frameText } from '../../pages/layout.ts';
import { statusOf } from '../problem.ts';
import type { OwnVisit, Space, ViewChange } from './space.ts';

const totpPath = '/account/security/totp';

export function securityRoutes(space: Space): PlainRoute[] {
  const { desk, signon } = space;
  const { secondFactors, passkeys, sessions, securityLog, recovery } = signon;

  async function show(
    visit: OwnVisit,
    change: ViewChange & { readonly status?: number } = {},
    passwordError?: SecurityView['passwordError'],
  ): Promise<Reply> {
    const { accountId, id, fresh, person } = visit.session;
    const view: SecurityView = {
      ...(await space.viewOf(visit, change)),
      fresh,
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
    if (done.ok) return space.back(visit, 'security', 'password_changed');
    const failed = frameText(visit.frame).account.failed.form;
    const change = { status: statusOf(done.error), failed };
    if (done.error === 'weak_password') return show(visit, change, 'weak');
    if (done.error === 'invalid_parameter') return show(visit, change, 'length');
    return space.refuse(visit, 'security', done);
  }

  async function beginTotp(visit: OwnVisit): Promise<Reply> {
    const begun = await secondFactors.begin(visit.session);
    return begun.ok ? desk.go(visit, totpPath) : space.refuse(visit, 'security', begun);
  }

  async function showTotp(visit: OwnVisit, codeError = false): Promise<Reply> {
    const begun = await secondFactors.begun(visit.session);
    if (!begun.ok) return space.refuse(visit, 'security', begun);
    if (begun.value === undefined) return desk.go(visit, '/account/security');
    const text = frameText(visit.frame).account.failed;
    const view = await space.viewOf(visit, codeError ? { failed: text.form } : {});
    const shown = { ...view, ...begun.value, codeError };
    return desk.show(visit, (frame) => enrolmentPage(frame, shown), {
      status: codeError ? 422 : 200,
    });
  }

  async function enableTotp(visit: OwnVisit, form: Params): Promise<Reply> {
    const code = (form.get('code') ?? '').slice(0, 64);
    const codes = await secondFactors.enable(visit.session, code, visit.visitor);
    if (codes.ok) return showCodes(visit, codes.value);
    return codes.error === 'invalid_code'
      ? showTotp(visit, true)
      : space.refuse(visit, 'security', codes);
  }

  async function renewCodes(visit: OwnVisit): Promise<Reply> {
    const codes = await secondFactors.renewBackupCodes(visit.session, visit.visitor);
    return codes.ok ? showCodes(visit, codes.value) : space.refuse(visit, 'security', codes);
  }

  async function showCodes(visit: OwnVisit, codes: readonly string[]): Promise<Reply> {
    const view = { ...(await space.viewOf(visit)), codes };
    return desk.show(visit, (frame) => backupCodesPage(frame, view));
  }

  async function disableTotp(visit: OwnVisit): Promise<Reply> {
    const done = await secondFactors.disable(visit.session, visit.visitor);
    return done.ok
      ? space.back(visit, 'security', 'totp_disabled')
      : space.refuse(visit, 'security', done);
  }

  async function removePasskey(visit: OwnVisit, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const own = await passkeys.list(visit.session.accountId);
    const done = own.some((passkey) => passkey.id === id)
      ? await passkeys.remove(visit.session, id, visit.visitor)
      : fail('unknown_key');
    return done.ok
      ? space.back(visit, 'security', 'passkey_removed')
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
    const { accountId, id } = visit.session;
    const done = await sessions.endAll(accountId, id);
    if (!done.ok) return space.refuse(visit, 'security', done);
    await securityLog.add(accountId, 'sessions_ended', visit.visitor);
    return space.back(visit, 'security', 'sessions_ended');
  }

  return [
    desk.page('/account/security', 'verified', (visit, query) => show(visit, { query })),
    desk.form('/account/security/password', 'verified', changePassword),
    desk.page(totpPath, 'verified', (visit) => showTotp(visit)),
    desk.form(`${totpPath}/begin`, 'verified', beginTotp),
    desk.form(`${totpPath}/enable`, 'verified', enableTotp),
    desk.form(`${totpPath}/renew`, 'verified', renewCodes),
    desk.form(`${totpPath}/disable`, 'verified', disableTotp),
    desk.call('/account/security/passkeys/options', 'verified', (visit) =>
      passkeys.registrationOptions(visit.session),
    ),
    desk.call('/account/security/passkeys', 'verified', async (visit, { name, response }) => {
      const text = typeof name === 'string' ? name : '';
      const added = await passkeys.register(visit.session, response, text, visit.visitor);
      return added.ok ? { ok: true, value: { id: added.value.id } } : added;
    }),
    desk.form('/account/security/passkeys/remove', 'verified', removePasskey),
    desk.form('/account/security/sessions/end', 'verified', endSession),
    desk.form('/account/security/sessions/end-others', 'verified', endOthers),
  ];
}
