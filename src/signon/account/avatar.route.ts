/**
 * The picture: put in place, removed, and served to whoever knows its random name. What is served
 * was made here from pixels, and its headers let a browser see nothing else in it.
 */

import { type ErrorCode, statusOf } from '../../core/errors.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { openFile, routeFacts } from '../../web/guard/endpoint.ts';
import type { Upload } from '../../web/guard/intake/form.ts';
import { sessionForm, sessionUpload } from '../../web/guard/session-endpoint.ts';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
} from '../../web/page-tools.ts';
import { avatarFileBytesMax } from '../people/profile/avatar-image.ts';
import { frameText } from '../words/words.ts';
import type { AccountArea, AccountRequest } from './account-area.route.ts';
import type { PictureError } from './pages/profile.page.tsx';
import { showProfile } from './profile.route.ts';

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

export const avatarEndpoint = openFile('/avatars/:name', { headers: pageRequestHeaders });

export const ownAvatarEndpoints = {
  put: sessionUpload('/account/avatar', 'verified', {
    bytesMax: uploadBytesMax,
    arrivesWithinMs: uploadMs,
    limits: ['avatar'],
    errors: ['invalid_parameter', 'picture_not_still', 'unknown_account'],
  }),
  remove: sessionForm('/account/avatar/remove', 'verified', { errors: ['unknown_account'] }),
};

export function avatarRoutes(area: AccountArea, tools: PageTools): PlainRoute[] {
  const { pageBuilder, avatars } = area;

  async function put(context: AccountRequest, upload: Upload): Promise<Reply> {
    const file = upload.file('avatar');
    if (file === undefined) return refused(context, 'missing', 422);
    // An account from before there were profiles has none to name the picture in.
    await area.profileOf(context.session);
    const done = await avatars.put(context.session.accountId, file.data);
    if (done.ok) return area.back(context, 'profile', 'avatar_saved');
    const error = pictureErrors[done.error];
    if (error === undefined) return area.refuse(context, 'profile', done);
    return refused(context, error, statusOf(done.error));
  }

  function refused(
    context: AccountRequest,
    pictureError: PictureError,
    status: number,
  ): Promise<Reply> {
    const failed = frameText(context.frame).account.failed.form;
    return showProfile(area, context, { status, failed }, { pictureError });
  }

  async function remove(context: AccountRequest): Promise<Reply> {
    const done = await avatars.remove(context.session.accountId);
    return done.ok
      ? area.back(context, 'profile', 'avatar_removed')
      : area.refuse(context, 'profile', done);
  }

  async function serve(request: Request): Promise<Reply> {
    const bytes = await avatars.find(request.param);
    if (bytes === undefined) return errorReply(tools, languageOf(request), 404);
    return { status: 200, headers: pictureHeaders, body: bytes };
  }

  return [
    pageBuilder.upload(ownAvatarEndpoints.put, put),
    pageBuilder.form(ownAvatarEndpoints.remove, remove),
    { kind: 'plain', ...routeFacts(avatarEndpoint), handle: serve },
  ];
}

const pictureErrors: Partial<Record<ErrorCode, PictureError>> = {
  unsupported_media_type: 'type',
  body_too_large: 'large',
  invalid_parameter: 'damaged',
  picture_not_still: 'still',
};
