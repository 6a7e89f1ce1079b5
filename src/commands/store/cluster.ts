/** `portcullis cluster status`: the nodes that share the database, and how far each one is. */

import { Command } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { type ClusterStatus, openStoreOf } from '../../store/open.ts';
import { columns, createOutput, dateText, grouped } from '../shell/output.ts';
import { checkMasterKey, openingOf } from '../shell/workspace.ts';

export function clusterCommands(): Command {
  const cluster = new Command('cluster').description('the servers that share one database');
  cluster
    .command('status')
    .description(
      'nodes, how far each has followed the journal, whether their memories agree, and who does the upkeep',
    )
    .option('--json', 'print the result as JSON')
    .action(showStatus);
  return cluster;
}

async function readStatus(): Promise<ClusterStatus> {
  const { config, opening } = openingOf();
  const masterKey = checkMasterKey(config, opening.random);
  const { store, cluster } = await openStoreOf(config, { ...opening, masterKey });
  try {
    if (cluster === undefined) {
      throw new OperatorError('DATABASE_URL is not set: this server is alone on its store');
    }
    return await cluster.status();
  } finally {
    await store.close();
  }
}

async function showStatus(flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const { epoch, lastSeq, prunedThrough, nodes } = await readStatus();
  const shown = nodes.map(({ startedAt, seenMsAgo, appliedSeq, checkpointSeq, ...node }) => ({
    ...node,
    startedAt: dateText(startedAt),
    seenSecondsAgo: Math.round(seenMsAgo / 1_000),
    appliedSeq: Number(appliedSeq),
    checkpointSeq: Number(checkpointSeq),
    behind: Math.max(0, Number(lastSeq - appliedSeq)),
  }));
  const events = `${grouped(Number(lastSeq))} events, removed up to ${grouped(Number(prunedThrough))}`;
  output.line(`journal ${epoch}: ${events}`);
  const heads = ['node', 'name', 'version', 'state', 'heard of', 'behind', 'memory', 'upkeep'];
  const rows = shown.map((node) => [
    `${node.id}`,
    node.name,
    node.version,
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
    nodes: shown,
  });
}
