/** `portcullis allow add|remove|list`: ranges that are never malicious. */

import { Command } from 'commander';
import { runOperation } from '../../operations/client.ts';
import { columns, createOutput } from '../shell/output.ts';

export function allowCommands(): Command {
  const allow = new Command('allow').description(
    'ranges that are never malicious and never in feeds',
  );
  allow
    .command('add')
    .description('put an address or a network on the allowlist')
    .argument('<cidr>', 'an address or a network such as 192.0.2.0/24')
    .option('--reason <text>', 'why; shown by list', '')
    .option('--json', 'print the rule as JSON')
    .action(async (cidr: string, flags: { reason: string; json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const rule = await runOperation('allow add', { cidr, reason: flags.reason });
      output.line(`${rule.prefix} is on the allowlist`);
      output.result(rule);
    });
  allow
    .command('remove')
    .description('take an address or a network off the allowlist')
    .argument('<cidr>', 'as it was added')
    .option('--json', 'print the removed rule as JSON')
    .action(async (cidr: string, flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const rule = await runOperation('allow remove', { cidr });
      output.line(`${rule.prefix} is off the allowlist`);
      output.result(rule);
    });
  allow
    .command('list')
    .description('what is on the allowlist, since when, and why')
    .option('--json', 'print the rules as JSON')
    .action(async (flags: { json?: boolean }) => {
      const output = createOutput(flags.json === true);
      const rules = await runOperation('allow list', {});
      for (const line of columns(rules.map((rule) => [rule.prefix, rule.addedAt, rule.reason])))
        output.line(line);
      if (rules.length === 0) output.line('the allowlist is empty');
      output.result(rules);
    });
  return allow;
}
