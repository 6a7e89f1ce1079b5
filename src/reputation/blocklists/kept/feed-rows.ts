/**
 * The feeds' rows in the store: head, steps and base. The base lies under its own version first and
 * counts when the head names it, so the head is written last.
 */

import type { Log } from '../../../core/log/log.ts';
import {
  feedBaseKey,
  feedBasePrefix,
  feedFollowedKey,
  feedHeadKey,
  feedStepKey,
  feedStepPrefix,
  type Key,
  readFeedVersion,
} from '../../../store/keys.ts';
import { pagesUnder } from '../../../store/pages.ts';
import type { Store } from '../../../store/store.ts';
import type { Built, Restored } from '../builder/build.ts';
import { decodeHead, encodeHead, type FeedHead, type StoredStep } from '../stored.ts';

/** Head and steps, without the list: what a node needs that makes the list itself. */
export interface KeptHistory {
  readonly head: FeedHead;
  /** Those after `head.floor`, oldest first. */
  readonly steps: readonly StoredStep[];
}

export interface FeedRows {
  /** Of the head's row; another one when anybody has written it since. Undefined: there is none. */
  rowVersion(): Promise<number | undefined>;
  /** What goes on from there, and as of which row. Undefined: nothing is stored, or not whole. */
  restore(): Promise<{ readonly row: number | undefined; readonly restored: Restored | undefined }>;
  history(): Promise<(KeptHistory & { readonly row: number }) | undefined>;
  /** @returns the head's row from now on */
  persist(built: Built): Promise<number>;
  /** For a while, somebody follows the changes on a node that does not build. */
  sayFollowed(untilMs: number): Promise<void>;
  isFollowed(): Promise<boolean>;
}

const basePartBytes = 1 << 20;

export function createFeedRows(
  store: Pick<Store, 'get' | 'scan' | 'commit'>,
  /** Refuses when the work is another node's. */
  writer: Pick<Store, 'commit'>,
  log: Log,
): FeedRows {
  let baseParts = 0;

  async function commit(change: Parameters<Store['commit']>[0], to = writer): Promise<number> {
    const result = await to.commit(change);
    if (!result.ok) throw new Error(`the feeds' state was not stored: ${result.error}`);
    return result.versions[0] ?? 0;
  }

  async function scanAll(prefix: Key): Promise<{ key: Key; value: Uint8Array }[]> {
    const rows: { key: Key; value: Uint8Array }[] = [];
    for await (const page of pagesUnder(store, prefix)) rows.push(...page);
    return rows;
  }

  async function dropOtherBases(baseVersion: number): Promise<void> {
    const keys = (await scanAll(feedBasePrefix())).map(({ key }) => key);
    const del = keys.filter((key) => readFeedVersion(key) !== baseVersion);
    if (del.length > 0) await commit({ del });
  }

  async function history(): Promise<(KeptHistory & { row: number }) | undefined> {
    const entry = await store.get(feedHeadKey());
    const head = entry && decodeHead(entry.value);
    if (head === undefined) return undefined;
    const steps: StoredStep[] = [];
    for (const { key, value } of await scanAll(feedStepPrefix())) {
      const version = readFeedVersion(key);
      if (version > head.floor) steps.push({ version, value });
    }
    return { row: entry!.version, head, steps };
  }

  return {
    history,
    async rowVersion() {
      return (await store.get(feedHeadKey()))?.version;
    },
    async restore() {
      const found = await history();
      if (found === undefined) return { row: undefined, restored: undefined };
      const { row, head, steps } = found;
      const parts = (await scanAll(feedBasePrefix())).filter(
        ({ key }) => readFeedVersion(key) === head.baseVersion,
      );
      baseParts = head.baseParts;
      if (parts.length !== head.baseParts || steps.some(({ version }) => version > head.version)) {
        log.warn('feeds: the stored history is not whole, it begins anew');
        return { row, restored: undefined };
      }
      return { row, restored: { head, steps, base: parts.map(({ value }) => value) } };
    },
    async persist({ head, step, dropped, base }) {
      if (base !== undefined) {
        baseParts = Math.ceil(base.length / basePartBytes);
        for (let part = 0; part < baseParts; part++) {
          const value = base.subarray(part * basePartBytes, (part + 1) * basePartBytes);
          await commit({ set: [{ key: feedBaseKey(head.baseVersion, part), value }] });
        }
      }
      const row = await commit({
        set: [
          { key: feedHeadKey(), value: encodeHead({ ...head, baseParts }) },
          ...(step === undefined ? [] : [{ key: feedStepKey(step.version), value: step.value }]),
        ],
        del: dropped.filter((version) => version !== step?.version).map(feedStepKey),
      });
      if (base !== undefined) await dropOtherBases(head.baseVersion);
      return row;
    },
    async sayFollowed(untilMs) {
      const value = new Uint8Array();
      await commit({ set: [{ key: feedFollowedKey(), value, expiresAt: untilMs }] }, store);
    },
    async isFollowed() {
      return (await store.get(feedFollowedKey())) !== undefined;
    },
  };
}
