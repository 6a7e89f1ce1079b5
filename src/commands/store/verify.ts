/** `portcullis verify`: is everything there that was written, and does it agree? Changes nothing. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { erasedSealOf, type MasterKey } from '../../access/keys/master-key.ts';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import { createRowProgress, type Progress } from '../../reputation/lists/import/progress.ts';
import type { About } from '../../store/backup/content.ts';
import { checkBackup } from '../../store/backup/restore.ts';
import { createOutput, dateText, grouped, type Output } from '../shell/output.ts';
import { askedPassphrase, givenPassphrase } from '../shell/passphrase.ts';
import { existingStore, readMasterKey } from '../shell/workspace.ts';
import { type ErasedFlags, erasedSince } from './erased-since.ts';
import { keyInside, openLine, sealedLine } from './restore.ts';

interface VerifyFlags extends ErasedFlags {
  readonly backup?: string;
  readonly passphraseFile?: string;
  readonly json?: boolean;
}

type OnProgress = (rows: number, rowsAbout: number) => void;

export function verifyCommand(): Command {
  return new Command('verify')
    .description(
      'look at every row, and whether store, journal, projection, index and feeds agree; beside a running server too',
    )
    .option('--backup <file>', 'look at a backup instead: every block and row of it')
    .option('--passphrase-file <file>', 'of an encrypted backup; without it a terminal is asked')
    .option(
      '--unencrypted',
      'take a backup that is not encrypted though a passphrase is given, and a list that is not sealed',
    )
    .option(
      '--without-erasures',
      'pass a backup whose list of deleted accounts is missing or older',
    )
    .option('--json', 'print the result as JSON, no progress')
    .action(async (flags: VerifyFlags) => {
      const output = createOutput(flags.json === true);
      if (flags.backup !== undefined) return verifyBackup(flags.backup, flags, output);
      await verifyStore(output);
    });
}

async function verifyBackup(file: string, flags: VerifyFlags, output: Output): Promise<void> {
  const { config, clock, random } = existingStore({ mayBeMissing: true });
  const given = givenPassphrase(config, flags);
  let words: Promise<string | undefined> | undefined;
  const source = {
    path: resolve(file),
    mustBeEncrypted: given !== undefined && flags.unencrypted !== true,
    passphrase() {
      words ??= given === undefined ? askedPassphrase() : Promise.resolve(given);
      return words;
    },
  };
  const checked = await counted(output, clock, (on) => checkBackup(source, on));
  const { about, encrypted, rows } = checked;
  const key = keyInside(about) ?? ownKey(about, config, random);
  const seal = key === undefined ? undefined : erasedSealOf(key);
  const place = { file, dataDir: undefined, mayBeUnchecked: true };
  const erased = await erasedSince({ ...place, source, about, seal, flags });
  const kind = encrypted ? 'encrypted' : 'not encrypted';
  output.line(
    `the backup is whole: ${grouped(rows)} rows of ${dateText(about.createdAt)}, journal position ${about.seq}, ${kind}`,
  );
  output.line(encrypted ? sealedLine : openLine);
  for (const line of erased.lines) output.line(`deleted accounts of ${line}`);
  if (!erased.found) output.line('no list of deleted accounts lies beside it');
  const lists = { erasuresKnown: erased.found, erasuresSealed: erased.sealed };
  output.result({ ok: true, encrypted, rows, ...about, masterKey: undefined, ...lists });
}

/** The one of the settings, where the store of the backup is sealed with it. */
function ownKey(about: About, config: Config, random: Random): MasterKey | undefined {
  if (!existsSync(config.masterKeyFile ?? join(config.dataDir, 'master.key'))) return undefined;
  const key = readMasterKey(config, random, true);
  return Buffer.from(key.id).toString('hex') === about.masterKeyId ? key : undefined;
}

async function verifyStore(output: Output): Promise<void> {
  // Loaded here, because it brings most of the server with it.
  const { verifyDataDir } = await import('../../server/verify/verify.ts');
  const { config, ...place } = existingStore();
  const { findings, seen, journalPosition } = await counted(output, place.clock, (onProgress) =>
    verifyDataDir({ ...place, dataDir: config.dataDir, onProgress }),
  );
  const { lines: found, notes } = findings;
  const count = findings.count();
  for (const note of notes) output.line(`note: ${note}`);
  for (const line of found) output.line(`found: ${line}`);
  const looked = `${grouped(seen.entries)} rows and ${grouped(seen.events)} events`;
  output.result({ ok: count === 0, found, count, notes, ...seen, journalPosition });
  if (count > 0) {
    throw new OperatorError(
      `${grouped(count)} ${count === 1 ? 'fault' : 'faults'} in ${looked}: restore a backup`,
    );
  }
  output.line(`${looked} are as they were written and agree`);
}

async function counted<T>(
  output: Output,
  clock: { monotonicMs(): number },
  run: (on: OnProgress) => Promise<T>,
): Promise<T> {
  const shared = { stream: process.stderr, silent: output.json, label: 'verify', clock };
  let progress: Progress<number> | undefined;
  try {
    return await run((rows, totalRows) => {
      progress ??= createRowProgress({ ...shared, totalRows, verb: 'checked' });
      progress.update(rows);
    });
  } finally {
    progress?.stop();
  }
}
