/**
 * The profile of a person, and its byte layout at rest. Times are never in it, so two
 * equal profiles have equal bytes. None of it ever enters the journal.
 */

import { type Random, randomToken } from '../../../core/random.ts';
import { group, record, text, u8 } from '../../../storage/record.ts';

export interface PostalAddress {
  readonly streetAddress: string;
  readonly locality: string;
  readonly region: string;
  readonly postalCode: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
}

/** Text fields are empty when the person left them empty. */
export interface Profile {
  /** A public random id, the same for every site, never made anew. */
  readonly serviceId: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly nickname: string;
  /** The name of the person's picture among the avatars; empty without one. */
  readonly avatar: string;
  readonly email: string;
  readonly emailVerified: boolean;
  /** E.164. */
  readonly phone: string;
  readonly phoneVerified: boolean;
  readonly address: PostalAddress;
  /** YYYY-MM-DD. */
  readonly birthdate: string;
  /** The operator saw a proof of the birth date. */
  readonly ageVerified: boolean;
  readonly plan: Plan;
  readonly liquidGlass: boolean;
}

export const plans = ['free', 'plus'] as const;
export type Plan = (typeof plans)[number];

const serviceIdBytes = 16;

const flag = {
  emailVerified: 1,
  phoneVerified: 2,
  ageVerified: 4,
  plus: 8,
  liquidGlass: 16,
} as const;

/** Returns the profile of a new account, with nothing but its mail address. */
export function newProfile(random: Random, email: string, emailVerified: boolean): Profile {
  return {
    serviceId: randomToken(random, serviceIdBytes),
    givenName: '',
    familyName: '',
    nickname: '',
    avatar: '',
    email,
    emailVerified,
    phone: '',
    phoneVerified: false,
    address: { streetAddress: '', locality: '', region: '', postalCode: '', country: '' },
    birthdate: '',
    ageVerified: false,
    plan: 'free',
    liquidGlass: false,
  };
}

type Texts = Omit<Profile, keyof typeof flag | 'plan'>;

const rows = record<Texts & { readonly flags: number }>(1, {
  flags: u8,
  serviceId: text,
  givenName: text,
  familyName: text,
  nickname: text,
  avatar: text,
  email: text,
  phone: text,
  address: group<PostalAddress>({
    streetAddress: text,
    locality: text,
    region: text,
    postalCode: text,
    country: text,
  }),
  birthdate: text,
});

export function encodeProfile(profile: Profile): Uint8Array {
  return rows.encode({ ...profile, flags: flagsOf(profile) });
}

function flagsOf(profile: Profile): number {
  return (
    (profile.emailVerified ? flag.emailVerified : 0) |
    (profile.phoneVerified ? flag.phoneVerified : 0) |
    (profile.ageVerified ? flag.ageVerified : 0) |
    (profile.plan === 'plus' ? flag.plus : 0) |
    (profile.liquidGlass ? flag.liquidGlass : 0)
  );
}

/** Returns undefined for a damaged row or a newer layout. */
export function decodeProfile(bytes: Uint8Array): Profile | undefined {
  const row = rows.decode(bytes);
  if (row === undefined) return undefined;
  const { flags, ...texts } = row;
  const has = (bit: number) => (flags & bit) !== 0;
  return {
    ...texts,
    emailVerified: has(flag.emailVerified),
    phoneVerified: has(flag.phoneVerified),
    ageVerified: has(flag.ageVerified),
    plan: has(flag.plus) ? 'plus' : 'free',
    liquidGlass: has(flag.liquidGlass),
  };
}
