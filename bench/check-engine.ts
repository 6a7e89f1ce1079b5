/** A front end over a table of random hosts, the real geo tables and one key: what a check touches. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccountsTable } from '../src/access/accounts-table.ts';
import { hashKey, makeKey } from '../src/access/key-format.ts';
import { createKeyTable } from '../src/access/key-table.ts';
import { createQuotaMemory } from '../src/access/quota.ts';
import { systemClock } from '../src/core/clock.ts';
import { seededRandom } from '../src/core/random.ts';
import { createFrontEnd, type FrontEnd } from '../src/frontend.ts';
import { openGeo } from '../src/geo/open.ts';
import { createIpIndex } from '../src/index/ip-index.ts';
import { packMeta, setMeta } from '../src/index/records.ts';
import { formatIp } from '../src/ip/address.ts';

export interface CheckEngine {
  readonly frontEnd: FrontEnd;
  readonly key: string;
  /** Addresses drawn from the table, as text. */
  readonly hits: readonly string[];
}

/** The same seed gives the same table and key in every process. */
export function createCheckEngine(entries: number): CheckEngine {
  const random = seededRandom(20_261_121);
  const word = () => Math.floor(random.next() * 2 ** 32) >>> 0;
  const index = createIpIndex({ entriesMax: entries + 16 });
  const hits: string[] = [];
  for (let i = 0; i < entries; i++) {
    const words = Uint32Array.of(word(), 0, 0, 0);
    const entry = index.insert({ family: 4, words, length: 32 });
    setMeta(index.records, entry, packMeta(i % 101, 1, 0));
    if (hits.length < 4_096 && i % Math.max(1, Math.floor(entries / 4_096)) === 0) {
      hits.push(formatIp(4, words));
    }
  }
  const keyTable = createKeyTable(1_024);
  const accounts = createAccountsTable(16);
  const key = makeKey(random).text;
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
