/**
 * Defines which events a program can read, and from which event version of the cluster on each is
 * written. Nodes of two programs work alongside each other during an update: the version of the
 * cluster is the one that all of them read, and nobody writes an event of a higher one.
 *
 * Invariant: a number that was given stays. A new kind, or a new version of a kind, takes the next event
 * version; one event version may bring several.
 */

import type { NewEvent } from '../store.ts';

/**
 * By kind: the event version that brought version 1 of its body, then the one that brought version 2, and so
 * on. What is in no list can't be read.
 */
export const eventVersions: Record<string, readonly number[]> = {
  'account.created': [1, 1],
  'account.disabled': [1],
  'account.released': [1],
  'account.quotas': [1],
  'account.vouched': [1],
  'agent.banned': [2, 4, 5],
  'agent.unbanned': [5],
  'allow.added': [1],
  'allow.removed': [1],
  'entry.removed': [3],
  'entry.set': [3],
  'key.created': [1, 1, 1, 4],
  'key.revoked': [1],
  'list.begun': [1],
  'list.ended': [1],
  'list.expired': [1],
  'list.rows': [1, 1],
  'policy.changed': [1],
  'report.added': [1, 1, 1],
  'reports.expired': [1],
  'reports.withdrawn': [1, 1],
  'site.signed_in': [3],
};

/** The event version up to which this program reads. */
export function readVersion(): number {
  return Math.max(...Object.values(eventVersions).flat());
}

/** The event version of an event; undefined when this program can't read it. */
export function versionOf({
  kind,
  version,
}: Pick<NewEvent, 'kind' | 'version'>): number | undefined {
  return Object.hasOwn(eventVersions, kind) ? eventVersions[kind]![version - 1] : undefined;
}
