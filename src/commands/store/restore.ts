/**
 * `portcullis restore`: restores a backup into an empty data directory, or an empty database.
 *
 * Everything is made in a folder inside the data directory. When the store is complete and the accounts deleted since
 * the backup are deleted again, it is moved to its place by one rename, or loaded into the database. If a restore is
 * interrupted, only that folder is left: no server starts next to it, and the next restore removes it.
 */

import {
  closeSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { erasedSealOf, type MasterKey, masterKeyFromBytes } from '../../access/keys/master-key.ts';
import { journalEvent } from '../../app/journal-events.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import { counted } from '../../core/text-table.ts';
import { createAudit } from '../../operations/audit.ts';
import { operatorName } from '../../operations/client.ts';
import { openingOf, readMasterKey } from '../../operations/workspace.ts';
import type { About, OnProgress, RowDigest, RowSource } from '../../storage/backup/content.ts';
import {
  type ErasedFile,
  type ErasedSeal,
  encodeErased,
  erasedFile,
  erasedOf,
  erasedRow,
  readErasedFile,
  writeErasedFile,
} from '../../storage/backup/erased.ts';
import { lmdbSource } from '../../storage/backup/lmdb.ts';
import { loadDatabase } from '../../storage/backup/postgres.ts';
import { type BackupSource, isBackup, openBackup } from '../../storage/backup/read.ts';
import {
  type CheckedBackup,
  checkBackup,
  checkStore,
  restoreRefusalOf,
  restoreRows,
} from '../../storage/backup/restore.ts';
import { makeFileOnce, standardInput, syncPath } from '../../storage/files.ts';
import type { RewoundRows } from '../../storage/journal/define-event.ts';
import { checkpointRowKey, checkpointSeqIn } from '../../storage/journal/projection.ts';
import {
  authorizationCodePrefix,
  federationBehindKey,
  federationPublicationKey,
  feedHeadKey,
  feedsBehindKey,
  journalRowKey,
  type Key,
  namespaces,
  restoredKey,
  signonLinkPrefix,
} from '../../storage/keys.ts';
import { type LedgerTable, readLedger } from '../../storage/ledger.ts';
import { claimDataDir, claimFile } from '../../storage/lmdb/claim.ts';
import { openTables } from '../../storage/lmdb/environment.ts';
import { hadStore, restoreFolder, storePath } from '../../storage/lmdb/presence.ts';
import { openStore } from '../../storage/lmdb/store.ts';
import {
  encodeEventIdRow,
  readCounters,
  type Tables,
  writeCounters,
} from '../../storage/lmdb/tables.ts';
import { openView } from '../../storage/lmdb/view.ts';
import { decodeEvent, encodeEvent, readEntry, sealEvent } from '../../storage/rows.ts';
import {
  type Commit,
  pagesUnder,
  type SetRow,
  type Store,
  type StoreEvent,
} from '../../storage/store.ts';
import { createRowProgress, type Progress } from '../progress.ts';
import { createOutput, type Output } from '../shell/output.ts';
import { type OpeningFlags, sourceFor } from './backup.ts';

export interface RestoreFlags extends ErasedFlags, OpeningFlags {
  readonly to?: number;
  readonly withoutMasterKey?: boolean;
  readonly json?: boolean;
}

/**
 * Returns a line that says who can have made the backup, judged by its encryption. `restore` and `verify` print
 * it.
 */
export function sealLine({ sealedWith }: Pick<CheckedBackup, 'sealedWith'>): string {
  if (sealedWith === 'passphrase') {
    return 'the backup is encrypted: nobody without its passphrase can have made or changed it';
  }
  return sealedWith === undefined
    ? 'the backup is not encrypted: whoever can write to its folder may have made or changed it'
    : 'the backup is encrypted to a public key: whoever knows that key and can write to its folder may have made it';
}

type Opening = ReturnType<typeof openingOf>;

/** May lie in the data directory: what an operator puts there first, and what a restore left. */
const welcome = new Set(['master.key', erasedFile, restoreFolder, claimFile, 'lost+found']);

/** Loads a store that is whole, compares, and returns the counts and hashes of both sides. */
type Load = (source: RowSource, onProgress: OnProgress) => Promise<readonly RowDigest[]>;

export async function restore(file: string, flags: RestoreFlags): Promise<void> {
  const { config, opening } = openingOf();
  const { dataDir, databaseUrl: url } = config;
  const check = () => (url === undefined ? refuseOtherFiles(dataDir) : refuseStore(dataDir));
  // Before the claim too: a folder that is not ours gets no file.
  check();
  const { release } = claimDataDir(dataDir, 'restore');
  try {
    // The folder is checked again: another restore may have ended between the check and the claim.
    check();
    const run = (load?: Load) => restoreInto(file, flags, { config, opening }, load);
    await (url === undefined ? run() : loadDatabase({ url, log: opening.log }, run));
  } catch (error) {
    throw restoreRefusalOf(error);
  } finally {
    release();
  }
}

function refuseOtherFiles(dataDir: string): void {
  const unexpected = readdirSync(dataDir).find((name) => !welcome.has(name));
  if (unexpected === undefined) return;
  throw new OperatorError(
    `DATA_DIR ${dataDir} is not empty (${unexpected}): a backup is restored into an empty one`,
  );
}

function refuseStore(dataDir: string): void {
  if (!hadStore(dataDir, storePath(dataDir))) return;
  throw new OperatorError(
    `${dataDir} holds an embedded store, which DATABASE_URL would leave aside: set another DATA_DIR`,
  );
}

async function restoreInto(
  file: string,
  flags: RestoreFlags,
  { config, opening }: Opening,
  load: Load | undefined,
): Promise<void> {
  const { dataDir } = config;
  const { clock, random } = opening;
  const output = createOutput(flags.json === true);
  const bars = createBars(output.json, clock);
  const work = join(dataDir, restoreFolder);
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { mode: 0o700 });
  try {
    const source = await sourceFor(await pathOf(file, work), config, flags, file !== '-');
    const checked = await checkBackup(source, bars.update);
    const { about } = checked;
    const key = keyFor(about, config, opening, flags);
    if (flags.to !== undefined) checkReach(about, flags.to);
    const seal = key === undefined ? undefined : erasedSealOf(key);
    const erased = await erasedSince({ file, dataDir, source, about, seal, flags });
    const cut = (tables: Tables) => (flags.to === undefined ? [] : retract(tables, flags.to));
    const restored = await restoreRows(source, `${work}/store`, cut, bars.update);
    const deleted = await finish(
      work,
      { config, opening },
      { key, about, dropped: restored.changed, erased: erased.ids },
    );
    await checkStore(`${work}/store`, bars.update);
    putKey(key, about, config, opening);
    if (seal !== undefined) {
      const list = encodeErased(erased.ids, seal, clock.now());
      await writeErasedFile(join(dataDir, erasedFile), list, random);
    }
    let { kinds } = restored;
    if (load === undefined) renameSync(`${work}/store`, storePath(dataDir));
    else kinds = await loadStore(`${work}/store`, load, bars.update);
    syncPath(dataDir);
    bars.stop();
    respond(output, file, checked, { deleted, erased, to: flags.to, kinds });
  } finally {
    bars.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Standard input can be read once, and a backup is read twice. */
async function pathOf(file: string, work: string): Promise<string> {
  if (file !== '-') return resolve(file);
  const path = join(work, 'backup');
  await pipeline(standardInput(), createWriteStream(path, { mode: 0o600 }));
  return path;
}

async function loadStore(path: string, load: Load, onProgress: OnProgress) {
  const tables = openTables(path);
  try {
    const view = openView(tables);
    try {
      return await load(lmdbSource(view), onProgress);
    } finally {
      view.release();
    }
  } finally {
    await tables.root.close();
  }
}

/** One after the other: checked, written, compared, looked at, and loaded. */
function createBars(silent: boolean, clock: Clock) {
  let bar: { verb: string; progress: Progress<number> } | undefined;
  return {
    update(rows: number, totalRows: number, verb: string): void {
      if (bar?.verb !== verb) {
        bar?.progress.stop();
        const shared = { stream: process.stderr, silent, label: 'restore', clock };
        bar = { verb, progress: createRowProgress({ ...shared, totalRows, verb }) };
      }
      bar.progress.update(rows);
    },
    stop(): void {
      bar?.progress.stop();
      bar = undefined;
    },
  };
}

/** Undefined: the store has no key. @throws OperatorError when it is another one, or missing */
function keyFor(
  about: About,
  config: Config,
  { random }: Opening['opening'],
  { withoutMasterKey }: RestoreFlags,
): MasterKey | undefined {
  const path = config.masterKeyFile ?? join(config.dataDir, 'master.key');
  if (existsSync(path)) {
    const key = readMasterKey(config, random, true);
    const id = Buffer.from(key.id).toString('hex');
    if (about.masterKeyId === '' || id === about.masterKeyId) return key;
    throw new OperatorError(
      `${path} is another master key (${id}): the backup's store is sealed with ${about.masterKeyId}. ` +
        'Nothing was restored',
    );
  }
  const inside = keyInside(about);
  if (inside !== undefined) return inside;
  if (about.masterKeyId === '' || withoutMasterKey === true) return undefined;
  throw new OperatorError(
    `the backup is not encrypted, so it has no master key: put the one named ${about.masterKeyId} to ${path} ` +
      'first. If it is lost for good, --without-master-key restores all but what it sealed',
  );
}

/**
 * Returns the master key in an encrypted backup; undefined if the backup holds none.
 * @throws OperatorError when it is not the one that the store is sealed with
 */
export function keyInside({ masterKey, masterKeyId }: About): MasterKey | undefined {
  if (masterKey === undefined) return undefined;
  const key = masterKeyFromBytes(Buffer.from(masterKey, 'hex'));
  if (masterKeyId === '' || Buffer.from(key.id).toString('hex') === masterKeyId) return key;
  throw new OperatorError(
    'the backup is damaged: the master key in it is not the one that its store is sealed with',
  );
}

function putKey(
  key: MasterKey | undefined,
  about: About,
  config: Config,
  { random }: Opening['opening'],
): void {
  const path = config.masterKeyFile ?? join(config.dataDir, 'master.key');
  if (key === undefined || about.masterKey === undefined || existsSync(path)) return;
  makeFileOnce(path, `${Buffer.from(key.secret).toString('base64url')}\n`, random);
}

/**
 * Deletes again what was deleted since the backup, before anybody can read it.
 * @returns how many accounts were there again
 */
async function finish(
  work: string,
  { config, opening }: Opening,
  found: {
    key: MasterKey | undefined;
    about: About;
    dropped: readonly Undo[];
    erased: ReadonlyMap<string, number>;
  },
): Promise<number> {
  const { key, about, dropped, erased } = found;
  const { clock, random, log } = opening;
  const storeOptions = { ...opening, path: `${work}/store`, dataDir: work, backsUp: false };
  const store = await openStore({
    ...storeOptions,
    masterKey: key,
  });
  try {
    await forget(store, dropped);
    await advanceFederationSeq(store);
    await endOneUses(store, random);
    const command = { name: `restore ${about.seq}` };
    const audit = createAudit({ store, clock, random });
    const begun = await audit.begin(command, {}, operatorName());
    const workConfig = { ...config, dataDir: work, backupFolder: undefined };
    // Without a key nothing is unsealed: a deletion needs none.
    const sealing = key ?? masterKeyFromBytes(new Uint8Array(32));
    const tools = { config: workConfig, store, clock, random, log, masterKey: sealing };
    // Loaded here, because the other commands start faster without it.
    const { openDeletion } = await import('../../operations/deletion.ts');
    const deletion = openDeletion({ ...tools, inServer: false }, undefined);
    let deleted = 0;
    const unknown: SetRow[] = [];
    for (const [id, at] of erased) {
      const done = await deletion.delete(id);
      if (done.ok) deleted += 1;
      else if (done.error === 'unknown_account') unknown.push(erasedRow(id, at));
      else {
        throw new OperatorError(
          `account ${id} could not be deleted again: ${done.detail ?? done.error}`,
        );
      }
    }
    // Made and deleted since: a later backup may have them.
    for (let i = 0; i < unknown.length; i += 1_000) {
      await write(store, { set: unknown.slice(i, i + 1_000) });
    }
    await audit.end(begun, command, {}, true);
    return deleted;
  } finally {
    await store.close();
  }
}

function respond(
  output: Output,
  file: string,
  checked: CheckedBackup,
  done: {
    deleted: number;
    erased: ErasedSince;
    to: number | undefined;
    kinds: readonly RowDigest[];
  },
): void {
  const { about, rows, encrypted, sealedWith } = checked;
  const { deleted, erased, to, kinds } = done;
  const behind = to === undefined ? '' : `, taken back to ${to}`;
  output.line(
    `restored: ${counted(rows, 'row')} of ${dateText(about.createdAt)}, journal position ${about.seq}${behind}`,
  );
  output.line(
    `compared: ${counted(kinds.length, 'kind')} of rows, with the same counts and SHA-256 on both sides`,
  );
  output.line(sealLine(checked));
  for (const line of erased.lines) output.line(`deleted accounts of ${line}`);
  output.line(
    erased.found
      ? `${counted(deleted, 'account')} deleted since the backup ${deleted === 1 ? 'was' : 'were'} deleted again`
      : `no list of deleted accounts (${erasedFile}) lay beside ${file === '-' ? 'it' : dirname(resolve(file))} or was named by --erasures: accounts deleted since the backup are back`,
  );
  output.result({
    ...about,
    masterKey: undefined,
    encrypted,
    sealedWith,
    rows,
    deleted,
    erasuresKnown: erased.found,
    erasuresSealed: erased.sealed,
    to,
    kinds,
  });
}

// `restore --to`: the reputation part of the journal ends at an earlier position. Events of accounts, keys and
// sign-ins all stay: their rows are those of the backup, and a revoked key must not work again.
//
// Rows outside the journal follow. Later reports are removed, the allowlist and manual entries are those of the
// position, a list loaded later is unknown until it is loaded again, and later bans of agents are gone. What was
// deleted since, such as the comment of a retracted report, is in no backup made after that.

/** Undoes an event in the rows outside the journal. */
type Undo = (rows: RewoundRows) => Promise<void>;

/** @throws OperatorError which says how far the backup reaches */
function checkReach(about: About, to: number): void {
  // The least position that `cutJournal` can take this backup to.
  const least = about.prunedThrough === 0 ? 0 : about.checkpointSeq;
  if (to >= least && to <= about.seq) return;
  throw new OperatorError(
    `--to ${to} is beyond this backup: it reaches from journal position ${least} to ${about.seq}`,
  );
}

/** @returns the functions that undo the rows of the removed events, oldest event first */
function retract(tables: Tables, to: number): Undo[] {
  const dropped: Undo[] = [];
  cutJournal(
    tables,
    to,
    (event) => journalEvent(event)?.undo === 'kept',
    (event) => dropped.push(undoOf(event)),
  );
  return dropped;
}

export function undoOf(event: Pick<StoreEvent, 'kind' | 'version' | 'body'>): Undo {
  const { undo, decode } = journalEvent(event) ?? {};
  const facts = typeof undo === 'function' ? decode?.(event.version, event.body) : undefined;
  return async (rows) => {
    if (typeof undo === 'function' && facts !== undefined) await undo(rows, facts);
  };
}

/** @param dropped oldest event first */
export async function forget(store: Store, dropped: readonly Undo[]): Promise<void> {
  if (dropped.length > 0) await advanceFeedVersions(store);
  const seen = new Set<string>();
  const changed = new Map<LedgerTable, Key>();
  const rows: RewoundRows = {
    store,
    isFirst: (key) => seen.size < seen.add(String(key)).size,
    put: (key, value) => write(store, { set: [{ key, value }] }),
    remove: (...del) => write(store, { del }),
    write: (commit) => write(store, commit),
    recount: (table, under) => changed.set(table, under),
  };
  for (const undo of dropped) await undo(rows);
  for (const [table, under] of changed) await recount(store, table, under);
}

/** Counts the rows of an operator's table again: the undo functions change rows without counting them. */
async function recount(store: Store, table: LedgerTable, under: Key): Promise<void> {
  let rows = 0;
  for await (const page of pagesUnder(store, under)) rows += page.length;
  await write(store, { set: [(await readLedger(store, table)).set(rows)] });
}

/** Makes the next start build the feeds again. Versions keep growing, for clients that read changes. */
async function advanceFeedVersions(store: Store): Promise<void> {
  const head = await store.get(feedHeadKey());
  if (head === undefined) return;
  await write(store, { set: [{ key: feedsBehindKey(), value: head.value }] });
}

/**
 * Continues the numbers of what is published above any that a peer may have seen: peers may be ahead of the
 * backup.
 */
async function advanceFederationSeq(store: Store): Promise<void> {
  if ((await store.get(federationPublicationKey())) === undefined) return;
  await write(store, { set: [{ key: federationBehindKey(), value: new Uint8Array() }] });
}

/**
 * Ends authorization codes, mailed links, and the receipts and work of a CAPTCHA that were signed before: the backup
 * does not know which of them were used since.
 */
async function endOneUses(store: Store, random: Random): Promise<void> {
  for (const prefix of [authorizationCodePrefix(), signonLinkPrefix()]) {
    for await (const page of pagesUnder(store, prefix)) {
      await write(store, { del: page.map(({ key }) => key) });
    }
  }
  await write(store, { set: [{ key: restoredKey(), value: random.bytes(16) }] });
}

async function write(store: Store, commit: Commit): Promise<void> {
  const done = await store.commit(commit);
  if (!done.ok) throw new OperatorError(`the restored store can't be written: ${done.error}`);
}

// Cuts a restored journal at a position. A projection that is newer than the position is dropped and rebuilt from the
// journal, which must then begin with its first event.

/**
 * In a transaction, of a store that nobody else has open.
 * @param to not below `reachOf`
 * @param keeps an event behind `to` that stays: it moves to the new end, in order
 * @param onDropped each of the others
 */
function cutJournal(
  tables: Tables,
  to: number,
  keeps: (event: StoreEvent) => boolean,
  onDropped: (event: StoreEvent) => void,
): void {
  const { journal, eventIds, meta, entries } = tables;
  const counters = readCounters(meta);
  let last = to;
  for (let seq = to + 1; seq <= counters.lastSeq; seq++) {
    const event = decodeEvent(BigInt(seq), journal.get(journalRowKey(seq))!);
    const id = Buffer.from(event.id, 'utf8');
    journal.removeSync(journalRowKey(seq));
    if (!keeps(event)) {
      eventIds.removeSync(id);
      onDropped(event);
      continue;
    }
    last += 1;
    const row = encodeEvent(event);
    sealEvent(row, last, event.at);
    journal.putSync(journalRowKey(last), row);
    eventIds.putSync(id, encodeEventIdRow(last, event.at));
  }
  writeCounters(meta, { ...counters, lastSeq: last });
  const record = entries.get(checkpointRowKey);
  if (record === undefined) return;
  if (checkpointSeqIn(readEntry(checkpointRowKey, record).value) <= BigInt(to)) return;
  for (const space of [namespaces.checkpoint, namespaces.projectionPage]) {
    const range = { start: Uint8Array.of(space), end: Uint8Array.of(space + 1) };
    for (const key of [...entries.getKeys(range)]) entries.removeSync(key);
  }
}

// Finds the accounts that were deleted since a backup, as far as a restore can know: from lists next to the backup
// and from those that it is given.
//
// Invariant: a list that is not sealed under the master key of the backup is used only if the operator vouches for
// it. A list that must exist, or must be newer, is never left out silently.

interface ErasedSince {
  readonly ids: ReadonlyMap<string, number>;
  /** False: nobody kept a list, as far as is known. */
  readonly found: boolean;
  /** A line about each list: how old it is, and whether it is sealed. */
  readonly lines: readonly string[];
  /** All of it was sealed, or inside a backup that is encrypted with a passphrase. */
  readonly sealed: boolean;
}

export interface ErasedFlags {
  /** A list, a folder that holds one, or a newer backup. */
  readonly erasures?: string;
  /** Takes a list that is not sealed, or sealed under a key that is not there. */
  readonly unencrypted?: boolean;
  /** Continues although a list is missing or too old. */
  readonly withoutErasures?: boolean;
}

export async function erasedSince(options: {
  /** The backup, - for standard input. */
  file: string;
  /** The folder that may hold a list put there for the restore; undefined: there is none. */
  dataDir: string | undefined;
  source: BackupSource;
  about: About;
  /** Undefined: there is no master key. */
  seal: ErasedSeal | undefined;
  /** Without the key a list can't be verified; this allows it where nothing is done with the list. */
  mayBeUnchecked?: boolean;
  flags: ErasedFlags;
}): Promise<ErasedSince> {
  const { file, dataDir, source, about, seal, flags, mayBeUnchecked = false } = options;
  const { erasures, withoutErasures = false } = flags;
  const ids = new Map<string, number>();
  const lines: string[] = [];
  let sealed = true;
  /** No later than this is known. */
  let knownTo = Number.NEGATIVE_INFINITY;
  const folders = [...(file === '-' ? [] : [dirname(resolve(file))])];
  if (dataDir !== undefined) folders.unshift(dataDir);
  const paths = folders.map((folder) => join(folder, erasedFile));
  if (erasures !== undefined) {
    const given = resolve(erasures);
    if (!existsSync(given)) throw new OperatorError(`--erasures: ${given} does not exist`);
    const path = statSync(given).isDirectory() ? join(given, erasedFile) : given;
    if (existsSync(path) && isBackup(headOf(path))) {
      const newer = await erasedInBackup({ ...source, path });
      for (const [id, at] of newer.ids) ids.set(id, at);
      // Whoever knows a public key can make a backup for it.
      sealed = newer.sealedWith === 'passphrase';
      knownTo = newer.createdAt;
      const how = newer.sealedWith === undefined ? 'not encrypted' : 'encrypted';
      lines.push(`${path} of ${dateText(newer.createdAt)}, ${how}`);
    } else paths.push(path);
  }
  for (const path of new Set(paths)) {
    const list = await readErasedFile(path, seal);
    if (list === undefined) continue;
    const isPassed = flags.unencrypted === true || (mayBeUnchecked && isOf(list, about));
    if (!isPassed || list.state === 'changed') refuseUnverified(path, list, about);
    for (const [id, at] of list.ids) ids.set(id, at);
    sealed &&= list.state === 'sealed';
    // An operator who passes a list without a time vouches for its age, too.
    knownTo = Math.max(knownTo, list.writtenAt ?? Number.POSITIVE_INFINITY);
    lines.push(`${path}, ${described(list)}`);
  }
  // A data directory in which nobody was deleted had no list once.
  const found = lines.length > 0 || erasures !== undefined;
  if (about.hasListBeside && !withoutErasures) refuseMissing(about, knownTo, lines.length > 0);
  return { ids, found, lines, sealed: found && sealed };
}

/** @throws OperatorError for a list that anybody may have written */
function refuseUnverified(path: string, list: ErasedFile, about: About): void {
  if (list.state === 'sealed') return;
  if (list.state === 'changed') {
    throw new OperatorError(
      `${path} was changed: its seal is not that of its lines. Take the list of DATA_DIR or of a copy with ` +
        '--erasures, and this one out of the way',
    );
  }
  let why = 'is not sealed, so anybody who can write to its folder may have made or changed it';
  if (list.state === 'unchecked') {
    why = isOf(list, about)
      ? `is sealed under the master key ${list.masterKeyId}, which is not there to check it by`
      : `is sealed under the master key ${list.masterKeyId}, which is not the one of the backup: it may be the list of another server`;
  }
  throw new OperatorError(`${path} ${why}. If it is yours all the same, add --unencrypted`);
}

/** @throws OperatorError when a list was taken away, or put back to what it was before */
function refuseMissing(about: About, knownTo: number, found: boolean): void {
  if (knownTo >= about.createdAt) return;
  const what = found
    ? `the list of deleted accounts is older than the backup (${dateText(about.createdAt)})`
    : `the list of deleted accounts (${erasedFile}) that was kept beside it is missing`;
  throw new OperatorError(
    `${what}: accounts deleted since would come back. Name another with --erasures, such as the former DATA_DIR; ` +
      '--without-erasures goes on all the same',
  );
}

function isOf(list: ErasedFile, about: About): boolean {
  return list.masterKeyId === about.masterKeyId;
}

function described({ ids, state, writtenAt, masterKeyId }: ErasedFile): string {
  const count = counted(ids.size, 'account');
  if (writtenAt === undefined) return `${count}, not sealed`;
  const how =
    state === 'sealed' ? 'sealed' : `sealed under the master key ${masterKeyId}, unchecked`;
  return `${count}, ${how}, written ${dateText(writtenAt)}`;
}

function headOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(64);
    readSync(file, head, 0, head.length, 0);
    return head;
  } finally {
    closeSync(file);
  }
}

async function erasedInBackup(source: BackupSource) {
  const ids = new Map<string, number>();
  const backup = await openBackup(source);
  try {
    for await (const { part, rows } of backup.rows()) {
      for (const { key, value } of part === 'entries' ? rows : []) {
        const erased = erasedOf(key, value);
        if (erased !== undefined) ids.set(erased.id, erased.at);
      }
    }
    const { sealedWith, about } = backup;
    return { ids, sealedWith, createdAt: about.createdAt };
  } finally {
    await backup.close();
  }
}
