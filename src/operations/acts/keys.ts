/** Operations on keys: API keys, keys of bouncers and agents, site keys. */

import * as v from 'valibot';
import type { KeyInfo } from '../../access/accounts/accounts.ts';
import { type KeyScope, keyScopes, plainScopes, scopeNames } from '../../access/keys/key-scopes.ts';
import { type KeyUse, readKeyUse } from '../../access/keys/key-use.ts';
import type { NamedKey } from '../../access/keys/named-keys.ts';
import { createSiteKeys, type SiteKey } from '../../access/keys/site-keys.ts';
import { dateText } from '../../core/names/date-text.ts';
import { namedKeysOf } from '../named-keys.ts';
import { defineOperation } from '../operation.ts';
import { accountName, noInput, perMinute, shortText, wholeNumber } from '../schema.ts';
import { expect } from '../workspace.ts';

const keyId = v.strictObject({ id: shortText });
const scope = v.picklist(
  Object.keys(keyScopes) as KeyScope[],
  `There are the scopes ${Object.keys(keyScopes).join(', ')}.`,
);
const defaultScopes: readonly KeyScope[] = ['check'];
/** More than an account can have, so that the key's own rule says no. */
const scopesMax = 50;
const hostsMax = 1_000;
const timeOrNull = (ms: number) => (ms === 0 ? null : dateText(ms));

function shownKey(info: KeyInfo, use?: KeyUse) {
  return {
    ...info,
    scopes: scopeNames(info.scopes),
    createdAt: timeOrNull(info.createdAt),
    endsAt: timeOrNull(info.endsAt),
    revokedAt: timeOrNull(info.revokedAt),
    lastUsedAt: timeOrNull(use?.lastUsedAt ?? 0),
  };
}

export const createKey = defineOperation({
  name: 'key create',
  input: v.strictObject({
    email: accountName,
    /** Makes a key in addition to the others; without a name it replaces the account's own one. */
    name: v.optional(shortText),
    scopes: v.optional(v.pipe(v.array(scope), v.maxLength(scopesMax))),
    readPerMinute: v.optional(perMinute),
    writePerMinute: v.optional(perMinute),
  }),
  audit: { args: ['email'], person: 'email', options: ['readPerMinute', 'writePerMinute'] },
  async run(w, { email, name, scopes = defaultScopes, readPerMinute, writePerMinute }) {
    const made: { readonly id: string; readonly text: string; readonly replaces?: string } =
      name === undefined
        ? expect(await w.accounts.createKey(email))
        : expect(await namedKeysOf(w).add(email, { name, scopes }));
    if (readPerMinute !== undefined || writePerMinute !== undefined) {
      expect(await w.accounts.setQuotas(email, { readPerMinute, writePerMinute }));
    }
    return made;
  },
});

export const listKeys = defineOperation({
  name: 'key list',
  input: noInput,
  async run({ accounts, store }) {
    const listed = [];
    for (const info of await accounts.listKeys()) {
      listed.push(shownKey(info, await readKeyUse(store, info.id)));
    }
    return listed;
  },
});

export const renameKey = defineOperation({
  name: 'key rename',
  input: v.strictObject({ email: accountName, name: shortText, newName: shortText }),
  audit: { args: ['email', 'name', 'newName'], person: 'email' },
  async run(w, { email, name, newName }) {
    const { id: account } = expect(await w.accounts.find(email));
    const keys = namedKeysOf(w);
    const found = (await keys.list(account)).find((one) => one.name === name);
    expect(await keys.rename(account, found?.id ?? '', newName));
    return { id: found?.id, name: newName };
  },
});

export const revokeKey = defineOperation({
  name: 'key revoke',
  input: keyId,
  audit: { args: ['id'] },
  run: async (w, { id }) => shownKey(expect(await w.accounts.revokeKey(id))),
});

const entriesMax = wholeNumber(1, 1_000_000);

export const addBouncer = defineOperation({
  name: 'bouncer add',
  input: v.strictObject({
    email: accountName,
    name: shortText,
    limit: entriesMax,
    /** Makes a label for names of the DNS block list too. */
    dns: v.optional(v.boolean(), false),
    /** Makes the password of an agent, which reports and fetches no decisions. */
    agent: v.optional(v.boolean(), false),
    /** Makes the key of a mail server, which asks and reports by its policy command. */
    mail: v.optional(v.boolean(), false),
  }),
  audit: { args: ['email', 'name'], person: 'email' },
  run: async (w, { email, name, limit, dns, agent, mail }) =>
    expect(
      await namedKeysOf(w).add(email, {
        name,
        scopes: [agent ? 'agent' : mail ? 'mail' : 'bouncer'],
        entriesMax: limit,
        label: dns,
      }),
    ),
});

export const listBouncers = defineOperation({
  name: 'bouncer list',
  input: v.strictObject({ email: v.optional(accountName) }),
  async run(w, { email }) {
    const keys =
      email === undefined
        ? await namedKeysOf(w).all()
        : await namedKeysOf(w).list(expect(await w.accounts.find(email)).id);
    const emails = new Map<string, string>();
    for (const { account } of keys) {
      const found = emails.has(account) ? undefined : await w.accounts.find(account);
      if (found?.ok) emails.set(account, found.value.email);
    }
    return keys
      .filter(isOfIntegration)
      .map((key) => shownBouncer(key, emails.get(key.account) ?? ''));
  },
});

export const removeBouncer = defineOperation({
  name: 'bouncer remove',
  input: v.strictObject({ email: accountName, name: shortText }),
  audit: { args: ['email', 'name'], person: 'email' },
  async run(w, { email, name }) {
    const key = expect(await namedKeysOf(w).remove(email, name));
    return { id: key.id, name };
  },
});

/** Named keys that only check or report are shown by `key list`. */
function isOfIntegration(key: NamedKey): boolean {
  return (key.scopes & ~plainScopes) !== 0;
}

function shownBouncer(key: NamedKey, email: string) {
  const { id, name, createdAt, use } = key;
  const { lastUsedAt = 0, agent = '', address = '', processed = 0, dropped = 0 } = use ?? {};
  return {
    id,
    name,
    email,
    createdAt: dateText(createdAt),
    limit: key.entriesMax,
    scopes: scopeNames(key.scopes),
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

export const createSiteKey = defineOperation({
  name: 'sitekey create',
  input: v.strictObject({
    email: accountName,
    hosts: v.pipe(v.array(shortText), v.maxLength(hostsMax)),
    passClean: v.optional(v.boolean()),
  }),
  audit: { args: ['email'], person: 'email' },
  async run(w, { email, hosts, passClean }) {
    const account = expect(await w.accounts.find(email));
    return shownSiteKey(expect(await createSiteKeys(w).create(account.id, hosts, passClean)));
  },
});

export const setSiteKey = defineOperation({
  name: 'sitekey set',
  input: v.strictObject({ id: shortText, passClean: v.boolean() }),
  audit: { args: ['id'] },
  run: async (w, { id, passClean }) =>
    shownSiteKey(expect(await createSiteKeys(w).setPassesClean(id, passClean))),
});

export const listSiteKeys = defineOperation({
  name: 'sitekey list',
  input: noInput,
  run: async (w) => (await createSiteKeys(w).list()).map(shownSiteKey),
});

export const revokeSiteKey = defineOperation({
  name: 'sitekey revoke',
  input: keyId,
  audit: { args: ['id'] },
  run: async (w, { id }) => shownSiteKey(expect(await createSiteKeys(w).revoke(id))),
});
