/**
 * Changes of a profile as a person types them. Every text is composed (NFC), trimmed and bounded.
 * Control characters and marks that nobody sees or that turn the direction of writing are not kept, because
 * names are shown to others: at the ends, where keyboards put them, they are taken off, and one
 * within is refused with its position. A fact that somebody verified is lost with a change of what it was
 * about. Pure.
 */

import { type PhoneNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { fail, ok, type Result } from '../../../core/result.ts';
import { plainPhone } from '../../../core/text.ts';
import {
  isBoundedText,
  type Profile,
  profileFields,
  type Setting,
  settings,
  type TypedText,
  typedTextNames,
  typedTexts,
  withTexts,
} from './profile.ts';

// ISO 3166-1 alpha-2: the codes officially assigned, as of 2025. A person chooses one of them.

const assigned = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT
BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH
ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT
HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS
LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI
NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG
SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG
UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW`;

/** The codes, sorted. */
export const countryCodes: readonly string[] = assigned.trim().split(/\s+/);

const known = new Set(countryCodes);

/** The fields are named as in the profile that sites get. A field that is left out stays as it is. */
export type ProfileChanges = { readonly [name in TypedText]?: string } & {
  readonly [name in Setting]?: boolean;
} & {
  /** The international form, or the national one with `country`; or empty. */
  readonly phone_number?: string;
};

const phoneCharsMax = 40;
const ageYearsMax = 130;
/**
 * Controls, lone surrogates, noncharacters, line separators, the marks of text direction, and what takes no ink and
 * that no writing needs: with it two names look the same. The joiners and the selectors of variants stay, for Persian,
 * Han and emoji; in Latin, Greek and Cyrillic nothing needs them. Tags stay in emoji alone: they write the flags.
 */
const forbidden =
  /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2060-\u206f\u00ad\u180e\u200b\ufeff\ufff0-\ufffb\u115f\u1160\u3164\uffa0\u2800\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e001f}\u{e0080}-\u{e00ff}\u{e01f0}-\u{e0fff}]|(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\p{Default_Ignorable_Code_Point}]|(?<!\u{1f3f4}[\u{e0020}-\u{e007e}]*)[\u{e0020}-\u{e007f}]/u;

/**
 * A letter, digit, sign or mark that takes ink. The blanks of Hangul and Braille are letters and a
 * sign by their class; marks alone have nothing to stand on.
 */
const visible =
  /(?![\p{Default_Ignorable_Code_Point}\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0])[\p{L}\p{N}\p{P}\p{S}]/u;

/** The same at both ends of a text, spaces among them. */
const atEnds = new RegExp(`^(?:\\s|${forbidden.source})+|(?:\\s|${forbidden.source})+$`, 'gu');
/** A street may have two lines or three, as on an envelope. */
const linesMax = 3;

/** A character within a text that can't be kept. */
interface InvisibleCharacter {
  /** The code point, such as `U+00AD`. */
  readonly code: string;
  /** The index from 1, in characters as people count them. */
  readonly position: number;
  /** The last letters before it, at most 12. */
  readonly before: string;
}

/** Returns the first forbidden character, after those at the ends were removed. */
export function invisibleCharacterIn(field: string, text: string): InvisibleCharacter | undefined {
  const ends = withoutEnds(field, text);
  const clean = field === 'street_address' ? ends.replaceAll('\n', ' ') : ends;
  const found = forbidden.exec(clean);
  if (found === null) return undefined;
  const hex = found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  const before = [...clean.slice(0, found.index)];
  return { code: `U+${hex}`, position: before.length + 1, before: before.slice(-12).join('') };
}

/** Trims the text; of a street each line. */
function withoutEnds(field: string, text: string): string {
  if (field !== 'street_address') return text.replace(atEnds, '');
  const lines = text.split(/\r\n|[\r\n\u2028\u2029]/u).map((line) => line.replace(atEnds, ''));
  return lines.filter((line) => line !== '').join('\n');
}

/** Returns the changed profile. `invalid_parameter` names the field at fault. */
export function editProfile(
  profile: Profile,
  changes: ProfileChanges,
  now: number,
): Result<Profile> {
  const texts: { -readonly [name in TypedText]?: string } = {};
  for (const name of typedTextNames.filter(isBoundedText)) {
    const typed = changes[name];
    if (typed === undefined) continue;
    const clean = cleanText(typed, name, typedTexts[name].charactersMax);
    if (!clean.ok) return clean;
    texts[name] = clean.value;
  }
  // Stored values are not checked again: the rules may have changed since.
  const country = typedOrStored(changes.country, profile.address.country, readCountry);
  if (!country.ok) return country;
  const birthdate = typedOrStored(changes.birthdate, profile.birthdate, (day) =>
    readBirthdate(day, now),
  );
  if (!birthdate.ok) return birthdate;
  const phone = typedOrStored(changes.phone_number, profile.phone, (number) =>
    readPhone(number, country.value),
  );
  if (!phone.ok) return phone;
  const switched = settings.map((name) => {
    const { setting } = profileFields[name];
    return [setting, changes[name] ?? profile[setting]];
  });
  return ok({
    ...withTexts(profile, { ...texts, country: country.value, birthdate: birthdate.value }),
    ...Object.fromEntries(switched),
    phone: phone.value,
    phoneVerified: profile.phoneVerified && phone.value === profile.phone,
    ageVerified: profile.ageVerified && birthdate.value === profile.birthdate,
  });
}

function typedOrStored(
  typed: string | undefined,
  stored: string,
  read: (typed: string) => Result<string>,
): Result<string> {
  return typed === undefined ? ok(stored) : read(typed);
}

function cleanText(text: string, field: string, charactersMax: number): Result<string> {
  // Four units a character is more than any text within the limit has, also before composing.
  if (text.length > 4 * charactersMax + 64) return tooLong(field, charactersMax);
  const hidden = invisibleCharacterIn(field, text);
  if (hidden !== undefined) {
    const { code, position } = hidden;
    return fail('invalid_parameter', `${field} holds ${code} at character ${position}`, field);
  }
  const clean = withoutEnds(field, text).normalize('NFC');
  if (clean.split('\n').length > linesMax) {
    return fail('invalid_parameter', `${field} has at most ${linesMax} lines`, field);
  }
  if (text.trim() !== '' && !visible.test(clean)) {
    return fail('invalid_parameter', `${field} holds nothing that can be seen`, field);
  }
  return [...clean].length > charactersMax ? tooLong(field, charactersMax) : ok(clean);
}

function tooLong(field: string, charactersMax: number) {
  return fail('invalid_parameter', `${field} has at most ${charactersMax} characters`, field);
}

function readCountry(text: string): Result<string> {
  const code = text.replace(atEnds, '').toUpperCase();
  if (code === '' || known.has(code)) return ok(code);
  return fail('invalid_parameter', 'country must be a code of two letters, such as FR', 'country');
}

/** Accepts a day of the calendar, not in the future (UTC), at most 130 years ago. */
function readBirthdate(text: string, now: number): Result<string> {
  const day = text.replace(atEnds, '');
  if (day === '') return ok('');
  const refuse = (why: string) => fail('invalid_parameter', `birthdate ${why}`, 'birthdate');
  const at = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // 30 February is parsed by none, or as 2 March: only a real day comes out as it went in.
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day) {
    return refuse('must be a day such as 1990-12-31');
  }
  if (at > now) return refuse('lies in the future');
  const oldest = new Date(now).getUTCFullYear() - ageYearsMax;
  return Number(day.slice(0, 4)) < oldest ? refuse('lies too far back') : ok(day);
}

/**
 * Returns E.164. A number without `+` is read as one of `country`; without a country it is refused.
 * Extensions are refused: nobody could send them a code.
 */
function readPhone(text: string, country: string): Result<string> {
  const typed = plainPhone(text);
  if (typed === '') return ok('');
  const refused = fail(
    'invalid_parameter',
    'phone_number must be a telephone number such as +33612345678',
    'phone_number',
  );
  if (typed.length > phoneCharsMax) return refused;
  const number = parsePhone(typed, country);
  return number?.isValid() === true && number.ext === undefined ? ok(number.number) : refused;
}

function parsePhone(text: string, country: string): PhoneNumber | undefined {
  type Countries = Exclude<Parameters<typeof parsePhoneNumberFromString>[1], string | undefined>;
  const options = { extract: false } satisfies Countries;
  if (country === '') return parsePhoneNumberFromString(text, options);
  const defaultCountry = country as NonNullable<Countries['defaultCountry']>;
  return parsePhoneNumberFromString(text, { ...options, defaultCountry });
}
