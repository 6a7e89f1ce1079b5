/** Shows the lists that the server fetches: their state, and the actions that are possible now. */

import { Badge, type BadgeTone, Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { ActButton, type ConsoleView, consolePage, Listing, sectionActs } from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export const listActs = sectionActs('lists', {
  refresh: { act: 'source refresh', about: ['name'] },
  accept: { act: 'source accept', about: ['name'] },
  pause: { act: 'source pause', about: ['name'] },
  resume: { act: 'source resume', about: ['name'] },
});
type ListOrder = keyof typeof listActs.acts;

export interface FetchedList {
  readonly name: string;
  /** Host and path of its address: a query may hold a key. */
  readonly from: string;
  readonly state: keyof ConsoleCatalogue['lists']['states'];
  readonly rows: number;
  readonly added: number;
  readonly removed: number;
  /** Milliseconds since 1970; 0 for never. */
  readonly freshAt: number;
  /** In a row. */
  readonly failures: number;
  /** The reason why the last try failed; empty when it was good. */
  readonly failure: string;
  readonly heldRows: number;
}

/** By `portcullis seed`, `anon` or `known-good`, or at the start: nothing fetches it again. */
export interface LoadedList {
  readonly name: string;
  readonly kind: keyof ConsoleCatalogue['lists']['kinds'];
  /** False while its first load runs, or broke off. */
  readonly complete: boolean;
  /** Milliseconds since 1970. */
  readonly loadedAt: number;
  readonly endsAt: number;
}

function ordersFor({ state, heldRows }: FetchedList): readonly ListOrder[] {
  if (state === 'removing') return [];
  if (state === 'paused') return ['resume'];
  return heldRows > 0 ? ['accept', 'refresh', 'pause'] : ['refresh', 'pause'];
}

function toneOf({ state }: FetchedList): BadgeTone {
  if (state === 'failing' || state === 'held') return 'suspect';
  return state === 'active' ? 'accent' : 'neutral';
}

function loadedTable(frame: PageFrame, loaded: readonly LoadedList[]): Html {
  const text = frameText(frame).console.lists;
  const format = formatFor(frame.language);
  const rows = loaded.map(({ name, kind, complete, loadedAt, endsAt }) => [
    <strong class="breaks">{name}</strong>,
    text.kinds[kind],
    complete ? format.moment(loadedAt) : text.unfinished,
    format.moment(endsAt),
  ]);
  const columns = [text.name, text.kind, text.loadedAt, text.endsAt].map((title) => ({ title }));
  return (
    <>
      <h2>{text.others}</h2>
      <Table caption={text.others} columns={columns} rows={rows} stack />
    </>
  );
}

export function listsPage(
  frame: PageFrame,
  view: ConsoleView & {
    readonly lists: readonly FetchedList[];
    readonly loaded: readonly LoadedList[];
  },
): string {
  const all = frameText(frame).console;
  const text = all.lists;
  const format = formatFor(frame.language);
  const isBad = ({ kind }: LoadedList) => kind !== 'good';
  const isFirst = view.lists.length === 0 && !view.loaded.some(isBad);
  const rows = view.lists.map((one) => [
    <>
      <strong class="breaks">{one.name}</strong>
      <br />
      <span class="card-note breaks">{one.from}</span>
    </>,
    <>
      <Badge label={text.states[one.state]} tone={toneOf(one)} />
      {one.heldRows > 0 && <p class="card-note">{text.held(format.number(one.heldRows))}</p>}
    </>,
    format.number(one.rows),
    one.freshAt === 0 ? all.never : format.moment(one.freshAt),
    `+${format.number(one.added)} −${format.number(one.removed)}`,
    <>
      {format.number(one.failures)}
      {one.failure && <p class="card-note breaks">{one.failure}</p>}
    </>,
    <div class="acts">
      {ordersFor(one).map((order) => (
        <ActButton
          view={view}
          of={listActs}
          does={order}
          about={{ name: one.name }}
          label={text.orders[order]}
        />
      ))}
    </div>,
  ]);
  const columns = [
    ...[text.name, text.state],
    { title: text.rows, numeric: true },
    ...[text.fresh, text.change, text.failures, text.actions],
  ];
  return consolePage(frame, view, {
    section: 'lists',
    title: isFirst ? text.first : undefined,
    lede: isFirst ? text.firstLede : text.lede,
    body: (
      <>
        <Listing
          icon="list"
          none={view.loaded.length === 0 ? text.none : text.noneFetched}
          caption={text.caption}
          columns={columns}
          rows={rows}
        />
        {view.loaded.length > 0 && loadedTable(frame, view.loaded)}
      </>
    ),
  });
}
