/** The radar: five numbers, all of IPv4 as a map and the way into it, reports over time and where they are about. */

import { scoreBand } from '../../contracts/reputation.ts';
import { hourSeconds } from '../../core/time.ts';
import { unknownProvider } from '../../geo/layout.ts';
import { Card, EmptyState } from '../../web/components/card.tsx';
import { type Bar, BarChart, ShareList } from '../../web/components/chart.tsx';
import { LinkButton } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor, machineTime } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import type { SurveyTotals } from '../address/known.ts';
import { worstAddressesTable } from '../address/network.page.tsx';
import type { EntryBands } from '../counts/entry-bands.ts';
import {
  type CountPeriod,
  countPeriods,
  type ReportBucket,
  type ReportCounts,
} from '../counts/report-counts.ts';
import { groupOfList, type Sources } from '../lists/sources.ts';
import { frameText, type Translations } from '../words.ts';
import { mapLevels, mapThemes } from './map.ts';

export interface RadarFigures {
  readonly reports: ReportCounts;
  /** Undefined in the first moments of a server. */
  entries(): EntryBands | undefined;
  /** The last day, up to the last full minute. */
  minutes(): readonly { readonly checks: number; readonly p99: number | undefined }[];
}

/** Shown where nothing was counted yet. */
const notYet = '–';

export function radarNumbers(
  frame: PageFrame,
  facts: {
    readonly index: { size(): number };
    readonly figures: RadarFigures;
    readonly sources: Pick<Sources, 'list'>;
    readonly now: number;
    /** Entries of IPv4 when they were counted last. */
    readonly ofIpv4: number | undefined;
  },
): RadarNumber[] {
  const { index, figures, sources, now, ofIpv4 } = facts;
  const words = frameText(frame).radar.numbers;
  const { number, ago } = formatFor(frame.language);
  const { bands, knownGood } = figures.entries() ?? {};
  const known = (value: number | undefined) => (value === undefined ? notYet : number(value));
  const size = index.size();
  const minutes = figures.minutes();
  const checks = minutes.reduce((sum, minute) => sum + minute.checks, 0);
  const lists = loadedLists(sources);
  const newest = Math.max(0, ...lists.map(({ refreshedAtMs }) => refreshedAtMs));
  const v6 = ofIpv4 === undefined ? undefined : Math.max(0, size - ofIpv4);
  const reports = figures.reports.sum('quarter', now).reports;
  return [
    { value: number(size), label: words.known, note: words.knownNote(known(v6), known(knownGood)) },
    {
      value: known(bands?.malicious),
      label: words.blocked,
      note: words.blockedNote(known(bands?.suspect)),
    },
    {
      value: number(reports),
      label: words.reports(reports),
      note: words.reportsNote(number(figures.reports.sum('hour', now).reports)),
    },
    {
      value: number(checks),
      label: words.checks(checks),
      note: words.checksNote(number(minutes.at(-1)?.checks ?? 0)),
    },
    {
      value: number(lists.length),
      label: words.lists(lists.length),
      note: newest === 0 ? words.noneYet : words.listsNote(ago(newest, now)),
    },
  ];
}

/** A list by its name: it may hold addresses of two kinds. */
interface ShownList {
  readonly name: string;
  readonly kinds: readonly ('seed' | 'anon')[];
  readonly refreshedAtMs: number;
}

/**
 * The newest first. The known-good list comes with the program: it makes nothing malicious, and no operator
 * loaded it. What the operator allows, and groups of networks, are no lists either.
 */
export function loadedLists(sources: Pick<Sources, 'list'>): ShownList[] {
  const named = new Map<string, ShownList>();
  const known = sources.list().filter((one) => groupOfList(one) === undefined);
  known.sort((a, b) => b.refreshedAtMs - a.refreshedAtMs);
  for (const { source: name, list, refreshedAtMs } of known) {
    if (list !== 'seed' && list !== 'anon') continue;
    const { kinds = [], ...first } = named.get(name) ?? { name, refreshedAtMs };
    named.set(name, { ...first, kinds: [...kinds, list] });
  }
  return [...named.values()];
}

export interface WatchedReport {
  readonly ipAddress: string;
  readonly abuseConfidenceScore: number;
  /** Numbers. */
  readonly categories: readonly number[];
  readonly countryCode: string;
  /** Masked, and not yet escaped. */
  readonly comment: string;
  /** ms since 1970. */
  readonly reportedAt: number;
}

interface RadarNumber {
  readonly value: string;
  readonly label: string;
  readonly note: string;
}

export interface RadarMap {
  /** ms since 1970. */
  readonly at: number;
  /** The 256 /8s, row by row as the picture shows them. */
  readonly squares: readonly MapCell[];
  /** The same in the order of addresses. */
  readonly inOrder: readonly MapCell[];
  /** The /16s with the most malicious entries, the worst first. */
  readonly worst: readonly MapCell[];
}

interface RadarPageData {
  readonly now: number;
  readonly numbers: readonly RadarNumber[];
  readonly map: RadarMap | undefined;
  /** The newest first. */
  readonly lists: readonly ShownList[];
  readonly period: CountPeriod;
  readonly series: readonly ReportBucket[];
  readonly sum: ReportBucket;
  /** The newest first. */
  readonly latest: readonly WatchedReport[];
  /** Mark of the newest report: the stream goes on after it. */
  readonly cursor: string;
}

const rowsMax = 6;
export const mapPath = '/radar/map.png';
export const eventsPath = '/radar/events';

function numbers(data: RadarPageData, text: Translations): Html {
  return (
    <dl class="radar-numbers" aria-label={text.radar.numbers.label}>
      {data.numbers.map(({ value, label, note }) => (
        <div class="card">
          <dt>{label}</dt>
          <dd>
            <strong>{value}</strong>
            <span>{note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/**
 * A picture with a square of its own to choose for each /8. Who doesn't see the picture has the table
 * instead: its squares are no stops on the way of the keyboard.
 */
function mapFigure(map: RadarMap, text: Translations, frame: PageFrame): Html {
  const words = text.radar.map;
  return (
    <>
      <div class="radar-map">
        {mapThemes.map((theme) => (
          <img
            class={`is-${theme}`}
            src={`${mapPath}?theme=${theme}&at=${map.at}`}
            width="256"
            height="256"
            loading="lazy"
            alt={words.alt}
          />
        ))}
        <div class="radar-overlay" aria-hidden="true">
          {map.squares.map((square) => (
            <Link href={square.href} tabindex={-1} title={cellLabel(square, text, frame)} />
          ))}
        </div>
      </div>
      {legend(frame)}
      <details class="chart-table">
        <summary>{words.tableLabel}</summary>
        {cellTable(map.inOrder.filter(isKnown), frame, true)}
      </details>
    </>
  );
}

function mapCard(data: RadarPageData, text: Translations, frame: PageFrame): Html {
  const words = text.radar.map;
  return (
    <Card
      title={words.title}
      className="radar-map-card"
      aside={<span class="card-aside">{words.hint}</span>}
    >
      {data.map === undefined ? (
        <EmptyState icon="chart" text={words.none} />
      ) : (
        mapFigure(data.map, text, frame)
      )}
    </Card>
  );
}

function periodLinks(current: CountPeriod, text: Translations): Html {
  const words = text.radar.curve;
  const periods = Object.keys(countPeriods) as CountPeriod[];
  return (
    <nav class="segment" aria-label={words.label}>
      {periods.map((period) => (
        <Link
          href={`/radar?period=${period}`}
          aria-current={period === current ? 'true' : undefined}
        >
          {words.periods[period]}
        </Link>
      ))}
    </nav>
  );
}

function curve(data: RadarPageData, text: Translations, frame: PageFrame): Html {
  const words = text.radar.curve;
  const { number, day, shortMoment } = formatFor(frame.language);
  const labelOf = data.period === 'day' ? day : shortMoment;
  const bars = data.series.map(({ startMs, reports }): Bar => {
    const label = labelOf(startMs);
    const formatted = number(reports);
    return { label, value: reports, formatted, title: `${label}: ${formatted}` };
  });
  const highest = Math.max(0, ...data.series.map(({ reports }) => reports));
  const { reports } = data.sum;
  const summary = words.summary(reports, number(reports), words.periods[data.period]);
  if (isUnreported(data)) return firstReport(data.period, text);
  return (
    <Card title={words.title} aside={periodLinks(data.period, text)}>
      {highest === 0 ? (
        <EmptyState icon="chart" text={text.radar.noReports} />
      ) : (
        <>
          <p class="card-note">{summary}</p>
          <BarChart
            bars={bars}
            summary={summary}
            top={number(highest)}
            tableLabel={words.table}
            columns={[words.columns.time, words.columns.reports]}
          />
        </>
      )}
    </Card>
  );
}

/** Nothing was reported in this period or before it. */
function isUnreported({ latest, sum }: RadarPageData): boolean {
  return latest.length === 0 && sum.reports === 0;
}

/** Stands in place of the two cards that would both be empty. */
function firstReport(period: CountPeriod, text: Translations): Html {
  const { curve, latest } = text.radar;
  return (
    <Card title={curve.title} aside={periodLinks(period, text)}>
      <EmptyState icon="flag" text={latest.none}>
        <LinkButton label={latest.connect} href="/connect/fail2ban" kind="secondary" />
      </EmptyState>
    </Card>
  );
}

function ranking(
  title: string,
  period: CountPeriod,
  rows: readonly { readonly name: Html; readonly count: number }[],
  text: Translations,
  frame: PageFrame,
): Html {
  const { number } = formatFor(frame.language);
  return (
    <Card title={title} aside={<span class="card-aside">{text.radar.curve.periods[period]}</span>}>
      {rows.length === 0 ? (
        <EmptyState icon="flag" text={text.radar.noReports} />
      ) : (
        <ShareList
          rows={rows.map(({ name, count }) => ({ name, value: count, formatted: number(count) }))}
        />
      )}
    </Card>
  );
}

function rankings(data: RadarPageData, text: Translations, frame: PageFrame): Html {
  const { sum, period } = data;
  const { unknown, networks, countries, categories } = text.radar;
  const { country } = formatFor(frame.language);
  const top = (trait: 'network' | 'country' | 'category', nameOf: (name: string) => Html) =>
    sum
      .by(trait)
      .slice(0, rowsMax)
      .map(({ name, count }) => ({ name: nameOf(name), count }));
  return (
    <>
      {ranking(
        networks,
        period,
        top('network', (name) =>
          name === '' || name === unknownProvider ? unknown : <bdi title={name}>{name}</bdi>,
        ),
        text,
        frame,
      )}
      {ranking(
        countries,
        period,
        top('country', (code) => country(code) ?? unknown),
        text,
        frame,
      )}
      {ranking(
        categories,
        period,
        top('category', (number) => text.categories[Number(number) - 1] ?? number),
        text,
        frame,
      )}
      {listsCard(data, text, frame)}
    </>
  );
}

/** Networks of the map by what is known of them, which needs no report. */
function worstCard({ map }: RadarPageData, text: Translations, frame: PageFrame): Html {
  const { title, note, none, suspect } = text.radar.worst;
  const { number } = formatFor(frame.language);
  const rows = map?.worst ?? [];
  return (
    <Card title={title} aside={<span class="card-aside">{note}</span>}>
      {rows.length === 0 ? (
        <EmptyState icon="shield" text={none} />
      ) : (
        <ShareList
          rows={rows
            .slice(0, rowsMax)
            .map(({ network, href, counts: [, suspects = 0, malicious = 0] }) => ({
              name: (
                <>
                  <Link class="mono" href={href}>
                    {network}
                  </Link>{' '}
                  {suspects > 0 && <span class="fact-note">{suspect(number(suspects))}</span>}
                </>
              ),
              value: malicious,
              formatted: number(malicious),
              band: 'malicious',
            }))}
        />
      )}
    </Card>
  );
}

function listsCard(data: RadarPageData, text: Translations, frame: PageFrame): Html {
  const { title, note, none, kinds } = text.radar.lists;
  const { near } = formatFor(frame.language);
  return (
    <Card title={title} aside={<span class="card-aside">{note}</span>}>
      {data.lists.length === 0 ? (
        <EmptyState icon="list" text={none} />
      ) : (
        <ul class="shares">
          {data.lists.slice(0, rowsMax).map((one) => (
            <li>
              <span class="shares-name">
                <bdi>{one.name}</bdi>{' '}
                <span class="fact-note">{one.kinds.map((kind) => kinds[kind]).join(', ')}</span>
              </span>
              <span class="card-aside">{near(one.refreshedAtMs, data.now)}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** `12 s ago` of today, else the day. */
function ageOf(at: number, now: number, text: Translations, frame: PageFrame): string {
  const words = text.radar.latest;
  const seconds = Math.max(0, Math.floor((now - at) / 1_000));
  if (seconds < 60) return words.seconds(seconds);
  if (seconds < hourSeconds) return words.minutes(Math.floor(seconds / 60));
  return formatFor(frame.language).moment(at);
}

function latestCard({ latest, now }: RadarPageData, text: Translations, frame: PageFrame): Html {
  const words = text.radar.latest;
  const { country } = formatFor(frame.language);
  return (
    <Card title={words.title} aside={<span class="card-aside">{words.note}</span>}>
      {latest.length === 0 ? (
        <EmptyState icon="flag" text={words.none} />
      ) : (
        <ol class="radar-latest">
          {latest.map((report) => {
            const { ipAddress, abuseConfidenceScore: score, comment, reportedAt } = report;
            const about = [
              ...report.categories.map((number) => text.categories[number - 1] ?? String(number)),
              country(report.countryCode) ?? text.radar.unknown,
            ];
            return (
              <li>
                <Link class="mono" href={`/ip/${ipAddress}`}>
                  {ipAddress}
                </Link>
                <span class={`badge band-${scoreBand(score)}`}>{score}</span>
                <time datetime={machineTime(reportedAt)}>
                  {ageOf(reportedAt, now, text, frame)}
                </time>
                <span class="radar-about">{about.join(' · ')}</span>
                {comment !== '' && <q class="radar-comment">{comment}</q>}
              </li>
            );
          })}
        </ol>
      )}
    </Card>
  );
}

export function radarPage(frame: PageFrame, data: RadarPageData): string {
  const text = frameText(frame);
  const words = text.radar;
  const { moment } = formatFor(frame.language);
  // Beside the map while there is room, else below both columns.
  const known = (
    <div class="radar-known" data-live="known">
      {worstCard(data, text, frame)}
      {data.sum.reports === 0 && listsCard(data, text, frame)}
    </div>
  );
  return renderDocument(
    { ...frame, current: 'radar' },
    {
      title: words.title,
      description: words.description,
      noindex: true,
      script: 'radar.js',
      className: 'page-radar',
      body: (
        <div class="wrap stack">
          <header class="radar-head">
            <h1>{words.title}</h1>
            <p
              class="card-aside radar-live"
              data-radar-events={`${eventsPath}?after=${data.cursor}`}
            >
              <span class="radar-light">{words.live}</span>{' '}
              <span data-live="updated">{words.updated(moment(data.now))}</span>{' '}
              <Link href={`/radar?period=${data.period}`}>
                <Icon name="refresh" />
                <span>{words.refresh}</span>
              </Link>
            </p>
          </header>
          <div data-live="numbers">{numbers(data, text)}</div>
          <div class="radar-row">
            <div class="radar-place" data-live="map">
              {mapCard(data, text, frame)}
            </div>
            <div class="radar-column">
              <div data-live="curve">{curve(data, text, frame)}</div>
              <div data-live="latest">{!isUnreported(data) && latestCard(data, text, frame)}</div>
              {isUnreported(data) && known}
            </div>
            <div class="radar-rankings" data-live="rankings">
              {data.sum.reports > 0 && rankings(data, text, frame)}
            </div>
            {!isUnreported(data) && known}
          </div>
        </div>
      ),
    },
  );
}

// A /8 or a /16 of the map: its 256 pieces as squares that lead further in, and as a table.

/** A network of the map: how many entries of each level. */
export interface MapCell {
  readonly network: string;
  readonly href: string;
  /** In the order of `levels`. */
  readonly counts: readonly number[];
  /** The worst that is known of it, one above the number of its level; 0: nothing. */
  readonly shown: number;
}

interface ZoomPageData {
  readonly network: string;
  /** Prefix length of its pieces. */
  readonly length: number;
  /** Row by row, as the picture shows them. */
  readonly squares: readonly MapCell[];
  /** The network that it is a piece of; undefined: the whole map. */
  readonly above?: { readonly network: string; readonly href: string } | undefined;
  readonly isPart: boolean;
  /** The worst addresses in it, where few squares are known. */
  readonly worst: SurveyTotals['worst'];
}

const totalOf = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

function cellLabel({ network, counts }: MapCell, text: Translations, frame: PageFrame): string {
  const { number } = formatFor(frame.language);
  const [known = 0, suspect = 0, malicious = 0] = counts;
  return text.radar.map.square(network, number(known), number(suspect), number(malicious));
}

/** Lists the entries of each network. */
function cellTable(squares: readonly MapCell[], frame: PageFrame, scroll = false): Html {
  const words = frameText(frame).radar.map;
  const { number } = formatFor(frame.language);
  const { network, all, suspect, malicious } = words.columns;
  return (
    <Table
      caption={words.tableCaption}
      columns={[
        { title: network },
        { title: all, numeric: true },
        { title: suspect, numeric: true },
        { title: malicious, numeric: true },
      ]}
      rows={squares.map((square) => [
        <Link class="mono" href={square.href}>
          {square.network}
        </Link>,
        number(totalOf(square.counts)),
        number(square.counts[1] ?? 0),
        number(square.counts[2] ?? 0),
      ])}
      scroll={scroll}
    />
  );
}

const isKnown = ({ shown }: MapCell) => shown > 0;

/** As high as the squares beside them; the others are behind a click. */
const rowsInSight = 13;

/** Lists the entries of each network, the worst first. */
function worstCells(squares: readonly MapCell[], frame: PageFrame): Html {
  const known = byHarm(squares.filter(isKnown));
  const more = known.slice(rowsInSight);
  const { number } = formatFor(frame.language);
  return (
    <>
      {cellTable(known.slice(0, rowsInSight), frame)}
      {more.length > 0 && (
        <details>
          <summary>{frameText(frame).ip.network.networksMore(number(more.length))}</summary>
          {cellTable(more, frame)}
        </details>
      )}
    </>
  );
}

/** Explains the colours of the map. */
function legend(frame: PageFrame): Html {
  const words = frameText(frame).radar.map;
  return (
    <ul class="radar-legend">
      {mapLevels.map((level) => (
        <li>
          {['', ' is-some', ' is-many'].map((shade) => (
            <span class={`radar-swatch is-${level}${shade}`} />
          ))}{' '}
          {words.legend[level]}
        </li>
      ))}
      <li class="card-note">{words.shades}</li>
    </ul>
  );
}

/** The worst first: by the most malicious entries, then suspect ones, then all; equals by address. */
function byHarm(squares: readonly MapCell[]): MapCell[] {
  const order = ({ network }: MapCell) =>
    network.split(/[./]/).reduce((value, part) => value * 256 + Number(part), 0);
  const worse = (a: MapCell, b: MapCell) => {
    const [knownA = 0, suspectA = 0, maliciousA = 0] = a.counts;
    const [knownB = 0, suspectB = 0, maliciousB = 0] = b.counts;
    return maliciousB - maliciousA || suspectB - suspectA || knownB - knownA || order(a) - order(b);
  };
  return [...squares].sort(worse);
}

/** The same shades as the dots of the picture have. */
function cellClass({ counts, shown }: MapCell): string | undefined {
  if (shown === 0) return undefined;
  const count = counts[shown - 1] ?? 0;
  return `is-${mapLevels[shown - 1]}${count >= 32 || count === 0 ? ' is-many' : count >= 4 ? ' is-some' : ''}`;
}

/** Counts the entries in all squares. An entry that holds all of it stands in none. */
function zoomLede(squares: readonly MapCell[], text: Translations, frame: PageFrame): string {
  const { number } = formatFor(frame.language);
  const entries = squares.reduce((sum, { counts }) => sum + totalOf(counts), 0);
  if (entries === 0) return text.radar.zoom.covered;
  const malicious = squares.reduce((sum, { counts }) => sum + (counts[2] ?? 0), 0);
  return text.ip.network.lede(entries, malicious, [number(entries), number(malicious)]);
}

function zoomCards(data: ZoomPageData, text: Translations, frame: PageFrame): Html {
  const words = text.radar.zoom;
  return (
    <div class="radar-row">
      <Card
        title={words.pieces(data.length)}
        aside={<span class="card-aside">{words.known(data.squares.filter(isKnown).length)}</span>}
      >
        {/* No stops on the way of the keyboard: the table has all that are known. */}
        <ol class="radar-squares">
          {data.squares.map((square) => {
            const label = cellLabel(square, text, frame);
            return (
              <li class={cellClass(square)}>
                <Link href={square.href} title={label} tabindex={-1}>
                  <span class="visually-hidden">{label}</span>
                </Link>
              </li>
            );
          })}
        </ol>
        {legend(frame)}
        <p class="card-note">{words.hint}</p>
      </Card>
      <div class="radar-column">
        <Card title={text.radar.map.tableCaption}>
          {worstCells(data.squares, frame)}
          {data.isPart && <p class="card-note">{words.part}</p>}
        </Card>
        {data.worst.length > 0 && (
          <Card title={text.ip.network.worst}>
            {worstAddressesTable(data.worst, text.ip.network.worst, text)}
          </Card>
        )}
      </div>
    </div>
  );
}

export function zoomPage(frame: PageFrame, data: ZoomPageData): string {
  const text = frameText(frame);
  const words = text.radar.zoom;
  const isEmpty = !data.squares.some(isKnown);
  return renderDocument(
    { ...frame, current: 'radar' },
    {
      title: words.title(data.network),
      noindex: true,
      className: 'page-radar',
      body: (
        <div class="wrap stack">
          <p class="crumbs">
            <Link href="/radar">{text.links.radar}</Link> <span aria-hidden="true">›</span>{' '}
            {data.above !== undefined && (
              <>
                <Link class="mono" href={data.above.href}>
                  {data.above.network}
                </Link>{' '}
                <span aria-hidden="true">›</span>{' '}
              </>
            )}
            <span class="mono">{data.network}</span>
          </p>
          <h1>
            <span class="eyebrow">{words.heading}</span>{' '}
            <span class="address mono">{data.network}</span>
          </h1>
          {isEmpty ? (
            <section class="card">
              <EmptyState icon="shield" text={words.empty} />
            </section>
          ) : (
            <>
              <p class="lede">{zoomLede(data.squares, text, frame)}</p>
              <p class="acts">
                <LinkButton
                  label={words.list}
                  href={`/ip/${data.network}`}
                  kind="secondary"
                  icon="list"
                />
              </p>
              {zoomCards(data, text, frame)}
            </>
          )}
        </div>
      ),
    },
  );
}
