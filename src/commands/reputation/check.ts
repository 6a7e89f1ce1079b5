/** `portcullis check`: what the service says of an address, with a running server or without one. */

import { Command } from 'commander';
import { dateText } from '../../core/names/date-text.ts';
import { runOperation } from '../../operations/client.ts';
import type { Evidence } from '../../reputation/address/evidence/evidence.ts';
import { columns, createOutput, grouped } from '../shell/output.ts';

interface CheckFlags {
  readonly verbose?: boolean;
  readonly json?: boolean;
}

export function checkCommand(): Command {
  return new Command('check')
    .description('the score of an address and what is known of it, as GET /api/v2/check says it')
    .argument('<address>', 'IPv4 or IPv6')
    .option('--verbose', 'also why: lists, reports, the entry that decided, and until when')
    .option('--json', 'print the result as JSON, with the names that the API has')
    .action(async (text: string, flags: CheckFlags) => {
      const output = createOutput(flags.json === true);
      const { facts, why, evidence } = await runOperation('check', { address: text });
      const rows = Object.entries(facts).map(([name, value]) => [name, cell(value)]);
      for (const line of columns(rows)) output.line(line);
      if (flags.verbose) for (const line of linesOf(evidence)) output.line(line);
      output.result(flags.verbose ? { ...facts, why } : facts);
    });
}

function cell(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.join(', ');
  if (value === null || value === '') return '-';
  return typeof value === 'number' ? grouped(value) : String(value);
}

function linesOf({ decidedBy, lists, reports, fallsBelowAt }: Evidence): string[] {
  return [
    ...lists.map(({ name, kind, confidence, entry, since, loadedAt, endsAt }) => {
      const score = confidence === undefined ? kind : `confidence ${confidence}`;
      const end = endsAt === undefined ? 'does not end' : `ends ${dateText(endsAt)}`;
      if (kind === 'own') {
        return `own entry ${entry}: score ${confidence}, set ${dateText(loadedAt)}, ${end}`;
      }
      const times = `known since ${dateText(since)}, loaded ${dateText(loadedAt)}, ${end}`;
      return `list ${name} names ${entry}: ${score}, ${times}`;
    }),
    ...reports.map(({ entry, score, reports: count, reporters, lastReportedAt }) => {
      const who = `${grouped(count)} by ${grouped(reporters)} accounts`;
      return `reports of ${entry}: ${who}, the last ${dateText(lastReportedAt)}: ${score}`;
    }),
    decidedBy === undefined ? 'no entry decides: not observed' : `decided by ${decidedBy}`,
    ...(fallsBelowAt === undefined
      ? []
      : [`without new reports below 75 from ${dateText(fallsBelowAt)} on`]),
  ];
}
