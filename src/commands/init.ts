/**
 * `portcullis init`: a server that is ready for production. It asks the few questions that nobody else
 * can answer, or takes the answers as options, writes the file of settings, and makes the data directory
 * with its master key and the operator's account.
 */

import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { createDirectory } from '../access/accounts/accounts.ts';
import { smtpUrl } from '../config.ts';
import { expect } from '../contracts/operation.ts';
import { OperatorError } from '../core/errors.ts';
import { readMailAddress } from '../core/mail-address.ts';
import { randomToken, systemRandom } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { isLoopback } from '../ip/special.ts';
import { createAudit } from '../operations/audit.ts';
import { operatorName } from '../operations/client.ts';
import { makeDataDir, readSettings, withWorkspace } from '../operations/workspace.ts';
import { createOperator, withNewPasswords } from '../signon/people/operations.ts';
import { claimDataDir } from '../storage/lmdb/claim.ts';
import { createOutput } from './shell/output.ts';
import {
  type Answers,
  exposureFaults,
  isPlainValue,
  settingsText,
  takeSettings,
  unquotableFault,
  writeSettingsFile,
} from './shell/settings.ts';

/** 24 characters of base64url. */
const passwordBytes = 18;

/** Makes the first account: an operator with a password that is drawn. @returns the password */
async function makeOperator(fileText: string, email: string): Promise<string> {
  takeSettings(fileText);
  const config = readSettings();
  makeDataDir(config);
  const { release } = claimDataDir(config.dataDir, 'init');
  try {
    return await withWorkspace(async (w) => {
      const audit = createAudit(w);
      const command = { name: 'init' };
      const begun = await audit.begin(command, {}, operatorName());
      const account = expect(await w.accounts.create(email, 'staff'));
      expect(await createDirectory(w).setRole(email, 'operator'));
      const password = randomToken(w.random, passwordBytes);
      await withNewPasswords({ config, random: w.random }, async (newPasswords) =>
        expect(await createOperator(w).setFirstPassword(account.id, password, newPasswords)),
      );
      await audit.end(begun, command, {}, true);
      return password;
    });
  } finally {
    release();
  }
}

export interface InitFlags {
  readonly url?: string;
  readonly operator?: string;
  readonly dataDir: string;
  readonly host: string;
  readonly port: string;
  readonly proxy: string;
  readonly smtpUrl?: string;
  readonly mailFrom?: string;
  readonly registration?: string;
  readonly json?: boolean;
}

const tokenBytes = 24;

export async function init(file: string, flags: InitFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  if (existsSync(file)) throw new OperatorError(`${file} is there already; nothing is changed`);
  const { answers, operator } = await askAll(flags);
  // Written first, so that the account is made with the settings that the server will have.
  const text = settingsText(answers);
  writeSettingsFile(file, text);
  const password = await makeOperator(text, operator).catch((error) => {
    rmSync(file);
    throw error;
  });
  const start = `portcullis --settings ${file} serve`;
  output.line(`Settings: ${resolve(file)}`);
  output.line(
    `Data: ${resolve(answers.dataDir)}, with the master key: back it up with \`portcullis backup\``,
  );
  output.line(`Operator: ${operator}, password ${password} (shown this once)`);
  const faults = isLoopback(answers.host)
    ? []
    : exposureFaults({
        ...answers,
        baseUrl: answers.url,
        secureUrl: answers.url,
        smtpUrl: answers.smtpUrl || undefined,
      });
  for (const fault of faults) output.line(`To do: ${fault}`);
  output.line(`Start it with: ${start}`);
  output.result({
    file: resolve(file),
    dataDir: resolve(answers.dataDir),
    operator,
    password,
    start,
  });
}

/** Each answer is an option, or asked for at a terminal. */
async function askAll(flags: InitFlags): Promise<{ answers: Answers; operator: string }> {
  const isAsking = process.stdin.isTTY && flags.json !== true;
  const ask = isAsking ? openQuestions() : undefined;
  try {
    const url = await answer(ask, flags.url, '--url', 'Public https address: ', readUrl);
    const operator = await answer(
      ask,
      flags.operator,
      '--operator',
      'Your mail address: ',
      readMail,
    );
    const smtpUrl = await mailServer(ask, flags.smtpUrl);
    const registration = await answer(
      ask,
      flags.registration ?? (isAsking ? undefined : ''),
      '--registration',
      'May anybody register? (open or closed) [closed]: ',
      readRegistration,
    );
    return {
      operator,
      answers: {
        url,
        dataDir: resolve(flags.dataDir),
        host: flags.host,
        port: flags.port,
        trustedProxies: flags.proxy,
        smtpUrl,
        mailFrom: flags.mailFrom ?? operator,
        registration,
        metricsToken: randomToken(systemRandom(), tokenBytes),
      },
    };
  } finally {
    ask?.close();
  }
}

/** Lines that are typed ahead answer the questions that follow. */
function openQuestions() {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const typed = lines[Symbol.asyncIterator]();
  return {
    async next(question: string): Promise<string> {
      process.stderr.write(question);
      const { value, done } = await typed.next();
      if (done === true) {
        process.stderr.write('\n');
        throw new OperatorError('stopped; nothing is written');
      }
      return value;
    },
    close: () => lines.close(),
  };
}

type Questions = ReturnType<typeof openQuestions>;

async function answer(
  ask: Questions | undefined,
  given: string | undefined,
  name: string,
  question: string,
  readAnswer: (text: string) => Result<string>,
): Promise<string> {
  for (;;) {
    const text = given ?? (await ask?.next(question));
    if (text === undefined)
      throw new OperatorError(`${name} is missing, and there is no terminal to ask at`);
    const read = readAnswer(text.trim());
    if (read.ok) return read.value;
    const shown = text.trim().slice(0, 60).replace(/\p{C}/gu, '?');
    if (given !== undefined) {
      throw new OperatorError(`${name} ${shown} can't be used: ${read.detail}`);
    }
    process.stderr.write(
      `${shown === '' ? 'Nothing was typed' : shown}: ${read.detail}. Please try again.\n`,
    );
  }
}

/** An option is judged with the other settings. What is typed is not repeated: it may hold a password. */
async function mailServer(ask: Questions | undefined, given: string | undefined): Promise<string> {
  if (given !== undefined || ask === undefined) return (given ?? '').trim();
  for (;;) {
    const text = (
      await ask.next('Mail server (smtps://user:password@host), empty for none yet: ')
    ).trim();
    const read = v.safeParse(smtpUrl, text);
    if (text === '' || (read.success && isPlainValue(text))) return text;
    const [issue] = read.issues ?? [];
    process.stderr.write(
      `The mail server ${issue?.message ?? unquotableFault}. Please try again.\n`,
    );
  }
}

const refused = (why: string) => fail('invalid_parameter', why);

/** An https origin. */
function readUrl(text: string): Result<string> {
  if (!URL.canParse(text)) return refused('it is no address such as https://id.example.com');
  const { protocol, origin, pathname, search, hash, username } = new URL(text);
  if (protocol !== 'https:') return refused('it must begin with https://');
  if (username !== '') return refused('it must have no name or password in it');
  const isOrigin = pathname === '/' && search === '' && hash === '';
  return isOrigin ? ok(origin) : refused(`it must end behind the host name: ${origin}`);
}

function readRegistration(text: string): Result<string> {
  if (text === '') return ok('closed');
  return text === 'open' || text === 'closed' ? ok(text) : refused('it is open or closed');
}

function readMail(text: string): Result<string> {
  return readMailAddress(text) !== undefined
    ? ok(text)
    : refused('it is no mail address such as you@example.com');
}
