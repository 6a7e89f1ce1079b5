/**
 * The machine and the data directory: files, disk, clock, store, backups, the age of the geo files. Changes
 * nothing.
 */

import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Config, capacities, usableMemory } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { dateText } from '../../core/dates.ts';
import type { Random } from '../../core/random.ts';
import { counted, grouped } from '../../core/text-table.ts';
import { dayMs } from '../../core/time.ts';
import { openMmdb } from '../../geo/mmdb.ts';
import { dateOf, defaultSource, geoFreshMs } from '../../geo/sources.ts';
import { openFilesWarning } from '../../http/limits/limits.ts';
import { runOperation } from '../../operations/client.ts';
import { readMasterKey } from '../../operations/workspace.ts';
import { isVanished } from '../../storage/backup/folder.ts';
import { newestIn } from '../../storage/backup/schedule.ts';
import { journalRowKey, listPrefix } from '../../storage/keys.ts';
import { ClaimedError } from '../../storage/lmdb/claim.ts';
import { openTables } from '../../storage/lmdb/environment.ts';
import { reserveBytes } from '../../storage/lmdb/file.ts';
import { hadStore, refuseLostStore, storePath } from '../../storage/lmdb/presence.ts';
import type { Tables } from '../../storage/lmdb/tables.ts';
import { openView } from '../../storage/lmdb/view.ts';
import { hostsText } from '../../storage/postgres/connection.ts';
import { decodeEvent } from '../../storage/rows.ts';
import { inspectDatabase, noLists } from './database.ts';
import { advice, type Finding, fault, fine } from './finding.ts';

/** `statfs` gives these types for file systems whose files are gone when the machine stops. */
const inMemory = new Map([
  [0x0102_1994, 'tmpfs'],
  [0x8584_58f6, 'ramfs'],
]);
const overlay = 0x794c_7630;
const mebibyte = 1024 * 1024;
const freeBytesMin = 256 * mebibyte;
/** A clock may be off by so much before codes of authenticator apps fail. */
const skewMsMax = 30_000;

export function inspectOpenFiles(): Finding {
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

export function inspectPermissions(config: Config, settingsFile?: string): Finding[] {
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
  const closed = secrets.filter((path) => existsSync(path)).flatMap(openToOthers);
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

function openToOthers(path: string): Finding[] {
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

export function inspectMemory(): Finding {
  const memory = grouped(Math.floor(usableMemory() / mebibyte));
  return fine(
    'memory',
    `${memory} MiB: room for ${grouped(capacities.entries)} addresses and networks`,
  );
}

export function inspectDisk({ dataDir }: Config): Finding {
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
export async function inspectStore(
  config: Config,
  clock: Clock,
  random: Random,
): Promise<Finding[]> {
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

export async function inspectBackups(config: Config, nowMs: number): Promise<Finding[]> {
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
export function inspectFileSystem(what: string, path: string, config: Config): Finding[] {
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
