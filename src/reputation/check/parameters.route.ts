/** Query parameters of the API's reads, checked: each fault names its parameter and ends in 422. */

import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs } from '../../core/time.ts';
import type { Params } from '../../http/request/query.ts';
import { formatIp, type IpFamily, parseIp } from '../../ip/address.ts';
import { lookBehind } from '../../ip/behind.ts';
import {
  addressRequiredDetail,
  invalidAddressDetail,
  isMaxAge,
  maxAgeDetail,
} from './check.route.ts';

/** Reports are kept this long: what no `maxAgeInDays` means. */
const maxAgeDaysDefault = 365;

export interface Address {
  /** Family and words of the address behind an IPv6 one: reports name that. */
  readonly family: IpFamily;
  readonly words: Uint32Array;
  /** Canonical, as it was asked for. */
  readonly text: string;
}

export function readAddress(text: string | undefined): Result<Address> {
  if (text === undefined || text === '') {
    return fail('invalid_parameter', addressRequiredDetail, 'ipAddress');
  }
  const words = new Uint32Array(4);
  const family = parseIp(text, words);
  if (family === 0) return fail('invalid_parameter', invalidAddressDetail, 'ipAddress');
  const canonical = formatIp(family, words);
  return ok({ family: lookBehind(family, words), words, text: canonical });
}

/** `maxAgeInDays` as the time from which reports count, milliseconds since 1970. */
export function readSince(params: Params, nowMs: number): Result<number> {
  const text = params.get('maxAgeInDays');
  if (text !== undefined && !isMaxAge(text)) {
    return fail('invalid_parameter', maxAgeDetail, 'maxAgeInDays');
  }
  return ok(nowMs - (text === undefined ? maxAgeDaysDefault : Number(text)) * dayMs);
}

/** A whole number in decimal digits; more than nine of them are out of any range. */
export function readWhole(
  params: Params,
  name: string,
  range: { readonly min: number; readonly max: number; readonly byDefault: number },
): Result<number> {
  const text = params.get(name);
  if (text === undefined) return ok(range.byDefault);
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= range.min && value <= range.max) return ok(value);
  const label = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const detail = `The ${label} must be between ${range.min} and ${range.max}.`;
  return fail('invalid_parameter', detail, name);
}
