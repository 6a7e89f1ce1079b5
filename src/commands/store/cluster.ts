/**
 * `portcullis cluster status`: the nodes that share the database, and how far each one is. `upgrade`: what
 * all of them may write, once all are of a newer version.
 */

import { dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import { columns, counted, grouped } from '../../core/text-table.ts';
import { type Audit, createAudit } from '../../operations/audit.ts';
import { operatorName } from '../../operations/client.ts';
import { checkMasterKey, openingOf, readSettings } from '../../operations/workspace.ts';
import { type Cluster, openStoreOf } from '../../storage/open.ts';
import { createOutput } from '../shell/output.ts';

export async function upgrade(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const { from, to } = await withCluster(async (cluster, audit) => {
    const command = { name: 'cluster upgrade' };
    const begun = await audit.begin(command, {}, operatorName());
    try {
      const done = await cluster.upgrade();
      await audit.end(begun, command, {}, true);
      return done;
    } catch (error) {
      await audit.end(begun, command, {}, false).catch(() => undefined);
      throw error;
    }
  });
  output.line(
    from === to
      ? `all nodes write events up to version ${to} already`
      : `all nodes write events up to version ${to} from now on, instead of ${from}`,
  );
  output.result({ from, to });
}

/** Before a store is made: its DATA_DIR would be no node's from then on. */
function requireDatabase(): void {
  if (readSettings().databaseUrl === undefined) {
    throw new OperatorError('DATABASE_URL is not set: this server is alone on its store');
  }
}

async function withCluster<T>(ask: (cluster: Cluster, audit: Audit) => Promise<T>): Promise<T> {
  requireDatabase();
  const { config, opening } = openingOf();
  const masterKey = checkMasterKey(config, opening.random);
  const { store, cluster } = await openStoreOf(config, {
    ...opening,
    masterKey,
    hasOwnPart: false,
  });
  try {
    return await ask(cluster!, createAudit({ ...opening, store }));
  } finally {
    await store.close();
  }
}

export async function showStatus(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const { epoch, lastSeq, prunedThrough, eventVersion, nodes } = await withCluster((cluster) =>
    cluster.status(),
  );
  const shown = nodes.map(({ startedAt, seenMsAgo, appliedSeq, checkpointSeq, ...node }) => ({
    ...node,
    startedAt: dateText(startedAt),
    seenSecondsAgo: Math.round(seenMsAgo / 1_000),
    appliedSeq: Number(appliedSeq),
    checkpointSeq: Number(checkpointSeq),
    behind: Math.max(0, Number(lastSeq - appliedSeq)),
  }));
  const events = `${counted(Number(lastSeq), 'event')} up to version ${eventVersion}, removed up to ${grouped(Number(prunedThrough))}`;
  output.line(`journal ${epoch}: ${events}`);
  const heads = [
    'node',
    'name',
    'version',
    'reads',
    'state',
    'heard of',
    'behind',
    'memory',
    'upkeep',
  ];
  const rows = shown.map((node) => [
    `${node.id}`,
    node.name,
    node.version,
    `${node.readVersion}`,
    node.state,
    `${node.seenSecondsAgo} s ago`,
    grouped(node.behind),
    node.memory,
    node.doesMaintenance ? 'yes' : '',
  ]);
  if (nodes.length === 0) output.line('no node has joined yet');
  else for (const line of columns([heads, ...rows])) output.line(line.trimEnd());
  output.result({
    epoch,
    lastSeq: Number(lastSeq),
    prunedThrough: Number(prunedThrough),
    eventVersion,
    nodes: shown,
  });
}
