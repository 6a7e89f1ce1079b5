/** What a program writes beside an older one: what all read, and nothing that only it reads. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '../../src/core/log.ts';
import { eventVersions } from '../../src/storage/journal/define-event.ts';
import { scratchKey, text } from '../../src/storage/keys.ts';
import { openAgreement } from '../../src/storage/nodes/agreement.ts';
import type { PostgresStore } from '../../src/storage/postgres/store.ts';
import type { Commit, NewEvent } from '../../src/storage/store.ts';

/** A store whose nodes agreed on a version, and what was committed to it. */
async function guardedStore(agreed: number) {
  const commits: Commit[] = [];
  const rows = [{ name: 'write_version', value: Buffer.from(`${agreed}`) }];
  const store = {
    claimName: async () => {},
    session: async () => ({ query: async () => rows }),
    async commit(commit: Commit) {
      commits.push(commit);
      return { ok: true, seq: 1n, duplicate: false, versions: [] };
    },
  } as unknown as PostgresStore;
  const agreement = await openAgreement(store, createLog('silent'));
  return { commits, guarded: agreement.guard(store) };
}

eventVersions.read = 2;
const body = new Uint8Array();
const known: NewEvent = { id: 'a', kind: 'allow.added', version: 1, body };
const newer: NewEvent = { id: 'b', kind: 'entry.set', version: 1, body, since: 2 };
const optional: NewEvent = {
  id: 'c',
  kind: 'site.signed_in',
  version: 1,
  body,
  since: 2,
  optional: true,
};
const set = [{ key: scratchKey(text('row')), value: body }];

it('an event that older nodes can not read is refused with all of its commit', async () => {
  const { commits, guarded } = await guardedStore(1);
  const done = await guarded.commit({ set, events: [known, newer] });
  assert.equal(!done.ok && done.error, 'store_unavailable');
  assert.deepEqual(commits, []);
});

it('an optional one is left out, and the rest is written', async () => {
  const { commits, guarded } = await guardedStore(1);
  assert.ok((await guarded.commit({ set, events: [known, optional] })).ok);
  assert.ok((await guarded.commit({ set, events: [optional] })).ok);
  assert.deepEqual(commits, [
    { set, events: [known] },
    { set, events: [] },
  ]);
});

it('once all read it, each is written', async () => {
  const { commits, guarded } = await guardedStore(2);
  assert.ok((await guarded.commit({ set, events: [newer, optional] })).ok);
  assert.deepEqual(commits, [{ set, events: [newer, optional] }]);
});
