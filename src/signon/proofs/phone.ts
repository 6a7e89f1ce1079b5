/**
 * Codes that show that a phone number is the account's: six digits, ten minutes, five tries. One
 * code is open per account; each try is taken from the row by compare-and-set before it is judged,
 * so a hundred at once are still five. The verified number itself is the caller's to keep.
 *
 * Each text costs the operator money, and some numbers pay whoever has texts sent to them. So they
 * go to mobile numbers of listed countries alone, and are bounded for an account, a number, the
 * networks, and over all in a day. In memory: a restart begins a new day.
 */

import { createHmac } from 'node:crypto';
import {
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import { createClientLimits } from '../../access/quota/client-limits.ts';
import { type DistributedLimits, localLimits } from '../../access/quota/distributed-limits.ts';
import type { Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes } from '../../core/crypto.ts';
import type { Language } from '../../core/language.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { plainDigits, plainPhone } from '../../core/text.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';
import { commitOnce, retryOnConflict } from '../../storage/change.ts';
import { phoneCodeKey } from '../../storage/keys.ts';
import { bytes, type Decoded, record, text, time, u8 } from '../../storage/record.ts';
import type { Store } from '../../storage/store.ts';
import type { Outbox } from '../mail/outbox.ts';
import { erasureCheck } from '../people.ts';
import type { SecurityLog } from '../sessions/security-log.ts';

const phoneLimits = {
  account: { max: 5, windowMs: dayMs },
  number: { max: 3, windowMs: hourMs },
  network: { max: 10, windowMs: hourMs },
  neighbourhood: { max: 20, windowMs: dayMs },
} as const;
const subjectsMax = 16_384;

interface PhoneBounds {
  /** ISO 3166-1 codes; `*`: all. */
  readonly countries: readonly string[];
  /** Texts over all in a day. */
  readonly perDay: number;
}

export const phoneCodeLifeMs = 10 * minuteMs;
const phoneTriesMax = 5;
const textLengthMax = 40;

type OpenCode = Decoded<typeof openCodes.decode>;

const openCodes = record(1, {
  number: text,
  hash: bytes,
  triesLeft: u8,
  expiresAt: time,
});

const texts: Readonly<Record<Language, (code: string, service: string) => string>> = {
  en: (code, service) => `${code} is your code for ${service}. It is valid for 10 minutes.`,
  fr: (code, service) => `${code} est votre code pour ${service}. Il est valable 10 minutes.`,
};

/** Reads a phone number; undefined for any other text. A number without `+` belongs to the country. */
export function parsePhone(text: string, country: string): PhoneNumber | undefined {
  if (text.length > textLengthMax) return undefined;
  const home = isSupportedCountry(country) ? { defaultCountry: country } : {};
  const parsed = parsePhoneNumberFromString(plainPhone(text), { ...home, extract: false });
  return parsed?.isValid() ? parsed : undefined;
}

/** A mobile number of a listed country: no premium rate, no satellite, no landline. */
function isReachable(phone: PhoneNumber, countries: readonly string[]): boolean {
  const type = phone.getType();
  if (type !== 'MOBILE' && type !== 'FIXED_LINE_OR_MOBILE') return false;
  // Some ranges are of no country: satellites.
  if (phone.country === undefined) return false;
  return countries.includes('*') || countries.includes(phone.country);
}

export function createPhoneCodes(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  sender: MessageSender;
  bounds: PhoneBounds;
  log: Log;
  service: string;
  securityLog: SecurityLog;
  distributedLimits?: Pick<DistributedLimits, 'room'>;
}) {
  const {
    distributedLimits = localLimits,
    store,
    clock,
    random,
    masterKey,
    sender,
    bounds,
    service,
    securityLog,
    log,
  } = options;
  const all = { max: bounds.perDay, windowMs: dayMs };
  const limits = createClientLimits(
    { ...phoneLimits, all },
    distributedLimits.room('texts', subjectsMax),
  );
  // A plain digest would reveal the code to whoever reads the store: a million are hashed in a second.
  const key = deriveKey(masterKey, 'phone codes');
  const hashOf = (accountId: string, code: string): Uint8Array =>
    createHmac('sha256', key).update(`${accountId} ${code}`).digest();

  /** Whole seconds to wait; 0: it is counted. What is refused by one takes nothing of the next. */
  function waitFor(account: string, number: string, visitor: Visitor): number {
    const { client: network, neighbourhood = network } = visitor;
    const nowMs = clock.monotonicMs();
    const waitSeconds =
      limits.takeOrWait('account', account, nowMs) ||
      limits.takeOrWait('neighbourhood', neighbourhood, nowMs) ||
      limits.takeOrWait('network', network, nowMs) ||
      limits.takeOrWait('number', number, nowMs);
    if (waitSeconds > 0) return waitSeconds;
    const budget = limits.takeOrWait('all', '', nowMs);
    if (budget > 0)
      log.warn({ perDay: bounds.perDay }, 'text messages: the budget of the day is spent');
    return budget;
  }

  /** `invalid_parameter` (parameter `phone`), `client_limit_exceeded`, `overloaded`, `store_unavailable`. */
  async function send(
    accountId: string,
    phone: string,
    visitor: Visitor,
  ): Promise<Result<{ number: string }>> {
    const parsed = parsePhone(phone, visitor.country);
    if (parsed === undefined) {
      return fail('invalid_parameter', 'This is not a phone number.', 'phone');
    }
    if (!isReachable(parsed, bounds.countries)) {
      return fail('invalid_parameter', 'Texts are not sent to this kind of number.', 'phone');
    }
    const { number } = parsed;
    const waitSeconds = waitFor(accountId, number, visitor);
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
    const done = await commitOnce(store, { check: [erasureCheck(accountId)], set });
    if (done === 'conflict') return fail('forbidden');
    if (!done.ok) return done;
    const sent = await sender.send(accountId, number, texts[visitor.language](code, service));
    if (sent.ok) return ok({ number });
    await forget(accountId, open);
    return sent;
  }

  /** Nobody is asked for a code that did not leave; one that was sent meanwhile stays. */
  async function forget(accountId: string, { hash }: OpenCode): Promise<void> {
    const key = phoneCodeKey(accountId);
    const row = await store.get(key);
    const open = row && openCodes.decode(row.value);
    if (!row || !open || !equalBytes(open.hash, hash)) return;
    await commitOnce(store, { check: [{ key, version: row.version }], del: [key] });
  }

  /** The number in E.164 that is now shown to be the account's. `invalid_code`. */
  function verify(
    accountId: string,
    code: string,
    visitor: Visitor,
  ): Promise<Result<{ number: string }>> {
    const given = hashOf(
      accountId,
      code.length > textLengthMax ? '' : plainDigits(code).replace(/[\s-]/gu, ''),
    );
    return retryOnConflict<{ number: string }>(async () => {
      const row = await store.get(phoneCodeKey(accountId));
      const open = row && openCodes.decode(row.value);
      if (!row || !open) return fail('invalid_code', undefined, 'code');
      const check = [{ key: phoneCodeKey(accountId), version: row.version }];
      if (equalBytes(given, open.hash)) {
        const logged = await securityLog.entry(accountId, 'phone_verified', visitor);
        const del = [phoneCodeKey(accountId), ...logged.del];
        const checks = [...check, ...logged.check];
        const done = await commitOnce(store, { check: checks, set: logged.set, del });
        return done === 'conflict' || !done.ok ? done : ok({ number: open.number });
      }
      const triesLeft = open.triesLeft - 1;
      const done = await commitOnce(
        store,
        triesLeft === 0
          ? { check, del: [phoneCodeKey(accountId)] }
          : { check, set: [rowOf(accountId, { ...open, triesLeft })] },
      );
      return done === 'conflict' || !done.ok ? done : fail('invalid_code', undefined, 'code');
    });
  }

  return {
    send,
    verify,
    /** Returns whether a code is on its way, or waits to be typed. */
    isOpen: async (accountId: string) => (await store.get(phoneCodeKey(accountId))) !== undefined,
    /** Accounts, numbers and networks that are counted. */
    table: limits.table('text_limits'),
    async cancel(accountId: string): Promise<void> {
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

function rowOf(accountId: string, code: OpenCode) {
  const { expiresAt } = code;
  return { key: phoneCodeKey(accountId), value: openCodes.encode(code), expiresAt };
}

// Text messages: a POST of `{"to","text"}` to the operator's webhook, which hands them to a
// provider; without one they go to the outbox. Redirects are refused, since they would carry the
// number and the code to somewhere that nobody configured. Nothing of a message is logged.

export interface MessageSender {
  /** `overloaded` when the message can't be delivered now. @param to E.164 */
  send(accountId: string, to: string, text: string): Promise<Result<void>>;
}

const timeoutMs = 10_000;

export function webhookMessages(url: string, log: Log): MessageSender {
  return {
    async send(_accountId, to, text) {
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ to, text }),
          redirect: 'error',
          signal: AbortSignal.timeout(timeoutMs),
        });
        // The body of the response is not needed, and may be endless.
        await response.body?.cancel();
        if (response.ok) return ok(undefined);
        log.error({ status: response.status }, 'text message: refused by the webhook');
      } catch (error) {
        log.error({ reason: (error as Error).name }, 'text message: the webhook did not answer');
      }
      return fail('overloaded', 'The message could not be sent.');
    },
  };
}

export function outboxMessages(outbox: Outbox): MessageSender {
  return {
    async send(accountId, to, text) {
      await outbox.writeMessage(accountId, to, text);
      return ok(undefined);
    },
  };
}
