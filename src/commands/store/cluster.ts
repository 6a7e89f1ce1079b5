/**
 * `portcullis cluster status`: the nodes that share the database, and how far each one is. `upgrade`: what
 * all of them may write, once all are of a newer version.
 */

import { Command } from 'commander';
import { deriveKey } from '../../access/keys/master-key.ts';
import { OperatorError } from '../../core/errors.ts';
import { type Cluster, openStoreOf } from '../../store/open.ts';
import { internalKeyPurpose } from '../../store/relay/signed.ts';
import { columns, createOutput, dateText, grouped } from '../shell/output.ts';
import { checkMasterKey, openingOf, settings } from '../shell/workspace.ts';

export function clusterCommands(): Command {
  const cluster = new Command('cluster').description('the servers that share one database');
  cluster
    .command('status')
    .description(
      'nodes, how far each has followed the journal, whether their memories agree, and who does the upkeep',
    )
    .option('--json', 'print the result as JSON')
    .action(showStatus);
  cluster
    .command('upgrade')
    .description(
      'after an update of all nodes: lets them write what older versions of Portcullis do not read',
    )
    .option('--json', 'print the result as JSON')
    .action(upgrade);
  return cluster;
}

async function upgrade(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const { from, to } = await withCluster((cluster) => cluster.upgrade());
  output.line(
    from === to
      ? `all nodes write events up to version ${to} already`
      : `all nodes write events up to version ${to} from now on, instead of ${from}`,
  );
  output.result({ from, to });
}

/** Before a store is made, also to note the command in: its DATA_DIR would be no node's from then on. */
export function requireDatabase(): void {
  if (settings().databaseUrl === undefined) {
    throw new OperatorError('DATABASE_URL is not set: this server is alone on its store');
  }
}

async function withCluster<T>(ask: (cluster: Cluster) => Promise<T>): Promise<T> {
  requireDatabase();
  const { config, opening } = openingOf();
  const masterKey = checkMasterKey(config, opening.random);
  const { store, cluster } = await openStoreOf(config, {
    ...opening,
    masterKey,
    internalKey: deriveKey(masterKey, internalKeyPurpose),
  });
  try {
    return await ask(cluster!);
  } finally {
    await store.close();
  }
}

async function showStatus(flags: { json?: boolean }): Promise<void> {
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
  const events = `${grouped(Number(lastSeq))} events up to version ${eventVersion}, removed up to ${grouped(Number(prunedThrough))}`;
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
    node.hasUpkeep ? 'yes' : '',
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
