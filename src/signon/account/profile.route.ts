/**
 * /account: an overview and the profile, with a form for each thing that is proven in its own way.
 * The picture is put in place, removed, and served to whoever knows its random name: it was made here
 * from pixels, and its headers let a browser see nothing else in it.
 */

import { type ErrorCode, statusOf } from '../../core/errors.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { SetRow } from '../../storage/store.ts';
import {
  publicFileEndpoint,
  routeFacts,
  sessionForm,
  sessionPage,
  sessionUpload,
} from '../../web/guard/endpoint.ts';
import type { Upload } from '../../web/guard/intake/form.ts';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
} from '../../web/page-tools.ts';
import { avatarFileBytesMax } from '../people/profile/avatars.ts';
import {
  type Profile,
  type Setting,
  settings,
  type TypedText,
  typedTextNames,
} from '../people/profile/profile.ts';
import { editProfile, type ProfileChanges } from '../people/profile/profile-edit.ts';
import { frameText } from '../words.ts';
import type { AccountArea, AccountRequest, ViewChange } from './account.route.ts';
import {
  type Overview,
  type PictureError,
  type ProfileErrorField,
  type ProfilePageView,
  profilePage,
} from './profile.page.tsx';

const page = '/account';

export const profileEndpoints = {
  show: sessionPage(page, 'verified', { errors: ['store_unavailable'] }),
  save: sessionForm('/account/profile', 'verified', {
    errors: ['invalid_parameter', 'unknown_account'],
  }),
  changeEmail: sessionForm('/account/email', 'verified', {
    handlerLimits: ['ownMail'],
    errors: ['invalid_parameter', 'conflict', 'reauthentication_required'],
  }),
  sendCode: sessionForm('/account/phone', 'confirmed', {
    backTo: page,
    errors: ['invalid_parameter'],
  }),
  verifyCode: sessionForm('/account/phone/verify', 'confirmed', {
    backTo: page,
    errors: ['invalid_code', 'unknown_account'],
  }),
  removePhone: sessionForm('/account/phone/remove', 'confirmed', {
    backTo: page,
    errors: ['unknown_account'],
  }),
};

type ProfileFormState = Partial<
  Pick<ProfilePageView, 'typed' | 'typedSettings' | 'errors' | 'pictureError' | 'codeWanted'>
>;

/** Typed text is shown again up to this length; nobody's name is longer. */
const typedCharsMax = 1_000;

async function overviewOf(
  area: AccountArea,
  { accountId, id }: AccountRequest['session'],
): Promise<Overview> {
  const { signon, usage } = area;
  const slot = area.standingOf(accountId)?.slot;
  const hours = slot === undefined ? [] : usage.of(slot);
  const [keys, sites, passkeys, factor, sessions] = await Promise.all([
    area.apiKeys.list(accountId),
    area.consents.list(accountId),
    signon.passkeys.list(accountId),
    signon.secondFactors.state(accountId),
    signon.sessions.list(accountId, id),
  ]);
  return {
    keys: keys.length,
    reads: hours.reduce((sum, hour) => sum + hour.reads, 0),
    writes: hours.reduce((sum, hour) => sum + hour.writes, 0),
    sites: sites.length,
    passkeys: passkeys.length,
    secondFactor: factor.enabled,
    backupCodes: factor.backupCodesLeft,
    sessions: sessions.length,
  };
}

export function profileRoutes(area: AccountArea, tools: PageTools): PlainRoute[] {
  const { pageBuilder, profiles, signon, clock, avatars } = area;
  const at = profileEndpoints;

  async function show(
    context: AccountRequest,
    change: ViewChange = {},
    shown: ProfileFormState = {},
  ): Promise<Reply> {
    const { session } = context;
    const profile = await area.profileOf(session);
    if (profile === undefined) return pageBuilder.problem(context, fail('store_unavailable'));
    return area.show<ProfilePageView>(context, change, profilePage, {
      profile,
      email: session.email,
      fresh: await signon.changes.allows(session),
      typed: {},
      errors: [],
      codeWanted: await signon.phoneCodes.isOpen(session.accountId),
      // A form with a fault stands alone: the fault is what to do next.
      overview: change.status === undefined ? await overviewOf(area, session) : undefined,
      ...shown,
    });
  }

  const wrongForm = (context: AccountRequest) => frameText(context.frame).account.failed.form;

  async function save(context: AccountRequest, form: Params): Promise<Reply> {
    const profile = await area.profileOf(context.session);
    if (profile === undefined) return show(context);
    const typed = textsOf(form);
    const sent = settings.map((name) => ({ name, value: form.get(name) }));
    const wrong = sent.filter(({ value }) => value !== undefined && value !== 'on');
    const errors = [...faultsOf(profile, typed, clock.now()), ...wrong.map(({ name }) => name)];
    const typedSettings = Object.fromEntries(
      sent.map(({ name, value }) => [name, value === 'on']),
    ) as Record<Setting, boolean>;
    if (errors.length > 0) {
      const shown = { typed: clipped(typed), typedSettings, errors };
      return show(context, { status: 422, failed: wrongForm(context) }, shown);
    }
    const changes = { ...typed, ...typedSettings };
    const done = await profiles.edit(context.session.accountId, changes);
    return done.ok ? area.back(context, 'profile', 'saved') : area.refuse(context, 'profile', done);
  }

  async function changeEmail(context: AccountRequest, form: Params): Promise<Reply> {
    const waitSeconds = area.callers.takeOrWaitFor('ownMail', context.session.accountId);
    if (waitSeconds > 0) {
      const failure = { ok: false, error: 'too_many_attempts' } as const;
      return area.pageBuilder.problem(context, { ...failure, retryAfterSeconds: waitSeconds });
    }
    const email = form.get('email') ?? '';
    const asked = await signon.emailChange.request(context.session, email, context.visitor);
    if (asked.ok) return area.back(context, 'profile', 'email_sent');
    if (asked.error !== 'invalid_parameter') return area.refuse(context, 'profile', asked);
    const shown: ProfileFormState = { typed: clipped({ email }), errors: ['email'] };
    return show(context, { status: 422, failed: wrongForm(context) }, shown);
  }

  async function sendCode(context: AccountRequest, form: Params): Promise<Reply> {
    const phone = form.get('phone') ?? '';
    const sent = await signon.phoneCodes.send(context.session.accountId, phone, context.visitor);
    if (sent.ok) return area.back(context, 'profile', 'phone_sent');
    const typed = clipped({ phone });
    const { account, error } = frameText(context.frame);
    const text = account.failed;
    switch (sent.error) {
      case 'invalid_parameter':
        return show(context, { status: 422, failed: text.form }, { typed, errors: ['phone'] });
      case 'client_limit_exceeded': {
        const wait = error.tryAgainIn(sent.retryAfterSeconds ?? 60);
        const failed = `${text.tooOften} ${wait}`;
        return show(context, { status: 429, failed }, { typed });
      }
      default:
        return show(context, { status: statusOf(sent.error), failed: text.busy }, { typed });
    }
  }

  async function verifyCode(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const code = form.get('code') ?? '';
    const verified = await signon.phoneCodes.verify(accountId, code, context.visitor);
    if (!verified.ok && verified.error === 'invalid_code') {
      const shown: ProfileFormState = { errors: ['code'], codeWanted: true };
      return show(context, { status: 422, failed: wrongForm(context) }, shown);
    }
    if (!verified.ok) return area.refuse(context, 'profile', verified);
    const phone = verified.value.number;
    const changed = await area.change(context, 'phone_verified');
    const verify = (profile: Profile) => ({ ...profile, phone, phoneVerified: true });
    const done = await keep(accountId, verify, () => changed.set);
    // The log has it since the code was taken.
    if (done.ok) changed.send();
    return done.ok
      ? area.back(context, 'profile', 'phone_verified')
      : area.refuse(context, 'profile', done);
  }

  async function removePhone(context: AccountRequest): Promise<Reply> {
    const { accountId } = context.session;
    await signon.phoneCodes.cancel(accountId);
    const changed = await area.change(context, 'phone_removed');
    let had = false;
    const remove = (profile: Profile) => ({ ...profile, phone: '', phoneVerified: false });
    const done = await keep(accountId, remove, ({ phone }) => {
      had = phone !== '';
      return had ? changed.set : [];
    });
    if (done.ok && had) await changed.done();
    return done.ok
      ? area.back(context, 'profile', 'phone_removed')
      : area.refuse(context, 'profile', done);
  }

  function keep(
    accountId: string,
    change: (profile: Profile) => Profile,
    extraRows: (before: Profile) => readonly SetRow[],
  ): Promise<Result<Profile>> {
    const rows = (before: Profile) => ({ set: extraRows(before), del: [] });
    return profiles.update(accountId, (profile) => ok(change(profile)), rows);
  }

  async function putPicture(context: AccountRequest, upload: Upload): Promise<Reply> {
    const file = upload.file('avatar');
    if (file === undefined) return refusedPicture(context, 'missing', 422);
    // An account from before there were profiles has none to name the picture in.
    await area.profileOf(context.session);
    const done = await avatars.put(context.session.accountId, file.data);
    if (done.ok) return area.back(context, 'profile', 'avatar_saved');
    const error = pictureErrors[done.error];
    if (error === undefined) return area.refuse(context, 'profile', done);
    return refusedPicture(context, error, statusOf(done.error));
  }

  function refusedPicture(
    context: AccountRequest,
    pictureError: PictureError,
    status: number,
  ): Promise<Reply> {
    const failed = frameText(context.frame).account.failed.form;
    return show(context, { status, failed }, { pictureError });
  }

  async function removePicture(context: AccountRequest): Promise<Reply> {
    const done = await avatars.remove(context.session.accountId);
    return done.ok
      ? area.back(context, 'profile', 'avatar_removed')
      : area.refuse(context, 'profile', done);
  }

  async function servePicture(request: Request): Promise<Reply> {
    const bytes = await avatars.find(request.param);
    if (bytes === undefined) return errorReply(tools, languageOf(request), 404);
    return { status: 200, headers: pictureHeaders, body: bytes };
  }

  return [
    pageBuilder.page(at.show, (context, query) => show(context, { query })),
    pageBuilder.form(at.save, save),
    pageBuilder.form(at.changeEmail, changeEmail),
    pageBuilder.form(at.sendCode, sendCode),
    pageBuilder.form(at.verifyCode, verifyCode),
    pageBuilder.form(at.removePhone, removePhone),
    pageBuilder.upload(avatarEndpoints.put, putPicture),
    pageBuilder.form(avatarEndpoints.remove, removePicture),
    { kind: 'plain', ...routeFacts(avatarEndpoints.serve), handle: servePicture },
  ];
}

/** A field that did not come stays as it is. */
function textsOf(form: Params): Partial<Record<TypedText, string>> {
  const typed: Partial<Record<TypedText, string>> = {};
  for (const name of typedTextNames) {
    const text = form.get(name);
    if (text !== undefined) typed[name] = text;
  }
  return typed;
}

/** Every field that can't be taken, not the first alone. */
function faultsOf(
  profile: Profile,
  typed: Partial<Record<TypedText, string>>,
  now: number,
): ProfileErrorField[] {
  return typedTextNames.filter((name) => {
    const change: ProfileChanges = name in typed ? { [name]: typed[name]! } : {};
    return !editProfile(profile, change, now).ok;
  });
}

function clipped<T extends Partial<Record<string, string>>>(typed: T): T {
  const short = Object.entries(typed).map(([name, text]) => [name, text?.slice(0, typedCharsMax)]);
  return Object.fromEntries(short) as T;
}

/** The limit leaves room for the form around the file, and for an error at the field of a file that is too large. */
const uploadBytesMax = avatarFileBytesMax + 6_291_456;

/** 10 MB over the upstream of a telephone. */
const uploadMs = 45_000;

const pictureHeaders: readonly Header[] = [
  ['Content-Type', 'image/webp'],
  ['Cache-Control', 'public, max-age=31536000, immutable'],
  ['Content-Security-Policy', "default-src 'none'; sandbox"],
  ['X-Content-Type-Options', 'nosniff'],
  // Sites show it, also those that isolate themselves.
  ['Cross-Origin-Resource-Policy', 'cross-origin'],
];

export const avatarEndpoints = {
  serve: publicFileEndpoint('/avatars/:name', { headers: pageRequestHeaders }),
  put: sessionUpload('/account/avatar', 'verified', {
    bytesMax: uploadBytesMax,
    arrivesWithinMs: uploadMs,
    limits: ['avatar'],
    errors: ['invalid_parameter', 'picture_not_still', 'unknown_account'],
  }),
  remove: sessionForm('/account/avatar/remove', 'verified', { errors: ['unknown_account'] }),
};

const pictureErrors: Partial<Record<ErrorCode, PictureError>> = {
  unsupported_media_type: 'type',
  body_too_large: 'large',
  invalid_parameter: 'damaged',
  picture_not_still: 'still',
};
