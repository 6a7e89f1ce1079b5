/** A front end over a table of random hosts, the real geo tables and one key: what a check touches. */

import { createAccountsTable } from '../src/access/accounts/accounts-table.ts';
import { allScopes, hashKey } from '../src/access/keys/key-format.ts';
import { createKeyTable } from '../src/access/keys/key-table.ts';
import { createSightingBoard } from '../src/access/marks.ts';
import { createLimitMemory } from '../src/access/quota/client-limits.ts';
import { createQuotaMemory } from '../src/access/quota/quota.ts';
import { createFrontEnd } from '../src/app/threads/front-end.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { systemRandom } from '../src/core/random.ts';
import { createIpIndex } from '../src/index/ip-index.ts';
import { packMeta, setListSource, setMeta } from '../src/index/records.ts';
import { createIntegrationCounters } from '../src/integrations/counters.ts';
import { createBanTable } from '../src/integrations/crowdsec/ban-table.ts';
import { createSettledMemory } from '../src/integrations/crowdsec/settled-polls.ts';
import { createContributions } from '../src/reputation/state/contributions.ts';
import { hostScore, makeCheckTable, openBenchGeo } from './check-table.ts';

/** The same seed gives the same table and key in every process. */
export function createCheckEngine(entries: number) {
  const { hosts, key, hits } = makeCheckTable(entries);
  const index = createIpIndex({ entriesMax: entries + 16 });
  for (let i = 0; i < entries; i++) {
    const words = Uint32Array.of(hosts[i]!, 0, 0, 0);
    const entry = index.insert({ family: 4, words, length: 32 });
    setMeta(index.records, entry, packMeta(hostScore(i), 1, 0, 1));
    setListSource(index.records, entry, 1);
  }
  index.listTimes[1] = Math.floor(Date.now() / 1_000);
  const keyTable = createKeyTable(1_024);
  const accounts = createAccountsTable(16);
  keyTable.add(hashKey(key), 1, allScopes);
  accounts.set(1, { readPerMinute: 2 ** 25 - 1, writePerMinute: 1, trust: 0, disabled: false });
  const frontEnd = createFrontEnd({
    log: createLog('silent'),
    memory: {
      heartbeat: new SharedArrayBuffer(8),
      time: undefined,
      reports: { allowDocumentation: false, serverAddresses: [] },
      limits: createLimitMemory(8, systemRandom()),
      geo: openBenchGeo(),
      bans: createBanTable(2).buffer,
      marks: { key: new Uint8Array(32), board: createSightingBoard().buffer },
      refusals: createSightingBoard().buffer,
      keys: keyTable.handle,
      accounts: accounts.handle,
      quotas: createQuotaMemory(16),
      contributions: createContributions(entries + 16, 1).handle,
      integrations: {
        counters: createIntegrationCounters(1).buffer,
        threads: 1,
        settled: createSettledMemory(),
        passKey: new Uint8Array(32),
        hasProxies: true,
        siteName: undefined,
        accent: undefined,
        captchaFrom: 0,
        baseUrl: 'http://localhost',
      },
    },
    index,
    clock: systemClock(),
  });
  return { frontEnd, key, hits };
}
