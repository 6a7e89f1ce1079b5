/** The feeds that the operator named: what each takes, where it is served, and a form for one more. */

import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  ActForm,
  AddFold,
  type ConsoleView,
  consolePage,
  Listing,
  sectionActs,
} from '../parts.page.tsx';
import { frameText } from '../words.ts';

export interface ShownFeed {
  readonly name: string;
  /** Numbers; none: any. */
  readonly categories: readonly number[];
  readonly lists: readonly string[];
  /** 0: any. */
  readonly maxAgeHours: number;
  readonly minimumScore: number;
  readonly family: 'both' | 'IPv4' | 'IPv6';
  readonly countries: readonly string[];
  readonly isExcept: boolean;
  readonly collapsed: boolean;
  readonly limit: number;
}

interface FeedsView extends ConsoleView {
  readonly feeds: readonly ShownFeed[];
  readonly most: number;
  /** Names of lists that a feed may be of. */
  readonly lists: readonly string[];
}

export const feedActs = sectionActs('feeds', {
  add: {
    act: 'feed add',
    asks: [
      ['name', 'category'],
      ['list', 'maxAge'],
      ['minimumScore', 'family'],
      ['country', 'exceptCountry'],
      ['collapse', 'limit'],
    ],
  },
  remove: { act: 'feed remove', about: ['name'], kind: 'danger' },
});

/** Categories that go together: SSH, the web, mail, calls. */
const together = ['18,22', '15,16,19,21', '11,17', '3,8'];
const ages = ['1h', '24h', '7d', '30d'] as const;

function addForm(frame: PageFrame, view: FeedsView): Html {
  const text = frameText(frame).console.feeds;
  const any = { value: '', label: text.any };
  const nameOf = (numbers: string) => namesText(numbers.split(',').map(Number), view.categoryNames);
  const categories = [...together, ...view.categoryNames.map((_, i) => String(i + 1))].map(
    (value) => ({ value, label: nameOf(value) }),
  );
  const choice = (value: string, label: string) => ({ value, label });
  return (
    <ActForm
      view={view}
      of={feedActs}
      does="add"
      text={text}
      options={{
        category: [any, ...categories],
        list: [any, ...view.lists.map((name) => choice(name, name))],
        maxAge: [any, ...ages.map((age) => choice(age, text.ages[age]))],
        family: (['both', 'IPv4', 'IPv6'] as const).map((one) => choice(one, text.families[one])),
        collapse: [choice('', text.no), choice('true', text.yes)],
      }}
      label={text.add}
    />
  );
}

export function feedsPage(frame: PageFrame, view: FeedsView): string {
  const text = frameText(frame).console.feeds;
  const format = formatFor(frame.language);
  const ageOf = (hours: number): string[] => {
    if (hours === 0) return [];
    const isDays = hours >= 48 && hours % 24 === 0;
    return [
      isDays ? text.withinDays(format.number(hours / 24)) : text.within(format.number(hours)),
    ];
  };
  const takes = (feed: ShownFeed): string[] => [
    ...(feed.categories.length > 0 ? [namesText(feed.categories, view.categoryNames)] : []),
    ...(feed.lists.length > 0 ? [text.ofLists(feed.lists.join(', '))] : []),
    ...ageOf(feed.maxAgeHours),
    text.from(format.number(feed.minimumScore)),
    ...(feed.family === 'both' ? [] : [feed.family]),
    ...(feed.countries.length === 0
      ? []
      : [(feed.isExcept ? text.notOf : text.of)(feed.countries.join(', '))]),
    ...(feed.collapsed ? [text.collapsed] : []),
  ];
  const rows = view.feeds.map((feed) => [
    <Link class="mono whole" href={`/feeds/${feed.name}.txt`}>
      {`${feed.name}.txt`}
    </Link>,
    <span class="breaks">{takes(feed).join(' · ')}</span>,
    format.number(feed.limit),
    <ActButton
      view={view}
      of={feedActs}
      does="remove"
      about={{ name: feed.name }}
      label={text.remove}
    />,
  ]);
  const columns = [
    text.feed,
    { title: text.takes, plain: true },
    { title: text.limit, numeric: true },
    text.actions,
  ];
  return consolePage(frame, view, {
    section: 'feeds',
    lede: text.lede,
    body: (
      <>
        <AddFold view={view} title={text.addTitle} isOpen={view.feeds.length === 0}>
          {addForm(frame, view)}
        </AddFold>
        <Listing icon="list" text={text} columns={columns} rows={rows} />
        <p class="card-note">
          {text.count(format.number(view.feeds.length), format.number(view.most))}{' '}
          <Link href="/docs/feeds">{text.forms}</Link>
        </p>
      </>
    ),
  });
}
