/**
 * `portcullis serve`: the server until it is asked to stop. With `--demo` it first loads the demo
 * lists and makes sure of a demo account, and at the end of the start prints commands to paste.
 */

import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Accounts, createAccounts, createDirectory } from '../access/accounts/accounts.ts';
import { roleOf } from '../access/accounts/records.ts';
import { createApiKeys } from '../access/keys/api-keys.ts';
import { deriveKey, type MasterKey } from '../access/keys/master-key.ts';
import { createSiteKeys } from '../access/keys/site-keys.ts';
import { processEnvironment } from '../config/environment.ts';
import { type Config, misspeltSettings } from '../config.ts';
import { expect } from '../contracts/operation.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { createLog, type Log } from '../core/log.ts';
import { type Random, randomToken, systemRandom } from '../core/random.ts';
import { collectAlone } from '../core/threads.ts';
import { loadNative } from '../http/native.ts';
import { isProxied } from '../http/request/client-ip.ts';
import { startServer } from '../main.ts';
import { checkMasterKey, makeDataDir, readSettings } from '../operations/workspace.ts';
import { openList } from '../reputation/lists/import/open-list.ts';
import { collectRows, type ListFormatName, parseList } from '../reputation/lists/import/parse.ts';
import type { ServiceName } from '../reputation/lists/import/rows.ts';
import { loadList } from '../reputation/lists/load-list.ts';
import type { ListKind, RowBatch } from '../reputation/state/events.ts';
import type { Mail } from '../signon/mail/mail-format.ts';
import { outboxNameBytes, outboxPathOf } from '../signon/mail/outbox.route.ts';
import { createOperator, standingOf } from '../signon/people/operations.ts';
import { createProfiles } from '../signon/people/profile/profile-store.ts';
import { openPeople } from '../signon/people.ts';
import { createPasswords } from '../signon/proofs/passwords.ts';
import { type Claim, ClaimedError, claimDataDir, serverUse } from '../storage/lmdb/claim.ts';
import { type Store, StoreUnavailableError } from '../storage/store.ts';
import { checkExposure } from './shell/settings.ts';
import { compactIfRequested } from './store/compact.ts';

/** Seen from the compiled file: dist/src/commands/. */
const seedFolder = fileURLToPath(new URL('../../../data/seed/', import.meta.url));
const holdDays = 3_650;

interface LoadTools {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Config;
}

/**
 * Loads the known-good lists that a server brings along at each start: the bundled one and what the
 * setting KNOWN_GOOD names. More of them come by `portcullis seed --known-good`; all are lists of the
 * journal (kind `good`), so they are replaced and end as any other list does.
 * @param loaded the names of the lists of this kind that are loaded
 */
async function loadKnownGood(tools: LoadTools, loaded: readonly string[]): Promise<void> {
  const { chunks, label } = await openList(`${seedFolder}known-good.txt`);
  const bundled = await rowsOf(chunks, label, { format: 'plain', service: 'names' });
  await put(tools, 'good', 'bundled', bundled);
  const { knownGood } = tools.config;
  const text = Buffer.from(knownGood.join('\n'));
  if (knownGood.length === 0 && !loaded.includes('setting')) return;
  // Without any it replaces what an earlier start has loaded.
  const rows =
    knownGood.length === 0
      ? []
      : await rowsOf(Readable.from([text]), 'KNOWN_GOOD', { format: 'plain' });
  await put(tools, 'good', 'setting', rows);
}

async function rowsOf(
  chunks: AsyncIterable<Uint8Array>,
  label: string,
  how: { readonly format: ListFormatName; readonly service?: ServiceName },
) {
  const rules = { confidence: 0, allowDocumentation: true, label, ...how };
  return (await collectRows(parseList(chunks, rules), { label })).batches;
}

async function put(
  { store, clock, random }: LoadTools,
  list: ListKind,
  source: string,
  batches: readonly RowBatch[],
): Promise<void> {
  const what = { list, source, holdDays, batches };
  expect(await loadList({ store, clock, random, ...what, onRows: () => {} }));
}

const claimPauseMs = 100;
/** A holder has so many pauses to write who it is. */
const namelessPauses = 20;

/**
 * Claims the directory once a command has ended that began while no server ran, such as a backup: a supervisor gives
 * up after some starts that fail. Undefined: a signal came first.
 * @throws ClaimedError when another server has it
 */
async function claimPatiently(dataDir: string, log: Log): Promise<Claim | undefined> {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  let isEnded = false;
  const end = () => {
    isEnded = true;
  };
  for (const signal of signals) process.once(signal, end);
  try {
    for (let pauses = 0; !isEnded; pauses++) {
      try {
        return claimDataDir(dataDir, serverUse);
      } catch (error) {
        if (!(error instanceof ClaimedError) || !isOfCommand(error, pauses)) throw error;
        if (pauses === 0)
          log.warn({ reason: error.message }, 'start: waits for the data directory');
      }
      await sleep(claimPauseMs);
    }
    return undefined;
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}

function isOfCommand({ holder }: ClaimedError, pauses: number): boolean {
  return holder === undefined ? pauses < namelessPauses : holder.use !== serverUse;
}

/** From the end of DRAIN_MS to the exit, whatever hangs: twice what a stop takes on a machine with time. */
const stopMsMax = 9_500;
/** Work that nobody waits for has this long, when all is closed. */
const leftoverMs = 250;
/** File work that is under way then has this long. */
const filesMsMax = 1_500;

export async function serve(options: { demo: boolean; insecure: boolean }): Promise<void> {
  collectAlone();
  // Libraries write there by themselves. Where a full disk takes nothing more, or nobody reads any
  // more, that is no reason to stop.
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error').on('error', () => {});
  }
  const config = readSettings();
  // The start ends here, before anything is written, if it does not load.
  loadNative(config.webServerSha256);
  const faults = checkExposure(config, options.insecure);
  makeDataDir(config);
  const clock = systemClock();
  const random = systemRandom();
  const log = createLog(options.demo ? demoLogLevel(config) : config.logLevel);
  for (const fault of faults) log.warn({ host: config.host, fault }, 'insecure on purpose');
  const misspelt = misspeltSettings(Object.keys(processEnvironment()));
  for (const fault of misspelt) log.warn({ fault }, 'settings: a name without effect');
  const claim = await claimPatiently(config.dataDir, log);
  if (claim === undefined) return;
  const masterKey = checkMasterKey(config, random);
  if (config.databaseUrl === undefined) await compactIfRequested(config, log);
  let demoKeys: DemoKeys | undefined;
  const outboxName = randomToken(random, outboxNameBytes);
  let failure: unknown;
  let wake = () => {};
  const stopped = new Promise<void>((resolve) => {
    wake = resolve;
  });
  let hasStarted = false;
  let isAsked = false;
  // From now on, so that a signal during the start ends it in order as soon as it is done. `npm` and `timeout` pass on
  // what the whole group gets: the second one must not break off the stop, which has its bound.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isAsked) return;
      isAsked = true;
      log.info({ signal }, 'stopping');
      if (!hasStarted) leaveLate();
      wake();
    });
  }
  // Programs that rotate logs send them. Node opens its debugger to this machine at the one, and ends at the other.
  for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) {
    process.on(signal, () => log.warn({ signal }, 'a signal without a meaning here'));
  }
  let late: NodeJS.Timeout | undefined;
  /** A part that hangs must not keep the supervisor waiting: everything acknowledged is on disk. */
  function leaveLate(): void {
    late ??= setTimeout(() => {
      log.fatal('stop: took too long, leaving');
      if (failure !== undefined) {
        process.stderr.write(`portcullis: stopped: ${reasonOf(failure)}\n`);
        process.exit(1);
      }
      process.kill(process.pid, 'SIGKILL');
    }, stopMsMax);
  }
  const setReopen = reopenOnHangup(config, log, wake);
  // Background work handles its own failures; one that nobody handled is no reason to end.
  process.on('unhandledRejection', (error) => {
    if (!(error instanceof StoreUnavailableError)) throw error;
    log.warn({ err: error }, 'background work found the store unavailable');
  });
  const server = await startServer({
    claim,
    config,
    clock,
    random,
    masterKey,
    log,
    onFatal(error) {
      failure ??= error;
      wake();
    },
    demo: options.demo,
    ...(options.demo ? { onMail: (mail: Mail) => void process.stdout.write(mailLine(mail)) } : {}),
    ...(options.demo ? { outboxName } : {}),
    exampleAddresses: options.demo ? demoAddresses : [],
    exampleSiteKey: () => demoKeys?.siteKey,
    async prepare(store) {
      const tools = { store, clock, random, masterKey, config };
      if (options.demo) demoKeys = await loadDemo(tools, log);
      else await endDemo(tools, log);
    },
  });
  hasStarted = true;
  // A stop that was asked for meanwhile has all of its time from now on.
  clearTimeout(late);
  late = undefined;
  setReopen(server.reopenAccessLog);
  // Now that the server knows how full its tables are. Without room it serves all the same.
  const { store, state } = server;
  const loaded = state.sources.list().filter(({ list }) => list === 'good');
  const names = loaded.map(({ source }) => source);
  await loadKnownGood({ store, clock, random, config }, names).then(
    () => log.debug('known-good list: loaded'),
    (error: unknown) => log.warn({ err: error }, 'known-good list: not loaded'),
  );
  if (demoKeys !== undefined) {
    process.stdout.write(welcome({ config, port: server.port, keys: demoKeys, outboxName }));
  } else if (process.stdout.isTTY) {
    // Programs read the log on standard error; this line is for a person.
    process.stdout.write(
      `Portcullis is running at ${config.baseUrl}/ (console: ${config.baseUrl}/admin). Stop with Ctrl-C.\n`,
    );
  }
  await stopped;
  if (failure === undefined && config.drainMs > 0) {
    server.drain();
    await sleep(config.drainMs);
  }
  leaveLate();
  await server.close();
  clearTimeout(late);
  log.info('stopped');
  if (failure !== undefined) {
    throw new OperatorError(`stopped: ${reasonOf(failure)}`);
  }
  setTimeout(() => leave(log), leftoverMs).unref();
}

function reasonOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

/**
 * On SIGHUP the file of ACCESS_LOG is opened again. Without such a file SIGHUP changes nothing, except that a server
 * started in a terminal stops when the terminal closes.
 * @returns a function that takes the callback to reopen, once there is one
 */
function reopenOnHangup(config: Config, log: Log, stop: () => void) {
  let reopen: (() => void) | undefined;
  let isWanted = false;
  process.on('SIGHUP', (signal) => {
    if (config.accessLog === undefined && process.stderr.isTTY) {
      log.info({ signal }, 'stopping');
      return stop();
    }
    const isFile = config.accessLog !== undefined && config.accessLog !== 'stdout';
    log.info({ signal }, `access log: ${isFile ? 'opened anew' : 'there is no file'}`);
    if (reopen === undefined) isWanted = true;
    else reopen();
  });
  return (how: () => void): void => {
    reopen = how;
    if (isWanted) how();
  };
}

/** An exit waits for file work that is under way: where the files are on a machine that is away, for ever. */
async function leave(log: Log): Promise<void> {
  const beganMs = performance.now();
  while (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) {
    if (performance.now() - beganMs > filesMsMax) {
      log.fatal('stop: a file or folder does not answer, leaving');
      process.kill(process.pid, 'SIGKILL');
    }
    await sleep(50);
  }
  process.exit();
}

/** A person reads the demo's terminal: what is usual stays out of it. */
function demoLogLevel(config: Config): Config['logLevel'] {
  return config.logLevel === 'info' ? 'warn' : config.logLevel;
}

// The demo: lists in documentation ranges (data/seed/), an account, its key, and a text that
// says what to try. Starting it again changes nothing but the lists' age.

const demoEmail = 'demo@portcullis.example';
/** One of each kind, for the home page. */
const demoAddresses = ['198.51.100.7', '192.0.2.61', '2001:db8:bad::1'] as const;

interface DemoTools extends LoadTools {
  readonly masterKey: MasterKey;
}

/** The welcome prints these keys of the demo account, and its password. */
interface DemoKeys {
  readonly apiKey: string;
  readonly siteKey: string;
  /** Undefined when its owner has chosen another one. */
  readonly password: string | undefined;
}

const passwordPurpose = 'portcullis demo password v1';

async function loadDemo(tools: DemoTools, log: Log): Promise<DemoKeys> {
  const accounts = createAccounts({ ...tools, extraRows: createProfiles(tools).created });
  const found = await accounts.find(demoEmail);
  try {
    await loadDemoList(tools, 'seed', 'demo.csv', 'csv');
    await loadDemoList(tools, 'anon', 'demo-anon.txt', 'anon');
  } catch (error) {
    // A disk that is full: what the start before has loaded is there.
    if (!found.ok || tools.store.writeState().available) throw error;
    log.warn({ reason: (error as Error).message }, 'demo: its lists are those of the last start');
  }
  const account = found.ok
    ? found.value
    : expect(await accounts.create(demoEmail, standingOf(tools.config)));
  if ((await roleOf(tools.store, account.id)) !== 'operator') {
    expect(await createDirectory({ ...tools, accounts }).setRole(demoEmail, 'operator'));
  }
  const apiKeys = createApiKeys({ ...tools, accounts, by: 'operator' });
  const newest = (await apiKeys.list(account.id)).findLast(({ name }) => name === '');
  const known = newest && (await apiKeys.reveal(account.id, newest.id));
  // One that was sealed under a former master key works on and can't be shown.
  const apiKey = known?.ok ? known.value : expect(await apiKeys.create(account.id)).text;
  const siteKeys = createSiteKeys(tools);
  const [siteKey] = await siteKeys.ofAccount(account.id);
  return {
    apiKey,
    siteKey: (siteKey ?? expect(await siteKeys.create(account.id, []))).id,
    password: await demoPassword(tools, accounts, account.id),
  };
}

/** Its account is an operator's in the demo alone: its password stood on a terminal. */
async function endDemo(tools: DemoTools, log: Log): Promise<void> {
  const accounts = createAccounts({ ...tools, extraRows: createProfiles(tools).created });
  const found = await accounts.find(demoEmail);
  if (!found.ok || (await roleOf(tools.store, found.value.id)) !== 'operator') return;
  const done = await createDirectory({ ...tools, accounts }).setRole(demoEmail, 'member');
  if (done.ok) return log.warn('demo: its account is no longer an operator');
  log.error(
    { reason: done.error },
    'demo: its account is an operator as long as nothing can be written',
  );
  const unsubscribe = tools.store.onWriteState(({ available }) => {
    if (!available) return;
    unsubscribe();
    void endDemo(tools, log);
  });
}

/** Follows from the master key, so that it can be shown at each start and is stored nowhere. */
async function demoPassword(
  tools: DemoTools,
  accounts: Accounts,
  accountId: string,
): Promise<string | undefined> {
  const key = deriveKey(tools.masterKey, passwordPurpose);
  const password = Buffer.from(key).toString('base64url').slice(0, 16);
  const person = await openPeople(tools.store).byId(accountId);
  const phc = person?.credentials.passwordHash ?? '';
  if (phc === '') {
    const operator = createOperator({ ...tools, accounts, profiles: createProfiles(tools) });
    // Drawn, not chosen: its strength needs no judge, and none has to be started.
    const accept = (drawn: string) => createPasswords(tools).hash(drawn);
    expect(await operator.setFirstPassword(accountId, password, { accept }));
    return password;
  }
  const { right } = expect(await createPasswords(tools).verify(phc, password));
  return right ? password : undefined;
}

async function loadDemoList(
  tools: DemoTools,
  list: ListKind,
  file: string,
  format: ListFormatName,
): Promise<void> {
  const { chunks, label } = await openList(seedFolder + file);
  await put(tools, list, 'demo', await rowsOf(chunks, label, { format }));
}

/** Returns the first text that a newcomer reads: six addresses, and three commands that work when they are pasted. */
function welcome(options: {
  config: Config;
  port: number;
  keys: DemoKeys;
  outboxName: string;
}): string {
  const { config, port, keys, outboxName } = options;
  const key = keys.apiKey;
  const hasMailPage = config.smtpUrl === undefined && !isProxied(config);
  // Links and passkeys belong to BASE_URL; a port that nobody named is not in it.
  const base = config.port === port ? config.baseUrl : `http://localhost:${port}`;
  const check = (address: string) =>
    `  curl -s -H 'Key: ${key}' '${base}/api/v2/check?ipAddress=${address}'`;
  return `
Portcullis is running with demo data (addresses in documentation ranges).

  Home:     ${base}/
  Address:  ${base}/ip/198.51.100.7
  Connect:  ${base}/connect
  Sign in:  ${base}/signin
  Docs:     ${base}/docs

Demo API key: ${key}
Demo site key, for the CAPTCHA on a web site: ${keys.siteKey}
${hasMailPage ? `Mails of the demo, with their links: ${base}${outboxPathOf(outboxName)}\n` : ''}Console: ${base}/admin
Demo sign-in, as its operator: ${demoEmail}, password ${keys.password ?? 'as you have set it'}

To paste into another terminal: a malicious address, a suspect one, an IPv6 one:

${check('198.51.100.7')}
${check('192.0.2.61')}
${check('2001:db8:bad::1')}

Stop with Ctrl-C.
`;
}

/** One line for a mail that went to the outbox. Its values hold no control character (mail-format.ts). */
function mailLine(mail: Mail): string {
  return `Mail to ${mail.to}: ${mail.subject}${mail.link === undefined ? '' : ` ${mail.link}`}\n`;
}
