/** Parameters and schemas that several operations have. Every text has a bound. */

import * as v from 'valibot';
import { dateIn } from '../core/dates.ts';
import { dayMs } from '../core/time.ts';
import { groupName, parseNetworkGroup } from '../geo/network-groups.ts';
import { canonicalIp } from '../ip/address.ts';
import { parseOperatorPrefix } from '../ip/operator-prefix.ts';
import { formatPrefix } from '../ip/prefix.ts';
import { typedAddress } from '../ip/typed-address.ts';
import type { Parameter } from './operation.ts';

export function textOf(charsMax: number) {
  return v.pipe(
    v.string('It must be a text.'),
    v.maxLength(charsMax, `It has more than ${charsMax} characters.`),
  );
}

/** A whole number in digits. */
export function wholeNumber(min: number, max: number) {
  const fault = `It must be a whole number from ${min} to ${max}.`;
  return v.pipe(
    v.string(fault),
    v.regex(/^\d{1,9}$/, fault),
    v.transform(Number),
    v.minValue(min, fault),
    v.maxValue(max, fault),
  );
}

export function choice<const Names extends readonly string[]>(names: Names) {
  return v.picklist(
    names,
    ({ received }) =>
      `${received.replaceAll('"', "'").slice(0, 60)} is none of ${names.join(', ')}.`,
  );
}

/** A value that is typed without a name before it. @param value its name in the help, such as `role` */
export function argument<S extends Parameter['schema']>(schema: S, value: string, help: string) {
  return { schema, value, help, isArgument: true, kept: true } as const;
}

/** A flag: on or off. */
export const flag = v.optional(v.boolean('It is a flag.'), false);

/** Longer than a mail address, or an account's id. */
const accountCharsMax = 400;
const rangeCharsMax = 100;
export const shortText = textOf(1_000);
const accountName = textOf(accountCharsMax);
/** A date as it is typed, so that the audit log has it like this. `dateIn` reads it. */
export const typedDate = v.pipe(
  v.string(),
  v.check((text) => dateIn(text) !== undefined, 'It must be a date such as 2026-12-31.'),
);

export const account = {
  schema: accountName,
  value: 'email',
  help: 'email of the account, or its id',
  isArgument: true,
  kept: 'account',
} as const satisfies Parameter;

/** An address or a network. The log keeps no other text: it may be a mail address. */
export const range = {
  schema: v.pipe(textOf(rangeCharsMax), v.trim()),
  value: 'cidr',
  help: 'an address or a network such as 192.0.2.0/24',
  isArgument: true,
  control: { mono: true, maxLength: 60 },
  kept(text: string) {
    const network = parseOperatorPrefix(typedAddress(text));
    return network.ok ? formatPrefix(network.value) : '(not a network)';
  },
} as const satisfies Parameter;

/** An address, a network, or a group of networks. */
export const rangeOrGroup = {
  ...range,
  value: 'cidr|AS|country',
  help: 'an address, a network such as 192.0.2.0/24, AS64500, or a country such as FR',
  kept(text: string) {
    const group = parseNetworkGroup(typedAddress(text));
    return typeof group === 'object' ? groupName(group) : range.kept(text);
  },
} as const satisfies Parameter;

/** An address as people type it; read, it is canonical. */
export const address = argument(
  v.pipe(
    textOf(rangeCharsMax),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const ip = canonicalIp(typedAddress(dataset.value));
      if (ip !== undefined) return ip;
      addIssue({ message: `'${dataset.value.slice(0, 50)}' is not an address` });
      return NEVER;
    }),
  ),
  'address',
  'as list shows it',
);

export const listedName = argument(shortText, 'name', 'as list shows it');

/** A note that operators alone see. */
export const note = {
  schema: v.optional(textOf(10_000), ''),
  value: 'text',
  control: { maxLength: 200 },
} as const satisfies Parameter;

/** An address that a command names, of which nothing need be known. */
export const anyAddress = { ...address, help: 'IPv4 or IPv6' } as const satisfies Parameter;

export const lastDays = {
  days: { schema: v.optional(wholeNumber(1, 36_500)), value: 'n', help: 'only of the last days' },
} as const satisfies Record<string, Parameter>;

/** @returns milliseconds since 1970; 0 without a number of days */
export const sinceDays = (now: number, days: number | undefined): number =>
  days === undefined ? 0 : now - days * dayMs;
