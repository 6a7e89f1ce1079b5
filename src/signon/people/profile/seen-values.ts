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
import type { Scope } from '../../sites/scopes.ts';
import {
  fieldsOf,
  type Profile,
  type ProfileFieldName,
  type ProfileJson,
  profileFields,
  type StoredField,
  storedFields,
} from './profile.ts';

export const fingerprintBytes = 8;

/** The fingerprints in hex; an empty field has none. */
export type SeenValues = { readonly [field in StoredField]?: string };

/** A value that the person has not agreed to: there was none, or another one. */
export interface UnseenValue {
  readonly field: StoredField;
  readonly kind: 'new' | 'changed';
}

/** Returns the field whose fingerprint stands for this one; undefined for the public id, which nobody is asked about. */
function storedFieldOf(name: ProfileFieldName): StoredField | undefined {
  const field = profileFields[name];
  if ('follows' in field) return field.follows;
  return 'bit' in field ? (name as StoredField) : undefined;
}

/** Returns every stored field of the scopes. */
export function storedFieldsOf(scopes: readonly Scope[]): ReadonlySet<StoredField> {
  return new Set(
    scopes
      .flatMap(fieldsOf)
      .map(storedFieldOf)
      .filter((field) => field !== undefined),
  );
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
    const field = storedFieldOf(name as ProfileFieldName);
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
        const text = profileFields[field].seen(profile);
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
