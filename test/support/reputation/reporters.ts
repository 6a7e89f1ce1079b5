/** Accounts with keys that may report without end, and one report over HTTP. */

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { type Agent, request as httpRequest } from 'node:http';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { createApiKeys } from '../../../src/access/keys/api-keys.ts';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { seededRandom } from '../seeded.ts';
import { openStoreBeside } from '../server/shared-store.ts';

export interface Reporter {
  /** Account id. */
  readonly account: string;
  /** Text of its API key. */
  readonly key: string;
}

/** As many as the operator lets anybody have. */
const perMinute = 33_000_000;

/** Makes them in a data directory as the operator's commands do, with quotas set by hand. */
export async function makeReporters(dataDir: string, count: number): Promise<Reporter[]> {
  const clock = systemClock();
  const random = seededRandom(count);
  mkdirSync(dataDir, { recursive: true });
  const store = openStoreBeside(dataDir, clock);
  try {
    const masterKey = loadMasterKey({ dataDir, strict: true, random });
    const accounts = createAccounts({ store, clock, random });
    const apiKeys = createApiKeys({ store, clock, random, masterKey, accounts });
    const made: Reporter[] = [];
    for (let i = 0; i < count; i++) {
      const email = `reporter${i}@example.org`;
      const account = await accounts.create(email);
      const quotas = { readPerMinute: perMinute, writePerMinute: perMinute };
      assert.ok((await accounts.setQuotas(email, quotas)).ok);
      const key = await apiKeys.create(email);
      assert.ok(account.ok && key.ok);
      made.push({ account: account.value.id, key: key.value.text });
    }
    return made;
  } finally {
    await store.close();
  }
}

/** Reports with the fields of a form. Resolves when all of the answer is there. */
export function sendReport(
  port: number,
  agent: Agent,
  key: string,
  fields: URLSearchParams,
): Promise<{ status: number; body: string }> {
  const headers = { Key: key, 'Content-Type': 'application/x-www-form-urlencoded' };
  const options = { host: '127.0.0.1', port, path: '/api/v2/report', method: 'POST' };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...options, headers, agent }, (response) => {
      let body = '';
      response.on('error', reject);
      response.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode!, body }));
    });
    request.on('error', reject);
    request.end(fields.toString());
  });
}
