/** `portcullis doctor`: what is wrong with settings, machine and surroundings, each with its mend. */

import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { dirname, join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import type pg from 'pg';
import { processEnvironment } from '../config/environment.ts';
import { readLogo } from '../config/logo.ts';
import { type Config, capacities, misspeltSettings, usableMemory } from '../config.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { dateText } from '../core/dates.ts';
import { OperatorError } from '../core/errors.ts';
import { type Random, systemRandom } from '../core/random.ts';
import { counted, grouped } from '../core/text-table.ts';
import { dayMs } from '../core/time.ts';
import { openMmdb } from '../geo/mmdb.ts';
import { dateOf, defaultSource, geoFreshMs } from '../geo/sources.ts';
import { openFilesWarning } from '../http/limits/limits.ts';
import { loadNative } from '../http/native.ts';
import { isLoopback } from '../ip/special.ts';
import { runOperation } from '../operations/client.ts';
import { readMasterKey, readSettings } from '../operations/workspace.ts';
import { checkSmtp, isOnThisMachine, tlsText } from '../signon/mail/smtp.ts';
import { isVanished, newestIn } from '../storage/backup/schedule.ts';
import { journalRowKey, listPrefix } from '../storage/keys.ts';
import { ClaimedError } from '../storage/lmdb/claim.ts';
import { openTables } from '../storage/lmdb/environment.ts';
import { reserveBytes } from '../storage/lmdb/file.ts';
import { hadStore, refuseLostStore, storePath } from '../storage/lmdb/presence.ts';
import type { Tables } from '../storage/lmdb/tables.ts';
import { openView } from '../storage/lmdb/view.ts';
import { hostsText, hostUrls } from '../storage/postgres/connection.ts';
import { decodeEvent } from '../storage/rows.ts';
import type { Output } from './shell/output.ts';
import { exposureFaults } from './shell/settings.ts';

/**
 * @param settingsFile what `--settings` names
 * @throws OperatorError when something must be mended
 */
export async function doctor(output: Output, settingsFile?: string): Promise<void> {
  const findings = await examine(settingsFile);
  for (const { about, state, found, mend } of findings) {
    output.line(`${state.padEnd(6)}  ${about}: ${found}${mend === '' ? '' : `. ${upper(mend)}`}`);
  }
  const faults = findings.filter(({ state }) => state === 'mend').length;
  output.result({ ok: faults === 0, findings });
  if (faults === 0) return;
  throw new OperatorError(`${counted(faults, 'thing')} to mend`);
}

async function examine(settingsFile: string | undefined): Promise<Finding[]> {
  try {
    const config = readSettings();
    const clock = systemClock();
    if (config.siteLogo !== undefined) readLogo(config.siteLogo);
    return [
      fine('settings', 'all can be read'),
      ...misspeltSettings(Object.keys(processEnvironment())).map((found) =>
        fault('settings', found, 'correct the name, or remove it from the environment'),
      ),
      inspectNative(config.webServerSha256),
      ...(await runCheck('open files', inspectOpenFiles)),
      ...(await runCheck('memory', inspectMemory)),
      ...(await runCheck('permissions', () => inspectPermissions(config, settingsFile))),
      ...(await runCheck('disk', () => inspectDisk(config))),
      ...(await runCheck('disk', () => inspectFileSystem('DATA_DIR', config.dataDir, config))),
      ...(await runCheck('store', () => inspectStore(config, clock, systemRandom()))),
      ...(await runCheck('backups', () => inspectBackups(config, clock.now()))),
      ...(await runCheck('exposure', () => inspectExposure(config))),
      inspectHealthPort(config),
      ...(await runCheck('address', () => inspectAnswer(config))),
      ...(await runCheck('geo', () => inspectGeo(config, clock.now()))),
      ...(await runCheck('tls', () => inspectTls(config, clock.now()))),
      ...(await runCheck('mail', () => inspectMail(config))),
    ];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const found = fault('settings', error.message, 'mend the setting, then run this again');
    return [found, inspectNative()];
  }
}

function inspectNative(trustedSha256?: string): Finding {
  try {
    loadNative(trustedSha256);
    return fine('platform', `Node ${process.version} and the web server go together`);
  } catch (error) {
    const mend = 'use Node 20.20, 22 or 24 on a platform that README.md names';
    return fault('platform', (error as Error).message, mend);
  }
}

function upper(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

// A finding is a line of `portcullis doctor`: the state of one thing, and the way to mend it.

export interface Finding {
  readonly about: string;
  /** `advice` may stay as it is; `mend` must not. */
  readonly state: 'ok' | 'advice' | 'mend';
  readonly found: string;
  /** The next step for the operator; empty when all is well. */
  readonly mend: string;
}

export const fine = (about: string, found: string): Finding => {
  return { about, state: 'ok', found, mend: '' };
};

export const advice = (about: string, found: string, mend: string): Finding => {
  return { about, state: 'advice', found, mend };
};

/** A check that throws becomes a finding too, so that the list goes on. */
async function runCheck(
  about: string,
  examine: () => Finding | Finding[] | Promise<Finding | Finding[]>,
): Promise<Finding[]> {
  try {
    return [await examine()].flat();
  } catch (error) {
    return [
      fault(about, (error as Error).message, 'let this user look at it, then run this again'),
    ];
  }
}

export const fault = (about: string, found: string, mend: string): Finding => {
  return { about, state: 'mend', found, mend };
};

/** A clock that differs more from another one is a finding. */
export const skewMsMax = 30_000;

// The machine and the data directory: files, disk, clock, store, backups, the age of the geo files. Changes
// nothing.

/** `statfs` gives these types for file systems whose files are gone when the machine stops. */
const inMemory = new Map([
  [0x0102_1994, 'tmpfs'],
  [0x8584_58f6, 'ramfs'],
]);
const overlay = 0x794c_7630;
const mebibyte = 1024 * 1024;
const freeBytesMin = 256 * mebibyte;

function inspectOpenFiles(): Finding {
  const warning = openFilesWarning();
  if (warning === undefined) return fine('open files', 'ulimit -n is high enough');
  return fault(
    'open files',
    warning,
    'raise it: LimitNOFILE=16384 in the unit, or ulimit -n 16384',
  );
}

/** README.md puts the settings of a service there. */
const settingsOfService = '/etc/portcullis/portcullis.env';

function inspectPermissions(config: Config, settingsFile?: string): Finding[] {
  const { dataDir } = config;
  const settings = [...new Set([settingsFile ?? settingsOfService, settingsOfService])];
  const open = settings.filter((path) => existsSync(path)).flatMap(settingsOpenToOthers);
  if (!existsSync(dataDir)) {
    return [
      ...open,
      advice('permissions', `${dataDir} does not exist`, 'the first start makes it'),
    ];
  }
  const secrets = [
    dataDir,
    config.masterKeyFile ?? join(dataDir, 'master.key'),
    ...(config.backupFolder === undefined ? [] : [config.backupFolder]),
    ...(config.backupPassphraseFile === undefined ? [] : [config.backupPassphraseFile]),
  ];
  const closed = secrets.filter((path) => existsSync(path)).flatMap(reachableByOthers);
  const findings = [...open, ...closed];
  const uid = process.getuid?.();
  const owner = statSync(dataDir).uid;
  if (uid !== undefined && owner !== uid && uid !== 0) {
    const mend = `run the server and its commands as that user, or chown -R ${uid} ${dataDir}`;
    findings.push(
      fault('permissions', `${dataDir} belongs to user ${owner}, this is ${uid}`, mend),
    );
  } else if (!isWritable(dataDir)) {
    findings.push(fault('permissions', `${dataDir} can't be written`, `chmod u+rwx ${dataDir}`));
  }
  return findings.length > 0 ? findings : [fine('permissions', `${dataDir} is closed to others`)];
}

function reachableByOthers(path: string): Finding[] {
  const stat = statSync(path);
  if ((stat.mode & 0o077) === 0) return [];
  const mode = stat.isDirectory() ? '700' : '600';
  const found = `${path} can be read by other users`;
  return [fault('permissions', found, `chmod ${mode} ${path}`)];
}

/** The group may be the service's, so it may read. */
function settingsOpenToOthers(path: string): Finding[] {
  const { mode } = statSync(path);
  const who = mode & 0o007 ? 'other users' : 'its group';
  const what = mode & 0o022 ? 'changed' : 'read';
  if ((mode & 0o027) === 0) return [];
  const found = `the settings ${path} can be ${what} by ${who}: passwords of mail server, database and backups may be in it`;
  return [fault('permissions', found, `chmod 600 ${path}`)];
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function inspectMemory(): Finding {
  const memory = grouped(Math.floor(usableMemory() / mebibyte));
  return fine(
    'memory',
    `${memory} MiB: room for ${grouped(capacities.entries)} addresses and networks`,
  );
}

function inspectDisk({ dataDir }: Config): Finding {
  const folder = existingParent(dataDir);
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const store = statSync(`${dataDir}/store/data.mdb`, { throwIfNoEntry: false })?.size ?? 0;
  const found = `${grouped(Math.floor(free / mebibyte))} MiB are free where ${dataDir} lies`;
  if (free < freeBytesMin) {
    return fault(
      'disk',
      found,
      `make room: with less than ${reserveBytes / mebibyte} MiB writes answer 503`,
    );
  }
  if (free < store) return advice('disk', found, 'compact needs as much room as the store has');
  return fine('disk', found);
}

function existingParent(path: string): string {
  return existsSync(path) ? path : existingParent(dirname(path));
}

/** Store and clock together: the journal's last event shows what time it was. */
async function inspectStore(config: Config, clock: Clock, random: Random): Promise<Finding[]> {
  const { dataDir, databaseUrl, databaseReplicaUrl } = config;
  if (databaseUrl !== undefined) {
    const where = fine('store', `it lies in the database (${hostsText(databaseUrl)})`);
    return [where, ...(await inspectDatabase(databaseUrl, clock, databaseReplicaUrl))];
  }
  const path = storePath(config.dataDir);
  const restore = 'see "A lost file" in docs/OPERATIONS.md';
  if (!hadStore(dataDir, path)) {
    return [advice('store', `there is none in ${dataDir}`, 'the first start makes it')];
  }
  try {
    refuseLostStore(dataDir, path);
    const { id } = readMasterKey(config, random, true);
    const state = await stateOfStore(path, id);
    if (state === undefined) {
      const other = 'the master key is another one than the store is sealed with';
      return [fault('store', other, restore)];
    }
    const { lastSeq, lastAt, opened, hasLists } = state;
    const found = `${opened}, its journal ends at ${lastSeq}`;
    const findings = [fine('store', found), inspectClock(clock.now(), lastAt)];
    return hasLists ? findings : [...findings, noLists];
  } catch (error) {
    return [fault('store', (error as Error).message, restore)];
  }
}

/**
 * Opens the store, or asks whoever has it open.
 * @returns undefined when it is sealed with another key
 */
async function stateOfStore(path: string, masterKeyId: Uint8Array) {
  let tables: Tables;
  try {
    tables = openTables(path);
  } catch (error) {
    if (!(error instanceof ClaimedError)) throw error;
    const state = await runOperation('store state', {});
    return { ...state, opened: 'the running server has it' };
  }
  const view = openView(tables);
  try {
    const sealed = view.meta('master_key');
    if (sealed !== undefined && !sealed.equals(masterKeyId)) return undefined;
    const { lastSeq } = view.counters;
    const row = view.get('journal', journalRowKey(lastSeq));
    const lastAt = row === undefined ? 0 : decodeEvent(BigInt(lastSeq), row).at;
    const [list] = view.batch('entries', listPrefix(), false, 1);
    const hasLists = list?.key[0] === listPrefix()[0];
    return { lastSeq, lastAt, hasLists, opened: 'it can be opened' };
  } finally {
    view.release();
    await tables.root.close();
  }
}

function inspectClock(nowMs: number, lastAt: number): Finding {
  if (lastAt <= nowMs + skewMsMax) return fine('clock', `it is ${dateText(nowMs)}`);
  const found = `it is ${dateText(nowMs)}, and the last change was made at ${dateText(lastAt)}`;
  return fault('clock', found, 'set the clock, by NTP (systemd-timesyncd or chrony)');
}

async function inspectBackups(config: Config, nowMs: number): Promise<Finding[]> {
  const { backupFolder: folder, backupEvery, databaseUrl } = config;
  if (databaseUrl !== undefined) {
    const mend = 'back it up by its own means, and the master key beside it';
    return [advice('backups', 'those of the database are not looked at', mend)];
  }
  if (folder === undefined) {
    const mend = 'set BACKUP_FOLDER, or run portcullis backup yourself';
    return [advice('backups', 'the server makes none by itself', mend)];
  }
  const findings: Finding[] = inspectFileSystem('BACKUP_FOLDER', folder, config);
  if (await isVanished({ folder, dataDir: config.dataDir })) {
    const gone = `${folder} is not the folder that was used before: its disk is not mounted`;
    findings.push(fault('backups', gone, 'mount it'));
  }
  const newest = await newestIn(folder, nowMs);
  const found = newest === 0 ? `${folder} has none` : `the newest is of ${dateText(newest)}`;
  const isOld = nowMs - newest > 2 * backupEvery;
  const mend = 'look for "backup: not made" in the log of the server, or start it';
  findings.push(isOld ? fault('backups', found, mend) : fine('backups', found));
  if (existsSync(folder) && statSync(folder).dev === statSync(existingParent(config.dataDir)).dev) {
    findings.push(advice('backups', `${folder} is on the disk of the store`, 'use another disk'));
  }
  const { backupPassphrase, backupPassphraseFile, backupRecipients } = config;
  if ((backupPassphrase ?? backupPassphraseFile ?? backupRecipients[0]) === undefined) {
    const plain = 'they are not encrypted, and without the master key';
    const seal = 'set BACKUP_RECIPIENTS, or BACKUP_PASSPHRASE_FILE';
    findings.push(advice('backups', plain, seal));
  }
  return findings;
}

/** @param what `DATA_DIR` or `BACKUP_FOLDER` */
function inspectFileSystem(what: string, path: string, config: Config): Finding[] {
  const type = statfsSync(existingParent(path)).type >>> 0;
  const memory = inMemory.get(type);
  // A node has little there: its number, and what makes its next start fast.
  const finding = config.databaseUrl === undefined ? fault : advice;
  if (memory !== undefined) {
    const found = `${what} ${path} lies in memory (${memory}): all of it is gone when the machine starts anew`;
    return [finding('disk', found, `set ${what} to a folder on a disk`)];
  }
  if (type !== overlay) return [];
  const found = `${what} ${path} lies in the layer of a container (overlay), and goes with it`;
  return [advice('disk', found, `mount a volume for ${what}`)];
}

function ageText(madeAt: number, nowMs: number): string {
  return `${dateText(madeAt)}, ${counted(Math.floor((nowMs - madeAt) / dayMs), 'day')} old`;
}

export function inspectGeo(config: Config, nowMs: number): Finding[] {
  const named = [
    ['GEO_COUNTRY_MMDB', config.geoCountryMmdb, 'country'],
    ['GEO_ASN_MMDB', config.geoAsnMmdb, 'provider'],
  ] as const;
  return named.map(([setting, path, kind]) => {
    const source = defaultSource(kind);
    if (path === undefined) {
      const what = `the package's data${source === undefined ? '' : ` of ${ageText(dateOf(source), nowMs)}`}`;
      const found = `${setting} is not set: ${what} is not updated, and known to hold errors`;
      return advice('geo', found, `set ${setting} to a MaxMind file that you fetch anew`);
    }
    try {
      const { buildEpoch } = openMmdb(readFileSync(path));
      const madeAt = buildEpoch > 0 ? buildEpoch * 1_000 : statSync(path).mtimeMs;
      const found = `${path} is of ${ageText(madeAt, nowMs)}`;
      if (nowMs - madeAt <= geoFreshMs) return fine('geo', found);
      return advice(
        'geo',
        found,
        `fetch a newer one: addresses move to other countries and networks`,
      );
    } catch (error) {
      return fault(
        'geo',
        `${setting} ${path}: ${(error as Error).message}`,
        'put a whole file there',
      );
    }
  });
}

// The database of DATABASE_URL: whether it is reached, as what, and how safe what it acknowledges is. Changes
// nothing.

const waitMs = 5_000;
const versionMin = 15;
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

// Checks what others reach: who answers in the service's name, TLS in front, mail. No mail is sent.

const healthBytesMax = 64 * 1024;
const manifestBytesMax = 8 * 1024 * 1024;
const certificateDaysMin = 14;

function inspectExposure(config: Config): Finding {
  const faults = exposureFaults(config);
  const isLocal = [config.baseUrl, config.secureUrl].every((url) =>
    isLoopback(new URL(url).hostname),
  );
  if (isLoopback(config.host) && isLocal) {
    return fine('exposure', `for this machine alone: HOST is ${config.host}`);
  }
  if (faults.length === 0) return fine('exposure', 'links are https, mails are sent');
  return fault('exposure', faults.join('; '), 'set https:// addresses and SMTP_URL');
}

/** The public port takes HTTP/1.1 alone. */
function inspectHealthPort({ adminListen }: Config): Finding {
  if (adminListen !== undefined) {
    const { host, port } = adminListen;
    return fine('health checks', `HTTP/1.0 is answered on port ${port} of ${host}, too`);
  }
  const found = 'PORT takes HTTP/1.1 alone; checks by HTTP/1.0, such as option httpchk, fail';
  return advice('health checks', found, 'let them speak HTTP/1.1, or set ADMIN_LISTEN');
}

async function inspectTls(config: Config, nowMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const url of new Set([config.baseUrl, config.secureUrl])) {
    if (url.startsWith('https:')) findings.push(...(await inspectTlsProxy(url, nowMs)));
  }
  if (findings.length === 0) {
    const found = 'BASE_URL is not https: visitors reach the server without TLS';
    return [advice('tls', found, 'put a proxy with TLS in front, and set BASE_URL to https')];
  }
  if (config.trustedProxies.length === 0) {
    const found = 'TRUSTED_PROXIES is not set: all visitors count as one client, the proxy';
    findings.push(fault('tls', found, 'set it to the address of the proxy, such as 127.0.0.1'));
  }
  return findings;
}

async function inspectTlsProxy(url: string, nowMs: number): Promise<Finding[]> {
  try {
    const days = Math.floor((Date.parse((await certificateOf(url)).valid_to) - nowMs) / dayMs);
    const found = `the certificate of ${url} is valid for ${days} more days`;
    const isShort = days < certificateDaysMin;
    const certificate = isShort ? fault('tls', found, 'renew it') : fine('tls', found);
    const answer = await ask(`${url}/healthz`, healthBytesMax);
    const skewMs = Math.abs(Date.parse(answer.date ?? '') - nowMs);
    const findings = [certificate];
    if (answer.status !== 200) {
      const status = `${url}/healthz answers ${answer.status}`;
      findings.push(fault('tls', status, 'point the proxy to HOST and PORT, and start the server'));
    }
    if (skewMs > skewMsMax) {
      const apart = `${url} has another time, by ${Math.round(skewMs / 1_000)} s`;
      findings.push(fault('clock', apart, 'set both clocks, by NTP'));
    }
    return findings;
  } catch (error) {
    const found = `${url}: ${(error as Error).message}`;
    return [fault('tls', found, 'put a TLS proxy in front, with a certificate for this name')];
  }
}

/** Rejects on one that a browser would not take. */
function certificateOf(url: string): Promise<PeerCertificate> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const options = { host, port: port === '' ? 443 : Number(port), servername: host };
    const socket = connect(options, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.setTimeout(waitMs, () => socket.destroy(new Error('no answer in 5 s')));
    socket.once('error', reject);
  });
}

async function inspectMail({ smtpUrl, mailFrom }: Config): Promise<Finding[]> {
  if (smtpUrl === undefined) {
    return [advice('mail', 'SMTP_URL is not set: mails are files in DATA_DIR/outbox', 'set it')];
  }
  const check = await checkSmtp(smtpUrl, waitMs);
  // It may have a password.
  const url = new URL(smtpUrl);
  const server = url.host;
  const findings: Finding[] = [];
  if (check.refused !== undefined) {
    const mend = 'mend SMTP_URL, or the mail server';
    findings.push(fault('mail', `${server}: ${check.refused}`, mend));
  } else if (check.isTrusted || isOnThisMachine(url)) {
    findings.push(fine('mail', `${server} takes mail ${tlsText(check)}`));
  } else {
    const found = `${server} takes mail ${tlsText(check)}: passwords and links can be read on the way`;
    findings.push(
      advice('mail', found, 'take tls=optional and tls.rejectUnauthorized out of SMTP_URL'),
    );
  }
  if (/@localhost$/i.test(mailFrom)) {
    findings.push(fault('mail', `MAIL_FROM is ${mailFrom}`, 'set it to an address of your domain'));
  }
  return findings;
}

/** Checks that this service answers at BASE_URL: another program there gets all its visitors. */
async function inspectAnswer({ baseUrl }: Config): Promise<Finding> {
  const about = 'address';
  let body: string;
  let title: unknown;
  try {
    body = (await ask(`${baseUrl}/healthz`, healthBytesMax)).body;
    title = titleOf((await ask(`${baseUrl}/openapi.json`, manifestBytesMax)).body);
  } catch (error) {
    const found = `nobody answers at ${baseUrl}: ${(error as Error).message}`;
    return advice(about, found, 'start the server, and the proxy in front of it');
  }
  if (title === 'Portcullis') return fine(about, `the service answers at ${baseUrl}`);
  const found = `another program answers at ${baseUrl}: it begins with '${start(body)}'`;
  return fault(about, found, 'stop it, or set BASE_URL to where the service is');
}

function titleOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { info?: { title?: unknown } } | null)?.info?.title;
  } catch {
    return undefined;
  }
}

function start(text: string): string {
  return text
    .slice(0, 40)
    .replace(/[\p{C}\s']+/gu, ' ')
    .trim();
}

// Asks an address once, by `node:http`: the global fetch needs an address space of gigabytes.

interface BriefAnswer {
  readonly status: number;
  /** The `Date` header, by which the clock of the other side is compared with this one. */
  readonly date: string | undefined;
  /** Its beginning, where it is longer than was asked for. */
  readonly body: string;
}

/** Follows no redirect. @throws Error whose message says in words why nothing came */
async function ask(url: string, bodyBytesMax: number): Promise<BriefAnswer> {
  const request = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  const late = AbortSignal.timeout(waitMs);
  return new Promise((resolve, reject) => {
    function fail(error: Error): void {
      reject(late.aborted ? new Error(`no answer in ${waitMs / 1_000} s`) : inWords(error));
    }
    const asked = request(url, { agent: false, signal: late }, (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      function end(): void {
        const body = Buffer.concat(parts).subarray(0, bodyBytesMax).toString('utf8');
        resolve({ status: response.statusCode!, date: response.headers.date, body });
        response.destroy();
      }
      response.on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes > bodyBytesMax) end();
      });
      response.on('end', end);
      response.on('error', fail);
    });
    asked.on('error', fail);
    asked.end();
  });
}

/** A host with several addresses fails by a list of errors, which has no words of its own. */
function inWords(error: Error): Error {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return first ?? error;
}
