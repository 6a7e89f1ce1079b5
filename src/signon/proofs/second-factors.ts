/**
 * The second factor: time-based codes (RFC 6238, SHA-1, six digits, 30 s) and ten backup codes.
 *
 * The secret is sealed under the master key. A code counts once: the step of the last accepted
 * code is stored, a code of that step or an older one is refused, and the step moves in a commit
 * that checks the row's version, so of many who present the same code at once one gets in. One
 * step to either side is allowed for clocks that are off. A backup code is struck out likewise.
 */

import { createHmac } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import {
  deriveKey,
  type MasterKey,
  sealWithKey,
  open as unseal,
} from '../../access/keys/master-key.ts';
import type { Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes, sha256 } from '../../core/crypto.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { plainDigits } from '../../core/text.ts';
import { commitOnce, retryOnConflict } from '../../storage/change.ts';
import type { Store } from '../../storage/store.ts';
import type { AccountChanges, ChangeRequest } from '../people/account-changes.ts';
import { erasureCheck } from '../people.ts';
import type { Session } from '../sessions/sessions.ts';
import {
  encodeFactor,
  type Factor,
  factorStateOf,
  loadFactor,
  type SecondFactorState,
} from './factor-rows.ts';

export interface NewCodes {
  readonly codes: readonly string[];
  readonly token: string;
}

const periodSeconds = 30;
const digits = 6;
/** The steps to either side that a clock may be off. */
const stepsAround = 1;
const secretBytes = 20;
const backupCodeCount = 10;
/** A code has 50 bits: with the delays of attempts.ts far out of reach, and in the store with its key. */
const backupCodeLength = 10;
/** Crockford's base 32: no letter that can be mistaken for a digit. */
const backupAlphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const codeLengthMax = 32;

export function createSecondFactors(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  /** The operator's name, or the host: the authenticator shows it with the mail address. */
  name: string;
  changes: Pick<AccountChanges, 'allows' | 'make'>;
}) {
  const { store, clock, random, masterKey, name, changes } = options;

  const hash = backupCodeHash(masterKey);
  const backupHash = (accountId: string, code: string) => hash(accountId, spaceless(code));

  const load = (accountId: string) => loadFactor(store, accountId);

  const contextOf = (accountId: string) => `${accountId}/totp`;

  /** Returns the step of a right code that is newer than the last one; undefined otherwise. */
  function stepOf(accountId: string, factor: Factor, code: string): number | undefined {
    if (!/^\d{6}$/.test(code)) return undefined;
    const secret = unseal(masterKey, contextOf(accountId), factor.sealed);
    if (!secret.ok) throw new Error(secret.detail ?? 'the secret of a second factor is unreadable');
    const timestamp = clock.now();
    const delta = totpOf(secret.value, '').validate({
      token: code,
      timestamp,
      window: stepsAround,
    });
    if (delta === null) return undefined;
    const step = Math.floor(timestamp / 1_000 / periodSeconds) + delta;
    return step > factor.lastStep ? step : undefined;
  }

  function totpOf(secret: string, email: string): TOTP {
    return new TOTP({
      // The key URI has a colon between the issuer and the account.
      issuer: name.replaceAll(':', ''),
      label: email,
      secret: Secret.fromBase32(secret),
      algorithm: 'SHA1',
      digits,
      period: periodSeconds,
    });
  }

  function makeBackupCodes(): string[] {
    return Array.from({ length: backupCodeCount }, () => {
      const bytes = random.bytes(backupCodeLength);
      const code = Array.from(bytes, (byte) => backupAlphabet[byte % 32]).join('');
      return `${code.slice(0, 5)}-${code.slice(5)}`;
    });
  }

  async function change<T>(
    request: ChangeRequest,
    by: (factor: Factor) => { factor: Factor | undefined; value: T },
  ): Promise<Result<{ value: T; token: string }>> {
    return changes.make<T>(request, async (person) => {
      const { key, version, factor } = await load(person.id);
      if (factor === undefined || factor.enabledAt === 0) return fail('conflict');
      const changed = by(factor);
      const own = changed.factor && { key, value: encodeFactor(changed.factor) };
      return ok({
        value: changed.value,
        check: [{ key, version }],
        set: own ? [own] : [],
        del: own ? [] : [key],
      });
    });
  }

  /**
   * Begins the set-up, or begins it again: nothing counts before `enable`. The URI is for the QR code. `conflict`
   * when enabled already, `reauthentication_required`.
   */
  async function begin(session: Session): Promise<Result<{ secret: string; uri: string }>> {
    if (!(await changes.allows(session))) return fail('reauthentication_required');
    return retryOnConflict(async () => {
      const { key, version, factor } = await load(session.accountId);
      if (factor && factor.enabledAt !== 0) return fail('conflict', 'It is switched on already.');
      const bytes = Uint8Array.from(random.bytes(secretBytes));
      const secret = new Secret({ buffer: bytes.buffer }).base32;
      const sealed = sealWithKey(masterKey, random, contextOf(session.accountId), secret);
      const begun: Factor = { enabledAt: 0, sealed, lastStep: 0, backupHashes: [] };
      const done = await commitOnce(store, {
        check: [{ key, version }, erasureCheck(session.accountId)],
        set: [{ key, value: encodeFactor(begun) }],
      });
      if (done === 'conflict' || !done.ok) return done;
      return ok({ secret, uri: totpOf(secret, session.email).toString() });
    });
  }

  /**
   * Returns the secret that was begun and waits for its first code, to be shown again.
   * `reauthentication_required`.
   */
  async function begun(
    session: Session,
  ): Promise<Result<{ secret: string; uri: string } | undefined>> {
    if (!(await changes.allows(session))) return fail('reauthentication_required');
    const { factor } = await load(session.accountId);
    if (factor?.enabledAt !== 0) return ok(undefined);
    const secret = unseal(masterKey, contextOf(session.accountId), factor.sealed);
    if (!secret.ok) return ok(undefined);
    return ok({ secret: secret.value, uri: totpOf(secret.value, session.email).toString() });
  }

  /**
   * Switches the factor on by a right code of the secret begun. Returns the backup codes, the only time.
   * `invalid_code`, and the errors of `AccountChanges.make`, as the two below.
   */
  async function enable(
    session: Session,
    code: string,
    visitor: Visitor,
  ): Promise<Result<NewCodes>> {
    const request = { session, visitor, event: 'totp_enabled' } as const;
    const done = await changes.make<readonly string[]>(request, async ({ id }) => {
      const { key, version, factor } = await load(id);
      if (factor?.enabledAt !== 0) return fail('conflict');
      const step = stepOf(id, factor, spaceless(code));
      if (step === undefined) return fail('invalid_code', undefined, 'code');
      const codes = makeBackupCodes();
      const enabled: Factor = {
        ...factor,
        enabledAt: clock.now(),
        lastStep: step,
        backupHashes: codes.map((text) => backupHash(id, text)),
      };
      const set = [{ key, value: encodeFactor(enabled) }];
      // The code counts with the password of the session: a sign-in asks for both from now on. A passkey,
      // which counts as both, stays one.
      const proof = session.proof === 'passkey' ? session.proof : 'password+totp';
      return ok({ value: codes, check: [{ key, version }], set, proof });
    });
    return done.ok ? ok({ codes: done.value.value, token: done.value.token }) : done;
  }

  /** Returns the factor as it is once this code is used up; undefined for a code that doesn't count. */
  function afterUse(accountId: string, factor: Factor | undefined, given: string) {
    const code = given.length > codeLengthMax ? '' : spaceless(given);
    if (!factor || factor.enabledAt === 0) return undefined;
    const step = stepOf(accountId, factor, code);
    const left = factor.backupHashes.filter((h) => !equalBytes(h, backupHash(accountId, code)));
    if (step !== undefined) return { kind: 'totp' as const, used: { ...factor, lastStep: step } };
    if (left.length === factor.backupHashes.length) return undefined;
    return { kind: 'backup' as const, used: { ...factor, backupHashes: left } };
  }

  /** Uses a code up. `invalid_code` for wrong, used and malformed ones alike. */
  function use(accountId: string, code: string): Promise<Result<'totp' | 'backup'>> {
    return retryOnConflict<'totp' | 'backup'>(async () => {
      const { key, version, factor } = await load(accountId);
      const after = afterUse(accountId, factor, code);
      if (after === undefined) return fail('invalid_code', undefined, 'code');
      const done = await commitOnce(store, {
        check: [{ key, version }],
        set: [{ key, value: encodeFactor(after.used) }],
      });
      return done === 'conflict' || !done.ok ? done : ok(after.kind);
    });
  }

  const state = (accountId: string): Promise<SecondFactorState> => factorStateOf(store, accountId);

  return {
    state,
    isEnabled: async (accountId: string): Promise<boolean> => (await state(accountId)).enabled,
    begin,
    begun,
    enable,
    /** Returns whether `use` would accept the code now. Uses nothing up. */
    async matches(accountId: string, code: string): Promise<boolean> {
      const { factor } = await load(accountId);
      return afterUse(accountId, factor, code) !== undefined;
    },
    use,
    /** Makes new backup codes; the old ones are dead. */
    async renewBackupCodes(session: Session, visitor: Visitor): Promise<Result<NewCodes>> {
      const request = { session, visitor, event: 'backup_codes_made' } as const;
      const done = await change(request, (factor) => {
        const codes = makeBackupCodes();
        const backupHashes = codes.map((text) => backupHash(session.accountId, text));
        return { factor: { ...factor, backupHashes }, value: codes };
      });
      return done.ok ? ok({ codes: done.value.value, token: done.value.token }) : done;
    },
    async disable(session: Session, visitor: Visitor): Promise<Result<{ token: string }>> {
      const request = { session, visitor, event: 'totp_disabled' } as const;
      const done = await change(request, () => ({ factor: undefined, value: undefined }));
      return done.ok ? ok({ token: done.value.token }) : done;
    },
  };
}

export type SecondFactors = ReturnType<typeof createSecondFactors>;

/** People type codes in groups and with capitals. */
function spaceless(code: string): string {
  return plainDigits(code).replace(/[\s-]/gu, '').toLowerCase();
}

/**
 * Returns what makes the 32 bytes that are stored of a backup code, which is without spaces and in lower case:
 * HMAC-SHA-256 under a key that follows from the master key. Whoever has the store alone can try no code.
 */
export function backupCodeHash(masterKey: MasterKey) {
  const key = deriveKey(masterKey, 'backup codes');
  return (accountId: string, code: string): Uint8Array => {
    // Half a digest: what was stored before there was a key.
    const digest = sha256(`backup code ${accountId} ${code}`).subarray(0, 16);
    return createHmac('sha256', key).update(digest).digest();
  };
}
