/**
 * The profile as a site gets it: exactly the fields of the granted scopes, nothing added, and
 * nothing from which a field that was not granted could be guessed. Pure.
 */

import { createHash } from 'node:crypto';
import { type Scope, scopeFields, scopeNames } from '../../sites/scopes.ts';
import type { Plan, PostalAddress, Profile } from './profile.ts';

export interface AddressClaim {
  readonly formatted: string;
  readonly street_address?: string;
  readonly locality?: string;
  readonly region?: string;
  readonly postal_code?: string;
  readonly country?: string;
}

export interface ProfileJson {
  service_id?: string;
  given_name?: string;
  family_name?: string;
  nickname?: string;
  picture?: string;
  email?: string;
  email_verified?: true;
  phone_number?: string;
  phone_number_verified?: boolean;
  address?: AddressClaim;
  birthdate?: string;
  age?: number;
  age_verified?: boolean;
  service_plus?: boolean;
  service_plan?: Plan;
  liquid_glass?: boolean;
}

type Field = keyof ProfileJson;

export interface ProfileView {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Returns the address of a picture by its name. */
  readonly avatarUrl: (avatar: string) => string;
}

/**
 * ASCII, as all addresses are that were given since data format 2. A site whose table compares
 * letters loosely would take any other for somebody else's.
 */
const isPlain = (email: string) => /^[\x20-\x7e]*$/.test(email);

/** Returns undefined for an address that sites don't get. */
export function sharedEmail({ email, emailVerified }: Profile): string | undefined {
  return emailVerified && isPlain(email) && email !== '' ? email : undefined;
}

/**
 * A field that the person left empty is absent; so is an address that was never verified, or that
 * is not ASCII.
 */
export function profileJson(
  profile: Profile,
  granted: readonly Scope[],
  view: ProfileView,
): ProfileJson {
  const all = everything(profile, granted.includes('email'), view);
  const shown: Partial<Record<Field, unknown>> = {};
  for (const scope of scopeNames) {
    if (!granted.includes(scope)) continue;
    for (const field of scopeFields[scope]) {
      if (all[field] !== undefined) shown[field] = all[field];
    }
  }
  return shown as ProfileJson;
}

function everything(
  profile: Profile,
  showsEmail: boolean,
  { now, avatarUrl }: ProfileView,
): { readonly [name in Field]: ProfileJson[name] | undefined } {
  const text = (value: string) => (value === '' ? undefined : value);
  const email = sharedEmail(profile);
  return {
    service_id: profile.serviceId,
    given_name: text(profile.givenName),
    family_name: text(profile.familyName),
    nickname: text(profile.nickname),
    picture:
      profile.avatar !== ''
        ? avatarUrl(profile.avatar)
        : gravatarUrl((showsEmail ? email : undefined) ?? profile.serviceId),
    email,
    email_verified: email === undefined ? undefined : true,
    phone_number: text(profile.phone),
    phone_number_verified: profile.phone === '' ? undefined : profile.phoneVerified,
    address: addressClaim(profile.address),
    birthdate: text(profile.birthdate),
    age: profile.birthdate === '' ? undefined : ageOn(profile.birthdate, now),
    age_verified: profile.ageVerified,
    service_plus: profile.plan === 'plus',
    service_plan: profile.plan,
    liquid_glass: profile.liquidGlass,
  };
}

/**
 * Hash of the mail address only for who gets the address anyway: from the hash alone it could be
 * found by trying. Others get a picture drawn from the public id.
 */
function gravatarUrl(identity: string): string {
  const normal = identity.includes('@') ? identity.trim().toLowerCase() : identity;
  const hash = createHash('sha256').update(normal).digest('hex');
  return `https://gravatar.com/avatar/${hash}?d=identicon&s=256`;
}

/** Undefined when every part is empty. */
function addressClaim(address: PostalAddress): AddressClaim | undefined {
  const { streetAddress, locality, region, postalCode, country } = address;
  const town = [postalCode, locality].filter((part) => part !== '').join(' ');
  const lines = [streetAddress, town, region, country].filter((line) => line !== '');
  if (lines.length === 0) return undefined;
  return {
    formatted: lines.join('\n'),
    ...(streetAddress === '' ? {} : { street_address: streetAddress }),
    ...(locality === '' ? {} : { locality }),
    ...(region === '' ? {} : { region }),
    ...(postalCode === '' ? {} : { postal_code: postalCode }),
    ...(country === '' ? {} : { country }),
  };
}

/** Full years on the day that it is in UTC. Who was born on 29 February turns on 1 March. */
export function ageOn(birthdate: string, now: number): number {
  const [year = 0, month = 0, day = 0] = birthdate.split('-').map(Number);
  const today = new Date(now);
  const thisMonth = today.getUTCMonth() + 1;
  const hadBirthday = thisMonth > month || (thisMonth === month && today.getUTCDate() >= day);
  return Math.max(0, today.getUTCFullYear() - year - (hadBirthday ? 0 : 1));
}
