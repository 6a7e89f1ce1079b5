/**
 * The front ends' view of accounts, by account slot, in shared memory: quotas, trust and
 * whether it is disabled. Written by the main thread only, read by all; each value is
 * one aligned word, so a reader sees the old or the new one, never a mixture.
 */

/** The most a quota can be, for `quota.ts` counts in 26 bits: 559,000 a second. */
export const perMinuteMax = 2 ** 25 - 1;

/** Can be posted to another thread. */
export interface AccountsHandle {
  readonly buffer: SharedArrayBuffer;
  readonly capacity: number;
}

export interface AccountState {
  readonly readPerMinute: number;
  readonly writePerMinute: number;
  /** 0 to 100. */
  readonly trust: number;
  readonly disabled: boolean;
}

/** A slot costs 16 bytes once written; an untouched one costs address space only. */
export function createAccountsTable(capacity: number) {
  if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError('capacity must be ≥ 1');
  const handle = { buffer: new SharedArrayBuffer(capacity * 16), capacity };
  const table = openAccountsTable(handle);
  const flags = flagsOf(handle);
  function set(slot: number, state: AccountState): void {
    if (!Number.isInteger(slot) || slot < 0 || slot >= capacity) {
      throw new RangeError(`no account slot ${slot}`);
    }
    table.readPerMinute[slot] = checkedPerMinute(state.readPerMinute);
    table.writePerMinute[slot] = checkedPerMinute(state.writePerMinute);
    table.trust[slot] = state.trust;
    flags[slot] = state.disabled ? 1 : 0;
  }
  return {
    ...table,
    set,
    clear: (slot: number): void =>
      set(slot, { readPerMinute: 0, writePerMinute: 0, trust: 0, disabled: true }),
  };
}

export function openAccountsTable(handle: AccountsHandle) {
  const { buffer, capacity } = handle;
  const flags = flagsOf(handle);
  return {
    handle,
    /** By account slot. Only to be read. */
    readPerMinute: new Uint32Array(buffer, 0, capacity),
    writePerMinute: new Uint32Array(buffer, capacity * 4, capacity),
    trust: new Float32Array(buffer, capacity * 8, capacity),
    isDisabled: (slot: number): boolean => flags[slot] !== 0,
  };
}

export type AccountsTable = ReturnType<typeof openAccountsTable>;

function flagsOf({ buffer, capacity }: AccountsHandle): Uint32Array {
  return new Uint32Array(buffer, capacity * 12, capacity);
}

function checkedPerMinute(value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= perMinuteMax) return value;
  throw new RangeError(`a quota is a whole number from 0 to ${perMinuteMax}, not ${value}`);
}
