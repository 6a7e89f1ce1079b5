/** Operations on reports. */

import * as v from 'valibot';
import type { Accounts } from '../../access/accounts/accounts.ts';
import { expect, type OperationTools, operationsOn } from '../../contracts/operation.ts';
import {
  account,
  address,
  anyAddress,
  argument,
  shortText,
  textOf,
  typedDate,
  wholeNumber,
} from '../../contracts/operation-parameters.ts';
import { dateIn, dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import { createScheduler, createSemaphore } from '../../core/scheduling.ts';
import { columnsOr, counted } from '../../core/text-table.ts';
import { formatIp } from '../../ip/address.ts';
import { readJudgedIp, textOfEmbedded } from '../../ip/embedded-ipv4.ts';
import { retractAll, type VotesInMemory } from '../requests/queue.ts';
import { categoriesOf } from './categories.ts';
import {
  createAccountReports,
  type RetractedReports,
  retractReport,
  retractReports,
} from './store/account-reports.ts';
import type { AccountReport, StoredReport } from './store/report-rows.ts';
import { createReportStore, restoreReports } from './store/report-store.ts';

interface ReportTools extends OperationTools, VotesInMemory {
  readonly accounts: Accounts;
}

const operation = operationsOn<ReportTools>();

const listedMax = 10_000;
/** Newest first; an operator who needs more of one address asks for more. */
const listedDefault = '100';

function shownReport({ id, account: by, reporter, reportedAt, categories, comment }: StoredReport) {
  return {
    id,
    reportedAt: dateText(reportedAt),
    account: by,
    reporterId: reporter,
    categories: categoriesOf(categories),
    comment,
  };
}

export const listReports = operation({
  name: 'report list',
  purpose: 'the reports of an address, or of an account, with their ids, newest first',
  parameters: {
    address: { ...anyAddress, schema: v.optional(address.schema) },
    account: {
      schema: v.optional(account.schema),
      value: 'email',
      help: 'in place of an address: what this account reported',
    },
    limit: {
      schema: v.optional(wholeNumber(1, listedMax), listedDefault),
      value: 'n',
      help: 'at most so many',
    },
  },
  async run(tools, { address: text, account: email, limit }) {
    if ((text === undefined) === (email === undefined)) {
      throw new OperatorError('name either an address or --account <email>');
    }
    if (text !== undefined) {
      const { family, words } = readJudgedIp(text)!;
      const found = await createReportStore(tools).list(family, words, 0, limit);
      return { of: text, by: false, reports: found.map(shownReport) };
    }
    // By the index that the account's own page reads; it is made where there is none.
    const { id, email: of, createdAt } = expect(await tools.accounts.find(email!));
    const walks = createSemaphore({ runningMax: 1, waitingMax: 0 });
    const own = createAccountReports({ ...tools, walks, scheduler: () => createScheduler() });
    const found: AccountReport[] = [];
    let after: string | undefined;
    do {
      const page = expect(await own.page({ id, createdAt }, after));
      found.push(...page.reports);
      after = page.next;
    } while (after !== undefined && found.length < limit);
    const reports = found
      .slice(0, limit)
      .map((one) => ({ address: formatIp(one.family, one.words), ...shownReport(one) }));
    return { of, by: true, reports };
  },
  lines: ({ of, by, reports }) =>
    columnsOr(
      `there are no reports ${by ? 'by' : 'of'} ${of}`,
      ['id', 'reported', by ? 'address' : 'account', 'categories', 'comment'],
      reports.map((row) => [
        row.id,
        row.reportedAt,
        'address' in row ? String(row.address) : row.account,
        row.categories.join(),
        row.comment,
      ]),
    ),
  json: ({ reports }) => reports,
});

/** Reports as the way back from a retraction takes them: all fields of their rows. */
export const storedReports = v.pipe(
  textOf(1_000_000),
  v.parseJson(),
  v.array(
    v.strictObject({
      id: v.pipe(v.string(), v.regex(/^[\w-]{22}$/)),
      account: v.pipe(v.string(), v.maxLength(100)),
      reporter: v.pipe(v.number(), v.integer(), v.minValue(0)),
      country: v.pipe(v.string(), v.maxLength(2)),
      categories: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff_ffff)),
      comment: v.string(),
      reportedAt: v.pipe(v.number(), v.integer(), v.minValue(0)),
      network: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(0xffff))),
    }),
  ),
);

function reportsOf({ reports, addresses }: RetractedReports): string {
  return `${counted(reports, 'report')} of ${counted(addresses, 'address', 'addresses')}`;
}

export const retractOperation = operation({
  name: 'report retract',
  purpose: "take back all that a report's account said of its address; it loses trust",
  parameters: {
    id: argument(v.optional(shortText), 'id', 'id of the report, as list shows it'),
    account: {
      schema: v.optional(account.schema),
      value: 'email',
      help: 'in place of an id: all that this account reported, of any address',
      kept: 'account',
    },
    address: {
      schema: v.optional(address.schema),
      value: 'address',
      help: 'in place of an id: all reports of this address, at no cost of trust',
      kept: true,
    },
    since: {
      schema: v.optional(typedDate),
      value: 'date',
      help: 'with --account: reports dated earlier stay',
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { id, account: email, address: named, since }) {
    if ([id, email, named].filter((one) => one !== undefined).length !== 1) {
      throw new OperatorError('name the id of a report, --account <email> or --address <address>');
    }
    if (since !== undefined && email === undefined) {
      throw new OperatorError('--since goes with --account <email>');
    }
    if (named !== undefined) {
      const ofAddress = textOfEmbedded(named);
      return { ofAddress: { address: ofAddress, ...expect(await retractAll(tools, ofAddress)) } };
    }
    if (email !== undefined) {
      const found = expect(await tools.accounts.find(email));
      const from = since === undefined ? 0 : dateIn(since)!;
      const gone = await retract(tools, found.id, from, true);
      return { ofAccount: { email: found.email, account: found.id, ...gone } };
    }
    const {
      address: of,
      account: by,
      removed,
    } = expect(await retractReport(createReportStore(tools), id!));
    return { ofReport: { address: of, account: by, removed } };
  },
  undo: ({ ofAddress }) =>
    ofAddress?.reports && {
      operation: 'report restore',
      input: { address: ofAddress.address, reports: JSON.stringify(ofAddress.reports) },
    },
  outcome: ({ ofAccount, ofReport, ofAddress }) =>
    ofAddress !== undefined
      ? `${counted(ofAddress.removed, 'report')} of ${ofAddress.address} taken back`
      : ofReport === undefined
        ? `${reportsOf(ofAccount)} taken back`
        : `${counted(ofReport.removed, 'report')} of ${ofReport.address} by ${ofReport.account} taken back`,
  lines: ({ ofAccount, ofReport, ofAddress }) => [
    ofAddress !== undefined
      ? `retracted ${counted(ofAddress.removed, 'report')} of ${ofAddress.address}`
      : ofReport === undefined
        ? `retracted ${reportsOf(ofAccount)} by ${ofAccount.email}`
        : `retracted ${counted(ofReport.removed, 'report')} of ${ofReport.address} by account ${ofReport.account}`,
  ],
  json({ ofAccount, ofReport, ofAddress }) {
    if (ofAddress !== undefined) return { address: ofAddress.address, removed: ofAddress.removed };
    if (ofReport !== undefined) return ofReport;
    const { email: _, ...gone } = ofAccount;
    return gone;
  },
});

/** The way back from a retraction; it is no command. */
export const restoreOperation = operation({
  name: 'report restore',
  parameters: { address, reports: { schema: storedReports } },
  audit: 'required',
  async run(tools, { address: of, reports }) {
    expect(await restoreReports(tools, readJudgedIp(of)!, reports));
    return { address: of, restored: reports.length };
  },
  outcome: ({ restored }) => `${counted(restored, 'report')} put back`,
});

/** Takes back what an account reported, as `account disable` and `report retract` do. */
export async function retract(
  workspace: OperationTools,
  account: string,
  since: number,
  penalty: boolean,
): Promise<RetractedReports> {
  const reports = createReportStore(workspace);
  const scheduler = createScheduler();
  const { store } = workspace;
  return expect(await retractReports({ store, reports, account, since, penalty, scheduler }));
}
