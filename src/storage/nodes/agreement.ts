/**
 * Keeps what nodes of two programs agree on: the event version up to which all write, as a row of
 * `meta`, and the oldest format of tables by which a program may go on. Both only ever rise: the
 * one by `portcullis cluster upgrade`, the other by a step of schema.ts that an older program can't
 * work with.
 *
 * Invariants: a node publishes the version that it reads before it reads the one that is agreed,
 * and an upgrade holds the table of the nodes meanwhile, so no node is overlooked. A program that
 * is older than what was agreed writes nothing, from when it knows until it ends.
 */

import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { eventVersions } from '../journal/define-event.ts';
import type { PostgresSession } from '../postgres/connection.ts';
import { knownFormat, nowMs } from '../postgres/schema.ts';
import type { PostgresStore } from '../postgres/store.ts';
import type { CommitResult, NewEvent } from '../store.ts';
import { answersMs } from './messages.ts';

const agreedName = 'write_version';

/** A database that has no events yet begins with the version of its first program. */
export async function openAgreement(store: PostgresStore, log: Log) {
  await store.claimName(agreedName, Buffer.from(`${eventVersions.read}`));
  let agreed = 1;
  let outdated: string | undefined;
  /** Kinds that were refused: each is in the log once. */
  const refused = new Set<string>();

  function found(reason: string): string {
    if (outdated !== undefined) return outdated;
    outdated = reason;
    log.error({ reason }, 'node: this program is too old, it writes nothing and is not ready');
    return reason;
  }

  async function poll(): Promise<void> {
    const { version, formatFrom } = await readAgreed(await store.session());
    agreed = version;
    if (version > eventVersions.read) {
      found(
        `the nodes write events of version ${version}, this program reads up to ${eventVersions.read}: start the newer version`,
      );
    }
    if (formatFrom > knownFormat) {
      found(
        `the database needs a program that knows data format ${formatFrom}, this one knows ${knownFormat}: start the newer version`,
      );
    }
  }

  /** Undefined when it may be written. */
  function refusal(events: readonly NewEvent[]): string | undefined {
    if (outdated !== undefined) return outdated;
    for (const event of events) {
      const { since: version = 1 } = event;
      if (version <= agreed) continue;
      const name = `${event.kind} ${event.version}`;
      const reason = `${event.kind} needs event version ${version}, the nodes agreed on ${agreed}: run \`portcullis cluster upgrade\` once all are updated`;
      if (!refused.has(name)) log.warn({ reason }, 'node: an event is not written yet');
      refused.add(name);
      return reason;
    }
    return undefined;
  }

  await poll();
  return {
    /** The event version up to which all nodes write, as far as this one knows. */
    version: (): number => agreed,
    /** Returns why this program is too old to continue; it stays so. */
    outdated: (): string | undefined => outdated,
    /** Asks the database again. */
    poll,
    /** An event of the journal can't be read by this program. @returns why */
    tooNew(event: Pick<NewEvent, 'kind' | 'version'>): string {
      return found(
        `the journal has an event ${event.kind} of version ${event.version}, which this program can't read: start the newer version`,
      );
    },
    /** The store as this program may write to it. */
    guard(inner: PostgresStore): PostgresStore {
      return {
        ...inner,
        async commit(commit): Promise<CommitResult> {
          const isWritten = (event: NewEvent) =>
            event.optional !== true || (event.since ?? 1) <= agreed;
          const events = commit.events?.filter(isWritten) ?? [];
          const detail = refusal(events);
          if (detail === undefined) return inner.commit({ ...commit, events });
          return { ok: false, error: 'store_unavailable', seq: 0n, detail };
        },
      };
    },
  };
}

export type Agreement = Awaited<ReturnType<typeof openAgreement>>;

const agreedRows = {
  name: 'agreed',
  text: `select name, value from meta where name in ('${agreedName}', 'format_from')`,
};

async function readAgreed(
  session: PostgresSession,
): Promise<{ readonly version: number; readonly formatFrom: number }> {
  const rows = await session.query<{ name: string; value: Buffer }>(agreedRows);
  const of = (wanted: string) =>
    Number(rows.find(({ name }) => name === wanted)?.value.toString() ?? 0);
  return { version: of(agreedName), formatFrom: of('format_from') };
}

/**
 * Raises the version up to which all nodes write to the one that this program reads.
 * @returns the version before, and the one now
 * @throws OperatorError with the names of the nodes that could not read it
 */
export async function upgradeCluster(
  store: PostgresStore,
): Promise<{ readonly from: number; readonly to: number }> {
  const session = await store.session();
  const to = eventVersions.read;
  const { version: from } = await readAgreed(session);
  if (from >= to) return { from, to: from };
  // A node that joins waits with its row, and sees the new version afterwards.
  const [, , , old] = await session.pipeline([
    { text: 'begin' },
    { text: 'lock table nodes in share row exclusive mode' },
    {
      text: `update meta set value = $1 where name = '${agreedName}'
             and convert_from(value, 'utf8')::int < $2::int and not exists (${tooOldNodes('$2')})`,
      values: [Buffer.from(`${to}`), to],
    },
    { text: `${tooOldNodes('$1')} order by id`, values: [to] },
    { text: 'commit' },
  ]);
  const names = (old!.rows as { id: number; name: string; version: string; read: number }[]).map(
    ({ id, name, version, read }) => `node ${id} (${name}, ${version}: up to ${read})`,
  );
  if (names.length === 0) return { from, to };
  throw new OperatorError(
    `events of version ${to} could not be read by ${names.join(', ')}: update these nodes, or stop them, first`,
  );
}

/** Nodes that may still answer requests. */
const tooOldNodes = (version: string) =>
  `select id, name, version, read_version as read from nodes
   where not is_stopped and seen_at > ${nowMs} - ${answersMs} and read_version < ${version}::int`;
