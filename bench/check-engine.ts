/** A front end over a table of random hosts, the real geo tables and one key: what a check touches. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccountsTable } from '../src/access/accounts-table.ts';
import { hashKey } from '../src/access/key-format.ts';
import { createKeyTable } from '../src/access/key-table.ts';
import { createQuotaMemory } from '../src/access/quota.ts';
import { systemClock } from '../src/core/clock.ts';
import { createFrontEnd, type FrontEnd } from '../src/frontend.ts';
import { openGeo } from '../src/geo/open.ts';
import { createIpIndex } from '../src/index/ip-index.ts';
import { packMeta, setMeta } from '../src/index/records.ts';
import { hostScore, makeCheckTable } from './check-table.ts';

export interface CheckEngine {
  readonly frontEnd: FrontEnd;
  readonly key: string;
  /** Addresses drawn from the table, as text. */
  readonly hits: readonly string[];
}

/** The same seed gives the same table and key in every process. */
export function createCheckEngine(entries: number): CheckEngine {
  const { hosts, key, hits } = makeCheckTable(entries);
  const index = createIpIndex({ entriesMax: entries + 16 });
  for (let i = 0; i < entries; i++) {
    const words = Uint32Array.of(hosts[i]!, 0, 0, 0);
    const entry = index.insert({ family: 4, words, length: 32 });
    setMeta(index.records, entry, packMeta(hostScore(i), 1, 0));
  }
  const keyTable = createKeyTable(1_024);
  const accounts = createAccountsTable(16);
  keyTable.add(hashKey(key), 1);
  accounts.set(1, {
    readPerMinute: 2 ** 25 - 1,
    writePerMinute: 1,
    trust: 0,
    disabled: false,
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
  const silent = { info: () => {}, warn: () => {} };
  const geo = openGeo({ dataDir, log: silent as never });
  rmSync(dataDir, { recursive: true });
  const frontEnd = createFrontEnd({
    memory: {
      geo: geo.shared,
      keys: keyTable.handle,
      accounts: accounts.handle,
      quotas: createQuotaMemory(16),
    },
    lookup: index,
    records: index.records,
    clock: systemClock(),
  });
  return { frontEnd, key, hits };
}
