/** `portcullis site list|block|unblock`: sites that people sign in to, and those that get nothing any more. */

import { Command } from 'commander';
import { createTurns } from '../../core/work/turns.ts';
import { type BlockedSites, createBlockedSites } from '../../signon/sites/clients/blocked-sites.ts';
import { createClientSuffixes } from '../../signon/sites/clients/client-suffixes.ts';
import { createSiteList } from '../../signon/sites/clients/site-list.ts';
import { columns, createOutput, dateText } from '../shell/output.ts';
import { expect, type Workspace, withWorkspace } from '../shell/workspace.ts';

const domainArgument = 'such as shop.example.com; names below it go with it';

export function siteCommands(): Command {
  const site = new Command('site').description('sites that people sign in to');
  site
    .command('list')
    .description('visitors and sign-ins of each lately, and what is blocked')
    .argument('[part]', 'of the domain')
    .option('--json', 'print the sites as JSON')
    .action(listSites);
  site
    .command('block')
    .description('a domain gets no code and no profile, from the next request on')
    .argument('<domain>', domainArgument)
    .option('--json', 'print the result as JSON')
    .action(async (domain: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await withWorkspace(async (w) => expect(await blockedSites(w).block(domain)));
      output.line(`${done.domain} is blocked, with all names below it`);
      output.result({ domain: done.domain, blockedAt: dateText(done.blockedAt) });
    });
  site
    .command('unblock')
    .description('let a blocked domain work again')
    .argument('<domain>', 'as it was blocked')
    .option('--json', 'print the result as JSON')
    .action(async (domain: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await withWorkspace(async (w) => expect(await blockedSites(w).unblock(domain)));
      output.line(`${done.domain} is not blocked any more`);
      output.result({ domain: done.domain });
    });
  return site;
}

function blockedSites({ store, clock, config }: Workspace): BlockedSites {
  // Names of this machine are sites of the demo alone.
  const rules = { demo: false, suffixes: createClientSuffixes(config.clientSuffixes) };
  return createBlockedSites({ store, clock, rules });
}

async function listSites(part: string | undefined, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  // Loaded here, because they bring some of the server with them.
  const { readSignInCounts } = await import('../../server/memory/sign-in-counts.ts');
  const { signInsPage } = await import('../../server/memory/counting.ts');
  const { sites, isCut } = await withWorkspace((w) => {
    const signIns = async (nowMs: number) =>
      (await readSignInCounts(w.store, signInsPage))?.sums(nowMs);
    const blocked = blockedSites(w);
    const list = createSiteList({ ...w, blocked, signIns, pace: () => createTurns() });
    const limit = Number.MAX_SAFE_INTEGER;
    return list.page({ part: (part ?? '').trim().toLowerCase(), skip: 0, limit });
  });
  const cells = sites.map(({ domain, visitors, day, week, signIns, lastUsedAt, blockedBy }) => [
    ...[domain, `visitors ${visitors}`, `24 h ${day}`, `7 days ${week}`],
    signIns === undefined
      ? 'sign-ins not known here'
      : `sign-ins today ${signIns.today}, 7 days ${signIns.week}, 30 days ${signIns.month}`,
    lastUsedAt === undefined ? 'never' : dateText(lastUsedAt),
    blockedBy === undefined ? 'open' : `blocked${blockedBy === domain ? '' : ` with ${blockedBy}`}`,
  ]);
  for (const line of columns(cells)) output.line(line);
  if (sites.length === 0) output.line('there is no such site');
  if (isCut) output.line('there are more sites than are counted');
  output.result(
    sites.map(({ signIns, lastUsedAt, blockedBy, ...site }) => ({
      ...site,
      signIns: signIns ?? null,
      lastUsedAt: lastUsedAt === undefined ? null : dateText(lastUsedAt),
      blockedBy: blockedBy ?? null,
    })),
  );
}
