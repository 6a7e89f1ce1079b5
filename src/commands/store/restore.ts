/**
 * `portcullis restore`: a backup into an empty data directory.
 *
 * Everything is made in a folder inside the data directory; the store gets its place by one rename, when
 * it is whole and the accounts that were deleted since the backup are deleted again. What is cut short
 * leaves that folder alone, and the next restore removes it.
 */

import { createWriteStream, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { erasedSealOf, type MasterKey, masterKeyFromBytes } from '../../access/keys/master-key.ts';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import { dateText } from '../../core/names/date-text.ts';
import { createAudit } from '../../operations/audit.ts';
import { refuseShared } from '../../operations/cluster.ts';
import { operatorName } from '../../operations/operator-name.ts';
import { openingOf, readMasterKey, storeTools } from '../../operations/workspace.ts';
import { createRowProgress, type Progress } from '../../reputation/lists/import/progress.ts';
import type { About } from '../../storage/backup/content.ts';
import { encodeErased, erasedFile, writeErasedFile } from '../../storage/backup/erased-file.ts';
import type { BackupSource } from '../../storage/backup/read.ts';
import {
  type CheckedBackup,
  checkBackup,
  checkStore,
  type OnProgress,
  refusalOf,
  restoreRows,
} from '../../storage/backup/restore.ts';
import { claimDataDir, claimFile } from '../../storage/claim.ts';
import { erasedRow } from '../../storage/erased.ts';
import { makeFileOnce, syncPath } from '../../storage/files.ts';
import type { Tables } from '../../storage/lmdb-tables.ts';
import { openStore } from '../../storage/migrate.ts';
import type { SetRow } from '../../storage/store.ts';
import { createOutput, grouped, type Output } from '../shell/output.ts';
import { askedPassphrase, givenPassphrase } from '../shell/passphrase.ts';
import { type ErasedFlags, type ErasedSince, erasedSince } from './erased-since.ts';
import { checkReach, forget, type Rewound, retract, write } from './rewind.ts';

export interface RestoreFlags extends ErasedFlags {
  readonly to?: number;
  readonly passphraseFile?: string;
  readonly withoutMasterKey?: boolean;
  readonly json?: boolean;
}

/** Encryption also shows who can have made a backup: `restore` and `verify` print one of these. */
export const sealedLine =
  'the backup is encrypted: nobody without its passphrase can have made or changed it';
export const openLine =
  'the backup is not encrypted: whoever can write to its folder may have made or changed it';

type Opening = ReturnType<typeof openingOf>;

const workFolder = 'restoring';
/** May lie in the data directory: what an operator puts there first, and what a restore left. */
const welcome = new Set(['master.key', erasedFile, workFolder, claimFile, 'lost+found']);

export async function restore(file: string, flags: RestoreFlags): Promise<void> {
  const { config, opening } = openingOf();
  refuseShared(config);
  const { dataDir } = config;
  // Before the claim too: a folder that is not ours gets no file.
  refuseStrangers(dataDir);
  const { release } = claimDataDir(dataDir, 'restore');
  try {
    // The folder is checked again: another restore may have ended between the check and the claim.
    refuseStrangers(dataDir);
    await restoreInto(file, flags, { config, opening });
  } catch (error) {
    throw refusalOf(error);
  } finally {
    release();
  }
}

function refuseStrangers(dataDir: string): void {
  const stranger = readdirSync(dataDir).find((name) => !welcome.has(name));
  if (stranger === undefined) return;
  throw new OperatorError(
    `DATA_DIR ${dataDir} is not empty (${stranger}): a backup is restored into an empty one`,
  );
}

async function restoreInto(
  file: string,
  flags: RestoreFlags,
  { config, opening }: Opening,
): Promise<void> {
  const { dataDir } = config;
  const output = createOutput(flags.json === true);
  const work = join(dataDir, workFolder);
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { mode: 0o700 });
  try {
    const source = await sourceOf(file, work, config, flags);
    const checked = await counted('checked', output, opening, (on) => checkBackup(source, on));
    const { about } = checked;
    const key = keyFor(about, config, opening, flags);
    if (flags.to !== undefined) checkReach(about, flags.to);
    const seal = key === undefined ? undefined : erasedSealOf(key);
    const erased = await erasedSince({ file, dataDir, source, about, seal, flags });
    const cut = (tables: Tables) => (flags.to === undefined ? [] : retract(tables, flags.to));
    const dropped = await counted('written', output, opening, (on) =>
      restoreRows(source, `${work}/store`, cut, on),
    );
    const deleted = await finish(
      work,
      { config, opening },
      { key, about, dropped, erased: erased.ids },
    );
    await counted('looked at', output, opening, (on) => checkStore(`${work}/store`, on));
    putKey(key, about, config, opening);
    if (seal !== undefined) {
      const { clock, random } = opening;
      const list = encodeErased(erased.ids, seal, clock.now());
      await writeErasedFile(join(dataDir, erasedFile), list, random);
    }
    renameSync(`${work}/store`, `${dataDir}/store`);
    syncPath(dataDir);
    tell(output, file, checked, { deleted, erased, to: flags.to });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Standard input can be read once, and a backup is read twice. */
async function sourceOf(
  file: string,
  work: string,
  config: Config,
  flags: RestoreFlags,
): Promise<BackupSource> {
  let path = resolve(file);
  if (file === '-') {
    path = join(work, 'backup');
    await pipeline(process.stdin, createWriteStream(path, { mode: 0o600 }));
  }
  const given = givenPassphrase(config, flags);
  let words: Promise<string | undefined> | undefined;
  async function ask(): Promise<string | undefined> {
    return given ?? (file === '-' ? undefined : askedPassphrase());
  }
  // Asked once, though the backup is opened several times.
  return {
    path,
    mustBeEncrypted: given !== undefined && flags.unencrypted !== true,
    passphrase() {
      words ??= ask();
      return words;
    },
  };
}

async function counted<T>(
  verb: string,
  output: Output,
  { clock }: Opening['opening'],
  run: (on: OnProgress) => Promise<T>,
): Promise<T> {
  let progress: Progress<number> | undefined;
  const shared = { stream: process.stderr, silent: output.json, label: 'restore', clock, verb };
  try {
    return await run((rows, totalRows) => {
      progress ??= createRowProgress({ ...shared, totalRows });
      progress.update(rows);
    });
  } finally {
    progress?.stop();
  }
}

/** Undefined: the store goes on without one. @throws OperatorError when it is another one, or missing */
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
    dropped: readonly Rewound[];
    erased: ReadonlyMap<string, number>;
  },
): Promise<number> {
  const { key, about, dropped, erased } = found;
  const { clock, random, log } = opening;
  const place = { ...opening, path: `${work}/store`, dataDir: work, backsUp: false };
  const store = await openStore({ ...place, ...(key === undefined ? {} : { masterKey: key }) });
  try {
    await forget(store, dropped);
    const command = { name: 'restore', audit: { args: ['seq'] } };
    const given = { seq: about.seq };
    const audit = createAudit({ store, clock, random });
    const begun = await audit.begin(command, given, operatorName());
    const parts = { config: { ...config, dataDir: work, backupFolder: undefined }, store };
    // Without a key nothing is unsealed: a deletion needs none.
    const sealing = key ?? masterKeyFromBytes(new Uint8Array(32));
    const workspace = storeTools({ ...parts, clock, random, log, masterKey: sealing });
    // Loaded here, because the other commands start faster without it.
    const { openDeletion } = await import('../../operations/deletion.ts');
    const deletion = openDeletion(workspace, undefined);
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
    await audit.end(begun, command, given, true);
    return deleted;
  } finally {
    await store.close();
  }
}

function tell(
  output: Output,
  file: string,
  { about, rows, encrypted }: CheckedBackup,
  done: { deleted: number; erased: ErasedSince; to: number | undefined },
): void {
  const { deleted, erased, to } = done;
  const behind = to === undefined ? '' : `, taken back to ${to}`;
  output.line(
    `restored: ${grouped(rows)} rows of ${dateText(about.createdAt)}, journal position ${about.seq}${behind}`,
  );
  output.line(encrypted ? sealedLine : openLine);
  for (const line of erased.lines) output.line(`deleted accounts of ${line}`);
  output.line(
    erased.found
      ? `${grouped(deleted)} accounts deleted since the backup were deleted again`
      : `no list of deleted accounts (${erasedFile}) lay beside ${file === '-' ? 'it' : dirname(resolve(file))} or was named by --erasures: accounts deleted since the backup are back`,
  );
  const told = { encrypted, rows, deleted, erasuresKnown: erased.found, to };
  output.result({ ...about, masterKey: undefined, ...told, erasuresSealed: erased.sealed });
}
