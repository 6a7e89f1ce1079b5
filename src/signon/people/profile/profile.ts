/**
 * The profile of a person: its byte layout at rest, one table of the fields that sites read, and what of it a person
 * types. Times are never in the row, so two equal profiles have equal bytes. None of it ever enters the journal.
 *
 * A new setting that sites see is a bit of `flagBits` and a row of `profileFields`; then its words in
 * signon/account/words.ts and signon/sites/words.ts do not compile until they are there.
 */

import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { type Random, randomToken } from '../../../core/random.ts';
import { type AnySchema, about, count, text as described, uri } from '../../../core/schema.ts';
import { group, record, text, u8 } from '../../../storage/record.ts';
import { type Scope, scopeNames } from '../../sites/scopes.ts';

export interface PostalAddress {
  readonly streetAddress: string;
  readonly locality: string;
  readonly region: string;
  readonly postalCode: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
}

/** Text fields are empty when the person left them empty. */
interface Texts {
  /** A public random id, the same for every site; it never changes. */
  readonly serviceId: string;
  readonly givenName: string;
  readonly familyName: string;
  readonly nickname: string;
  /** The name of the person's picture among the avatars; empty without one. */
  readonly avatar: string;
  readonly email: string;
  /** E.164. */
  readonly phone: string;
  readonly address: PostalAddress;
  /** YYYY-MM-DD. */
  readonly birthdate: string;
}

/** The bits on disk of what is true or false. `ageVerified`: the operator saw a proof of the birth date. */
const flagBits = { emailVerified: 1, phoneVerified: 2, ageVerified: 4, liquidGlass: 16 } as const;
const plusBit = 8;

type Flag = keyof typeof flagBits;

type Switches = { readonly [name in Flag]: boolean } & { readonly plan: Plan };

export type Profile = Texts & Switches;

export const plans = ['free', 'plus'] as const;
export type Plan = (typeof plans)[number];

const serviceIdBytes = 16;

/** Returns the profile of a new account, with nothing but its mail address. */
export function newProfile(random: Random, email: string, emailVerified: boolean): Profile {
  return {
    serviceId: randomToken(random, serviceIdBytes),
    givenName: '',
    familyName: '',
    nickname: '',
    avatar: '',
    email,
    phone: '',
    address: { streetAddress: '', locality: '', region: '', postalCode: '', country: '' },
    birthdate: '',
    ...readFlags(0),
    emailVerified,
  };
}

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
  const set = Object.entries(flagBits).filter(([name]) => profile[name as Flag]);
  const plus = profile.plan === 'plus' ? plusBit : 0;
  return rows.encode({ ...profile, flags: set.reduce((bits, [, bit]) => bits | bit, plus) });
}

function readFlags(bits: number): Switches {
  const flags = Object.entries(flagBits).map(([name, bit]) => [name, (bits & bit) !== 0]);
  const plan = (bits & plusBit) !== 0 ? 'plus' : 'free';
  return { ...(Object.fromEntries(flags) as Record<Flag, boolean>), plan };
}

/** Returns undefined for a damaged row or a newer layout. */
export function decodeProfile(bytes: Uint8Array): Profile | undefined {
  const row = rows.decode(bytes);
  if (row === undefined) return undefined;
  const { flags, ...texts } = row;
  return { ...texts, ...readFlags(flags) };
}

/** A field as sites read it. */
interface ProfileField {
  readonly scope: Scope;
  /** Its type and meaning. */
  readonly schema: AnySchema;
  /** Returns what a site gets; undefined: the field is absent. */
  readonly show: (profile: Profile, view: FieldView) => unknown;
  /** Returns the value as text, of which a consent keeps a fingerprint; empty where nothing would be shared. */
  readonly seen?: (profile: Profile) => string;
  /** The bit of that fingerprint in the row of a consent, below 16. It is on disk and never changes. */
  readonly bit?: number;
  /** The field from which the value follows, so that it has no fingerprint of its own. */
  readonly follows?: string;
  /** A person switches it on and off on the page of the profile. */
  readonly setting?: Flag;
}

/** The text is absent where the person left it empty. */
const ofText = (name: 'givenName' | 'familyName' | 'nickname' | 'birthdate') => ({
  show: (profile: Profile) => given(profile[name]),
  seen: (profile: Profile) => profile[name],
});

const ofFlag = (name: Flag) => ({
  show: (profile: Profile) => profile[name],
  seen: (profile: Profile) => String(profile[name]),
});

const given = (value: string) => (value === '' ? undefined : value);

export const postalAddress = about(
  v.strictObject({
    formatted: v.string(),
    street_address: v.optional(v.string()),
    locality: v.optional(v.string()),
    region: v.optional(v.string()),
    postal_code: v.optional(v.string()),
    country: v.optional(v.string()),
  }),
  'Postal address.',
);

/** The fields that sites read, of each scope in the order in which a person reads them. */
export const profileFields = {
  service_id: {
    scope: 'openid',
    schema: described('Public, stable, random: key your users by it.'),
    show: ({ serviceId }: Profile) => serviceId,
  },
  given_name: {
    scope: 'profile',
    schema: described('First name.'),
    ...ofText('givenName'),
    bit: 0,
  },
  family_name: {
    scope: 'profile',
    schema: described('Last name.'),
    ...ofText('familyName'),
    bit: 1,
  },
  nickname: {
    scope: 'profile',
    schema: described('What the person wants to be called.'),
    ...ofText('nickname'),
    bit: 2,
  },
  picture: {
    scope: 'profile',
    schema: about(uri, 'Own picture, or one drawn for the id.'),
    show: pictureUrl,
    seen: ({ avatar }: Profile) => avatar,
    bit: 3,
  },
  email: {
    scope: 'email',
    schema: described('Mail address.'),
    show: sharedEmail,
    seen: (profile: Profile) => sharedEmail(profile) ?? '',
    bit: 4,
  },
  email_verified: {
    scope: 'email',
    schema: about(v.literal(true), 'Always true: others are not shared.'),
    show: (profile: Profile) => (sharedEmail(profile) === undefined ? undefined : (true as const)),
    follows: 'email',
  },
  phone_number: {
    scope: 'phone',
    schema: about(v.pipe(v.string(), v.regex(/^\+[0-9]{4,15}$/)), 'E.164.'),
    show: ({ phone }: Profile) => given(phone),
    seen: ({ phone, phoneVerified }: Profile) => (phone === '' ? '' : `${phone} ${phoneVerified}`),
    bit: 5,
  },
  phone_number_verified: {
    scope: 'phone',
    schema: about(v.boolean(), 'Whether a code sent to it came back.'),
    show: ({ phone, phoneVerified }: Profile) => (phone === '' ? undefined : phoneVerified),
    follows: 'phone_number',
  },
  address: {
    scope: 'address',
    schema: postalAddress,
    show: ({ address }: Profile) => addressClaim(address),
    seen: ({ address }: Profile) => {
      const { streetAddress, locality, region, postalCode, country } = address;
      const parts = [streetAddress, locality, region, postalCode, country];
      return parts.every((part) => part === '') ? '' : JSON.stringify(parts);
    },
    bit: 6,
  },
  birthdate: {
    scope: 'age',
    schema: about(v.pipe(v.string(), v.isoDate()), 'YYYY-MM-DD.'),
    ...ofText('birthdate'),
    bit: 7,
  },
  age: {
    scope: 'age',
    schema: about(count, 'Full years today, UTC.'),
    show: ({ birthdate }: Profile, { now }: FieldView) =>
      birthdate === '' ? undefined : ageOn(birthdate, now),
    follows: 'birthdate',
  },
  age_verified: {
    scope: 'age',
    schema: about(v.boolean(), 'Whether the operator has seen a proof of identity.'),
    ...ofFlag('ageVerified'),
    bit: 8,
  },
  service_plus: {
    scope: 'subscription',
    schema: about(v.boolean(), 'Whether the plan is plus.'),
    show: ({ plan }: Profile) => plan === 'plus',
    follows: 'service_plan',
  },
  service_plan: {
    scope: 'subscription',
    schema: about(v.picklist(plans), 'Plan of the account.'),
    show: ({ plan }: Profile) => plan,
    seen: ({ plan }: Profile) => plan,
    bit: 9,
  },
  liquid_glass: {
    scope: 'preferences',
    schema: about(v.boolean(), 'How the person likes pages to look.'),
    ...ofFlag('liquidGlass'),
    bit: 10,
    setting: 'liquidGlass',
  },
} as const satisfies Readonly<Record<string, ProfileField>>;

export type ProfileFieldName = keyof typeof profileFields;

const fieldNames = Object.keys(profileFields) as ProfileFieldName[];

/** Returns the fields of a scope, in the order of the table. */
export function profileFieldsOf(scope: Scope): readonly ProfileFieldName[] {
  return fieldNames.filter((name) => profileFields[name].scope === scope);
}

/** The profile as a site gets it. */
export type ProfileJson = {
  -readonly [name in ProfileFieldName]?: NonNullable<
    ReturnType<(typeof profileFields)[name]['show']>
  >;
};

type FieldsWith<Part> = {
  [name in ProfileFieldName]: (typeof profileFields)[name] extends Part ? name : never;
}[ProfileFieldName];

/** A field of which a consent keeps a fingerprint. */
export type StoredField = FieldsWith<{ readonly bit: number }>;

/** Stand in the order of their bits. */
export const storedFields: readonly StoredField[] = fieldNames
  .filter((name): name is StoredField => 'bit' in profileFields[name])
  .sort((a, b) => profileFields[a].bit - profileFields[b].bit);

/** Returns the bits of the fields whose values differ. */
export function changedFields(before: Profile, after: Profile): number {
  return storedFields
    .filter((name) => profileFields[name].seen(before) !== profileFields[name].seen(after))
    .reduce((bits, name) => bits | (1 << profileFields[name].bit), 0);
}

/** A setting that sites see: the person switches it on and off. */
export type Setting = FieldsWith<{ readonly setting: Flag }>;

export const settings: readonly Setting[] = fieldNames.filter(
  (name): name is Setting => 'setting' in profileFields[name],
);

/**
 * The texts that a person types about themselves, in the order of the form: the member of the profile, or the part of
 * its address; the token of autofill; the longest text in code points.
 */
export const typedTexts = {
  given_name: { member: 'givenName', autofill: 'given-name', charactersMax: 100 },
  family_name: { member: 'familyName', autofill: 'family-name', charactersMax: 100 },
  nickname: { member: 'nickname', autofill: 'nickname', charactersMax: 60 },
  birthdate: { member: 'birthdate', autofill: 'bday' },
  street_address: { part: 'streetAddress', autofill: 'street-address', charactersMax: 200 },
  postal_code: { part: 'postalCode', autofill: 'postal-code', charactersMax: 20 },
  locality: { part: 'locality', autofill: 'address-level2', charactersMax: 100 },
  region: { part: 'region', autofill: 'address-level1', charactersMax: 100 },
  country: { part: 'country', autofill: 'country' },
} as const;

export type TypedText = keyof typeof typedTexts;

export const typedTextNames = Object.keys(typedTexts) as readonly TypedText[];

/** A text of any characters, within a length. */
export type BoundedText = {
  [name in TypedText]: (typeof typedTexts)[name] extends { charactersMax: number } ? name : never;
}[TypedText];

export function isBoundedText(name: string): name is BoundedText {
  return Object.hasOwn(typedTexts, name) && 'charactersMax' in typedTexts[name as TypedText];
}

/** Returns the text that is stored of a field of the form. */
export function storedText(profile: Profile, name: TypedText): string {
  const field = typedTexts[name];
  return 'part' in field ? profile.address[field.part] : profile[field.member];
}

export function withTexts(
  profile: Profile,
  texts: { readonly [name in TypedText]?: string },
): Profile {
  const members: Record<string, string> = {};
  const parts: Record<string, string> = {};
  for (const [name, text] of Object.entries(texts)) {
    const field = typedTexts[name as TypedText];
    if ('part' in field) parts[field.part] = text;
    else members[field.member] = text;
  }
  return { ...profile, ...members, address: { ...profile.address, ...parts } };
}

type AddressClaim = v.InferOutput<typeof postalAddress>;

interface ProfileView {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly avatarUrl: (avatar: string) => string;
}

interface FieldView extends ProfileView {
  readonly showsEmail: boolean;
}

/**
 * ASCII, as all addresses are that are given today. A site whose table compares
 * letters loosely would take any other for somebody else's.
 */
const isPlain = (email: string) => /^[\x20-\x7e]*$/.test(email);

/** Returns undefined for an address that sites don't get. */
function sharedEmail({ email, emailVerified }: Profile): string | undefined {
  return emailVerified && isPlain(email) && email !== '' ? email : undefined;
}

/**
 * Returns exactly the fields of the granted scopes, nothing added, and nothing from which a field that was not
 * granted could be guessed. A field that the person left empty is absent; so is an address that was never
 * verified, or that is not ASCII.
 */
export function profileJson(
  profile: Profile,
  granted: readonly Scope[],
  view: ProfileView,
): ProfileJson {
  const fieldView = { ...view, showsEmail: granted.includes('email') };
  const shown = scopeNames
    .filter((scope) => granted.includes(scope))
    .flatMap(profileFieldsOf)
    .map((name) => [name, profileFields[name].show(profile, fieldView)])
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(shown) as ProfileJson;
}

function pictureUrl(profile: Profile, { avatarUrl, showsEmail }: FieldView): string {
  if (profile.avatar !== '') return avatarUrl(profile.avatar);
  return gravatarUrl((showsEmail ? sharedEmail(profile) : undefined) ?? profile.serviceId);
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
