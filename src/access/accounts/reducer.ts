/**
 * The accounts and API keys of the journal, and the shared tables that follow from them.
 *
 * An account takes the lowest free slot with its first key: quotas, trust and what it contributed
 * are stored by slot. It gives the slot back when nothing of it is left there; the next holder has
 * another generation. Accounts without a key cost nothing here: what they had earned lies in the
 * store (slots.ts) and comes back with their next key. State depends on the journal alone. Keys of
 * an account stand with the account; a revoked key is forgotten, its record stays in the store for
 * its owner.
 */

import { createReader, createWriter, type Reader, type Writer } from '../../storage/codec.ts';
import type { PageSection } from '../../storage/journal/projection.ts';
import {
  budgetAt,
  type ConfirmationEffect,
  charge,
  confirm,
  countNewAddress,
  earnAccepted,
  hasEarned,
  hasWithdrawn,
  newAddressesOn,
  newAddressQuota,
  penalise,
  type Rank,
  readQuota,
  refund,
  rememberWithdrawn,
  reportWeight,
  type Standing,
  trustFromPoints,
  unconfirm,
  writeQuota,
} from '../quota/points.ts';
import {
  type Account,
  newAccount,
  readAccountRow,
  readFacts,
  writeAccountRow,
} from './account-row.ts';
import type { AccountState } from './accounts-table.ts';
import { type AccountsInMemory, type CreatedKey, keepQuota } from './events.ts';

/** The part of the shared tables that the reducer writes. */
export interface AccessTables {
  /** @returns false when the table is full */
  addKey(hash: Uint8Array, slot: number, scopes?: number): boolean;
  revokeKey(hash: Uint8Array): void;
  setAccount(slot: number, state: AccountState): void;
  clearAccount(slot: number): void;
}

interface ReportersView {
  slotOf(account: string): number;
  /** Returns the rank of a report made at `at`. A disabled account counts as a newcomer. */
  rank(slot: number, at: number): Rank;
  weight(slot: number, rank: Rank): number;
  earnAccepted(slot: number, at: number): void;
  confirm(slot: number, rank: number, at: number): boolean | undefined;
  unconfirm(slot: number, confirmed: ConfirmationEffect, at: number): void;
  charge(slot: number, cost: number, base: number, at: number): boolean;
  refund(slot: number, cost: number, at: number): void;
  budget(slot: number, base: number, at: number): { open: number; limit: number };
  countNewAddress(slot: number, at: number): void;
  penalise(slot: number): void;
  rememberWithdrawn(slot: number, addressHash: number, at: number): void;
  hasWithdrawn(slot: number, addressHash: () => number, at: number): boolean;
}

const accountsPerPage = 64;

interface AccountQuotas {
  readonly reads: QuotaInForce;
  readonly writes: QuotaInForce;
}

interface QuotaInForce {
  readonly perMinute: number;
  /** True if an operator set them, not trust. */
  readonly isSet: boolean;
}

export function quotasInForce({ standing, readPerMinute, writePerMinute }: Account): AccountQuotas {
  const trust = trustFromPoints(standing.points);
  const inForce = (own: number, byTrust: number) => ({
    perMinute: own || byTrust,
    isSet: own !== 0,
  });
  return {
    reads: inForce(readPerMinute, readQuota(trust)),
    writes: inForce(writePerMinute, writeQuota(trust)),
  };
}

export function createAccessReducer(options: {
  tables: AccessTables;
  accountsMax: number;
  firstPage: number;
  touchPage: (page: number) => void;
  touchHeader: () => void;
  heldBy: (slot: number) => number;
}) {
  const { tables, accountsMax, firstPage, touchPage, touchHeader, heldBy } = options;
  const bySlot: (Account | undefined)[] = [];
  const byId = new Map<string, Account>();
  let refused = 0;
  /** The generation that the next holder of a slot gets. */
  let nextGeneration = 0;
  /** The number of keys added or revoked since the start, by slot. */
  const keyChanges: number[] = [];
  /** No slot below is free. */
  let lowestFree = 0;

  const pageOf = (slot: number) => firstPage + Math.floor(slot / accountsPerPage);

  function publish(account: Account): void {
    const { reads, writes } = quotasInForce(account);
    tables.setAccount(account.slot, {
      readPerMinute: reads.perMinute,
      writePerMinute: writes.perMinute,
      trust: trustFromPoints(account.standing.points),
      disabled: account.disabled,
    });
  }

  function put(account: Account): void {
    bySlot[account.slot] = account;
    byId.set(account.id, account);
    publish(account);
    for (const [id, hash] of account.keys) {
      if (!tables.addKey(hash, account.slot, account.scopes.get(id))) refused++;
    }
  }

  function countKeyChange(slot: number): void {
    keyChanges[slot] = (keyChanges[slot] ?? 0) + 1;
  }

  function refuse(): undefined {
    touchHeader();
    refused++;
    return undefined;
  }

  /** Gives the lowest free slot to an account that has none. Returns undefined if all are taken. */
  function take(id: string, brought: Account): Account | undefined {
    while (bySlot[lowestFree] !== undefined) lowestFree++;
    const slot = lowestFree;
    if (slot >= accountsMax) return refuse();
    touchPage(pageOf(slot));
    touchHeader();
    const own = { keys: new Map(), scopes: new Map() };
    const account = { ...brought, ...own, id, slot, generation: nextGeneration++ };
    put(account);
    return account;
  }

  /** Returns whether the slot may be released: it is in use, without key and without contribution. */
  function isIdle(slot: number): boolean {
    return bySlot[slot]?.keys.size === 0 && heldBy(slot) === 0;
  }

  /** Frees the slot, unless it is in use again: the request for it may be older than the last events. */
  function release({ id, slot }: Account): void {
    if (!isIdle(slot)) return;
    touchPage(pageOf(slot));
    bySlot[slot] = undefined;
    byId.delete(id);
    tables.clearAccount(slot);
    lowestFree = Math.min(lowestFree, slot);
    while (bySlot.length > 0 && bySlot.at(-1) === undefined) bySlot.pop();
  }

  function addKey({ account: id, key, hash, facts, scopes }: CreatedKey, at: number): void {
    const account = byId.get(id) ?? take(id, readFacts(facts) ?? newAccount('', at, true));
    if (account === undefined || account.keys.has(key)) return;
    touchPage(pageOf(account.slot));
    countKeyChange(account.slot);
    account.keys.set(key, hash);
    if (scopes !== undefined) account.scopes.set(key, scopes);
    if (!tables.addKey(hash, account.slot, scopes)) refuse();
  }

  /** Changes an account that holds a slot; the journal may know of none. */
  function changeAccount(id: string, by: (account: Account) => void): void {
    const account = byId.get(id);
    if (account === undefined) return;
    touchPage(pageOf(account.slot));
    by(account);
  }

  /** Changes an account's standing, and with it its trust and quotas. */
  function change(slot: number, by: (standing: Standing) => boolean): boolean {
    const account = bySlot[slot]!;
    touchPage(pageOf(slot));
    if (!by(account.standing)) return false;
    publish(account);
    return true;
  }

  const reporters: ReportersView = {
    slotOf: (id) => byId.get(id)?.slot ?? -1,
    rank(slot, at) {
      const { standing, verified, disabled, createdAt } = bySlot[slot]!;
      if (disabled) return 'newcomer';
      if (standing.vouched !== 'none') return standing.vouched;
      return verified && hasEarned(standing, at - createdAt) ? 'earned' : 'newcomer';
    },
    weight: (slot, rank) => reportWeight(rank, trustFromPoints(bySlot[slot]!.standing.points)),
    earnAccepted: (slot, at) => void change(slot, (s) => earnAccepted(s, at)),
    confirm(slot, rank, at) {
      let isPaid: boolean | undefined;
      change(slot, (standing) => {
        isPaid = confirm(standing, rank, at);
        return isPaid !== undefined;
      });
      return isPaid;
    },
    unconfirm: (slot, confirmed, at) => void change(slot, (s) => unconfirm(s, confirmed, at)),
    charge(slot, cost, base, at) {
      touchPage(pageOf(slot));
      return charge(bySlot[slot]!.standing, cost, base, at);
    },
    refund(slot, cost, at) {
      touchPage(pageOf(slot));
      refund(bySlot[slot]!.standing, cost, at);
    },
    budget: (slot, base, at) => budgetAt(bySlot[slot]!.standing, base, at),
    countNewAddress(slot, at) {
      touchPage(pageOf(slot));
      countNewAddress(bySlot[slot]!.standing, at);
    },
    penalise: (slot) => void change(slot, penalise),
    rememberWithdrawn: (slot, addressHash, at) =>
      void change(slot, (s) => rememberWithdrawn(s, addressHash, at)),
    hasWithdrawn(slot, addressHash, at) {
      const { standing } = bySlot[slot]!;
      return standing.withdrawn.length > 0 && hasWithdrawn(standing, addressHash(), at);
    },
  };

  function encode(page: number): Uint8Array {
    const first = (page - firstPage) * accountsPerPage;
    const out = createWriter();
    for (const account of bySlot.slice(first, first + accountsPerPage)) {
      if (account !== undefined) writeAccountRow(out, account);
    }
    return out.finish();
  }

  function load(page: number, bytes: Uint8Array): boolean {
    const input = createReader(bytes);
    while (input.remaining() > 0) {
      const account = readAccountRow(input);
      if (input.failed() || account.slot >= accountsMax || pageOf(account.slot) !== page) {
        return false;
      }
      nextGeneration = Math.max(nextGeneration, account.generation + 1);
      put(account);
    }
    return !input.failed();
  }

  function loadHeader(input: Reader): void {
    nextGeneration = input.varint();
    refused = input.varint();
  }

  const inMemory: AccountsInMemory = {
    create({ account, verified, slot }, at) {
      if (slot === 'now' && !byId.has(account)) take(account, newAccount('', at, verified));
    },
    disable: (id, disabled) =>
      changeAccount(id, (account) => {
        account.disabled = disabled;
        publish(account);
      }),
    vouch: (id, vouched) =>
      changeAccount(id, ({ standing }) => {
        standing.vouched = vouched;
      }),
    setQuotas: ({ account: id, readPerMinute, writePerMinute }) =>
      changeAccount(id, (account) => {
        if (readPerMinute !== keepQuota) account.readPerMinute = readPerMinute;
        if (writePerMinute !== keepQuota) account.writePerMinute = writePerMinute;
        publish(account);
      }),
    release: (id) => changeAccount(id, release),
    addKey,
    revokeKey: (id, key) =>
      changeAccount(id, (account) => {
        const hash = account.keys.get(key);
        if (hash !== undefined) tables.revokeKey(hash);
        account.keys.delete(key);
        account.scopes.delete(key);
        countKeyChange(account.slot);
      }),
  };

  return {
    ...inMemory,
    /** Returns the account; undefined if the journal doesn't know it. */
    account: (id: string): Account | undefined => byId.get(id),
    /** Slots in use are below this. */
    count: () => bySlot.length,
    used: () => byId.size,
    keys: (): number => bySlot.reduce((sum, account) => sum + (account?.keys.size ?? 0), 0),
    /** Returns a number that no other holder of this slot has; -1 for a free slot. */
    generationOf: (slot: number): number => bySlot[slot]?.generation ?? -1,
    isIdle,
    /**
     * Returns a number that changes whenever a key is added or revoked. A caller that saw an idle slot compares it
     * before it releases the slot.
     */
    keyChanges: (slot: number): number => keyChanges[slot] ?? 0,
    /** Returns the slot and the trust (0 to 100) of an account; undefined if the journal doesn't know it. */
    standingOf(id: string) {
      const account = byId.get(id);
      if (account === undefined) return undefined;
      const { points, vouched } = account.standing;
      return { slot: account.slot, trust: trustFromPoints(points), vouched: vouched !== 'none' };
    },
    /** Returns the quotas in force and whether an operator set them; undefined for an unknown account. */
    quotasOf(id: string): AccountQuotas | undefined {
      const account = byId.get(id);
      return account && quotasInForce(account);
    },
    keyIdOf(slot: number, hash: Uint8Array): string | undefined {
      const keys = bySlot[slot]?.keys ?? [];
      for (const [id, own] of keys) if (Buffer.compare(own, hash) === 0) return id;
      return undefined;
    },
    idOf: (slot: number): string | undefined => bySlot[slot]?.id,
    /** Returns the account's limit of new addresses on the UTC day of `at`, and its use. */
    newAddresses(slot: number, at: number) {
      const account = bySlot[slot]!;
      const { perMinute } = quotasInForce(account).writes;
      return { limit: newAddressQuota(perMinute), used: newAddressesOn(account.standing, at) };
    },
    /** The accounts as the reducer of reports reads them. */
    reporters,
    /** Events without effect because a table was full, ever. */
    refused: () => refused,
    section: {
      firstPage,
      pages: Math.ceil(accountsMax / accountsPerPage),
      encode,
      load,
    } satisfies PageSection,
    /** Encodes the counters, which belong to no page. */
    encodeHeader: (out: Writer): void => void out.varint(nextGeneration).varint(refused),
    loadHeader,
  };
}

export type AccessReducer = ReturnType<typeof createAccessReducer>;
