/**
 * Commands about the store as a whole: their names, arguments and options. What they do is loaded when one of
 * them runs, because the other commands start faster without it.
 */

import { Command, InvalidArgumentError, Option } from 'commander';
import { durationMs, durationRule } from '../../core/time.ts';
import type { BackupFlags } from './backup.ts';
import type { CompactFlags } from './compact.ts';
import type { ReplaceFlags } from './master-key.ts';
import type { RestoreFlags } from './restore.ts';
import type { VerifyFlags } from './verify.ts';

const keepDefault = 7;

type WholeNumber = (min: number, max: number) => (text: string) => number;

export function backupCommand(wholeNumber: WholeNumber): Command {
  return new Command('backup')
    .description(
      'write all of the store to one file, out of a running server too, or out of the database of DATABASE_URL',
    )
    .argument(
      '<file>',
      'a file that does not exist yet, - for standard output; a folder with --every',
    )
    .option(
      '--encrypt',
      'encrypt it to a passphrase and take the master key along; asks for it at a terminal',
    )
    .option(
      '--passphrase-file <file>',
      'holds the passphrase, so the backup is encrypted (also BACKUP_PASSPHRASE_FILE, BACKUP_PASSPHRASE)',
    )
    .option(
      '--recipient <age1…>',
      'encrypt it to this public key of age; may be given again (also BACKUP_RECIPIENTS)',
      (key: string, keys: string[] = []) => [...keys, key],
    )
    .addOption(
      new Option(
        '--every <duration>',
        'go on until stopped and make one so often, such as 24h; in the server itself: BACKUP_FOLDER',
      ).argParser(parseDuration),
    )
    .addOption(
      new Option(
        '--keep <n>',
        `with --every: how many are kept (default: ${keepDefault})`,
      ).argParser(wholeNumber(1, 10_000)),
    )
    .option('--json', 'print the result as JSON, no progress')
    .action(async (target: string, flags: BackupFlags) => {
      const { backup } = await import('./backup.ts');
      await backup(target, flags);
    });
}

function parseDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError(`It ${durationRule}.`);
  return ms;
}

export function restoreCommand(): Command {
  return new Command('restore')
    .description(
      'put a backup into an empty DATA_DIR, or the empty database of DATABASE_URL; all of it is checked before, and compared at the end',
    )
    .argument('<file>', 'what `portcullis backup` wrote, - for standard input')
    .addOption(
      new Option(
        '--to <position>',
        'take back reports, lists, rules and bans of agents behind this position of the journal, as far as the backup reaches',
      ).argParser(parsePosition),
    )
    .option(
      '--erasures <file>',
      `accounts deleted since the backup: erased-accounts.txt, the DATA_DIR that holds it, or a newer backup`,
    )
    .option(
      '--without-erasures',
      'go on though that list is missing, or older than the backup; accounts deleted since come back',
    )
    .option('--passphrase-file <file>', 'of an encrypted backup; without it a terminal is asked')
    .option('--identity <file>', 'of a backup for public keys: what age-keygen wrote')
    .option(
      '--unencrypted',
      'take a backup that is not encrypted though a passphrase or key is given, and a list that is not sealed',
    )
    .option('--without-master-key', 'go on though the master key is lost; see master-key replace')
    .option('--json', 'print the result as JSON, no progress')
    .action(async (file: string, flags: RestoreFlags) => {
      const { restore } = await import('./restore.ts');
      await restore(file, flags);
    });
}

function parsePosition(text: string): number {
  const value = Number(text);
  if (/^\d{1,15}$/.test(text)) return value;
  throw new InvalidArgumentError('It must be a whole number.');
}

export function compactCommand(): Command {
  return new Command('compact')
    .description('write the store anew without the remains of removed data; stop the server first')
    .option('--at-next-start', 'beside a running server: leave it to its next start')
    .option('--json', 'print the result as JSON')
    .action(async (flags: CompactFlags) => {
      const { compactNow } = await import('./compact.ts');
      await compactNow(flags);
    });
}

export function masterKeyCommand(): Command {
  const command = new Command('master-key').description('the key that seals API keys and secrets');
  command
    .command('replace')
    .description('go on with another master key when the former one is lost; stop the server first')
    .option('--yes', 'do it: what the former key sealed is lost')
    .option('--json', 'print the result as JSON')
    .action(async (flags: ReplaceFlags) => {
      const { replaceMasterKey } = await import('./master-key.ts');
      await replaceMasterKey(flags);
    });
  return command;
}

export function clusterCommands(): Command {
  const cluster = new Command('cluster').description('the servers that share one database');
  cluster
    .command('status')
    .description(
      'nodes, how far each has followed the journal, whether their memories agree, and who does the upkeep',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => (await import('./cluster.ts')).showStatus(flags));
  cluster
    .command('upgrade')
    .description(
      'after an update of all nodes: lets them write what older versions of Portcullis do not read',
    )
    .option('--json', 'print the result as JSON')
    .action(async (flags: { json?: boolean }) => (await import('./cluster.ts')).upgrade(flags));
  return cluster;
}

export function verifyCommand(): Command {
  return new Command('verify')
    .description('look at every row, and whether store, journal, projection, index and feeds agree')
    .option('--backup <file>', 'look at a backup instead: every block and row of it')
    .option('--passphrase-file <file>', 'of an encrypted backup; without it a terminal is asked')
    .option('--identity <file>', 'of a backup for public keys: what age-keygen wrote')
    .option(
      '--unencrypted',
      'take a backup that is not encrypted though a passphrase or key is given, and a list that is not sealed',
    )
    .option(
      '--without-erasures',
      'pass a backup whose list of deleted accounts is missing or older',
    )
    .option('--json', 'print the result as JSON, no progress')
    .action(async (flags: VerifyFlags) => {
      await (await import('./verify.ts')).verify(flags);
    });
}
