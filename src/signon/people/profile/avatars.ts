/**
 * Stored pictures. A picture gets a new random name with each upload, so a name always serves the same bytes and may
 * be cached for ever. The new row, its name in the profile and the removal of the old picture are one commit, checked
 * against the profile's version: two uploads at once leave one picture, and none outlives its profile.
 */

import type { PersonalData } from '../../../contracts/personal-data.ts';
import { type Random, randomToken } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { createSemaphore } from '../../../core/scheduling.ts';
import { avatarKey, avatarOwnerKey, avatarPrefix, type Key } from '../../../storage/keys.ts';
import type { Store } from '../../../storage/store.ts';
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

// An uploaded picture is decoded and encoded again, as WebP of 256 by 256 pixels. So nothing else of the file
// (metadata, places, trailing bytes, a second format hidden in it) is ever kept or served. Only PNG, JPEG and WebP
// are read; the library's other loaders are switched off. It works on threads of its own, one picture at a time.

const avatarPixels = 256;
/** The largest file that is accepted: as much as a telephone makes of a photograph. */
export const avatarFileBytesMax = 10_485_760;
/** The largest picture that is stored. */
export const avatarBytesMax = 40_960;
/** The limit of width times height: as much as a good camera has. Beyond it a small file would fill the memory. */
const inputPixelsMax = 25_000_000;
/** A JPEG is made smaller while it is read, so the large ones of telephones cost no more. */
const jpegPixelsMax = 64_000_000;
const sideMax = 16_383;
const timeoutSeconds = 5;
/** Noise at the first quality is larger than `avatarBytesMax`; at the last nothing is. */
const qualities = [82, 60, 35, 10] as const;

const jpegStart = [0xff, 0xd8, 0xff] as const;
const pngStart = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] as const;

type AvatarFormat = 'png' | 'jpeg' | 'webp';

/** Returns the format by the bytes at the start; what the browser stated doesn't matter. */
export function avatarFormat(file: Uint8Array): AvatarFormat | undefined {
  const startsWith = (bytes: readonly number[], at = 0) =>
    bytes.every((b, i) => file[at + i] === b);
  if (startsWith(pngStart)) return 'png';
  if (startsWith(jpegStart)) return 'jpeg';
  const text = Buffer.from(file.subarray(0, 16)).toString('latin1');
  return /^RIFF[\s\S]{4}WEBPVP8/.test(text) ? 'webp' : undefined;
}

/**
 * `still`: one picture and nothing behind it, as far as the bytes go; `animated`; `followed`: a file of another kind
 * begins where the picture ends.
 */
type Container = 'still' | 'animated' | 'followed';

const pngHeaderBytes = 8;
/** The length, name and checksum around the data of a PNG's chunk. */
const pngChunkBytes = 12;
const riffHeaderBytes = 12;
const riffChunkBytes = 8;

export function createAvatarImages() {
  const semaphore = createSemaphore({ runningMax: 1, waitingMax: 16 });
  let loaded: Promise<typeof import('sharp').default> | undefined;

  /** The library is loaded when first needed: a server whose users send no pictures starts without it. */
  async function library() {
    const { default: sharp } = await import('sharp');
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({
      operation: [
        'VipsForeignLoadPngBuffer',
        'VipsForeignLoadJpegBuffer',
        'VipsForeignLoadWebpBuffer',
      ],
    });
    sharp.cache(false);
    sharp.concurrency(1);
    return sharp;
  }

  async function encode(file: Uint8Array, format: AvatarFormat): Promise<Result<Uint8Array>> {
    loaded ??= library();
    const sharp = await loaded;
    const pixelsMax = format === 'jpeg' ? jpegPixelsMax : inputPixelsMax;
    const input = () =>
      sharp(file, { failOn: 'warning', limitInputPixels: pixelsMax, pages: 1 }).timeout({
        seconds: timeoutSeconds,
      });
    try {
      const { width, height, format: found } = await input().metadata();
      if (found !== format) return unsupported();
      if (width > sideMax || height > sideMax || width * height > pixelsMax) return tooLarge();
      const pixels = await input()
        .autoOrient()
        .resize(avatarPixels, avatarPixels, { fit: 'cover', kernel: 'cubic' })
        .toColourspace('srgb')
        .ensureAlpha()
        .raw()
        .toBuffer();
      for (const quality of qualities) {
        const raw = { width: avatarPixels, height: avatarPixels, channels: 4 } as const;
        const made = await sharp(pixels, { raw }).webp({ quality }).toBuffer();
        if (made.length <= avatarBytesMax) return ok(made);
      }
      return damaged();
    } catch (error) {
      return /pixel limit/i.test((error as Error).message) ? tooLarge() : damaged();
    }
  }

  return {
    /** The pictures that are read or wait for it. */
    table: semaphore.table('picture_queue'),
    /**
     * Returns the WebP bytes, at most `avatarBytesMax`. `unsupported_media_type` for other formats,
     * `picture_not_still` for an animation and for a PNG or WebP with another file behind it,
     * `body_too_large` for too many bytes or pixels, `invalid_parameter` (parameter `avatar`) for what
     * is damaged or takes too long, `overloaded`.
     */
    async make(file: Uint8Array): Promise<Result<Uint8Array>> {
      if (file.length > avatarFileBytesMax) return tooLarge();
      const format = avatarFormat(file);
      if (format === undefined) return unsupported();
      if (containerOf(file, format) !== 'still') return notStill();
      const made = await semaphore.run(() => encode(file, format));
      return made.ok ? made.value : made;
    },
  };
}

type AvatarImages = ReturnType<typeof createAvatarImages>;

function unsupported() {
  return fail('unsupported_media_type', 'A picture must be a PNG, JPEG or WebP file.', 'avatar');
}

/**
 * Cameras put a film or a second picture behind a JPEG, so that is no sign of anything there; like all that isn't
 * pixels, it is not kept.
 */
function containerOf(file: Uint8Array, format: AvatarFormat): Container {
  switch (format) {
    case 'png':
      return pngContainer(file);
    case 'webp':
      return webpContainer(file);
    case 'jpeg':
      return 'still';
  }
}

function notStill() {
  const detail = 'A picture must be a still one, with nothing behind it in the file.';
  return fail('picture_not_still', detail, 'avatar');
}

function tooLarge() {
  return fail('body_too_large', 'The picture has too many bytes or pixels.', 'avatar');
}

function damaged() {
  return fail('invalid_parameter', 'The picture is damaged or incomplete.', 'avatar');
}

/**
 * Returns what a PNG holds besides its first image, by its chunks (RFC 2083 and APNG). A chunk is never looked into,
 * nothing outside of the bytes is read, and what is cut off is for the decoder to find.
 */
function pngContainer(file: Uint8Array): Container {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  for (let at = pngHeaderBytes; at + pngChunkBytes <= bytes.length; ) {
    const name = bytes.toString('latin1', at + 4, at + 8);
    if (name === 'acTL') return 'animated';
    at += pngChunkBytes + bytes.readUInt32BE(at);
    if (name === 'IEND') return at < bytes.length ? 'followed' : 'still';
  }
  return 'still';
}

/** The same for WebP (RFC 9649). */
function webpContainer(file: Uint8Array): Container {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < riffHeaderBytes) return 'still';
  const end = riffChunkBytes + bytes.readUInt32LE(4);
  for (let at = riffHeaderBytes; at + riffChunkBytes <= Math.min(end, bytes.length); ) {
    const name = bytes.toString('latin1', at, at + 4);
    if (name === 'ANIM' || name === 'ANMF') return 'animated';
    const size = bytes.readUInt32LE(at + 4);
    // Padded to an even length.
    at += riffChunkBytes + size + (size % 2);
  }
  return bytes.length > end ? 'followed' : 'still';
}
