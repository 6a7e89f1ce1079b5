/**
 * The picture: put in place, removed, and served to whoever knows its random name. What is served
 * was made here from pixels, and its headers let a browser see nothing else in it.
 */

import type { ErrorCode } from '../../core/errors.ts';
import type { Header, Reply, Request } from '../../http/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { statusOf } from '../../web/errors.ts';
import { deskForm, deskUpload } from '../../web/guard/desk-endpoint.ts';
import { openFile, routeFacts } from '../../web/guard/endpoint.ts';
import type { Upload } from '../../web/guard/intake/form.ts';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
} from '../../web/page-tools.ts';
import { avatarFileBytesMax } from '../people/profile/avatar-image.ts';
import { frameText } from '../words/words.ts';
import type { PictureError } from './pages/profile.page.ts';
import { showProfile } from './profile.route.ts';
import type { OwnVisit, Space } from './space.route.ts';

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
  put: deskUpload('/account/avatar', 'verified', {
    bytesMax: uploadBytesMax,
    arrivesWithinMs: uploadMs,
    limits: ['avatar'],
    errors: ['invalid_parameter', 'picture_not_still', 'unknown_account'],
  }),
  remove: deskForm('/account/avatar/remove', 'verified', { errors: ['unknown_account'] }),
};

export function avatarRoutes(space: Space, tools: PageTools): PlainRoute[] {
  const { desk, avatars } = space;

  async function put(visit: OwnVisit, upload: Upload): Promise<Reply> {
    const file = upload.file('avatar');
    if (file === undefined) return refused(visit, 'missing', 422);
    // An account from before there were profiles has none to name the picture in.
    await space.profileOf(visit.session);
    const done = await avatars.put(visit.session.accountId, file.data);
    if (done.ok) return space.back(visit, 'profile', 'avatar_saved');
    const error = pictureErrors[done.error];
    if (error === undefined) return space.refuse(visit, 'profile', done);
    return refused(visit, error, statusOf(done.error));
  }

  function refused(visit: OwnVisit, pictureError: PictureError, status: number): Promise<Reply> {
    const failed = frameText(visit.frame).account.failed.form;
    return showProfile(space, visit, { status, failed }, { pictureError });
  }

  async function remove(visit: OwnVisit): Promise<Reply> {
    const done = await avatars.remove(visit.session.accountId);
    return done.ok
      ? space.back(visit, 'profile', 'avatar_removed')
      : space.refuse(visit, 'profile', done);
  }

  async function serve(request: Request): Promise<Reply> {
    const bytes = await avatars.find(request.param);
    if (bytes === undefined) return errorReply(tools, languageOf(request), 404);
    return { status: 200, headers: pictureHeaders, body: bytes };
  }

  return [
    desk.upload(ownAvatarEndpoints.put, put),
    desk.form(ownAvatarEndpoints.remove, remove),
    { kind: 'plain', ...routeFacts(avatarEndpoint), handle: serve },
  ];
}

const pictureErrors: Partial<Record<ErrorCode, PictureError>> = {
  unsupported_media_type: 'type',
  body_too_large: 'large',
  invalid_parameter: 'damaged',
  picture_not_still: 'still',
};
