/** What tests of several nodes on one database have in common: settings, and reports that any of them takes. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Environment, TestServer } from './server.ts';

/** What each node must have beside its database; the master key is made in `directory`. */
export function sharedSettings(directory: string): Environment {
  const file = `${directory}/master.key`;
  writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  // Nobody listens there: no mail goes out.
  return { MASTER_KEY_FILE: file, SMTP_URL: 'smtp://127.0.0.1:9' };
}

/** An address for each number. */
export const addressOf = (n: number) => `9.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;

/** @param n of the address @returns the status */
export async function reportAt(node: TestServer, key: string, n: number): Promise<number> {
  return (await node.report(addressOf(n), { key })).status;
}

/** How many reports of the address the node counts. */
export async function reportsAt(node: TestServer, key: string, n: number): Promise<number> {
  const path = `/api/v2/check?ipAddress=${addressOf(n)}`;
  const answer = await node.fetch(path, { headers: { Key: key } });
  assert.equal(answer.status, 200, answer.body);
  return (answer.json() as { data: { totalReports: number } }).data.totalReports;
}
