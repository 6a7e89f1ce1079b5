/** /account: an overview and the profile, with a form for each thing that is proven in its own way. */

import { ok, type Result } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { SetRow } from '../../store/store.ts';
import { statusOf } from '../../web/errors.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import type { Profile } from '../people/profile/profile.ts';
import { editProfile, type ProfileChanges } from '../people/profile/profile-edit.ts';
import { frameText } from '../words/words.ts';
import type { Overview } from './pages/overview.page.ts';
import {
  type ProfileErrorField,
  type ProfilePageView,
  type ProfileTextField,
  profilePage,
  profileTextFields,
} from './pages/profile.page.ts';
import type { OwnVisit, Space, ViewChange } from './space.route.ts';

const page = '/account';

export const profileEndpoints = {
  show: deskPage(page, 'verified', { errors: ['store_unavailable'] }),
  save: deskForm('/account/profile', 'verified', {
    errors: ['invalid_parameter', 'unknown_account'],
  }),
  changeEmail: deskForm('/account/email', 'verified', {
    handlerLimits: ['ownMail'],
    errors: ['invalid_parameter', 'conflict', 'reauthentication_required'],
  }),
  sendCode: deskForm('/account/phone', 'confirmed', {
    backTo: page,
    errors: ['invalid_parameter'],
  }),
  verifyCode: deskForm('/account/phone/verify', 'confirmed', {
    backTo: page,
    errors: ['invalid_code', 'unknown_account'],
  }),
  removePhone: deskForm('/account/phone/remove', 'confirmed', {
    backTo: page,
    errors: ['unknown_account'],
  }),
};

type Shown = Partial<
  Pick<ProfilePageView, 'typed' | 'typedGlass' | 'errors' | 'pictureError' | 'codeWanted'>
>;

/** Typed text is shown again up to this length; nobody's name is longer. */
const typedCharsMax = 1_000;

async function overviewOf(space: Space, { accountId, id }: OwnVisit['session']): Promise<Overview> {
  const { signon, usage } = space;
  const slot = space.standingOf(accountId)?.slot;
  const hours = slot === undefined ? [] : usage.of(slot);
  const [keys, sites, passkeys, factor, sessions] = await Promise.all([
    Promise.all([space.ownKeys.list(accountId), space.namedKeys.list(accountId)]),
    space.consents.list(accountId),
    signon.passkeys.list(accountId),
    signon.secondFactors.state(accountId),
    signon.sessions.list(accountId, id),
  ]);
  return {
    keys: keys.flat().length,
    reads: hours.reduce((sum, hour) => sum + hour.reads, 0),
    writes: hours.reduce((sum, hour) => sum + hour.writes, 0),
    sites: sites.length,
    passkeys: passkeys.length,
    secondFactor: factor.enabled,
    backupCodes: factor.backupCodesLeft,
    sessions: sessions.length,
  };
}

export async function showProfile(
  space: Space,
  visit: OwnVisit,
  change: ViewChange & { readonly status?: number } = {},
  shown: Shown = {},
): Promise<Reply> {
  const profile = await space.profileOf(visit.session);
  const view = await space.viewOf(visit, change);
  if (profile === undefined)
    return space.desk.problem(visit, { ok: false, error: 'store_unavailable' });
  const { email } = visit.session;
  const fresh = await space.signon.changes.allows(visit.session);
  const all: ProfilePageView = {
    ...view,
    profile,
    email,
    fresh,
    typed: {},
    errors: [],
    codeWanted: view.done === 'phone_sent',
    // A form with a fault stands alone: the fault is what to do next.
    overview: change.status === undefined ? await overviewOf(space, visit.session) : undefined,
    ...shown,
  };
  return space.desk.show(visit, (frame) => profilePage(frame, all), {
    status: change.status ?? 200,
  });
}

export function profileRoutes(space: Space): PlainRoute[] {
  const { desk, profiles, signon, clock } = space;
  const at = profileEndpoints;

  const wrongForm = (visit: OwnVisit) => frameText(visit.frame).account.failed.form;

  async function save(visit: OwnVisit, form: Params): Promise<Reply> {
    const profile = await space.profileOf(visit.session);
    if (profile === undefined) return showProfile(space, visit);
    const typed = textsOf(form);
    const liquidGlass = form.get('liquid_glass');
    const errors = faultsOf(profile, typed, clock.now());
    if (liquidGlass !== undefined && liquidGlass !== 'on') errors.push('liquid_glass');
    const typedGlass = liquidGlass === 'on';
    if (errors.length > 0) {
      const shown = { typed: clipped(typed), typedGlass, errors };
      return showProfile(space, visit, { status: 422, failed: wrongForm(visit) }, shown);
    }
    const changes = { ...typed, liquid_glass: typedGlass };
    const done = await profiles.edit(visit.session.accountId, changes);
    return done.ok ? space.back(visit, 'profile', 'saved') : space.refuse(visit, 'profile', done);
  }

  async function changeEmail(visit: OwnVisit, form: Params): Promise<Reply> {
    const waitSeconds = space.callers.takeFor('ownMail', visit.session.accountId);
    if (waitSeconds > 0) {
      const failure = { ok: false, error: 'too_many_attempts' } as const;
      return space.desk.problem(visit, { ...failure, retryAfterSeconds: waitSeconds });
    }
    const email = form.get('email') ?? '';
    const asked = await signon.emailChange.request(visit.session, email, visit.visitor);
    if (asked.ok) return space.back(visit, 'profile', 'email_sent');
    if (asked.error !== 'invalid_parameter') return space.refuse(visit, 'profile', asked);
    const shown: Shown = { typed: clipped({ email }), errors: ['email'] };
    return showProfile(space, visit, { status: 422, failed: wrongForm(visit) }, shown);
  }

  async function sendCode(visit: OwnVisit, form: Params): Promise<Reply> {
    const phone = form.get('phone') ?? '';
    const sent = await signon.phoneCodes.send(visit.session.accountId, phone, visit.visitor);
    if (sent.ok) return space.back(visit, 'profile', 'phone_sent');
    const typed = clipped({ phone });
    const text = frameText(visit.frame).account.failed;
    switch (sent.error) {
      case 'invalid_parameter':
        return showProfile(
          space,
          visit,
          { status: 422, failed: text.form },
          { typed, errors: ['phone'] },
        );
      case 'client_limit_exceeded': {
        const failed = text.limitSeconds(String(sent.retryAfterSeconds ?? 60));
        return showProfile(space, visit, { status: 429, failed }, { typed });
      }
      default:
        return showProfile(
          space,
          visit,
          { status: statusOf(sent.error), failed: text.busy },
          { typed },
        );
    }
  }

  async function verifyCode(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const code = form.get('code') ?? '';
    const verified = await signon.phoneCodes.verify(accountId, code, visit.visitor);
    if (!verified.ok && verified.error === 'invalid_code') {
      const shown: Shown = { errors: ['code'], codeWanted: true };
      return showProfile(space, visit, { status: 422, failed: wrongForm(visit) }, shown);
    }
    if (!verified.ok) return space.refuse(visit, 'profile', verified);
    const phone = verified.value.number;
    const told = await space.change(visit, 'phone_verified');
    const verify = (profile: Profile) => ({ ...profile, phone, phoneVerified: true });
    const done = await keep(accountId, verify, () => told.set);
    // The log has it since the code was taken.
    if (done.ok) told.send();
    return done.ok
      ? space.back(visit, 'profile', 'phone_verified')
      : space.refuse(visit, 'profile', done);
  }

  async function removePhone(visit: OwnVisit): Promise<Reply> {
    const { accountId } = visit.session;
    await signon.phoneCodes.cancel(accountId);
    const told = await space.change(visit, 'phone_removed');
    let had = false;
    const remove = (profile: Profile) => ({ ...profile, phone: '', phoneVerified: false });
    const done = await keep(accountId, remove, ({ phone }) => {
      had = phone !== '';
      return had ? told.set : [];
    });
    if (done.ok && had) await told.done();
    return done.ok
      ? space.back(visit, 'profile', 'phone_removed')
      : space.refuse(visit, 'profile', done);
  }

  function keep(
    accountId: string,
    change: (profile: Profile) => Profile,
    beside: (before: Profile) => readonly SetRow[],
  ): Promise<Result<Profile>> {
    const rows = (before: Profile) => ({ set: beside(before), del: [] });
    return profiles.update(accountId, (profile) => ok(change(profile)), rows);
  }

  return [
    desk.page(at.show, (visit, query) => showProfile(space, visit, { query })),
    desk.form(at.save, save),
    desk.form(at.changeEmail, changeEmail),
    desk.form(at.sendCode, sendCode),
    desk.form(at.verifyCode, verifyCode),
    desk.form(at.removePhone, removePhone),
  ];
}

/** A field that did not come stays as it is. */
function textsOf(form: Params): Partial<Record<ProfileTextField, string>> {
  const typed: Partial<Record<ProfileTextField, string>> = {};
  for (const name of profileTextFields) {
    const text = form.get(name);
    if (text !== undefined) typed[name] = text;
  }
  return typed;
}

/** Every field that can't be taken, not the first alone. */
function faultsOf(
  profile: Profile,
  typed: Partial<Record<ProfileTextField, string>>,
  now: number,
): ProfileErrorField[] {
  return profileTextFields.filter((name) => {
    const change: ProfileChanges = name in typed ? { [name]: typed[name]! } : {};
    return !editProfile(profile, change, now).ok;
  });
}

function clipped<T extends Partial<Record<string, string>>>(typed: T): T {
  const short = Object.entries(typed).map(([name, text]) => [name, text?.slice(0, typedCharsMax)]);
  return Object.fromEntries(short) as T;
}
