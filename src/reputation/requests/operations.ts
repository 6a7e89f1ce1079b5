/** Operations on what people ask for: removals, and addresses that are reported without an account. */

import * as v from 'valibot';
import { expect, type OperationTools, operationsOn } from '../../contracts/operation.ts';
import { address, flag, note, textOf } from '../../contracts/operation-parameters.ts';
import { dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import { columnsOr, counted } from '../../core/text-table.ts';
import { readJudgedIp } from '../../ip/embedded-ipv4.ts';
import { addEntry } from '../ranges/operations.ts';
import { createAllowlist, createManualEntries } from '../ranges/operator-ranges.ts';
import { categoriesOf, categoryFault, categoryMax } from '../reports/categories.ts';
import { storedReports } from '../reports/operations.ts';
import { restoreReports } from '../reports/store/report-store.ts';
import {
  type AnonymousReport,
  acceptRemoval,
  createAnonymousReports,
  createRemovals,
  type Removal,
  standingOfAsker,
  unknownNetwork,
  type VotesInMemory,
} from './queue.ts';

const operation = operationsOn<OperationTools & VotesInMemory>();

export const listRemovals = operation({
  name: 'removals list',
  purpose: 'what is asked for, the oldest first',
  parameters: {},
  run: async (tools) =>
    (await createRemovals(tools).list()).map((one) => ({ ...one, at: dateText(one.at) })),
  lines: (rows) =>
    columnsOr(
      'nobody asks for a removal',
      ['address', 'asked', 'asked from it', 'account', 'reason'],
      rows.map(({ address: of, at, fromAddress, signedIn, reason }) => [
        of,
        at,
        fromAddress ? 'yes' : 'no',
        signedIn ? 'signed in' : '-',
        reason,
      ]),
    ),
});

export const acceptRemovalOf = operation({
  name: 'removals accept',
  purpose: 'take back all reports of the address, at no cost of trust; lists and peers stay',
  parameters: {
    address,
    allow: {
      schema: flag,
      help: 'put it on the allowlist too, so that no list blocks it',
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { address: of, allow }) {
    const accepted = expect(await acceptRemoval(tools, of, allow));
    const { removed, request, reports, isNewRule } = accepted;
    return { address: of, removed, allowed: allow, request: asked(request), reports, isNewRule };
  },
  undo: ({ address: of, request, reports, isNewRule }) =>
    reports && {
      operation: 'removals reopen',
      input: {
        ...reopenInput(of, request),
        ...(isNewRule ? { disallow: true } : {}),
        reports: JSON.stringify(reports),
      },
    },
  json: ({ address: of, removed, allowed }) => ({ address: of, removed, allowed }),
  outcome: ({ removed }) => `${counted(removed, 'report')} taken back`,
  lines: (done) => [`retracted ${counted(done.removed, 'report')} of ${done.address}`],
});

/** Leaves out the tag of the network. */
function asked({ reason, at, fromAddress, signedIn }: Removal) {
  return { reason, at, fromAddress, signedIn };
}

function reopenInput(of: string, { reason, at, fromAddress, signedIn }: ReturnType<typeof asked>) {
  return { address: of, reason, at: String(at), fromAddress, signedIn };
}

export const refuseRemoval = operation({
  name: 'removals refuse',
  purpose: 'keep the reports; the owner may ask again',
  parameters: { address },
  audit: 'required',
  async run(tools, { address: of }) {
    return { address: of, request: asked(expect(await createRemovals(tools).remove(of))) };
  },
  undo: ({ address: of, request }) => ({
    operation: 'removals reopen',
    input: reopenInput(of, request),
  }),
  json: ({ address: of }) => ({ address: of }),
  outcome: () => 'refused',
  lines: (done) => [`the request for ${done.address} is refused`],
});

/** Milliseconds since 1970, in digits. */
const waitsSince = {
  schema: v.optional(v.pipe(v.string(), v.regex(/^\d{1,15}$/), v.transform(Number))),
  value: 'ms',
  help: 'since when it waits, in milliseconds since 1970 (default: now)',
} as const;

export const reopenRemoval = operation({
  name: 'removals reopen',
  purpose: 'put a request back into the queue',
  parameters: {
    address,
    reason: { ...note, help: 'in the words of who asked', schema: textOf(10_000) },
    at: waitsSince,
    fromAddress: { schema: flag, help: 'it was asked for from the address itself' },
    signedIn: { schema: flag, help: 'it was asked for by somebody with an account' },
    disallow: { schema: flag, help: 'take the address off the allowlist', kept: true },
    reports: {
      schema: v.optional(storedReports),
      value: 'json',
      help: 'reports that were retracted, with all fields of their rows: they count again',
    },
  },
  audit: 'required',
  async run(tools, { address: of, reason, at, fromAddress, signedIn, disallow, reports = [] }) {
    if (disallow) {
      const gone = await createAllowlist(tools).remove(of);
      if (!gone.ok && gone.error !== 'not_found') expect(gone);
    }
    if (reports.length > 0) expect(await restoreReports(tools, readJudgedIp(of)!, reports));
    const from = { fromAddress, signedIn };
    const asker = { standing: standingOfAsker(from), network: unknownNetwork };
    expect(await createRemovals(tools).add(of, { reason, ...from }, asker, at));
    return { address: of, restored: reports.length };
  },
  outcome: ({ restored }) => `waits again, ${counted(restored, 'report')} put back`,
  lines: (done) => [`the request for ${done.address} waits for a decision`],
});

export const listAnonymousReports = operation({
  name: 'tips list',
  purpose:
    'anonymous reports that wait, the oldest first; each counts for nothing until you decide',
  parameters: {},
  run: async (tools) =>
    (await createAnonymousReports(tools).list()).map(({ at, categories, ...report }) => ({
      ...report,
      at: dateText(at),
      categories: categoriesOf(categories),
    })),
  lines: (rows) =>
    columnsOr(
      'no anonymous report waits',
      ['address', 'sent', 'categories', 'comment'],
      rows.map(({ address: of, at, categories, comment }) => [of, at, categories.join(), comment]),
    ),
});

/** Leaves out the tag of the network. */
function fieldsOf({ at, categories, comment }: AnonymousReport) {
  return { at: String(at), categories: categoriesOf(categories).join(), comment };
}

export const removeAnonymousReport = operation({
  name: 'tips remove',
  purpose: 'dismiss an anonymous report',
  parameters: { address },
  audit: 'required',
  async run(tools, { address: of }) {
    return {
      address: of,
      report: fieldsOf(expect(await createAnonymousReports(tools).remove(of))),
    };
  },
  undo: ({ address: of, report }) => ({
    operation: 'tips reopen',
    input: { address: of, ...report },
  }),
  json: ({ address: of }) => ({ address: of }),
  outcome: () => 'forgotten',
  lines: (done) => [`the anonymous report on ${done.address} is dismissed`],
});

export const acceptAnonymousReport = operation({
  name: 'tips accept',
  purpose: 'believe an anonymous report: a manual rule sets the score of its address',
  parameters: {
    address,
    score: { ...addEntry.parameters.score, help: '1 to 100; from 75 on it is blocked' },
  },
  audit: 'required',
  async run(tools, { address: of, score }) {
    const waiting = createAnonymousReports(tools);
    const report = await waiting.find(of);
    if (report === undefined) throw new OperatorError(`nothing waits for ${of}`);
    const [category = 0] = categoriesOf(report.categories);
    const terms = { score, category, note: 'by an anonymous report', endsAt: 0 };
    const { former, ...set } = expect(await createManualEntries(tools).add(of, terms));
    expect(await waiting.remove(of));
    return {
      address: of,
      score: set.score,
      report: fieldsOf(report),
      hadEntry: former !== undefined,
    };
  },
  // An earlier entry is not known well enough to be set again.
  undo: ({ address: of, report, hadEntry }) =>
    hadEntry
      ? undefined
      : { operation: 'tips reopen', input: { address: of, ...report, unset: true } },
  json: ({ address: of, score }) => ({ address: of, score }),
  outcome: ({ score }) => `score ${score}`,
  lines: (done) => [`${done.address} has score ${done.score} by a manual rule`],
});

export const reopenAnonymousReport = operation({
  name: 'tips reopen',
  purpose: 'put an anonymous report back into the queue',
  parameters: {
    address,
    categories: {
      schema: v.pipe(
        v.string(),
        v.regex(/^\d{1,2}(?:,\d{1,2})*$/, 'It must be numbers such as 18,22.'),
        v.transform((text) => text.split(',').map(Number)),
        v.check((all) => all.every((one) => one >= 1 && one <= categoryMax), categoryFault),
      ),
      value: 'numbers',
      help: 'of the categories, such as 18,22',
      kept: (numbers: readonly number[]) => numbers.join(),
    },
    comment: { ...note, help: 'in the words of who reported' },
    at: waitsSince,
    unset: { schema: flag, help: 'remove your manual rule for the address', kept: true },
  },
  audit: 'required',
  async run(tools, { address: of, categories, comment, at, unset }) {
    if (unset) {
      const gone = await createManualEntries(tools).remove(of);
      if (!gone.ok && gone.error !== 'not_found') expect(gone);
    }
    const mask = categories.reduce((bits, one) => bits | (1 << one), 0) >>> 0;
    const waiting = createAnonymousReports(tools);
    expect(await waiting.add(of, { categories: mask, comment }, undefined, at));
    return { address: of };
  },
  outcome: () => 'waits again',
  lines: (done) => [`the anonymous report on ${done.address} waits for a decision`],
});
