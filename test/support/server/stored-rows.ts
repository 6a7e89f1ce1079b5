/** What a running server has stored, looked at beside it: bytes of the files, rows of each namespace. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { namespaces, storedKey } from '../../../src/storage/keys.ts';
import type { TestServer } from './server.ts';
import { isShared, openStoreBeside } from './shared-store.ts';

/** What the server writes by itself. */
const ownNamespaces: readonly string[] = [
  'checkpoint',
  'projectionPage',
  'feedHead',
  'feedStep',
  'feedBase',
  'list',
  'counters',
] satisfies (keyof typeof namespaces)[];

export interface Stored {
  readonly bytes: number;
  /** By the names of `namespaces`. */
  readonly rows: Readonly<Record<string, number>>;
}

export async function stored({ dataDir }: Pick<TestServer, 'dataDir'>): Promise<Stored> {
  const folder = join(dataDir, 'store');
  // Of a shared store nobody knows the files.
  const files = isShared ? [] : readdirSync(folder);
  const bytes = files.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  const store = openStoreBeside(dataDir);
  const rows: Record<string, number> = {};
  for (const [name, byte] of Object.entries(namespaces)) {
    if (ownNamespaces.includes(name)) continue;
    const prefix = storedKey(Uint8Array.of(byte));
    for (let last: typeof prefix | undefined; ; ) {
      const page = await store.scan(prefix, {
        limit: 1_000,
        ...(last === undefined ? {} : { after: last }),
      });
      rows[name] = (rows[name] ?? 0) + page.length;
      last = page.at(-1)?.key;
      if (last === undefined) break;
    }
  }
  await store.close();
  return { bytes, rows };
}
