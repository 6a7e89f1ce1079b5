/**
 * The database of DATABASE_URL: whether it is reached, as what, and how safe what it acknowledges is. Changes
 * nothing.
 */

import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';
import { counted, grouped } from '../../core/text-table.ts';
import { hostsText, hostUrls } from '../../storage/postgres/connection.ts';
import { advice, type Finding, fault, fine } from './finding.ts';

const waitMs = 5_000;
const versionMin = 15;
const skewMsMax = 30_000;
const lagBytesMax = 16 * 1024 * 1024;
const lagEventsMax = 1_000;

interface DatabaseFacts {
  readonly standby: boolean;
  readonly version: number;
  readonly version_text: string;
  readonly at: string;
  readonly user_name: string;
  readonly may_create: boolean;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly wanted: string;
}

interface Follower {
  readonly name: string;
  readonly sync_state: string;
  readonly lag: string | null;
}

const factsText = `
  select pg_is_in_recovery() as standby,
    current_setting('server_version_num')::int / 10000 as version,
    current_setting('server_version') as version_text,
    (extract(epoch from clock_timestamp()) * 1000)::int8::text as at,
    current_user as user_name,
    coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_create,
    current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes,
    current_setting('synchronous_standby_names') as wanted`;
/** The columns are empty for a database user who may not see them. */
const followersText = `
  select coalesce(nullif(application_name, ''), host(client_addr), 'standby') as name,
    coalesce(sync_state, 'unknown') as sync_state,
    pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::text as lag
  from pg_stat_replication order by 1`;
const journalText = 'select epoch, last_seq from journal_head';
const listsText = `select exists (select from kv where key >= '\\x21' and key < '\\x22') as some`;

interface Journal {
  readonly epoch: string;
  readonly last_seq: string;
}

type Host = { readonly name: string } & (
  | { readonly refused: string }
  | {
      readonly facts: DatabaseFacts;
      readonly followers: readonly Follower[];
      readonly hasLists: boolean | undefined;
      readonly journal: Journal | undefined;
    }
);

export async function inspectDatabase(
  databaseUrl: string,
  clock: Pick<Clock, 'now'>,
  replicaUrl?: string,
): Promise<Finding[]> {
  const hosts = await Promise.all(hostUrls(databaseUrl).map(inspectHost));
  const findings: Finding[] = [];
  let primaries = 0;
  for (const host of hosts) {
    if ('refused' in host) {
      const mend = 'mend DATABASE_URL, or start the database and let this machine in';
      const finding = hosts.length === 1 ? fault : advice;
      findings.push(finding('database', `${host.name}: ${host.refused}`, mend));
      continue;
    }
    if (!host.facts.standby) primaries += 1;
    findings.push(...findingsOf(host.name, host, clock.now()));
  }
  if (primaries === 0) {
    const mend = 'start the primary, or promote a standby';
    findings.push(fault('database', 'no host of DATABASE_URL is a primary that answers', mend));
  }
  if (primaries > 1) {
    const mend = 'stop the one that was left behind before a node writes to it';
    findings.push(fault('database', `${primaries} hosts of DATABASE_URL are primaries`, mend));
  }
  if (replicaUrl !== undefined) findings.push(...(await inspectReplicas(replicaUrl, hosts)));
  return findings;
}

/** Returns what a node reads from the hosts of DATABASE_REPLICA_URL, and why it reads the primary in their place. */
async function inspectReplicas(replicaUrl: string, hosts: readonly Host[]): Promise<Finding[]> {
  const about = 'replica';
  const replicas = await Promise.all(hostUrls(replicaUrl).map(inspectHost));
  const primary = hosts.find((host) => 'facts' in host && !host.facts.standby);
  const wanted = primary !== undefined && 'journal' in primary ? primary.journal : undefined;
  return replicas.map((replica) => {
    const { name } = replica;
    if ('refused' in replica) {
      const mend = 'mend DATABASE_REPLICA_URL, or start it: until then the primary is read';
      return fault(about, `${name}: ${replica.refused}`, mend);
    }
    const { facts, journal } = replica;
    if (!facts.standby) {
      const mend =
        'let it follow the primary (pg_basebackup or pg_rewind): until then that is read';
      return fault(about, `${name} is no standby`, mend);
    }
    if (wanted === undefined) {
      return advice(
        about,
        `${name} is a standby; there is no journal of a primary to compare it with`,
        '',
      );
    }
    if (journal?.epoch !== wanted.epoch) {
      const mend = 'name a standby of the database of DATABASE_URL: until then the primary is read';
      return fault(about, `${name} is a standby of another database`, mend);
    }
    const behind = Math.max(0, Number(wanted.last_seq) - Number(journal.last_seq));
    const found = `${name} is a standby, ${counted(behind, 'event')} behind`;
    return behind <= lagEventsMax
      ? fine(about, found)
      : advice(about, found, 'look at its disk and network: the primary is read meanwhile');
  });
}

function findingsOf(
  name: string,
  { facts, followers, hasLists }: Extract<Host, { facts: DatabaseFacts }>,
  nowMs: number,
): Finding[] {
  const { standby, version, version_text: versionText, user_name: user } = facts;
  const findings: Finding[] = [];
  const about = 'database';
  const what = `${name} is PostgreSQL ${versionText}, a ${standby ? 'standby' : 'primary'}, user ${user}`;
  findings.push(
    version < versionMin
      ? fault(about, what, `update it to ${versionMin} or later`)
      : fine(about, what),
  );
  const skewMs = Math.abs(Number(facts.at) - nowMs);
  if (skewMs > skewMsMax) {
    const apart = `${name} has another time, by ${Math.round(skewMs / 1_000)} s`;
    findings.push(fault('clock', apart, 'set both clocks, by NTP'));
  }
  for (const setting of ['fsync', 'full_page_writes'] as const) {
    if (facts[setting] !== 'off') continue;
    const lost = `${name} has ${setting} = off: a crash of its machine damages or loses what was acknowledged`;
    findings.push(fault(about, lost, `set ${setting} = on`));
  }
  if (standby) return findings;
  if (!facts.may_create) {
    const mend = `grant create on the schema to ${user}, or make that role the owner`;
    findings.push(fault(about, `${name}: user ${user} may not create tables`, mend));
  }
  findings.push(...inspectFollowers(name, facts, followers));
  if (hasLists === false) findings.push(noLists);
  return findings;
}

function inspectFollowers(name: string, { wanted }: DatabaseFacts, followers: readonly Follower[]) {
  const about = 'replication';
  const findings: Finding[] = [];
  const synchronous = followers.filter(({ sync_state: state }) => /^(sync|quorum)$/.test(state));
  if (followers.length === 0 && wanted === '') {
    const alone = `nobody follows ${name}: its disk is the only one with the newest commits`;
    findings.push(advice(about, alone, 'let a standby follow it (docs/CLUSTER.md)'));
  }
  for (const { name: follower, sync_state: state, lag } of followers) {
    const bytes = lag === null ? undefined : Number(lag);
    const behind = bytes === undefined ? '' : `, ${grouped(bytes)} bytes behind`;
    const found = `${follower} follows ${name}, ${state}${behind}`;
    const isLate = bytes !== undefined && bytes > lagBytesMax;
    findings.push(
      isLate ? advice(about, found, 'look at its disk and network') : fine(about, found),
    );
  }
  // A role that may not see the states can't tell whether a standby is synchronous.
  const isSeen = followers.every(({ sync_state: state }) => state !== 'unknown');
  if (wanted !== '' && synchronous.length === 0 && isSeen) {
    const waits = `${name} waits for ${wanted} at each commit, and no such standby follows`;
    findings.push(fault(about, waits, 'start it, or take it out of synchronous_standby_names'));
  }
  return findings;
}

export const noLists = advice(
  'lists',
  'no list of others is loaded: scores come from reports alone',
  'portcullis source add, or load a file with portcullis seed (docs/OPERATIONS.md)',
);

async function inspectHost(url: string): Promise<Host> {
  const name = hostsText(url);
  // Loaded here, because the other commands start faster without it.
  const { Client } = (await import('pg')).default;
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: waitMs,
    query_timeout: waitMs,
    application_name: 'portcullis doctor',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('set default_transaction_read_only = on');
    const facts = (await client.query<DatabaseFacts>(factsText)).rows[0]!;
    const followers = facts.standby ? [] : (await client.query<Follower>(followersText)).rows;
    const hasLists = facts.standby ? undefined : await hasAnyList(client);
    const journal = await client.query<Journal>(journalText).catch(() => undefined);
    return { name, facts, followers, hasLists, journal: journal?.rows[0] };
  } catch (error) {
    return { name, refused: (error as Error).message };
  } finally {
    client.end().catch(() => {});
  }
}

/** Undefined: no node ever ran on it. */
async function hasAnyList(client: pg.Client): Promise<boolean | undefined> {
  const found = await client.query<{ some: boolean }>(listsText).catch(() => undefined);
  return found?.rows[0]?.some;
}
