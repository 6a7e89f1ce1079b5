/** Operations on named feeds. */

import * as v from 'valibot';
import { capacities } from '../../../config.ts';
import { expect, type OperationTools, operationsOn, refuse } from '../../../contracts/operation.ts';
import {
  choice,
  flag,
  listedName,
  textOf,
  wholeNumber,
} from '../../../contracts/operation-parameters.ts';
import { dateText } from '../../../core/dates.ts';
import { fail } from '../../../core/result.ts';
import { listNameShape } from '../../../core/text.ts';
import { columnsOr, grouped } from '../../../core/text-table.ts';
import { dayMs, durationMs, durationRule, hourMs, minuteMs } from '../../../core/time.ts';
import { faultOfCountry, parseNetworkGroup } from '../../../geo/network-groups.ts';
import { listPrefix, readTexts } from '../../../storage/keys.ts';
import { pagesUnder, type Store } from '../../../storage/store.ts';
import { maliciousScore } from '../../check/score.ts';
import { listSubscriptions } from '../../lists/subscriptions/subscriptions.ts';
import { categoriesOf, categoryMask, categoryMax } from '../../reports/categories.ts';
import { confidenceMin } from '../blacklist.ts';
import {
  addNamedFeed,
  feedNameShape,
  listNamedFeeds,
  type NamedFeed,
  namedEntriesMax,
  removeNamedFeed,
} from './named-feeds.ts';
import { forms } from './vendors.ts';

const operation = operationsOn<OperationTools>();
const itemsMax = 50;

/** Texts separated by commas, each of which `isGood`. */
function separated(isGood: (item: string) => boolean, fault: string) {
  return v.optional(
    v.pipe(
      textOf(1_000),
      v.check((text) => {
        const items = itemsOf(text);
        return items.length > 0 && items.length <= itemsMax && items.every(isGood);
      }, fault),
    ),
  );
}

function itemsOf(text: string | undefined): string[] {
  const items = (text ?? '').split(',').map((item) => item.trim());
  return [...new Set(items)].filter((item) => item !== '');
}

const isCategory = (item: string) =>
  /^\d{1,2}$/.test(item) && Number(item) >= 1 && Number(item) <= categoryMax;
const isCountry = (item: string) => {
  const group = /^[A-Za-z]{2}$/.test(item) ? parseNetworkGroup(item) : undefined;
  return typeof group === 'object' && faultOfCountry(item.toUpperCase()) === undefined;
};
const countryFault = 'It must be codes of countries, such as DE or GB, separated by commas.';

/** Lists that the refusal names. */
const knownShown = 20;

/** @throws OperatorError for a list that is neither loaded nor fetched, with those that are */
async function refuseUnknownLists(store: Store, lists: readonly string[]): Promise<void> {
  if (lists.length === 0) return;
  const known = new Set((await listSubscriptions(store)).map(({ name }) => name));
  for await (const page of pagesUnder(store, listPrefix())) {
    for (const { key } of page) {
      const [kind, name = ''] = readTexts(key);
      if (kind === 'seed' && listNameShape.test(name)) known.add(name);
    }
  }
  const unexpected = lists.find((name) => !known.has(name));
  if (unexpected === undefined) return;
  const names = [...known].sort();
  const more = names.length > knownShown ? ` and ${names.length - knownShown} more` : '';
  const all =
    names.length === 0 ? 'none is' : `${names.slice(0, knownShown).join(', ')}${more} are`;
  refuse(fail('invalid_parameter', `there is no list ${unexpected}; ${all} known`, 'list'));
}

export const addFeed = operation({
  name: 'feed add',
  purpose: `name a choice of the blocklist: it is served under /feeds/ in every form; ${capacities.namedFeeds} at most`,
  parameters: {
    name: {
      schema: v.pipe(
        v.string(),
        v.regex(
          feedNameShape,
          'It may hold small letters, digits and -, at most 20, and begins with a letter.',
        ),
      ),
      value: 'name',
      help: 'name of the feed, such as ssh',
      isArgument: true,
      kept: true,
      control: { mono: true, maxLength: 20, autocomplete: 'off' },
    },
    category: {
      schema: separated(
        isCategory,
        `It must be numbers from 1 to ${categoryMax}, separated by commas.`,
      ),
      value: 'numbers',
      help: 'reported with one of these categories, such as 18,22; of the newest 100 reports of each address',
      kept: true,
    },
    list: {
      schema: separated(
        (item) => listNameShape.test(item),
        'It must be names of lists, separated by commas.',
      ),
      value: 'names',
      help: 'named by one of these lists, as source list shows them',
      kept: true,
      control: { maxLength: 300, autocomplete: 'off' },
    },
    maxAge: {
      schema: v.optional(
        v.pipe(
          v.string(),
          v.check(
            (text) => text === '' || durationMs(text) !== undefined,
            `It ${durationRule}, 365d at most.`,
          ),
        ),
      ),
      value: 'duration',
      help: 'reported, or on a list that was loaded, so long ago at most, such as 24h',
      kept: true,
      control: { maxLength: 9, autocomplete: 'off' },
    },
    minimumScore: {
      schema: v.optional(wholeNumber(confidenceMin, 100), String(maliciousScore)),
      value: 'score',
      help: 'least score',
      kept: true,
      control: { inputMode: 'numeric', maxLength: 3 },
    },
    family: {
      schema: v.optional(choice(['both', 'IPv4', 'IPv6']), 'both'),
      value: 'family',
      help: 'one family of addresses alone',
      kept: true,
    },
    country: {
      schema: separated(isCountry, countryFault),
      value: 'codes',
      help: 'of these countries alone, such as DE,FR',
      kept: true,
      control: { maxLength: 200, autocomplete: 'off' },
    },
    exceptCountry: {
      schema: separated(isCountry, countryFault),
      value: 'codes',
      help: 'of all countries but these',
      kept: true,
      control: { maxLength: 200, autocomplete: 'off' },
    },
    collapse: {
      schema: flag,
      help: 'as few networks as cover the same addresses, where a form says nothing of each entry',
      kept: true,
    },
    limit: {
      schema: v.optional(wholeNumber(1, namedEntriesMax), String(namedEntriesMax)),
      value: 'n',
      help: 'entries at most: the worst',
      kept: true,
      control: { inputMode: 'numeric', maxLength: 6 },
    },
  },
  audit: 'required',
  async run(tools, input) {
    if (input.country !== undefined && input.exceptCountry !== undefined) {
      refuse(
        fail('invalid_parameter', '--country and --except-country do not go together', 'country'),
      );
    }
    await refuseUnknownLists(tools.store, itemsOf(input.list));
    const countries = itemsOf(input.country ?? input.exceptCountry);
    const feed: NamedFeed = {
      name: input.name,
      categories: categoryMask(itemsOf(input.category).map(Number)),
      lists: itemsOf(input.list),
      maxAgeMs: durationMs(input.maxAge ?? '') ?? 0,
      minimumScore: input.minimumScore,
      family: input.family,
      countries: countries.map((code) => code.toUpperCase()),
      isExcept: input.exceptCountry !== undefined,
      collapsed: input.collapse,
      limit: input.limit,
      addedAt: tools.clock.now(),
    };
    return shownFeed(expect(await addNamedFeed(tools.store, feed)), tools.config.secureUrl);
  },
  undo: ({ name }) => ({ operation: 'feed remove', input: { name } }),
  outcome: ({ choice: what }) => what,
  lines: shownLines,
});

export const listFeeds = operation({
  name: 'feed list',
  purpose: 'the named feeds with what each of them takes',
  parameters: {},
  async run(tools) {
    const feeds = await listNamedFeeds(tools.store);
    return feeds.map((feed) => shownFeed(feed, tools.config.secureUrl));
  },
  lines: (feeds) =>
    columnsOr(
      'there is no named feed yet',
      ['feed', 'takes', 'most', 'address'],
      feeds.map((feed) => [feed.name, feed.choice, grouped(feed.limit), feed.addresses[0]!]),
    ),
});

async function feedOf(tools: Pick<OperationTools, 'store'>, name: string): Promise<NamedFeed> {
  const found = (await listNamedFeeds(tools.store)).find((one) => one.name === name);
  return found ?? refuse(fail('not_found', `there is no named feed '${name}'`));
}

export const showFeed = operation({
  name: 'feed show',
  purpose: 'a named feed with the addresses of its forms',
  parameters: { name: listedName },
  run: async (tools, { name }) => shownFeed(await feedOf(tools, name), tools.config.secureUrl),
  lines: shownLines,
});

export const removeFeed = operation({
  name: 'feed remove',
  purpose: 'serve it no more: its readers get 404',
  parameters: { name: listedName },
  audit: 'required',
  run: async (tools, { name }) =>
    shownFeed(expect(await removeNamedFeed(tools.store, name)), tools.config.secureUrl),
  undo: ({ input }) => ({ operation: 'feed add', input }),
  outcome: () => 'removed',
  lines: ({ name }) => [`${name}: its readers get 404`],
});

function shownFeed(feed: NamedFeed, baseUrl: string) {
  const input = inputOf(feed);
  return {
    name: feed.name,
    choice: choiceText(input),
    limit: feed.limit,
    addresses: forms.map(({ extension }) => `${baseUrl}/feeds/${feed.name}.${extension}`),
    addedAt: dateText(feed.addedAt),
    input,
  };
}

type ShownFeed = ReturnType<typeof shownFeed>;

function shownLines({ name, choice: what, addresses }: ShownFeed): string[] {
  return [`${name}: ${what}`, ...addresses.map((address) => `  ${address}`)];
}

/** Returns the options that `feed add` takes for the same feed. */
function inputOf(feed: NamedFeed): Readonly<Record<string, string | boolean>> {
  const options: Record<string, string | boolean> = { name: feed.name };
  const put = (name: string, text: string) => {
    if (text !== '') options[name] = text;
  };
  put('category', categoriesOf(feed.categories).join(','));
  put('list', feed.lists.join(','));
  put('maxAge', durationText(feed.maxAgeMs));
  put('minimumScore', String(feed.minimumScore));
  put('family', feed.family);
  put(feed.isExcept ? 'exceptCountry' : 'country', feed.countries.join(','));
  if (feed.collapsed) options.collapse = true;
  put('limit', String(feed.limit));
  return options;
}

function durationText(ms: number): string {
  if (ms === 0) return '';
  if (ms % dayMs === 0) return `${ms / dayMs}d`;
  if (ms % hourMs === 0) return `${ms / hourMs}h`;
  return ms % minuteMs === 0 ? `${ms / minuteMs}m` : `${ms / 1_000}s`;
}

function choiceText(input: Readonly<Record<string, string | boolean>>): string {
  const parts = [
    ['category', 'categories'],
    ['list', 'lists'],
    ['maxAge', 'newer than'],
    ['minimumScore', 'score from'],
    ['country', 'of'],
    ['exceptCountry', 'not of'],
  ].flatMap(([name, words]) => (input[name!] === undefined ? [] : [`${words} ${input[name!]}`]));
  if (input.family !== 'both') parts.push(`${input.family} alone`);
  if (input.collapse === true) parts.push('collapsed');
  return parts.join(', ');
}
