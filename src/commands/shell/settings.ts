/**
 * Settings in a file: `--settings` reads one for any command, `init` writes one. Its lines are
 * `NAME=value`, as systemd, Docker and Node read them; what the environment has already stays. And whether
 * settings open the server to other machines in a way that nobody can want.
 */

import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { processEnvironment } from '../../config/environment.ts';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import { isLoopback } from '../../ip/special.ts';
import { readSmall } from '../../storage/files.ts';

const fileBytesMax = 1_000_000;
const settingName = /^[a-z_][a-z0-9_]*$/i;

/** Gives a last line without `=` a line behind it, see below. */
const endLine = '_=';

/**
 * The library makes one name of a line without `=` and the line behind it, so a setting would be lost in silence.
 * @throws OperatorError when it can't be read, or a line is no setting
 */
export function readSettingsFile(path: string): void {
  let text: string;
  try {
    text = textOf(path);
  } catch (error) {
    throw new OperatorError(`--settings ${path} can't be read: ${(error as Error).message}`);
  }
  const env = processEnvironment();
  const { _, ...given } = parseEnv(`${text}\n${endLine}`);
  const found = Object.entries(given);
  // Behind a line that begins so the library reads nothing.
  const nameless = /^=.*/m.exec(text)?.[0];
  const wrong = nameless ?? found.find(([name]) => !settingName.test(name))?.[0];
  if (wrong !== undefined) {
    const line = JSON.stringify(wrong.trim().split('\n')[0]!.slice(0, 60));
    throw new OperatorError(`--settings ${path} has a line that is no NAME=value: ${line}`);
  }
  const cut = found.find(([name, value]) => isCut(text, name, value ?? ''))?.[0];
  if (cut !== undefined) {
    throw new OperatorError(
      `--settings ${path} says more of ${cut} than would be read: put the whole value in quotes`,
    );
  }
  for (const [name, value] of found) env[name] ??= value;
}

/**
 * Returns whether the last line of a setting goes on behind its value: the library ends one at a `#` without a space
 * before it, and at the second quote. A password would lose its end in silence.
 */
function isCut(text: string, name: string, value: string): boolean {
  const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=(.*)$`, 'gm');
  const [, all = ''] = [...text.matchAll(line)].at(-1) ?? [];
  const written = all.trimStart();
  const [quote = ''] = /^["'`]/.exec(written) ?? [];
  if (quote !== '' && written.startsWith(`${quote}${value}${quote}`)) {
    return !/^\s*(?:#|$)/.test(written.slice(value.length + 2));
  }
  // One with line breaks or escapes has another text here.
  if (!written.startsWith(value)) return false;
  return !/^\s*$|^\s+#/.test(all.slice(value === '' ? 0 : all.indexOf(value) + value.length));
}

/** A pipe is taken too; what never ends is not. */
function textOf(path: string): string {
  const bytes = readSmall(openSync(path, 'r'), fileBytesMax);
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** Sets the environment from `text`, which wins over what is set already. */
export function takeSettings(text: string): void {
  Object.assign(processEnvironment(), parseEnv(text));
}

export interface Answers {
  readonly url: string;
  readonly dataDir: string;
  readonly host: string;
  readonly port: string;
  readonly trustedProxies: string;
  /** Empty: mails stay in the outbox, and the server starts on a loopback address only. */
  readonly smtpUrl: string;
  readonly mailFrom: string;
  readonly registration: string;
  readonly metricsToken: string;
}

/** Values that need no quotes in any of the programs that read the file. */
export function isPlainValue(text: string): boolean {
  return /^[\x21\x25-\x26\x28-\x5b\x5d-\x5f\x61-\x7e]*$/.test(text);
}
export const unquotableFault =
  "can't stand in a file of settings: it has a space, quote, #, $ or \\";

/** @throws OperatorError when a value can't stand in the file as it is */
export function settingsText(answers: Answers): string {
  const line = (name: string, value: string) => {
    if (!isPlainValue(value)) throw new OperatorError(`${name} ${unquotableFault}`);
    return value === '' ? `#${name}=\n` : `${name}=${value}\n`;
  };
  return `# Settings of Portcullis, written by \`portcullis init\`. All of them: docs/SETTINGS.md.
# Keep it readable by the service alone: the address of the mail server may hold a password.

# Where the server listens. Something that speaks TLS stands in front.
${line('HOST', answers.host)}${line('PORT', answers.port)}
# What links begin with, and what passkeys belong to. Changing it later makes passkeys useless.
${line('BASE_URL', answers.url)}${line('SECURE_URL', answers.url)}
# Whose X-Forwarded-For or Forwarded is believed: the proxy in front, nobody else.
${line('TRUSTED_PROXIES', answers.trustedProxies)}
# Store, master key and snapshots. A copy of this folder is no backup: \`portcullis backup\`.
${line('DATA_DIR', answers.dataDir)}
# Mails that confirm addresses and open accounts.
${line('SMTP_URL', answers.smtpUrl)}${line('MAIL_FROM', answers.mailFrom)}
# open: anybody may register. closed: accounts are made on the command line alone.
${line('REGISTRATION', answers.registration)}
# Asked of whoever reads /metrics.
${line('METRICS_TOKEN', answers.metricsToken)}
# A backup each day, seven of them kept. Better on another disk, and encrypted: to a public key of age, or a passphrase.
#BACKUP_FOLDER=${answers.dataDir}/backups
#BACKUP_RECIPIENTS=
#BACKUP_PASSPHRASE_FILE=
`;
}

/** Readable by its owner alone, and durable. @throws OperatorError when there is one already */
export function writeSettingsFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    const file = openSync(path, 'wx', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      code === 'EEXIST'
        ? `${path} is there already; nothing is changed`
        : `${path} can't be written: ${message}`,
    );
  }
}

// Passwords in clear, or mails that reach nobody, are found out before anything starts, so that it happens on
// purpose only.

type ExposedSettings = Pick<Config, 'host' | 'baseUrl' | 'secureUrl' | 'smtpUrl'>;

/** Returns the faults of these settings on any address but loopback, in words; empty if none. */
export function exposureFaults({ baseUrl, secureUrl, smtpUrl }: ExposedSettings): string[] {
  const plain = [
    ['BASE_URL', baseUrl],
    ['SECURE_URL', secureUrl],
  ].flatMap(([name, url]) => (url!.startsWith('https:') ? [] : [`${name} is ${url}`]));
  const faults: string[] = [];
  if (plain.length > 0) {
    faults.push(
      `${plain.join(' and ')}, so passwords, cookies and keys travel in clear (set https:// addresses and put a TLS proxy in front)`,
    );
  }
  if (smtpUrl === undefined) {
    faults.push(
      'SMTP_URL is not set, so links that open accounts are written to the outbox and the log instead of being mailed',
    );
  }
  return faults;
}

/**
 * @returns what to warn of
 * @throws OperatorError on an address that others reach, unless `insecure`
 */
export function checkExposure(config: ExposedSettings, insecure: boolean): string[] {
  if (isLoopback(config.host)) return [];
  const faults = exposureFaults(config);
  if (faults.length === 0 || insecure) return faults;
  throw new OperatorError(
    `not started on ${config.host}, which other machines can reach: ${faults.join('; ')}. HOST=127.0.0.1 keeps it to this machine; --insecure starts it nevertheless`,
  );
}
