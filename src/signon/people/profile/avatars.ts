/**
 * Pictures at rest. A picture has a random name that is made anew with each upload, so what was
 * served under a name never changes and may be cached for ever. The row, its name in the profile and
 * the end of the picture before are one commit, checked against the profile's version: two uploads
 * at once leave one picture, and none outlives its profile.
 */

import type { PersonalData } from '../../../contracts/personal-data.ts';
import { type Random, randomToken } from '../../../core/random.ts';
import { ok, type Result } from '../../../core/result.ts';
import { avatarKey, avatarOwnerKey, avatarPrefix, type Key } from '../../../storage/keys.ts';
import type { Store } from '../../../storage/store.ts';
import type { AvatarImages } from './avatar-image.ts';
import type { Profiles } from './profile-store.ts';

const nameBytes = 16;
const namePattern = /^[0-9A-Za-z_-]{22}\.webp$/;
/** An account has one picture; a few more could be there after a fault. */
const pageRows = 20;

export function createAvatars(options: {
  store: Store;
  random: Random;
  profiles: Profiles;
  images: AvatarImages;
}) {
  const { store, random, profiles, images } = options;

  const rowsOf = (accountId: string, name: string): Key[] =>
    name === '' ? [] : [avatarKey(accountId, name), avatarOwnerKey(name)];

  /** Makes the file the account's picture and returns its name. Errors of `AvatarImages.make`. */
  async function put(accountId: string, file: Uint8Array): Promise<Result<string>> {
    const image = await images.make(file);
    if (!image.ok) return image;
    const name = `${randomToken(random, nameBytes)}.webp`;
    const done = await profiles.update(
      accountId,
      (profile) => ok({ ...profile, avatar: name }),
      (before) => ({
        set: [
          { key: avatarKey(accountId, name), value: image.value },
          { key: avatarOwnerKey(name), value: Buffer.from(accountId) },
        ],
        del: rowsOf(accountId, before.avatar),
      }),
    );
    return done.ok ? ok(name) : done;
  }

  async function remove(accountId: string): Promise<Result<void>> {
    const done = await profiles.update(
      accountId,
      (profile) => ok({ ...profile, avatar: '' }),
      (before) => ({ set: [], del: rowsOf(accountId, before.avatar) }),
    );
    return done.ok ? ok(undefined) : done;
  }

  /** Returns the WebP bytes of a name; undefined if it is unknown, replaced or malformed. */
  async function find(name: string): Promise<Uint8Array | undefined> {
    if (!namePattern.test(name)) return undefined;
    const owner = await store.get(avatarOwnerKey(name));
    const key = owner && avatarKey(Buffer.from(owner.value).toString('utf8'), name);
    return (key && (await store.get(key)))?.value;
  }

  return { put, remove, find };
}

export type Avatars = ReturnType<typeof createAvatars>;

/** Returns the picture as personal data, for the export and the deletion. */
export function avatarData(store: Store): PersonalData {
  const rows = (accountId: string) => store.scan(avatarPrefix(accountId), { limit: pageRows });
  return {
    name: 'avatar',
    async exportOf(accountId) {
      const [row] = await rows(accountId);
      if (row === undefined) return undefined;
      return { type: 'image/webp', base64: Buffer.from(row.value).toString('base64') };
    },
    async erase(accountId) {
      const prefixLength = avatarPrefix(accountId).length;
      for (;;) {
        const page = await rows(accountId);
        if (page.length === 0) return;
        const del = page.flatMap(({ key }) => {
          const name = Buffer.from(key.subarray(prefixLength, -1)).toString('utf8');
          return [key, avatarOwnerKey(name)];
        });
        const done = await store.commit({ del });
        if (!done.ok) throw new Error(`a picture can't be removed: ${done.error}`);
      }
    },
  };
}
