/** Operations on keys: API keys, keys of bouncers and agents, site keys. */

import * as v from 'valibot';
import { expect, type OperationTools, operationsOn } from '../../contracts/operation.ts';
import {
  account,
  argument,
  choice,
  flag,
  listedName,
  shortText,
  wholeNumber,
} from '../../contracts/operation-parameters.ts';
import { dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import { columnsOr, grouped } from '../../core/text-table.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { perMinuteMax } from '../accounts/accounts-table.ts';
import { type ApiKey, type ApiKeys, type KeyInfo, type KeyUse, readKeyUse } from './api-keys.ts';
import { type KeyScope, keyScopeNames, keyScopes, plainScopes } from './key-format.ts';
import {
  createSiteKeys,
  type LeastLevel,
  leastLevels,
  type SiteKey,
  type SiteKeySettings,
} from './site-keys.ts';

interface KeyTools extends OperationTools {
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
}

const operation = operationsOn<KeyTools>();

/** Requests a minute that an operator may set. */
export const perMinute = wholeNumber(0, perMinuteMax);
/** More than there are, so that the key's own rule says no. */
const scopesMax = 50;
const scopeList = Object.keys(keyScopes).join(', ');
const scopes = v.pipe(
  shortText,
  v.transform((text) => text.split(',').map((name) => name.trim())),
  v.array(
    v.picklist(
      Object.keys(keyScopes) as KeyScope[],
      ({ received }) =>
        `there is no scope ${received.replaceAll('"', "'").slice(0, 60)}; there are ${scopeList}`,
    ),
  ),
  v.maxLength(scopesMax, 'These are too many.'),
);
const defaultScopes: readonly KeyScope[] = ['check'];
const hostsMax = 1_000;
const timeOrNull = (ms: number) => (ms === 0 ? null : dateText(ms));

function shownKey(info: KeyInfo, use?: KeyUse) {
  return {
    ...info,
    scopes: keyScopeNames(info.scopes),
    createdAt: timeOrNull(info.createdAt),
    endsAt: timeOrNull(info.endsAt),
    revokedAt: timeOrNull(info.revokedAt),
    lastUsedAt: timeOrNull(use?.lastUsedAt ?? 0),
  };
}

export const createKey = operation({
  name: 'key create',
  purpose: 'make a key; the former one without a name, if any, works for 24 more hours',
  parameters: {
    email: account,
    name: {
      schema: v.optional(shortText),
      value: 'name',
      help: 'make a key beside the others, unique among those of the account',
    },
    scopes: {
      schema: v.optional(scopes),
      option: 'scope',
      value: 'names',
      help: `what a named key is for, with commas: ${scopeList} (default: check)`,
    },
    readPerMinute: {
      schema: v.optional(perMinute),
      value: 'n',
      help: 'checks a minute, set by hand; 0 gives it back to trust',
      kept: true,
    },
    writePerMinute: {
      schema: v.optional(perMinute),
      value: 'n',
      help: 'reports a minute, set by hand; 0 gives it back to trust',
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { email, name, scopes: asked, readPerMinute, writePerMinute }) {
    if (name === undefined && asked !== undefined) {
      throw new OperatorError(
        '--scope goes with --name; a key without a name may check and report',
      );
    }
    const wanted = { name, scopes: asked ?? defaultScopes };
    const made = expect(await tools.apiKeys.create(email, wanted));
    if (readPerMinute !== undefined || writePerMinute !== undefined) {
      expect(await tools.accounts.setQuotas(email, { readPerMinute, writePerMinute }));
    }
    return made;
  },
  lines: ({ text, replaces }) => [
    text,
    ...(replaces === undefined ? [] : [`(key ${replaces} works for 24 more hours)`]),
  ],
});

export const listKeys = operation({
  name: 'key list',
  purpose:
    'all keys with their accounts and last use, at most ten minutes behind; never the secret part',
  parameters: {},
  async run({ apiKeys, store }) {
    const listed = [];
    for (const info of await apiKeys.all()) {
      listed.push(shownKey(info, await readKeyUse(store, info.id)));
    }
    return listed;
  },
  lines: (keys) =>
    columnsOr(
      'no key was made yet',
      ['id', 'account', 'state', 'made', 'name', 'may', 'last used'],
      keys.map((key) => [
        key.id,
        key.email,
        key.state,
        key.createdAt ?? '',
        key.name || '-',
        key.scopes.join(),
        key.lastUsedAt ?? 'never',
      ]),
    ),
});

export const renameKey = operation({
  name: 'key rename',
  purpose: 'give a named key another name; it goes on working',
  parameters: {
    email: account,
    name: argument(shortText, 'name', 'the name of now'),
    newName: argument(shortText, 'new-name', 'unique among those of the account'),
  },
  audit: 'required',
  async run(tools, { email, name, newName }) {
    const { id } = expect(await tools.accounts.find(email));
    const found = (await tools.apiKeys.list(id)).find((one) => one.name === name);
    expect(await tools.apiKeys.rename(id, found?.id ?? '', newName));
    return { id: found?.id, name: newName };
  },
  lines: ({ name }, { name: former }) => [`the key ${former} is called ${name} now`],
});

export const revokeKey = operation({
  name: 'key revoke',
  purpose: 'refuse a key from the next request on, for good',
  parameters: {
    id: argument(shortText, 'id', 'the part between the underscores: pcl_<id>_…'),
  },
  audit: 'required',
  before: async () => 'active',
  run: async (tools, { id }) => shownKey(expect(await tools.apiKeys.revoke(id))),
  outcome: () => 'revoked',
  lines: ({ id, email }) => [`key ${id} of ${email} is revoked`],
});

/** A full answer without `--limit` has so many entries: a firewall takes a second for 10,000. */
const limitDefault = '20000';
export const addBouncer = operation({
  name: 'bouncer add',
  purpose: 'make a key for a bouncer; it outlives the key of the account',
  parameters: {
    email: account,
    name: { ...listedName, help: 'unique among the bouncers of the account' },
    limit: {
      schema: v.optional(wholeNumber(1, 1_000_000), limitDefault),
      value: 'n',
      help: 'entries of a full answer, the worst first',
    },
    dns: { schema: flag, help: 'make a label for names of the DNS block list too' },
    agent: {
      schema: flag,
      help: 'make the password of an agent that reports; it fetches no decisions',
    },
    mail: {
      schema: flag,
      help: 'make a key of a mail server, which asks of log-ins and tells of failed ones',
    },
    manage: {
      schema: flag,
      help: 'make a key that sets and ends manual rules and reads the allowlist, as an operator does',
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { email, name, limit, dns, agent, mail, manage }) {
    if (Number(dns) + Number(agent) + Number(mail) + Number(manage) > 1) {
      throw new OperatorError('--dns, --agent, --mail and --manage do not go together');
    }
    const terms = { name, entriesMax: limit, label: dns };
    const scope: KeyScope = agent ? 'agent' : mail ? 'mail' : manage ? 'manage' : 'bouncer';
    return expect(await tools.apiKeys.create(email, { ...terms, scopes: [scope] }));
  },
  lines: ({ text, label }) => [text, ...(label === undefined ? [] : [`DNS label: ${label}`])],
});

export const listBouncers = operation({
  name: 'bouncer list',
  purpose: 'bouncers with their last use; never the secret part',
  parameters: {
    email: {
      schema: v.optional(account.schema),
      value: 'email',
      help: 'only those of this account: its mail address or id',
      isArgument: true,
    },
  },
  async run(tools, { email }) {
    const keys =
      email === undefined
        ? await tools.apiKeys.allNamed()
        : await tools.apiKeys.list(expect(await tools.accounts.find(email)).id);
    const emails = new Map<string, string>();
    for (const { account: id } of keys) {
      const found = emails.has(id) ? undefined : await tools.accounts.find(id);
      if (found?.ok) emails.set(id, found.value.email);
    }
    return (
      keys
        // Named keys that only check or report are shown by `key list`.
        .filter((key) => (key.scopes & ~plainScopes) !== 0)
        .map((key) => shownBouncer(key, emails.get(key.account) ?? ''))
    );
  },
  lines: (keys) =>
    columnsOr(
      'there is no bouncer yet',
      ['name', 'account', 'id', 'last used', 'from', 'program', 'dropped'],
      keys.map((key) => [
        key.name,
        key.email,
        key.id,
        key.lastUsedAt ?? 'never',
        key.address || '-',
        key.agent || '-',
        key.scopes.includes('bouncer') ? `${grouped(key.dropped)} dropped` : 'reports',
      ]),
    ),
});

export const removeBouncer = operation({
  name: 'bouncer remove',
  purpose: 'refuse the key of a bouncer from its next request on, for good',
  parameters: { email: account, name: listedName },
  audit: 'required',
  async run(tools, { email, name }) {
    const { id, email: address } = expect(await tools.accounts.find(email));
    const key = (await tools.apiKeys.list(id)).find((one) => one.name === name);
    if (key === undefined || name === '') {
      throw new OperatorError(`${address} has no key of that name`);
    }
    expect(await tools.apiKeys.revoke(key.id));
    return { id: key.id, name };
  },
  lines: ({ name }) => [`the key of ${name} is revoked`],
});

function shownBouncer(key: ApiKey, email: string) {
  const { id, name, createdAt, use } = key;
  const { lastUsedAt = 0, agent = '', address = '', processed = 0, dropped = 0 } = use ?? {};
  return {
    id,
    name,
    email,
    createdAt: dateText(createdAt),
    limit: key.entriesMax,
    scopes: keyScopeNames(key.scopes),
    dnsLabel: key.hasLabel,
    lastUsedAt: timeOrNull(lastUsedAt),
    agent,
    address,
    processed,
    dropped,
  };
}

const shownSiteKey = <T extends SiteKey>(siteKey: T) => ({
  ...siteKey,
  createdAt: dateText(siteKey.createdAt),
});

const levelTexts: Readonly<Record<LeastLevel, string>> = {
  puzzle: 'a puzzle for everybody',
  silent: 'silent for clean addresses',
  easy: 'an easy picture at least',
  hard: 'a hard picture for everybody',
};

const puzzleOf = ({ passesClean, least }: SiteKeySettings): string =>
  passesClean ? 'clean addresses pass' : levelTexts[least];

const levelHelp =
  'what visitors pass at least: silent (work in the background), easy or hard (a picture); puzzle: a picture for everybody, as it was before there were levels';

const siteKeyId = argument(shortText, 'id', 'the site key itself: pcs_…');

export const createSiteKey = operation({
  name: 'sitekey create',
  purpose: 'make a site key; its receipts are redeemed with an API key of the account',
  parameters: {
    email: account,
    hosts: {
      schema: v.optional(v.pipe(v.array(shortText), v.maxLength(hostsMax)), []),
      option: 'host',
      value: 'name',
      help: 'a host name that may use it, sub-domains included; may be given again (default: any)',
    },
    passClean: {
      schema: flag,
      help: 'nothing at all for visitors from clean addresses',
    },
    level: {
      schema: v.optional(choice(leastLevels), 'silent'),
      value: leastLevels.join('|'),
      help: levelHelp,
    },
  },
  audit: 'required',
  async run(tools, { email, hosts, passClean, level }) {
    const { id } = expect(await tools.accounts.find(email));
    return shownSiteKey(
      expect(
        await createSiteKeys(tools).create(id, hosts, { passesClean: passClean, least: level }),
      ),
    );
  },
  lines: ({ id }) => [id],
});

export const setSiteKey = operation({
  name: 'sitekey set',
  purpose: 'what visitors have to pass, from the next request on',
  parameters: {
    id: siteKeyId,
    passClean: {
      schema: v.optional(choice(['on', 'off'])),
      value: 'on|off',
      help: 'nothing at all for visitors from clean addresses',
      kept: true,
    },
    level: {
      schema: v.optional(choice(leastLevels)),
      value: leastLevels.join('|'),
      help: levelHelp,
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { id, passClean, level }) {
    if (passClean === undefined && level === undefined) {
      throw new OperatorError('say --pass-clean, --level, or both');
    }
    const passes = passClean === undefined ? {} : { passesClean: passClean === 'on' };
    const settings = level === undefined ? passes : { ...passes, least: level };
    return shownSiteKey(expect(await createSiteKeys(tools).set(id, settings)));
  },
  outcome: puzzleOf,
  lines: (siteKey) => [`${siteKey.id}: ${puzzleOf(siteKey)}`],
});

export const listSiteKeys = operation({
  name: 'sitekey list',
  purpose: 'all site keys with their accounts and host names',
  parameters: {},
  run: async (tools) => (await createSiteKeys(tools).list()).map(shownSiteKey),
  lines: (siteKeys) =>
    columnsOr(
      'no site key was made yet',
      ['id', 'account', 'made', 'puzzle', 'hosts'],
      siteKeys.map((one) => [
        one.id,
        one.email,
        one.createdAt,
        puzzleOf(one),
        one.hosts.length === 0 ? 'any host' : one.hosts.join(' '),
      ]),
    ),
});

export const revokeSiteKey = operation({
  name: 'sitekey revoke',
  purpose: 'refuse a site key and its receipts from the next request on, for good',
  parameters: { id: siteKeyId },
  audit: 'required',
  before: async () => 'active',
  run: async (tools, { id }) => shownSiteKey(expect(await createSiteKeys(tools).revoke(id))),
  outcome: () => 'revoked',
  lines: ({ id }) => [`site key ${id} is revoked`],
});
