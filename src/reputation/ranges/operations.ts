/** Operations on the operator's ranges: manual entries, and rules of the allowlist. */

import * as v from 'valibot';
import { expect, type OperationTools, operationsOn } from '../../contracts/operation.ts';
import {
  note,
  rangeOrGroup,
  shortText,
  typedDate,
  wholeNumber,
} from '../../contracts/operation-parameters.ts';
import { dateIn, dateText } from '../../core/dates.ts';
import { columnsOr, counted } from '../../core/text-table.ts';
import { categoryFault, categoryMax, categoryNames } from '../reports/categories.ts';
import {
  type AllowRule,
  createAllowlist,
  createManualEntries,
  type ManualEntry,
} from './operator-ranges.ts';

const operation = operationsOn<OperationTools>();

function shownEntry({ prefix, score, category, note, setAt, endsAt }: ManualEntry) {
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

/** Returns what sets an entry as it was. */
function entryInput({ prefix, score, category, note, endsAt }: ReturnType<typeof shownEntry>) {
  return {
    prefix,
    score: String(score),
    note,
    ...(category === null ? {} : { category: String(category) }),
    ...(endsAt === null ? {} : { until: endsAt }),
  };
}

/** Returns the number of a category by its number or its name; NaN if there is none. */
function categoryIn(text: string): number {
  const name = text.trim().toLowerCase();
  const number = categoryNames.findIndex((one) => one.toLowerCase() === name) + 1;
  if (number > 0) return number;
  const typed = /^\d{1,2}$/.test(name) ? Number(name) : Number.NaN;
  return typed >= 1 && typed <= categoryMax ? typed : Number.NaN;
}

export const addEntry = operation({
  name: 'entry add',
  purpose:
    'give an address, a network, an autonomous system or a country a score; one that is there is set anew',
  parameters: {
    prefix: rangeOrGroup,
    score: {
      schema: v.optional(wholeNumber(1, 100), '100'),
      value: 'score',
      help: '1 to 100; from 75 on it is blocked',
      kept: true,
      control: { inputMode: 'numeric', maxLength: 3 },
    },
    category: {
      schema: v.optional(
        v.pipe(
          v.string(),
          v.check((text) => !Number.isNaN(categoryIn(text)), categoryFault),
          v.transform(categoryIn),
        ),
      ),
      value: 'category',
      help: 'of reports: its number, or its name such as "Port Scan"',
      kept: true,
    },
    note: { ...note, help: 'why; operators alone see it' },
    until: {
      schema: v.optional(typedDate),
      value: 'date',
      help: 'when it ends, such as 2026-12-31: as the day begins, in UTC',
      kept: true,
      control: { type: 'date' },
    },
  },
  audit: 'required',
  async run(tools, { prefix, score, category = 0, note, until }) {
    const endsAt = until === undefined ? 0 : dateIn(until)!;
    const terms = { score, category, note, endsAt };
    const { former, ...set } = expect(await createManualEntries(tools).add(prefix, terms));
    const before = former && shownEntry({ ...former, prefix: set.prefix });
    return { ...shownEntry(set), before };
  },
  undo: ({ prefix, before }) =>
    before === undefined
      ? { operation: 'entry remove', input: { prefix } }
      : { operation: 'entry add', input: entryInput(before) },
  json: ({ before: _, ...entry }) => entry,
  outcome: (entry) => `${entry.prefix} set`,
  lines: (entry) => [`${entry.prefix} has score ${entry.score} by a manual rule`],
});

export const removeEntry = operation({
  name: 'entry remove',
  purpose: 'remove a manual rule',
  parameters: { prefix: { ...rangeOrGroup, help: 'as it was added' } },
  audit: 'required',
  run: async (tools, { prefix }) =>
    shownEntry(expect(await createManualEntries(tools).remove(prefix))),
  undo: (entry) => ({ operation: 'entry add', input: entryInput(entry) }),
  outcome: (entry) => `${entry.prefix} removed`,
  lines: (entry) => [`the manual rule for ${entry.prefix} is removed`],
});

export const listEntries = operation({
  name: 'entry list',
  purpose: 'manual rules: score, category, since when, until when, and the note',
  parameters: {
    part: {
      schema: v.optional(shortText, ''),
      value: 'part',
      help: 'of the range or the note, or an address in the range',
      isArgument: true,
    },
  },
  async run(tools, { part }) {
    const entries = await createManualEntries(tools).list(part.trim());
    return entries.map((entry) => ({ ...shownEntry(entry), ...networksIn(entry) }));
  },
  lines: (entries) =>
    columnsOr(
      'there is no manual rule to show',
      ['range', 'score', 'category', 'set', 'ends', 'note'],
      entries.map((one) => [
        namedWith(one),
        String(one.score),
        one.categoryName ?? '-',
        one.setAt,
        one.endsAt ?? 'never',
        one.note,
      ]),
    ),
});

/** Writes a group with the number of its networks. */
function namedWith(one: { readonly prefix: string; readonly networks?: number | null }): string {
  const { prefix, networks } = one;
  if (networks === undefined) return prefix;
  if (networks === null)
    return `${prefix} (its networks are not written yet; if that lasts, the log says why)`;
  if (networks === 0) return `${prefix} (no network in the geo tables)`;
  return `${prefix} (${counted(networks, 'network')})`;
}

const networksIn = ({ networks }: ManualEntry) => (networks === undefined ? {} : { networks });

const shownRule = (rule: AllowRule) => ({ ...rule, addedAt: dateText(rule.addedAt) });

export const addRule = operation({
  name: 'allow add',
  purpose: 'put an address, a network, an autonomous system or a country on the allowlist',
  parameters: { prefix: rangeOrGroup, reason: { ...note, help: 'why; shown by list' } },
  audit: 'required',
  async run(tools, { prefix, reason }) {
    const { former, ...rule } = expect(await createAllowlist(tools).add(prefix, reason));
    return { ...shownRule(rule), reasonBefore: former?.reason };
  },
  undo: ({ prefix, reasonBefore }) =>
    reasonBefore === undefined
      ? { operation: 'allow remove', input: { prefix } }
      : { operation: 'allow add', input: { prefix, reason: reasonBefore } },
  json: ({ reasonBefore: _, ...rule }) => rule,
  outcome: (rule) => `${rule.prefix} on`,
  lines: (rule) => [`${rule.prefix} is on the allowlist`],
});

export const removeRule = operation({
  name: 'allow remove',
  purpose: 'take off the allowlist what was put on it',
  parameters: { prefix: { ...rangeOrGroup, help: 'as it was added' } },
  audit: 'required',
  run: async (tools, { prefix }) => shownRule(expect(await createAllowlist(tools).remove(prefix))),
  undo: ({ prefix, reason }) => ({ operation: 'allow add', input: { prefix, reason } }),
  outcome: (rule) => `${rule.prefix} off`,
  lines: (rule) => [`${rule.prefix} is off the allowlist`],
});

export const listRules = operation({
  name: 'allow list',
  purpose: 'what is on the allowlist, since when, and why',
  parameters: {},
  async run(tools) {
    const rules = await createAllowlist(tools).list();
    return rules.map(shownRule);
  },
  lines: (rules) =>
    columnsOr(
      'the allowlist is empty',
      ['range', 'added', 'reason'],
      rules.map((rule) => [namedWith(rule), rule.addedAt, rule.reason]),
    ),
});
