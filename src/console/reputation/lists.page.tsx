/** Shows the lists that the server fetches: their state, and the actions that are possible now. */

import { type ScoreBand, scoreBands } from '../../contracts/reputation.ts';
import { Card } from '../../web/components/card.tsx';
import { Button, Field, Form, Hidden, SelectField } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge, type BadgeTone, Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  ActButton,
  Confirmed,
  type ConsoleView,
  consolePage,
  consolePaths,
  Listing,
  sectionActs,
  translateSentence,
} from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

export const listActs = sectionActs('lists', {
  refresh: { act: 'source refresh', about: ['name'] },
  accept: { act: 'source accept', about: ['name'] },
  pause: { act: 'source pause', about: ['name'] },
  resume: { act: 'source resume', about: ['name'] },
  on: { act: 'source on', about: ['name'] },
  off: { act: 'source remove', about: ['name'] },
  unload: { act: 'source remove', about: ['name', 'loaded'], kind: 'danger' },
  add: {
    act: 'source add',
    asks: ['source', 'every', 'header', 'user'],
    about: ['url', 'format', 'path'],
  },
});
/** Reads a list and says what it would do. */
export const previewPath = '/admin/lists/preview';
type ListOrder = 'refresh' | 'accept' | 'pause' | 'resume';

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

/** Returns whether the list fails, or holds a download back. */
export function needsDecision({ state }: Pick<FetchedList, 'state'>): boolean {
  return state === 'failing' || state === 'held';
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
  readonly rows: number;
  /** Rows whose score blocks; undefined for a list that gives none. */
  readonly blocking: number | undefined;
}

export interface OfferedListFacts {
  readonly name: string;
  readonly title: string;
  readonly terms: string;
  readonly falsePositives: keyof ConsoleCatalogue['lists']['falsePositives'];
  /** The rough number of rows before it is loaded; absent where that is not known. */
  readonly rowsAbout?: number;
}

/** The output of the operation `source preview`. */
export interface PreviewFacts {
  readonly format: string;
  readonly rows: number;
  readonly bands: Readonly<Record<ScoreBand, number>>;
  readonly badLines: number;
  readonly samples: readonly {
    readonly line: number;
    readonly reason: string;
    readonly text: string;
  }[];
  readonly leftOut: number;
  readonly clashes: readonly string[];
}

/** The effect of a list, or the reason why it can't be read. */
export interface ShownPreview {
  readonly url: string;
  /** As they were typed; empty: it is recognised, or found by its name. */
  readonly format: string;
  readonly path: string;
  /** A header or a password was typed, which never comes back. */
  readonly asks: boolean;
  readonly failure?: { readonly sentence: string; readonly field: 'url' | 'format' | 'path' };
  /** `source`: the name that it gets unless another one is typed. */
  readonly found?: PreviewFacts & { readonly source: string };
}

interface ListsView extends ConsoleView {
  readonly lists: readonly FetchedList[];
  readonly loaded: readonly LoadedList[];
  /** Counts of rows that block, by the name of a list of bad addresses. */
  readonly blocking: ReadonlyMap<string, number>;
  readonly offers: readonly OfferedListFacts[];
  readonly preview?: ShownPreview;
}

const intervals = ['1h', '6h', '12h', '1d', '7d'];

function ownList(frame: PageFrame, view: ListsView): Html {
  const text = frameText(frame).console.lists;
  const { preview, csrf } = view;
  const faultAt = (field: string) =>
    preview?.failure?.field === field ? preview.failure.sentence : undefined;
  return (
    <Card title={text.own}>
      <Form csrf={csrf} action={previewPath} className="own-list">
        <Field
          id="url"
          name="url"
          type="url"
          label={text.url}
          hint={text.urlHint}
          value={preview?.url}
          error={faultAt('url')}
          maxLength={2_000}
          autocomplete="off"
          required
          mono
        />
        <p>
          <Button
            label={text.preview}
            kind={preview?.found ? 'secondary' : 'primary'}
            icon="search"
          />
        </p>
        <div class="own-list-more">
          <FormatFields text={text} view={view} faultAt={faultAt} />
          <Secrets text={text} at="preview" isOpen={preview?.asks === true} />
        </div>
      </Form>
      {preview?.found && previewOf(frame, view, preview.url, preview.found)}
    </Card>
  );
}

/** Asks for the format where it is not recognised, or not rightly. */
function FormatFields({
  text,
  view: { preview, formFields },
  faultAt,
}: {
  readonly text: ConsoleCatalogue['lists'];
  readonly view: ListsView;
  readonly faultAt: (field: string) => string | undefined;
}): Html {
  const { format = '', path = '' } = preview ?? {};
  const { choices = [] } = formFields('source preview').format ?? {};
  const options = [
    { value: '', label: text.formatAuto },
    ...choices.map((one) => ({ value: one, label: one })),
  ];
  return (
    <details open={format !== '' || path !== ''}>
      <summary>{text.nameFormat}</summary>
      <div class="field-grid">
        <SelectField
          id="preview-format"
          name="format"
          label={text.format}
          value={format}
          options={options}
          error={faultAt('format')}
        />
        <Field
          id="preview-path"
          name="path"
          label={text.path}
          hint={text.pathHint}
          value={path}
          error={faultAt('path')}
          maxLength={200}
          autocomplete="off"
          mono
        />
      </div>
    </details>
  );
}

function previewOf(
  frame: PageFrame,
  { csrf, refused, preview }: ListsView,
  url: string,
  found: NonNullable<ShownPreview['found']>,
): Html {
  const all = frameText(frame);
  const text = all.console.lists;
  const { number } = formatFor(frame.language);
  const { format, rows, bands, badLines, samples, leftOut, clashes, source } = found;
  // The format of a list with a path has both in it.
  const [form = '', ...path] = format.split(':');
  const segments = scoreBands
    .filter((band) => bands[band] > 0)
    .map((band) => ({ band, name: all.score.words[band], count: bands[band] }));
  const note = (content: Html, isWarning = false) => (
    <li class={isWarning ? 'is-warning' : undefined}>
      <Icon name={isWarning ? 'alert' : 'check'} />
      <span>{content}</span>
    </li>
  );
  return (
    <div class="preview">
      <p>
        <strong>{text.wouldLoad(number(rows), number(bands.malicious))}</strong> {text.nothingYet}
      </p>
      <ul class="preview-bands">
        {segments.map(({ band, name, count }) => (
          <li class={`band-${band}`}>
            <span>{`${name}: ${number(count)}`}</span>
            <progress class="meter" max={rows} value={count} aria-hidden="true" />
          </li>
        ))}
      </ul>
      <ul class="preview-notes">
        {note(text.recognised(format))}
        {badLines > 0 && note(text.badLines(number(badLines)), true)}
        {samples.map(({ line, reason, text: said }) =>
          note(
            <>
              {text.badLine(number(line), reason)} <span class="mono breaks">{said}</span>
            </>,
            true,
          ),
        )}
        {leftOut > 0 && note(text.leftOut(number(leftOut)))}
        {clashes.length === 0
          ? note(text.noClash)
          : note(
              <>
                {text.clashes}{' '}
                {clashes.map((range, i) => (
                  <>
                    {i > 0 && ', '}
                    <span class="mono whole">{range}</span>
                  </>
                ))}
              </>,
              true,
            )}
      </ul>
      <Form csrf={csrf} action={`${consolePaths.lists}/change`}>
        <Hidden name="do" value="add" />
        <Hidden name="url" value={url} />
        <Hidden name="format" value={form} />
        {path.length > 0 && <Hidden name="path" value={path.join(':')} />}
        <div class="field-grid">
          <Field
            id="source"
            name="source"
            label={text.listName}
            value={source}
            error={refused?.field === 'source' ? refused.sentence : undefined}
            maxLength={64}
            required
          />
          <SelectField
            id="every"
            name="every"
            label={text.every}
            value="6h"
            options={intervals.map((value) => ({ value, label: text.intervals[value as '6h'] }))}
          />
        </div>
        <Secrets text={text} at="add" isOpen={preview?.asks === true} />
        <p>
          <Button label={text.load(number(rows))} />
        </p>
      </Form>
    </div>
  );
}

/** Asks for what the server of the list wants, if anything. It is typed for each form and never comes back. */
function Secrets({
  text,
  at,
  isOpen,
}: {
  readonly text: ConsoleCatalogue['lists'];
  readonly at: string;
  readonly isOpen: boolean;
}): Html {
  const fields = [
    { name: 'header', label: text.header, hint: text.headerHint, maxLength: 2_000 },
    { name: 'user', label: text.user, hint: text.userHint, maxLength: 500 },
  ];
  return (
    <details open={isOpen}>
      <summary>{text.asks}</summary>
      {isOpen && <p class="card-note">{text.typeAgain}</p>}
      <div class="field-grid">
        {fields.map(({ name, ...field }) => (
          <Field id={`${at}-${name}`} name={name} {...field} autocomplete="off" mono />
        ))}
      </div>
    </details>
  );
}

const falsePositiveTones = {
  fewest: 'clean',
  few: 'low',
  some: 'suspect',
  many: 'suspect',
} as const satisfies Record<OfferedListFacts['falsePositives'], BadgeTone>;

/** Letters in place of a mark, which may be a trademark. */
const offerLetters: Readonly<Record<string, string>> = {
  'spamhaus-drop': 'DR',
  'spamhaus-dropv6': 'D6',
  'spamhaus-asndrop': 'AS',
  ipsum: 'IP',
  'firehol-level1': 'F1',
  'firehol-level2': 'F2',
  'firehol-level3': 'F3',
  'cins-army': 'CI',
  'blocklist-de': 'BL',
  'emerging-threats': 'ET',
  dshield: 'DS',
  'tor-exits': 'To',
};

/** Lists that a telephone shows before one presses for the others. */
const narrowOffers = 4;

function catalogue(frame: PageFrame, view: ListsView): Html {
  const { inbox, lists: text } = frameText(frame).console;
  const format = formatFor(frame.language);
  const byName = new Map(view.lists.map((one) => [one.name, one]));
  const about: Readonly<Record<string, string | undefined>> = text.about;
  const licences: Readonly<Record<string, string | undefined>> = text.licences;
  const titles: Readonly<Record<string, string | undefined>> = text.titles;
  const rowsOnce = new Map(view.loaded.map(({ name, rows }) => [name, rows]));
  const isFailing = ({ state }: FetchedList) => state === 'failing' || state === 'held';
  const failing = view.lists.filter(isFailing).length;
  // Lists that are on, or were loaded, stand first.
  const isHere = ({ name }: OfferedListFacts) => byName.has(name) || rowsOnce.has(name);
  const sorted = view.offers.toSorted((a, b) => Number(isHere(b)) - Number(isHere(a)));
  const offers = sorted.map(({ name, title, terms, falsePositives, rowsAbout }) => {
    const list = byName.get(name);
    const isOn = list !== undefined;
    const blocking = view.blocking.get(name);
    const once = rowsOnce.get(name);
    return (
      <li>
        <span class="arch" aria-hidden="true">
          {offerLetters[name]}
        </span>
        <span class="offer-name">
          <strong>{titles[name] ?? title}</strong>
          <span class="source-note">{about[name]}</span>
          {list?.failure && (
            <span class="offer-failure breaks">{translateSentence(frame, list.failure)}</span>
          )}
        </span>
        <span>
          <Link href={terms} rel="noreferrer">
            {licences[name] ?? text.terms}
          </Link>
        </span>
        <Badge
          label={text.falsePositives[falsePositives]}
          tone={falsePositiveTones[falsePositives]}
        />
        <span class="offer-rows">
          {list !== undefined
            ? list.rows > 0
              ? text.rowCount(format.number(list.rows))
              : text.states[list.state]
            : once !== undefined
              ? text.rowCount(format.number(once))
              : rowsAbout === undefined
                ? text.sizeUnknown
                : text.sizeAbout(format.number(rowsAbout))}
          {list === undefined && once !== undefined && <small>{text.loadedOnce}</small>}
          {list !== undefined && list.freshAt > 0 && (
            <small>
              {blocking !== undefined && <>{text.blockingOf(format.number(blocking))} · </>}
              {format.near(list.freshAt, view.now)}
            </small>
          )}
        </span>
        {list === undefined && once !== undefined ? (
          // Its rows count: a switch that is off would say that they do not.
          <ActButton view={view} of={listActs} does="on" about={{ name }} label={text.keepFresh} />
        ) : (
          <Form csrf={view.csrf} action={`${consolePaths.lists}/change`}>
            <Hidden name="do" value={isOn ? 'off' : 'on'} />
            <Hidden name="name" value={name} />
            <button
              class="switch-button"
              type="submit"
              role="switch"
              aria-checked={isOn ? 'true' : 'false'}
              aria-label={titles[name] ?? title}
            />
          </Form>
        )}
      </li>
    );
  });
  return (
    <section class="inbox-needs" aria-labelledby="catalogue">
      <div class="inbox-bar">
        <h2 id="catalogue">{text.catalogue}</h2>
        {view.lists.length > 0 && (
          <p class="badges">
            <Badge label={text.loadedCount(format.number(view.lists.length))} tone="clean" />
            {failing > 0 && (
              <Badge label={text.failingCount(format.number(failing))} tone="suspect" />
            )}
          </p>
        )}
      </div>
      <p class="source-note">{text.catalogueLede}</p>
      <div class="offers-frame">
        <p class="offers-head" aria-hidden="true">
          <span>{text.name}</span>
          <span>{text.terms}</span>
          <span>{text.falsePositivesHead}</span>
          <span>{text.size}</span>
          <span>{text.isOn}</span>
        </p>
        <ul class="offers">{offers.slice(0, narrowOffers)}</ul>
        {/* It is open at any width but that of a telephone, where a press opens it. */}
        <details class="needs-more">
          <summary class="button button-quiet">
            <span class="when-closed">{inbox.showMore(format.number(offers.length))}</span>
            <span class="when-open">{inbox.showFewer}</span>
          </summary>
          <ul class="offers">{offers.slice(narrowOffers)}</ul>
        </details>
      </div>
    </section>
  );
}

function ordersFor({ state, heldRows }: FetchedList): readonly ListOrder[] {
  if (state === 'removing') return [];
  if (state === 'paused') return ['resume'];
  return heldRows > 0 ? ['accept', 'refresh', 'pause'] : ['refresh', 'pause'];
}

function toneOf({ state }: FetchedList): BadgeTone {
  if (needsDecision({ state })) return 'suspect';
  return state === 'active' ? 'accent' : 'neutral';
}

function loadedTable(frame: PageFrame, view: ListsView): Html {
  const { loaded, now } = view;
  const text = frameText(frame).console.lists;
  const titles: Readonly<Record<string, string | undefined>> = text.titles;
  const format = formatFor(frame.language);
  const rows = loaded.map(({ name, kind, complete, loadedAt, endsAt, rows: count, blocking }) => [
    <strong class="breaks">{(name === 'bundled' && titles[name]) || name}</strong>,
    text.kinds[kind],
    format.number(count),
    blocking === undefined ? '–' : format.number(blocking),
    complete ? format.near(loadedAt, now) : text.unfinished,
    format.near(endsAt, now),
    // The start loads that one again.
    kind === 'good' && name === 'bundled' ? (
      <span class="source-note">{text.atStart}</span>
    ) : (
      <div class="acts">
        <Confirmed label={text.remove}>
          <ActButton
            view={view}
            of={listActs}
            does="unload"
            about={{ name, loaded: kind }}
            label={text.removeSure(format.number(count))}
          />
        </Confirmed>
      </div>
    ),
  ]);
  const columns = [
    ...[{ title: text.name }, { title: text.kind }],
    ...[text.rows, text.blocking].map((title) => ({ title, numeric: true })),
    ...[text.loadedAt, text.endsAt, text.actions].map((title) => ({ title })),
  ];
  return (
    <div class="inbox-needs">
      <h2>{text.others}</h2>
      <p class="source-note">
        {text.othersLede} {text.blockingHint}
      </p>
      <Table caption={text.others} columns={columns} rows={rows} stack />
    </div>
  );
}

export function listsPage(frame: PageFrame, view: ListsView): string {
  const all = frameText(frame).console;
  const text = all.lists;
  const format = formatFor(frame.language);
  const isBad = ({ kind }: LoadedList) => kind !== 'good';
  const isFirst = view.lists.length === 0 && !view.loaded.some(isBad);
  const blockingCell = (name: string) => {
    const blocking = view.blocking.get(name);
    return blocking === undefined ? '–' : format.number(blocking);
  };
  const rows = view.lists.map((one) => [
    <>
      <strong class="breaks">{one.name}</strong>
      <span class="source-note fact-below breaks">{one.from}</span>
      {one.failure && (
        <span class="offer-failure fact-below breaks">
          {text.failed(
            one.failures,
            format.number(one.failures),
            translateSentence(frame, one.failure.replace(`${one.from}: `, '')),
          )}
        </span>
      )}
    </>,
    <>
      <Badge label={text.states[one.state]} tone={toneOf(one)} />
      {one.heldRows > 0 && <p class="card-note">{text.held(format.number(one.heldRows))}</p>}
    </>,
    <>
      {format.number(one.rows)}
      <span class="source-note fact-below">
        {`+${format.number(one.added)} −${format.number(one.removed)}`}
      </span>
    </>,
    blockingCell(one.name),
    one.freshAt === 0 ? all.never : format.near(one.freshAt, view.now),
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
    ...[text.rows, text.blocking].map((title) => ({ title, numeric: true })),
    ...[text.fresh, text.actions],
  ];
  return consolePage(frame, view, {
    section: 'lists',
    title: isFirst ? text.first : undefined,
    lede: isFirst ? text.firstLede : text.lede,
    body: (
      <>
        {view.lists.length > 0 && <Listing icon="list" text={text} columns={columns} rows={rows} />}
        {isFirst && catalogue(frame, view)}
        {ownList(frame, view)}
        {view.loaded.length > 0 && loadedTable(frame, view)}
        {!isFirst && catalogue(frame, view)}
      </>
    ),
  });
}
