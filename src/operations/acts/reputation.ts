/** Operations on what is known of addresses: entries, rules, reports, removal requests and anonymous reports. */

import * as v from 'valibot';
import { OperatorError } from '../../core/errors.ts';
import { dateIn, dateText } from '../../core/names/date-text.ts';
import { createSemaphore } from '../../core/work/semaphore.ts';
import { createTurns } from '../../core/work/turns.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { lookBehind } from '../../ip/behind.ts';
import { typedAddress } from '../../ip/typed.ts';
import { whyJson } from '../../reputation/address/evidence/evidence.ts';
import { type AllowRule, createAllowlist } from '../../reputation/lists/allowlist.ts';
import { createOwnEntries, type OwnEntry } from '../../reputation/lists/own-entries.ts';
import { categoriesOf, categoryMax, categoryNames } from '../../reputation/reports/categories.ts';
import { createOwnReports } from '../../reputation/reports/store/own-reports.ts';
import type { OwnReport, StoredReport } from '../../reputation/reports/store/report-rows.ts';
import { createReportStore } from '../../reputation/reports/store/report-store.ts';
import { acceptRemoval } from '../../reputation/requests/accept-removal.ts';
import { createAnonymousReports } from '../../reputation/requests/anonymous-reports.ts';
import { createRemovals } from '../../reputation/requests/removals.ts';
import { retractReport } from '../../reputation/votes/retract.ts';
import { defineLook, defineOperation } from '../operation.ts';
import { retract } from '../retraction.ts';
import {
  accountName,
  noInput,
  rangeText,
  shortText,
  textOf,
  typedDate,
  wholeNumber,
} from '../schema.ts';
import { expect } from '../workspace.ts';

const oneRange = v.strictObject({ cidr: rangeText });
const oneAddress = v.strictObject({ address: rangeText });
const noteText = textOf(10_000);

/** Reads an address as people type it. @throws OperatorError when it is none */
function addressOf(text: string) {
  const words = new Uint32Array(4);
  const family = parseIp(typedAddress(text), words);
  if (family === 0) throw new OperatorError(`'${text.slice(0, 50)}' is not an address`);
  return { family, words, text: formatIp(family, words) };
}

export const checkAddress = defineLook({
  name: 'check',
  input: oneAddress,
  async run(reading, { address: given }) {
    const { family, words, text } = addressOf(given);
    const behind = lookBehind(family, words);
    return reading.withMemory(({ check, evidence: reader }) => {
      const now = reading.clock.now();
      const facts = JSON.parse(check.toJson(text, now)!) as object;
      const evidence = reader.of(behind, words, now);
      return { facts, evidence, why: whyJson(evidence) };
    });
  },
});

function shownEntry({ prefix, score, category, note, setAt, endsAt }: OwnEntry) {
  return {
    prefix,
    score,
    category: category || null,
    categoryName: categoryNames[category - 1] ?? null,
    note,
    setAt: dateText(setAt),
    endsAt: endsAt === 0 ? null : dateText(endsAt),
  };
}

export const addEntry = defineOperation({
  name: 'entry add',
  input: v.strictObject({
    cidr: rangeText,
    score: wholeNumber(1, 100),
    /** A category number of the report API; undefined records none. */
    category: v.optional(wholeNumber(1, categoryMax)),
    note: v.optional(noteText, ''),
    /** The date on which the entry ends; undefined keeps it for good. */
    until: v.optional(typedDate),
  }),
  audit: { args: ['cidr'], options: ['score', 'category', 'until'] },
  async run(w, { cidr, score, category = 0, note, until }) {
    const endsAt = until === undefined ? 0 : dateIn(until)!;
    return shownEntry(
      expect(await createOwnEntries(w).add(cidr, { score, category, note, endsAt })),
    );
  },
});

export const removeEntry = defineOperation({
  name: 'entry remove',
  input: oneRange,
  audit: { args: ['cidr'] },
  run: async (w, { cidr }) => shownEntry(expect(await createOwnEntries(w).remove(cidr))),
});

export const listEntries = defineOperation({
  name: 'entry list',
  input: v.strictObject({ part: v.optional(shortText, '') }),
  run: async (w, { part }) => (await createOwnEntries(w).list(part.trim())).map(shownEntry),
});

const shownRule = (rule: AllowRule) => ({ ...rule, addedAt: dateText(rule.addedAt) });

export const addRule = defineOperation({
  name: 'allow add',
  input: v.strictObject({ cidr: rangeText, reason: v.optional(noteText, '') }),
  audit: { args: ['cidr'] },
  run: async (w, { cidr, reason }) => shownRule(expect(await createAllowlist(w).add(cidr, reason))),
});

export const removeRule = defineOperation({
  name: 'allow remove',
  input: oneRange,
  audit: { args: ['cidr'] },
  run: async (w, { cidr }) => shownRule(expect(await createAllowlist(w).remove(cidr))),
});

export const listRules = defineOperation({
  name: 'allow list',
  input: noInput,
  run: async (w) => (await createAllowlist(w).list()).map(shownRule),
});

const listedMax = 10_000;

function shownReport({ id, account, reporter, reportedAt, categories, comment }: StoredReport) {
  return {
    id,
    reportedAt: dateText(reportedAt),
    account,
    reporterId: reporter,
    categories: categoriesOf(categories),
    comment,
  };
}

export const listReports = defineOperation({
  name: 'report list',
  input: v.strictObject({
    /** Exactly one of `address` and `account` is given. */
    address: v.optional(rangeText),
    account: v.optional(accountName),
    limit: wholeNumber(1, listedMax),
  }),
  async run(w, { address, account, limit }) {
    if ((address === undefined) === (account === undefined)) {
      throw new OperatorError('name either an address or --account <email>');
    }
    if (address !== undefined) {
      const { family: given, words, text } = addressOf(address);
      const family = lookBehind(given, words);
      const found = await createReportStore(w).list(family, words, 0, limit);
      return { of: text, reports: found.map(shownReport) };
    }
    // By the index that the account's own page reads; it is made where there is none.
    const { id, email, createdAt } = expect(await w.accounts.find(account!));
    const walks = createSemaphore({ runningMax: 1, waitingMax: 0 });
    const own = createOwnReports({ ...w, walks, pace: () => createTurns() });
    const found: OwnReport[] = [];
    let after: string | undefined;
    do {
      const page = expect(await own.page({ id, createdAt }, after));
      found.push(...page.reports);
      after = page.next;
    } while (after !== undefined && found.length < limit);
    const reports = found
      .slice(0, limit)
      .map((one) => ({ address: formatIp(one.family, one.words), ...shownReport(one) }));
    return { of: email, reports };
  },
});

export const retractReports = defineOperation({
  name: 'report retract',
  input: v.strictObject({
    /** The id of a report: all reports of its account on its address are retracted. Else `account` is given. */
    id: v.optional(shortText),
    account: v.optional(accountName),
    since: v.optional(typedDate),
  }),
  audit: { args: ['id'], options: ['since'] },
  async run(w, { id, account, since }) {
    if (account !== undefined && id === undefined) {
      const found = expect(await w.accounts.find(account));
      const from = since === undefined ? 0 : dateIn(since)!;
      const gone = await retract(w, found.id, from, true);
      return { ofAccount: { email: found.email, account: found.id, ...gone } };
    }
    if (id === undefined || account !== undefined || since !== undefined) {
      throw new OperatorError('name either the id of a report or --account <email>');
    }
    const gone = expect(await retractReport(createReportStore(w), id));
    return {
      ofReport: { address: gone.address, account: gone.account, removed: gone.removed },
    };
  },
});

export const listRemovals = defineOperation({
  name: 'removals list',
  input: noInput,
  run: async (w) =>
    (await createRemovals(w).list()).map((one) => ({ ...one, at: dateText(one.at) })),
});

export const acceptRemovalOf = defineOperation({
  name: 'removals accept',
  input: v.strictObject({ address: rangeText, allow: v.optional(v.boolean(), false) }),
  audit: { args: ['address'], options: ['allow'] },
  async run(w, { address: given, allow }) {
    const address = addressOf(given).text;
    const removed = expect(await acceptRemoval(w, address, allow));
    return { address, removed, allowed: allow };
  },
});

export const refuseRemoval = defineOperation({
  name: 'removals refuse',
  input: oneAddress,
  audit: { args: ['address'] },
  async run(w, { address: given }) {
    const address = addressOf(given).text;
    expect(await createRemovals(w).remove(address));
    return { address };
  },
});

export const listAnonymousReports = defineOperation({
  name: 'tips list',
  input: noInput,
  run: async (w) =>
    (await createAnonymousReports(w).list()).map(({ at, categories, ...report }) => ({
      ...report,
      at: dateText(at),
      categories: categoriesOf(categories),
    })),
});

export const removeAnonymousReport = defineOperation({
  name: 'tips remove',
  input: oneAddress,
  audit: { args: ['address'] },
  async run(w, { address: given }) {
    const address = addressOf(given).text;
    expect(await createAnonymousReports(w).remove(address));
    return { address };
  },
});
