/**
 * The demo: lists in documentation ranges (data/seed/), an account, its key, and a text that
 * says what to try. Starting it again changes nothing but the lists' age.
 */

import { fileURLToPath } from 'node:url';
import { type Accounts, createAccounts } from '../access/accounts/accounts.ts';
import { createApiKeys } from '../access/keys/api-keys.ts';
import { deriveKey, type MasterKey } from '../access/keys/master-key.ts';
import { createSiteKeys } from '../access/keys/site-keys.ts';
import type { Config } from '../config.ts';
import { expect } from '../contracts/operation.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { isProxied } from '../http/request/client-ip.ts';
import { openList } from '../reputation/lists/import/open-list.ts';
import { collectRows, type ListFormatName, parseList } from '../reputation/lists/import/parse.ts';
import { loadList } from '../reputation/lists/load-list.ts';
import type { ListKind } from '../reputation/state/events.ts';
import type { Mail } from '../signon/mail/letter.ts';
import { outboxPathOf } from '../signon/mail/outbox.route.ts';
import { standingOf } from '../signon/people/operations.ts';
import { createOperator } from '../signon/people/operator.ts';
import { createProfiles, profileExtraRows } from '../signon/people/profile/profile-store.ts';
import { openPeople } from '../signon/people.ts';
import { createPasswords } from '../signon/proofs/passwords.ts';
import type { Store } from '../storage/store.ts';

const demoEmail = 'demo@portcullis.example';
/** Seen from the compiled file: dist/src/commands/. */
const seedFolder = fileURLToPath(new URL('../../../data/seed/', import.meta.url));
const demoHoldDays = 3_650;
/** One of each kind, for the home page. */
export const demoAddresses = ['198.51.100.7', '192.0.2.61', '2001:db8:bad::1'] as const;

interface DemoTools {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly masterKey: MasterKey;
  readonly config: Config;
}

/** The welcome prints these keys of the demo account, and its password. */
export interface DemoKeys {
  readonly apiKey: string;
  readonly siteKey: string;
  /** Undefined when its owner has chosen another one. */
  readonly password: string | undefined;
}

const passwordPurpose = 'portcullis demo password v1';

export async function loadDemo(tools: DemoTools): Promise<DemoKeys> {
  await loadDemoList(tools, 'seed', 'demo.csv', 'csv');
  await loadDemoList(tools, 'anon', 'demo-anon.txt', 'anon');
  const beside = profileExtraRows(createProfiles(tools));
  const accounts = createAccounts({ ...tools, beside });
  const found = await accounts.find(demoEmail);
  const account = found.ok
    ? found.value
    : expect(await accounts.create(demoEmail, standingOf(tools.config)));
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
  const opened = await openList(seedFolder + file);
  const parse = parseList(opened.chunks, {
    format,
    confidence: 0,
    allowDocumentation: true,
    label: opened.label,
  });
  const { batches } = await collectRows(parse, { label: opened.label });
  expect(
    await loadList({
      ...tools,
      list,
      source: 'demo',
      holdDays: demoHoldDays,
      batches,
      onRows: () => {},
    }),
  );
}

/** Returns the first text that a newcomer reads: its four commands work when they are pasted. */
export function welcome(options: {
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
Portcullis is running at ${base}/ with demo data (addresses in documentation ranges).
Demo API key: ${key}
Demo site key, for the CAPTCHA on a web site: ${keys.siteKey}
${hasMailPage ? `Mails of the demo, with their links: ${base}${outboxPathOf(outboxName)}\n` : ''}Demo sign-in at ${base}/signin: ${demoEmail}, password ${keys.password ?? 'as you have set it'}

A malicious address, a suspect one, an IPv6 one:

${check('198.51.100.7')}
${check('192.0.2.61')}
${check('2001:db8:bad::1')}

Many at once:

  printf '198.51.100.7\\n203.0.113.129\\n8.8.8.8\\n' | curl -s -H 'Key: ${key}' --data-binary @- '${base}/api/v2/check-bulk'

Stop with Ctrl-C.
`;
}

/** One line for a mail that went to the outbox. Its values hold no control character (letter.ts). */
export function mailLine(mail: Mail): string {
  return `Mail to ${mail.to}: ${mail.subject}${mail.link === undefined ? '' : ` ${mail.link}`}\n`;
}
