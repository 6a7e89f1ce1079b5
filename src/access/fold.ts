/**
 * What the journal says of accounts and API keys, and the shared tables that follow from it.
 *
 * An account gets the next slot when it is created and keeps it: quotas, trust and what it
 * contributed are stored by slot. State depends on the journal alone. Keys of an account stand
 * with the account; a revoked key is forgotten, its record stays in the store for its owner.
 */

import { createReader, createWriter } from '../store/codec.ts';
import type { PageSection } from '../store/projection.ts';
import type { AccountState } from './accounts-table.ts';
import { type AccessEvent, keepQuota } from './events.ts';
import { readQuota, writeQuota } from './trust.ts';

export interface Account {
  readonly id: string;
  readonly slot: number;
  disabled: boolean;
  /** Set by hand; 0: earned by trust. */
  readPerMinute: number;
  writePerMinute: number;
  /** Key id to the SHA-256 of the key's text. */
  readonly keys: Map<string, Uint8Array>;
}

/** The shared tables, as far as the fold writes them. */
export interface AccessTables {
  /** @returns false when the table is full */
  addKey(hash: Uint8Array, slot: number): boolean;
  revokeKey(hash: Uint8Array): void;
  setAccount(slot: number, state: AccountState): void;
}

export interface AccessFold {
  apply(event: AccessEvent): void;
  /** Undefined if the journal doesn't know it. */
  account(id: string): Account | undefined;
  /** Events refused because a table was full, since the start. */
  refused(): number;
  readonly section: PageSection;
}

const accountsPerPage = 64;

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
    // Trust starts at 0; what it earns comes with reports.
    tables.setAccount(account.slot, {
      readPerMinute: account.readPerMinute || readQuota(0),
      writePerMinute: account.writePerMinute || writeQuota(0),
      trust: 0,
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

  function create(id: string): void {
    if (byId.has(id)) return;
    const slot = bySlot.length;
    if (slot >= accountsMax) {
      refused++;
      return;
    }
    touchPage(pageOf(slot));
    put({ id, slot, disabled: false, readPerMinute: 0, writePerMinute: 0, keys: new Map() });
  }

  function apply(event: AccessEvent): void {
    if (event.kind === 'account.created') {
      create(event.account);
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

  function encode(page: number): Uint8Array {
    const first = (page - firstPage) * accountsPerPage;
    const out = createWriter();
    for (const account of bySlot.slice(first, first + accountsPerPage)) {
      out
        .u32(account.slot)
        .text(account.id)
        .u8(account.disabled ? 1 : 0);
      out.u32(account.readPerMinute).u32(account.writePerMinute).varint(account.keys.size);
      for (const [id, hash] of account.keys) out.text(id).bytes(hash);
    }
    return out.finish();
  }

  function load(page: number, bytes: Uint8Array): boolean {
    const input = createReader(bytes);
    while (input.remaining() > 0) {
      const slot = input.u32();
      const id = input.text();
      const disabled = input.u8() === 1;
      const readPerMinute = input.u32();
      const writePerMinute = input.u32();
      const keys = new Map<string, Uint8Array>();
      const count = input.varint();
      for (let i = 0; i < count && !input.failed(); i++) {
        keys.set(input.text(), Uint8Array.from(input.bytes()));
      }
      if (input.failed() || slot >= accountsMax || pageOf(slot) !== page) return false;
      put({ id, slot, disabled, readPerMinute, writePerMinute, keys });
    }
    return !input.failed();
  }

  return {
    apply,
    account: (id) => byId.get(id),
    refused: () => refused,
    section: {
      firstPage,
      pages: Math.ceil(accountsMax / accountsPerPage),
      encode,
      load,
    },
  };
}
