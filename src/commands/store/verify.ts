/** `portcullis verify`: is everything there that was written, and does it agree? Changes nothing. */

import { resolve } from 'node:path';
import { Command } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { createRowProgress, type Progress } from '../../reputation/lists/import/progress.ts';
import { checkBackup } from '../../store/backup/restore.ts';
import { createOutput, dateText, grouped, type Output } from '../shell/output.ts';
import { askedPassphrase, givenPassphrase } from '../shell/passphrase.ts';
import { existingStore } from '../shell/workspace.ts';

interface VerifyFlags {
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
    .option('--json', 'print the result as JSON, no progress')
    .action(async (flags: VerifyFlags) => {
      const output = createOutput(flags.json === true);
      if (flags.backup !== undefined) return verifyBackup(flags.backup, flags, output);
      await verifyStore(output);
    });
}

async function verifyBackup(file: string, flags: VerifyFlags, output: Output): Promise<void> {
  const { config, clock } = existingStore({ mayBeMissing: true });
  const passphrase = async () => givenPassphrase(config, flags) ?? askedPassphrase();
  const source = { path: resolve(file), passphrase };
  const checked = await counted(output, clock, (on) => checkBackup(source, on));
  const { about, encrypted, rows } = checked;
  const kind = encrypted ? 'encrypted' : 'not encrypted';
  output.line(
    `the backup is whole: ${grouped(rows)} rows of ${dateText(about.createdAt)}, journal position ${about.seq}, ${kind}`,
  );
  output.result({ ok: true, encrypted, rows, ...about, masterKey: undefined });
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
