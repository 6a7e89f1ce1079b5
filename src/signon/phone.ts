/**
 * Codes that show that a phone number is the account's: six digits, ten minutes, five tries. One
 * code is open per account; each try is taken from the row by compare-and-set before it is judged,
 * so a hundred at once are still five. The verified number itself is the caller's to keep.
 */

import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js';
import type { ClientLimits } from '../access/client-limits.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createWriter, decode } from '../store/codec.ts';
import { phoneCodeKey } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import { notErased } from './erasure-mark.ts';
import type { MessageSender } from './messages.ts';
import type { SecurityLog } from './security-log.ts';
import { equalBytes, sha256 } from './tokens.ts';
import type { Language, Visitor } from './visitor.ts';

export const phoneLimits = {
  number: { max: 3, windowMs: 3_600_000 },
  network: { max: 10, windowMs: 3_600_000 },
} as const;

export interface PhoneCodes {
  /** `invalid_parameter` (parameter `phone`), `client_limit_exceeded`, `overloaded`, `store_unavailable`. */
  send(accountId: string, phone: string, visitor: Visitor): Promise<Result<{ number: string }>>;
  /** The number in E.164 that is now shown to be the account's. `invalid_code`. */
  verify(accountId: string, code: string, visitor: Visitor): Promise<Result<{ number: string }>>;
  /** Forgets an open code. */
  cancel(accountId: string): Promise<void>;
}

export const phoneCodeLifeMs = 10 * 60_000;
export const phoneTriesMax = 5;
const layout = 1;
const textLengthMax = 40;

interface OpenCode {
  readonly number: string;
  readonly hash: Uint8Array;
  readonly triesLeft: number;
  readonly expiresAt: number;
}

const texts: Readonly<Record<Language, (code: string, service: string) => string>> = {
  en: (code, service) => `${code} is your code for ${service}. It is valid for 10 minutes.`,
  fr: (code, service) => `${code} est votre code pour ${service}. Il est valable 10 minutes.`,
};

/** E.164; undefined for what is no number. A number without `+` is read as of the country. */
export function normalisePhone(text: string, country: string): string | undefined {
  if (text.length > textLengthMax) return undefined;
  const home = isSupportedCountry(country) ? { defaultCountry: country } : {};
  const parsed = parsePhoneNumberFromString(text, { ...home, extract: false });
  return parsed?.isValid() ? parsed.number : undefined;
}

export function createPhoneCodes(options: {
  store: Store;
  clock: Clock;
  random: Random;
  sender: MessageSender;
  limits: Pick<ClientLimits<'number' | 'network'>, 'take'>;
  service: string;
  securityLog: SecurityLog;
}): PhoneCodes {
  const { store, clock, random, sender, limits, service, securityLog } = options;

  async function send(accountId: string, phone: string, visitor: Visitor) {
    const number = normalisePhone(phone, visitor.country);
    if (number === undefined) {
      return fail('invalid_parameter', 'This is not a phone number.', 'phone');
    }
    const nowMs = clock.monotonicMs();
    const waitSeconds =
      limits.take('network', visitor.network, nowMs) || limits.take('number', number, nowMs);
    if (waitSeconds > 0) {
      return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
    }
    const code = sixDigits(random);
    const open: OpenCode = {
      number,
      hash: hashOf(accountId, code),
      triesLeft: phoneTriesMax,
      expiresAt: clock.now() + phoneCodeLifeMs,
    };
    const set = [rowOf(accountId, open)];
    const done = await commitOnce(store, { check: [notErased(accountId)], set });
    if (done === 'lost') return fail('forbidden');
    if (!done.ok) return done;
    const sent = await sender.send(accountId, number, texts[visitor.language](code, service));
    return sent.ok ? ok({ number }) : sent;
  }

  function verify(accountId: string, code: string, visitor: Visitor) {
    const given = hashOf(accountId, code.length > textLengthMax ? '' : code.replace(/\s/gu, ''));
    return untilUndisturbed<{ number: string }>(async () => {
      const row = await store.get(phoneCodeKey(accountId));
      const open = row && decodeCode(row.value);
      if (!row || !open) return fail('invalid_code', undefined, 'code');
      const check = [{ key: phoneCodeKey(accountId), version: row.version }];
      if (equalBytes(given, open.hash)) {
        const logged = await securityLog.entry(accountId, 'phone_verified', visitor);
        const del = [phoneCodeKey(accountId), ...logged.del];
        const checks = [...check, ...logged.check];
        const done = await commitOnce(store, { check: checks, set: logged.set, del });
        return done === 'lost' || !done.ok ? done : ok({ number: open.number });
      }
      const triesLeft = open.triesLeft - 1;
      const done = await commitOnce(
        store,
        triesLeft === 0
          ? { check, del: [phoneCodeKey(accountId)] }
          : { check, set: [rowOf(accountId, { ...open, triesLeft })] },
      );
      return done === 'lost' || !done.ok ? done : fail('invalid_code', undefined, 'code');
    });
  }

  return {
    send,
    verify,
    async cancel(accountId) {
      await store.commit({ del: [phoneCodeKey(accountId)] });
    },
  };
}

/** Uniform: what a multiple of a million does not fill is drawn again. */
function sixDigits(random: Random): string {
  const limit = 2 ** 32 - (2 ** 32 % 1_000_000);
  for (let i = 0; i < 100; i++) {
    const value = Buffer.from(random.bytes(4)).readUInt32BE();
    if (value < limit) return String(value % 1_000_000).padStart(6, '0');
  }
  throw new Error('the source of randomness is broken');
}

/** Of no use for guessing: a million codes are hashed in a second. The tries protect it. */
function hashOf(accountId: string, code: string): Uint8Array {
  return sha256(`phone code ${accountId} ${code}`);
}

function rowOf(accountId: string, code: OpenCode) {
  const out = createWriter(96).u8(layout).text(code.number).bytes(code.hash).u8(code.triesLeft);
  const value = out.f64(code.expiresAt).finish();
  return { key: phoneCodeKey(accountId), value, expiresAt: code.expiresAt };
}

function decodeCode(bytes: Uint8Array): OpenCode | undefined {
  return decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    const [number, hash] = [input.text(), Uint8Array.from(input.bytes())];
    return { number, hash, triesLeft: input.u8(), expiresAt: input.f64() };
  });
}
