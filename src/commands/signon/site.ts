/** `portcullis site list|block|unblock`: sites that people sign in to, and those that get nothing any more. */

import { Command } from 'commander';
import { runOperation } from '../../operations/client.ts';
import { columns, createOutput } from '../shell/output.ts';

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
      const done = await runOperation('site block', { domain });
      output.line(`${done.domain} is blocked, with all names below it`);
      output.result(done);
    });
  site
    .command('unblock')
    .description('let a blocked domain work again')
    .argument('<domain>', 'as it was blocked')
    .option('--json', 'print the result as JSON')
    .action(async (domain: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const done = await runOperation('site unblock', { domain });
      output.line(`${done.domain} is not blocked any more`);
      output.result(done);
    });
  return site;
}

async function listSites(part: string | undefined, flags: { json?: boolean }): Promise<void> {
  const output = createOutput(flags.json === true);
  const { sites, isCut } = await runOperation('site list', { part });
  const cells = sites.map(({ domain, visitors, day, week, signIns, lastUsedAt, blockedBy }) => [
    domain,
    `visitors ${visitors}`,
    `24 h ${day}`,
    `7 days ${week}`,
    signIns === null
      ? 'sign-ins not known here'
      : `sign-ins today ${signIns.today}, 7 days ${signIns.week}, 30 days ${signIns.month}`,
    lastUsedAt ?? 'never',
    blockedBy === null ? 'open' : `blocked${blockedBy === domain ? '' : ` with ${blockedBy}`}`,
  ]);
  for (const line of columns(cells)) output.line(line);
  if (sites.length === 0) output.line('there is no such site');
  if (isCut) output.line('there are more sites than are counted');
  output.result(sites);
}
