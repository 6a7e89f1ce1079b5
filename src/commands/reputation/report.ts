/** `portcullis report list|retract`: the reports of an address or of an account, and taking back what is false. */

import { Command, Option } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { createSemaphore } from '../../core/work/semaphore.ts';
import { createTurns } from '../../core/work/turns.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { lookBehind } from '../../ip/behind.ts';
import { typedAddress } from '../../ip/typed.ts';
import { categoriesOf } from '../../reputation/reports/categories.ts';
import { createOwnReports } from '../../reputation/reports/store/own-reports.ts';
import type { OwnReport } from '../../reputation/reports/store/report-erasure.ts';
import {
  createReportStore,
  type StoredReport,
} from '../../reputation/reports/store/report-store.ts';
import { retractReport } from '../../reputation/voices/taking-back.ts';
import { sinceOf, takeBack } from '../shell/abuse.ts';
import { columns, createOutput, dateText } from '../shell/output.ts';
import { expect, withWorkspace } from '../shell/workspace.ts';

/** Newest first; an operator who needs more of one address asks for more. */
const listed = { byDefault: 100, max: 10_000 } as const;

export function reportCommands(
  wholeNumber: (min: number, max: number) => (text: string) => number,
): Command {
  const report = new Command('report').description('abuse reports');
  report
    .command('list')
    .description('the reports of an address, or of an account, with their ids, newest first')
    .argument('[address]', 'IPv4 or IPv6')
    .option('--account <email>', 'in place of an address: what this account reported')
    .addOption(
      new Option('--limit <n>', 'at most so many')
        .argParser(wholeNumber(1, listed.max))
        .default(listed.byDefault),
    )
    .option('--json', 'print the reports as JSON')
    .action(async (address: string | undefined, flags: ListFlags) => {
      const { account, limit } = flags;
      const output = createOutput(flags.json === true);
      if (account !== undefined && address === undefined) {
        return listOfAccount(account, limit, output);
      }
      if (address === undefined || account !== undefined) {
        throw new OperatorError('name either an address or --account <email>');
      }
      return listOfAddress(address, limit, output);
    });
  report
    .command('retract')
    .description("take back all that a report's account said of its address; it loses trust")
    .argument('[id]', 'id of the report, as list shows it')
    .option(
      '--account <email>',
      'in place of an id: all that this account reported, of any address',
    )
    .option('--since <date>', 'with --account: reports dated earlier stay')
    .option('--json', 'print the result as JSON')
    .action(async (id: string | undefined, flags: RetractFlags) => {
      const output = createOutput(flags.json === true);
      if (flags.account !== undefined && id === undefined) return retractAccount(flags, output);
      if (id === undefined || flags.account !== undefined || flags.since !== undefined) {
        throw new OperatorError('name either the id of a report or --account <email>');
      }
      await withWorkspace(async (workspace) => {
        const gone = expect(await retractReport(createReportStore(workspace), id));
        const { address, account, removed } = gone;
        output.line(`${removed} reports of ${address} by account ${account} are taken back`);
        output.result({ address, account, removed });
      });
    });
  return report;
}

interface ListFlags {
  readonly account?: string;
  readonly limit: number;
  readonly json?: boolean;
}

async function listOfAddress(
  address: string,
  limit: number,
  output: ReturnType<typeof createOutput>,
): Promise<void> {
  const words = new Uint32Array(4);
  const family = lookBehind(parseIp(typedAddress(address), words), words);
  if (family === 0) throw new OperatorError(`'${address}' is not an address`);
  const found = await withWorkspace((workspace) =>
    createReportStore(workspace).list(family, words, 0, limit),
  );
  const rows = found.map(shown);
  const cells = rows.map((row) => [row.id, row.reportedAt, row.account, ...saidIn(row)]);
  for (const line of columns(cells)) output.line(line.trimEnd());
  if (rows.length === 0) output.line(`there are no reports of ${formatIp(family, words)}`);
  output.result(rows);
}

/** By the index that the account's own page reads; it is made where there is none. */
async function listOfAccount(
  name: string,
  limit: number,
  output: ReturnType<typeof createOutput>,
): Promise<void> {
  await withWorkspace(async (workspace) => {
    const { id, email, createdAt } = expect(await workspace.accounts.find(name));
    const walks = createSemaphore({ runningMax: 1, waitingMax: 0 });
    const own = createOwnReports({ ...workspace, walks, pace: () => createTurns() });
    const found: OwnReport[] = [];
    let after: string | undefined;
    do {
      const page = expect(await own.page({ id, createdAt }, after));
      found.push(...page.reports);
      after = page.next;
    } while (after !== undefined && found.length < limit);
    const rows = found.slice(0, limit).map((one) => {
      return { address: formatIp(one.family, one.words), ...shown(one) };
    });
    const cells = rows.map((row) => [row.id, row.reportedAt, row.address, ...saidIn(row)]);
    for (const line of columns(cells)) output.line(line.trimEnd());
    if (rows.length === 0) output.line(`there are no reports by ${email}`);
    output.result(rows);
  });
}

const saidIn = ({ categories, comment }: ReturnType<typeof shown>) => [categories.join(), comment];

interface RetractFlags {
  readonly account?: string;
  readonly since?: string;
  readonly json?: boolean;
}

async function retractAccount(
  flags: RetractFlags,
  output: ReturnType<typeof createOutput>,
): Promise<void> {
  const since = sinceOf(flags.since);
  await withWorkspace(async (workspace) => {
    const { id, email } = expect(await workspace.accounts.find(flags.account!));
    const gone = await takeBack(workspace, id, since, true);
    output.line(
      `${gone.reports} reports of ${gone.addresses} addresses by ${email} are taken back`,
    );
    output.result({ account: id, ...gone });
  });
}

function shown({ id, account, reporter, reportedAt, categories, comment }: StoredReport) {
  return {
    id,
    reportedAt: dateText(reportedAt),
    account,
    reporterId: reporter,
    categories: categoriesOf(categories),
    comment,
  };
}
