/**
 * What the journal says of accounts and API keys, and the shared tables that follow from it.
 *
 * An account gets the next slot when it is created and keeps it: quotas, trust and what it
 * contributed are stored by slot. State depends on the journal alone. Keys of an account stand
 * with the account; a revoked key is forgotten, its record stays in the store for its owner.
 */

import { createReader, createWriter, type Reader } from '../store/codec.ts';
import type { PageSection } from '../store/projection.ts';
import type { AccountState } from './accounts-table.ts';
import { type AccessEvent, keepQuota } from './events.ts';
import {
  countNewAddress,
  earnAccepted,
  earnCorroborated,
  hasWithdrawn,
  newAddressesOn,
  newStanding,
  penalise,
  pointRules,
  rememberWithdrawn,
  type Standing,
  type Withdrawn,
} from './points.ts';
import { newAddressQuota, readQuota, trustFromPoints, writeQuota } from './trust.ts';

export interface Account {
  readonly id: string;
  readonly slot: number;
  /** When it was made, ms since 1970. */
  readonly createdAt: number;
  readonly verified: boolean;
  disabled: boolean;
  /** Set by hand; 0: earned by trust. */
  readPerMinute: number;
  writePerMinute: number;
  /** Key id to the SHA-256 of the key's text. */
  readonly keys: Map<string, Uint8Array>;
  readonly standing: Standing;
}

/** The shared tables, as far as the fold writes them. */
export interface AccessTables {
  /** @returns false when the table is full */
  addKey(hash: Uint8Array, slot: number): boolean;
  revokeKey(hash: Uint8Array): void;
  setAccount(slot: number, state: AccountState): void;
}

export interface AccessFold {
  /** `at`: the event's own time, ms. */
  apply(event: AccessEvent, at: number): void;
  /** Undefined if the journal doesn't know it. */
  account(id: string): Account | undefined;
  /** Slots in use are below this. */
  count(): number;
  /** Its slot and its trust, 0 to 100; undefined if the journal doesn't know it. */
  standingOf(id: string): { slot: number; trust: number } | undefined;
  /** Id of the account in a slot; undefined for a slot not in use. */
  idOf(slot: number): string | undefined;
  /** What an account may bring of new addresses on the UTC day of `at`, and has brought. */
  newAddresses(slot: number, at: number): { limit: number; used: number };
  /** The accounts as the fold of reports sees them. */
  readonly reporters: ReportersView;
  /** Events refused because a table was full, since the start. */
  refused(): number;
  readonly section: PageSection;
}

export interface ReportersView {
  slotOf(account: string): number;
  weight(slot: number): number;
  mayCorroborate(slot: number, at: number): boolean;
  earnAccepted(slot: number, at: number): void;
  earnCorroborated(slot: number, at: number): boolean;
  countNewAddress(slot: number, at: number): void;
  penalise(slot: number): void;
  rememberWithdrawn(slot: number, mark: number, at: number): void;
  hasWithdrawn(slot: number, mark: () => number, at: number): boolean;
}

const accountsPerPage = 64;

/** In an account's row. */
const flagBits = { disabled: 1, verified: 2, withdrawn: 4, newAddresses: 8 } as const;

function readWithdrawn(input: Reader): Withdrawn[] {
  const count = input.varint();
  if (count > pointRules.withdrawnMax) input.reject();
  const withdrawn: Withdrawn[] = [];
  for (let i = 0; i < count && !input.failed(); i++) {
    withdrawn.push({ mark: input.varint(), at: input.u32() });
  }
  return withdrawn;
}

export function createAccessFold(options: {
  tables: AccessTables;
  accountsMax: number;
  firstPage: number;
  touchPage: (page: number) => void;
}): AccessFold {
  const { tables, accountsMax, firstPage, touchPage } = options;
  const bySlot: Account[] = [];
  const byId = new Map<string, Account>();
  let refused = 0;

  const pageOf = (slot: number) => firstPage + Math.floor(slot / accountsPerPage);

  function publish(account: Account): void {
    const trust = trustFromPoints(account.standing.points);
    tables.setAccount(account.slot, {
      readPerMinute: account.readPerMinute || readQuota(trust),
      writePerMinute: account.writePerMinute || writeQuota(trust),
      trust,
      disabled: account.disabled,
    });
  }

  function put(account: Account): void {
    bySlot[account.slot] = account;
    byId.set(account.id, account);
    publish(account);
    for (const hash of account.keys.values()) {
      if (!tables.addKey(hash, account.slot)) refused++;
    }
  }

  function create(id: string, verified: boolean, at: number): void {
    if (byId.has(id)) return;
    const slot = bySlot.length;
    if (slot >= accountsMax) {
      refused++;
      return;
    }
    touchPage(pageOf(slot));
    put({
      id,
      slot,
      createdAt: at,
      verified,
      disabled: false,
      readPerMinute: 0,
      writePerMinute: 0,
      keys: new Map(),
      standing: newStanding(),
    });
  }

  function apply(event: AccessEvent, at: number): void {
    if (event.kind === 'account.created') {
      create(event.account, event.verified, at);
      return;
    }
    const account = byId.get(event.account);
    if (account === undefined) return;
    touchPage(pageOf(account.slot));
    switch (event.kind) {
      case 'account.disabled':
        account.disabled = event.disabled;
        publish(account);
        return;
      case 'account.quotas':
        if (event.readPerMinute !== keepQuota) account.readPerMinute = event.readPerMinute;
        if (event.writePerMinute !== keepQuota) account.writePerMinute = event.writePerMinute;
        publish(account);
        return;
      case 'key.created':
        if (account.keys.has(event.key)) return;
        account.keys.set(event.key, Uint8Array.from(event.hash));
        if (!tables.addKey(event.hash, account.slot)) refused++;
        return;
      case 'key.revoked': {
        const hash = account.keys.get(event.key);
        if (hash !== undefined) tables.revokeKey(hash);
        account.keys.delete(event.key);
        return;
      }
      default:
        event satisfies never;
    }
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
    weight: (slot) => 0.5 + (1.5 * trustFromPoints(bySlot[slot]!.standing.points)) / 100,
    mayCorroborate(slot, at) {
      const { verified, createdAt } = bySlot[slot]!;
      return verified && at - createdAt >= pointRules.corroboratorAgeMs;
    },
    earnAccepted: (slot, at) => void change(slot, (s) => earnAccepted(s, at)),
    earnCorroborated: (slot, at) => change(slot, (s) => earnCorroborated(s, at)),
    countNewAddress(slot, at) {
      touchPage(pageOf(slot));
      countNewAddress(bySlot[slot]!.standing, at);
    },
    penalise: (slot) => void change(slot, penalise),
    rememberWithdrawn: (slot, mark, at) => void change(slot, (s) => rememberWithdrawn(s, mark, at)),
    hasWithdrawn(slot, mark, at) {
      const { standing } = bySlot[slot]!;
      return standing.withdrawn.length > 0 && hasWithdrawn(standing, mark(), at);
    },
  };

  function encode(page: number): Uint8Array {
    const first = (page - firstPage) * accountsPerPage;
    const out = createWriter();
    for (const account of bySlot.slice(first, first + accountsPerPage)) {
      const { standing } = account;
      out.u32(account.slot).text(account.id).f64(account.createdAt);
      const { withdrawn } = standing;
      out.u8(
        (account.disabled ? flagBits.disabled : 0) |
          (account.verified ? flagBits.verified : 0) |
          (withdrawn.length > 0 ? flagBits.withdrawn : 0) |
          (standing.newAddressesToday > 0 ? flagBits.newAddresses : 0),
      );
      out.varint(standing.points).varint(standing.acceptedTotal).varint(standing.day);
      out.varint(standing.acceptedToday).varint(standing.corroboratedToday);
      out.u32(account.readPerMinute).u32(account.writePerMinute).varint(account.keys.size);
      for (const [id, hash] of account.keys) out.text(id).bytes(hash);
      if (withdrawn.length > 0) out.varint(withdrawn.length);
      for (const { mark, at } of withdrawn) out.varint(mark).u32(at);
      if (standing.newAddressesToday > 0) out.varint(standing.newAddressesToday);
    }
    return out.finish();
  }

  function load(page: number, bytes: Uint8Array): boolean {
    const input = createReader(bytes);
    while (input.remaining() > 0) {
      const slot = input.u32();
      const id = input.text();
      const createdAt = input.f64();
      const flags = input.u8();
      const standing: Standing = {
        points: input.varint(),
        acceptedTotal: input.varint(),
        day: input.varint(),
        acceptedToday: input.varint(),
        corroboratedToday: input.varint(),
        newAddressesToday: 0,
        withdrawn: [],
      };
      const readPerMinute = input.u32();
      const writePerMinute = input.u32();
      const keys = new Map<string, Uint8Array>();
      const count = input.varint();
      for (let i = 0; i < count && !input.failed(); i++) {
        keys.set(input.text(), Uint8Array.from(input.bytes()));
      }
      if ((flags & flagBits.withdrawn) !== 0) standing.withdrawn = readWithdrawn(input);
      if ((flags & flagBits.newAddresses) !== 0) standing.newAddressesToday = input.varint();
      if (input.failed() || slot >= accountsMax || pageOf(slot) !== page) return false;
      const disabled = (flags & flagBits.disabled) !== 0;
      const verified = (flags & flagBits.verified) !== 0;
      put({
        id,
        slot,
        createdAt,
        verified,
        disabled,
        readPerMinute,
        writePerMinute,
        keys,
        standing,
      });
    }
    return !input.failed();
  }

  return {
    apply,
    account: (id) => byId.get(id),
    count: () => bySlot.length,
    standingOf(id) {
      const account = byId.get(id);
      if (account === undefined) return undefined;
      return { slot: account.slot, trust: trustFromPoints(account.standing.points) };
    },
    idOf: (slot) => bySlot[slot]?.id,
    newAddresses(slot, at) {
      const { standing, writePerMinute } = bySlot[slot]!;
      const writes = writePerMinute || writeQuota(trustFromPoints(standing.points));
      return { limit: newAddressQuota(writes), used: newAddressesOn(standing, at) };
    },
    reporters,
    refused: () => refused,
    section: {
      firstPage,
      pages: Math.ceil(accountsMax / accountsPerPage),
      encode,
      load,
    },
  };
}
