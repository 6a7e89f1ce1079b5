/** Operations on sites: which there are, which are blocked, and which groups of accounts may use them. */

import * as v from 'valibot';
import type { Accounts } from '../../access/accounts/accounts.ts';
import { accountEmail } from '../../access/accounts/accounts.ts';
import { expect, type OperationTools, operationsOn, refuse } from '../../contracts/operation.ts';
import { account, shortText, textOf } from '../../contracts/operation-parameters.ts';
import { dateText } from '../../core/dates.ts';
import { fail } from '../../core/result.ts';
import { createScheduler } from '../../core/scheduling.ts';
import { columnsOr } from '../../core/text-table.ts';
import type { Store } from '../../storage/store.ts';
import { createClientSuffixes, parseClientId } from './client-id.ts';
import {
  addToGroup,
  createSiteAccess,
  groupsOf,
  listGroupRules,
  listGroups,
  removeFromGroup,
} from './groups.ts';
import { siteDocumentPath } from './notify-sites.ts';
import {
  type BlockedSites,
  createBlockedSites,
  createSiteList,
  type SignInSums,
} from './site-list.ts';
import { type DeliveryOutcome, listNotices, type SiteDelivery } from './site-news.ts';

export interface SiteTools extends OperationTools {
  readonly accounts: Accounts;
  /** Counts sign-ins by site. Undefined: this machine can't say it. */
  readonly signInsOf: (nowMs: number) => Promise<ReadonlyMap<string, SignInSums> | undefined>;
}

const operation = operationsOn<SiteTools>();

/** The rules of sites by their domains. Names of this machine are sites of the demo alone. */
function blockedSites({ store, clock, config }: OperationTools): BlockedSites {
  return createBlockedSites({ store, clock, rules: clientRules(config) });
}

const clientRules = ({ clientSuffixes }: Pick<OperationTools['config'], 'clientSuffixes'>) => ({
  demo: false,
  suffixes: createClientSuffixes(clientSuffixes),
});

const domainShape = /^[a-z0-9.-]{1,253}$/;
const groupShape = /^[a-z0-9-]{1,32}$/;
/** The log keeps no text that is not a name: it may be a mail address. */
const siteDomain = {
  schema: v.pipe(shortText, v.trim(), v.toLowerCase()),
  value: 'domain',
  help: 'such as shop.example.com; names below it go with it',
  isArgument: true,
  kept: (text: string) => (domainShape.test(text) ? text : '(not a domain)'),
  control: { mono: true, maxLength: 253, autocomplete: 'off' },
} as const;

const partOfDomain = {
  schema: v.optional(shortText, ''),
  value: 'part',
  help: 'of the domain',
  isArgument: true,
} as const;

export const listSites = operation({
  name: 'site list',
  purpose: 'visitors and sign-ins of each lately, and whom it is open to',
  parameters: {
    part: partOfDomain,
  },
  async run(tools, { part }) {
    const list = createSiteList({
      ...tools,
      blocked: blockedSites(tools),
      signIns: tools.signInsOf,
      scheduler: () => createScheduler(),
    });
    const limit = Number.MAX_SAFE_INTEGER;
    const { sites, isCut } = await list.page({ part: part.trim().toLowerCase(), skip: 0, limit });
    return {
      isCut,
      sites: sites.map(({ signIns, lastUsedAt, blockedBy, ...site }) => ({
        ...site,
        signIns: signIns ?? null,
        lastUsedAt: lastUsedAt === undefined ? null : dateText(lastUsedAt),
        blockedBy: blockedBy ?? null,
      })),
    };
  },
  lines: ({ sites, isCut }) => [
    ...columnsOr(
      'there is no such site',
      ['domain', 'visitors', '24 h', '7 days', 'sign-ins', 'last used', 'state'],
      sites.map(({ domain: name, visitors, day, week, signIns, lastUsedAt, blockedBy, groups }) => [
        name,
        String(visitors),
        String(day),
        String(week),
        signIns === null
          ? 'not known here'
          : `today ${signIns.today}, 7 days ${signIns.week}, 30 days ${signIns.month}`,
        lastUsedAt ?? 'never',
        blockedBy !== null
          ? `blocked${blockedBy === name ? '' : ` with ${blockedBy}`}`
          : groups.length === 0
            ? 'open'
            : `open to ${groups.join(', ')}`,
      ]),
    ),
    ...(isCut ? ['there are more sites than are counted'] : []),
  ],
  json: ({ sites }) => sites,
});

export const blockSite = operation({
  name: 'site block',
  purpose: 'a domain gets no code and no profile, from the next request on',
  parameters: { domain: siteDomain },
  audit: 'required',
  async run(tools, { domain: name }) {
    const done = expect(await blockedSites(tools).block(name));
    return { domain: done.domain, blockedAt: dateText(done.blockedAt) };
  },
  undo: ({ domain: name }) => ({ operation: 'site unblock', input: { domain: name } }),
  outcome: (done) => `${done.domain} blocked`,
  lines: (done) => [`${done.domain} is blocked, with all names below it`],
});

export const unblockSite = operation({
  name: 'site unblock',
  purpose: 'let a blocked domain work again',
  parameters: { domain: { ...siteDomain, help: 'as it was blocked' } },
  audit: 'required',
  async run(tools, { domain: name }) {
    const done = expect(await blockedSites(tools).unblock(name));
    return { domain: done.domain };
  },
  undo: ({ domain: name }) => ({ operation: 'site block', input: { domain: name } }),
  outcome: (done) => `${done.domain} unblocked`,
  lines: (done) => [`${done.domain} is not blocked any more`],
});

/** Says what came of the last try, as words behind the site. */
const outcomeTexts: Readonly<Record<DeliveryOutcome, string>> = {
  delivered: 'taken',
  refused: 'refused with 400',
  no_document: `it has no ${siteDocumentPath}`,
  no_path: `its ${siteDocumentPath} names no path for notices`,
  private: 'its name leads to a private address',
  too_long: `its ${siteDocumentPath} is too long`,
  timeout: 'no answer in time',
  unreachable: 'not reached',
};

function deliveryText(delivery: SiteDelivery | undefined): string {
  if (delivery === undefined) return 'not tried yet';
  const { outcome, failures } = delivery;
  const shown = outcomeTexts[outcome as DeliveryOutcome] ?? `answered ${outcome}`;
  return failures === 0 ? shown : `failing: ${shown}; tries: ${failures}`;
}

export const siteNotices = operation({
  name: 'site notices',
  purpose: 'how sites take notices of sign-outs, deletions and changed values: failing ones first',
  parameters: {
    part: partOfDomain,
  },
  async run({ store }, { part }) {
    const { sites, isCut } = await listNotices(store, part.trim().toLowerCase(), createScheduler());
    return {
      isCut,
      sites: sites.map(({ clientId: domain, origin, waiting, since, delivery }) => ({
        domain,
        origin,
        waiting,
        waitingSince: since === undefined ? null : dateText(since),
        deliveredAt:
          delivery === undefined || delivery.deliveredAt === 0
            ? null
            : dateText(delivery.deliveredAt),
        triedAt: delivery === undefined ? null : dateText(delivery.triedAt),
        failures: delivery?.failures ?? 0,
        outcome: delivery?.outcome ?? null,
        text: deliveryText(delivery),
      })),
    };
  },
  lines: ({ sites, isCut }) => [
    ...columnsOr(
      'no site had a notice in 90 days',
      ['site', 'waiting', 'last delivered', 'last tried', 'outcome'],
      sites.map(({ origin, waiting, deliveredAt, triedAt, text }) => [
        origin,
        String(waiting),
        deliveredAt ?? 'never',
        triedAt ?? 'never',
        text,
      ]),
    ),
    ...(isCut ? ['there are more than are counted'] : []),
  ],
  json: ({ sites }) => sites,
});

const group = {
  schema: v.pipe(textOf(100), v.trim()),
  value: 'group',
  help: 'its name, of a-z, 0-9 and -',
  isArgument: true,
  kept: (text: string) => (groupShape.test(text) ? text : '(not a group)'),
  control: { mono: true, maxLength: 32, autocomplete: 'off' },
} as const;

const listedGroups = (groups: readonly string[]) => groups.join(', ') || 'none';

async function idOf(tools: SiteTools, email: string) {
  return expect(await tools.accounts.find(email));
}

/** The parts that both operations on a member have. */
const ofMember = {
  parameters: { group, email: account },
  audit: 'required',
  async before(tools: SiteTools, { email }: { email: string }) {
    const found = await tools.accounts.find(email);
    return found.ok ? listedGroups(await groupsOf(tools.store, found.value.id)) : '';
  },
  outcome: ({ groups }: Membership) => listedGroups(groups),
  lines: ({ email, groups }: Membership) => [`account ${email} is in: ${listedGroups(groups)}`],
} as const;

interface Membership {
  readonly email: string;
  readonly groups: readonly string[];
}

export const addMember = operation({
  name: 'group add',
  purpose: 'put an account into a group, which its first member makes',
  ...ofMember,
  async run(tools, { group: name, email }) {
    const found = await idOf(tools, email);
    const groups = expect(await addToGroup(tools.store, found.id, name));
    return { email: found.email, groups };
  },
});

export const removeMember = operation({
  name: 'group remove',
  purpose: 'take an account out of a group; it holds at once, for codes too',
  ...ofMember,
  async run(tools, { group: name, email }) {
    const found = await idOf(tools, email);
    const groups = expect(await removeFromGroup(tools.store, found.id, name));
    return { email: found.email, groups };
  },
});

const lookUpsAtOnce = 100;

/** Returns the mail addresses of accounts, and the id of one without. */
async function emailsOf(store: Store, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  const scheduler = createScheduler();
  for (let from = 0; from < ids.length; from += lookUpsAtOnce) {
    // An embedded store answers at once.
    if (scheduler.shouldYield()) await scheduler.yield();
    const some = ids.slice(from, from + lookUpsAtOnce);
    found.push(
      ...(await Promise.all(some.map(async (id) => (await accountEmail(store, id)) ?? id))),
    );
  }
  return found;
}

export const showGroups = operation({
  name: 'group list',
  purpose: 'all groups with their members and the sites that are open to them',
  parameters: {},
  async run({ store }) {
    const [groups, rules] = await Promise.all([listGroups(store), listGroupRules(store)]);
    const rows = [];
    // One that lost its last member may still have a site: whoever makes it anew opens that.
    const names = new Set([...groups.keys(), ...rules.flatMap((rule) => rule.groups)]);
    for (const name of [...names].sort()) {
      const ids = groups.get(name) ?? [];
      const sites = rules.filter((rule) => rule.groups.includes(name)).map(({ domain }) => domain);
      rows.push({ name, members: await emailsOf(store, ids), sites });
    }
    return rows;
  },
  lines: (all) =>
    columnsOr(
      'there is no group',
      ['group', 'members', 'sites'],
      all.map(({ name, members, sites }) => [
        name,
        members.join(', ') || 'nobody',
        listedGroups(sites),
      ]),
    ),
});

export const setAccess = operation({
  name: 'site set-access',
  purpose: 'who may use a site: all, or groups; block closes it',
  parameters: {
    domain: siteDomain,
    groups: {
      schema: v.pipe(textOf(1_000), v.trim()),
      value: 'who',
      help: 'all, or names of groups with commas between',
      isArgument: true,
      kept: (text: string) => (/^[a-z0-9,\s-]{1,600}$/.test(text) ? text : '(not groups)'),
      control: { mono: true, maxLength: 600, autocomplete: 'off' },
    },
  },
  audit: 'required',
  async before({ store }, { domain }) {
    const rule = (await listGroupRules(store)).find((one) => one.domain === domain);
    return rule === undefined ? 'all' : rule.groups.join(', ') || 'all';
  },
  async run(tools, { domain, groups }) {
    const { namesOver } = blockedSites(tools);
    const client = parseClientId(domain, clientRules(tools.config));
    if (!client.ok) refuse(fail('invalid_client_id', 'This is not the domain of a site.'));
    if (!namesOver(domain).includes(domain)) {
      refuse(fail('invalid_client_id', 'The name has too many labels: name one above it.'));
    }
    const names = groups
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    if (names.length === 0) refuse(fail('invalid_parameter', 'Say all, or the groups.', 'groups'));
    const isAll = names.length === 1 && names[0] === 'all';
    return expect(
      await createSiteAccess(tools.store, namesOver).restrict(domain, isAll ? [] : names),
    );
  },
  outcome: ({ groups }) => groups.join(', ') || 'all',
  lines: ({ domain, groups }) => [
    groups.length === 0
      ? `${domain} is open to all accounts`
      : `${domain} is open to these groups alone: ${groups.join(', ')}`,
  ],
});
