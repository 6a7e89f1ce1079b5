/**
 * The values that a person saw when they agreed. A consent keeps a fingerprint of each stored value
 * that was shown, so a value that appears or changes later is asked about before the site gets it.
 * A value that follows from others (the age from the date of birth) has none of its own. A value that
 * was taken away needs no question; nor does the same value when it comes back.
 *
 * A fingerprint is keyed with the master key and bound to the parties: it reveals nothing of the value,
 * and that of one site says nothing to another. It has 64 bits, which nobody can try out: whoever
 * chooses the values never sees one.
 */

import { createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '../../../access/keys/master-key.ts';
import { type Scope, scopeFields } from '../../sites/scopes.ts';
import type { Profile } from './profile.ts';
import { type ProfileJson, sharedEmail } from './profile-json.ts';

/** The order is on disk and never changes. */
export const storedFields = [
  'given_name',
  'family_name',
  'nickname',
  'picture',
  'email',
  'phone_number',
  'address',
  'birthdate',
  'age_verified',
  'service_plan',
  'liquid_glass',
] as const satisfies readonly (keyof ProfileJson)[];

export type StoredField = (typeof storedFields)[number];

export const fingerprintBytes = 8;

/** The fingerprints in hex; an empty field has none. */
export type SeenValues = { readonly [field in StoredField]?: string };

/** A value that the person has not agreed to: there was none, or another one. */
export interface UnseenValue {
  readonly field: StoredField;
  readonly kind: 'new' | 'changed';
}

/** The stored field from which each of the others follows. */
const storedFor: { readonly [field in keyof ProfileJson]?: StoredField } = {
  email_verified: 'email',
  phone_number_verified: 'phone_number',
  age: 'birthdate',
  service_plus: 'service_plan',
};

function storedFieldOf(field: keyof ProfileJson): StoredField | undefined {
  const isStored = (storedFields as readonly string[]).includes(field);
  return isStored ? (field as StoredField) : storedFor[field];
}

/** Returns every stored field of the scopes. */
export function storedFieldsOf(scopes: readonly Scope[]): ReadonlySet<StoredField> {
  const fields = scopes.flatMap((scope): readonly (keyof ProfileJson)[] => scopeFields[scope]);
  return new Set(fields.map(storedFieldOf).filter((field) => field !== undefined));
}

/** Returns the value as text; empty where nothing would be shared. */
function storedText(profile: Profile, field: StoredField): string {
  switch (field) {
    case 'given_name':
      return profile.givenName;
    case 'family_name':
      return profile.familyName;
    case 'nickname':
      return profile.nickname;
    case 'picture':
      return profile.avatar;
    case 'email':
      return sharedEmail(profile) ?? '';
    case 'phone_number':
      return profile.phone === '' ? '' : `${profile.phone} ${profile.phoneVerified}`;
    case 'address': {
      const { streetAddress, locality, region, postalCode, country } = profile.address;
      const parts = [streetAddress, locality, region, postalCode, country];
      return parts.every((part) => part === '') ? '' : JSON.stringify(parts);
    }
    case 'birthdate':
      return profile.birthdate;
    case 'age_verified':
      return String(profile.ageVerified);
    case 'service_plan':
      return profile.plan;
    case 'liquid_glass':
      return String(profile.liquidGlass);
    default:
      field satisfies never;
      throw new TypeError('no such field');
  }
}

/** Returns the values of the scopes that were not seen, in the order of the fields. */
export function unseenValues(
  seen: SeenValues,
  today: SeenValues,
  scopes: readonly Scope[],
): readonly UnseenValue[] {
  const asked = storedFieldsOf(scopes);
  return storedFields.flatMap((field): readonly UnseenValue[] => {
    if (!asked.has(field) || today[field] === undefined) return [];
    if (today[field] === seen[field]) return [];
    return [{ field, kind: seen[field] === undefined ? 'new' : 'changed' }];
  });
}

/** Returns the profile without unseen values and what follows from them. */
export function withoutUnseen(shared: ProfileJson, unseen: readonly UnseenValue[]): ProfileJson {
  const left = new Set(unseen.map(({ field }) => field));
  const kept = Object.entries(shared).filter(([name]) => {
    const field = storedFieldOf(name as keyof ProfileJson);
    return field === undefined || !left.has(field);
  });
  return Object.fromEntries(kept) as ProfileJson;
}

/** The parties of a consent, see consents.ts. */
interface Parties {
  readonly accountId: string;
  readonly clientId: string;
  readonly origin: string;
}

export function createFingerprints(masterKey: MasterKey) {
  const key = deriveKey(masterKey, 'consent values');

  function mac(parts: readonly string[]): Buffer {
    return createHmac('sha256', key).update(JSON.stringify(parts)).digest();
  }

  return {
    /** Returns the fingerprints of the values of these scopes as they are. */
    of(parties: Parties, profile: Profile | undefined, scopes: readonly Scope[]): SeenValues {
      if (profile === undefined) return {};
      const { accountId, clientId, origin } = parties;
      const seen: { [field in StoredField]?: string } = {};
      for (const field of storedFieldsOf(scopes)) {
        const text = storedText(profile, field);
        if (text === '') continue;
        const digest = mac(['value', accountId, clientId, origin, field, text]);
        seen[field] = digest.toString('hex', 0, fingerprintBytes);
      }
      return seen;
    },
    /** Returns one fingerprint of all values that a form shows, which another form does not share. */
    ofForm(id: string, today: SeenValues): string {
      const values = storedFields.map((field) => today[field] ?? '');
      return mac(['form', id, ...values]).toString('base64url');
    },
  };
}

export type Fingerprints = ReturnType<typeof createFingerprints>;
