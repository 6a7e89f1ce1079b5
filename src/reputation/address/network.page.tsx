/**
 * The pages of several addresses: of a network and of an autonomous system what is known of it as a whole, its worst
 * addresses, and a map of a /24; of a pasted text a table of the addresses in it, or the text again with what
 * is wrong.
 */

import { scoreBand, scoreBands } from '../../contracts/reputation.ts';
import type { PastedAddresses } from '../../ip/typed-address.ts';
import { Card, CodeBlock, EmptyState, Fold, Folds, Notice } from '../../web/components/card.tsx';
import { ShareList } from '../../web/components/chart.tsx';
import { Button, LinkButton } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge, Table } from '../../web/components/table.tsx';
import { type Html, unbroken } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText, type Translations } from '../words.ts';
import { type AddressCell, quietMax, type SurveyTotals } from './known.ts';

// The 256 addresses of an IPv4 /24 as a map of 16 by 16, with a key and a table that say the same. An address that
// nobody has seen differs from one that was seen and is clean. Without colours cells differ by how full they are, by
// border, dot or hatching.

/** A known-good address on a list has a score, and that is what counts. */
function classOf({ kind, score }: AddressCell): string {
  return kind === 'seen' || score > 0 ? `band-${scoreBand(score)}` : `is-${kind}`;
}

function wordOf({ kind, score }: AddressCell, text: Translations): string {
  const words = text.ip.network.cells;
  if (kind === 'seen') return `${text.score.words[scoreBand(score)]} ${score}`;
  return score > 0 ? `${words[kind]}, ${score}` : words[kind];
}

/** The key to what is on the map. */
function key(cells: readonly AddressCell[], text: Translations): Html {
  const { cells: words } = text.ip.network;
  const shown = new Set(cells.map(classOf));
  const marks = (['unseen', 'good', 'allowed', 'special'] as const).map((kind) => ({
    className: `is-${kind}`,
    word: words[kind],
  }));
  const bands = scoreBands.map((band) => ({
    className: `band-${band}`,
    word: text.score.words[band],
  }));
  return (
    <ul class="grid-key">
      {[...marks, ...bands]
        .filter(({ className }) => shown.has(className))
        .map(({ className, word }) => (
          <li class={className}>
            <span class="grid-cell" />
            {capital(word)}
          </li>
        ))}
    </ul>
  );
}

/** Neighbours of which the same is known are one row. */
function twin(
  cells: readonly AddressCell[],
  stem: string,
  network: string,
  text: Translations,
): Html {
  const rows: { from: number; to: number; word: string; score: string }[] = [];
  for (const [host, cell] of cells.entries()) {
    const word = wordOf(cell, text);
    const last = rows.at(-1);
    if (last?.word === word) last.to = host;
    else
      rows.push({
        from: host,
        to: host,
        word,
        score: cell.kind === 'unseen' ? '–' : `${cell.score}`,
      });
  }
  const caption = text.ip.title(network);
  return (
    <details class="chart-table">
      <summary>{text.ip.historyTable}</summary>
      <Table
        caption={caption}
        scroll
        columns={[
          { title: text.ip.find.columns.address },
          { title: text.ip.network.known },
          { title: text.ip.find.columns.score, numeric: true },
        ]}
        rows={rows.map(({ from, to, word, score }) => [
          <span class="mono">
            {stem}
            {from}
            {to > from && (
              <>
                {' '}
                – {stem}
                {to}
              </>
            )}
          </span>,
          word,
          score,
        ])}
      />
    </details>
  );
}

/**
 * One link for each address; what is known of it is its text for those who don't see the map. With the
 * keyboard only those that stand out are stops: nobody walks past 256.
 */
export function addressGrid(
  cells: readonly AddressCell[],
  network: string,
  text: Translations,
): Html {
  const stem = network.slice(0, network.lastIndexOf('.') + 1);
  const lowest = Math.min(...cells.map(({ score }) => score));
  return (
    <>
      <ol class="address-grid">
        {cells.map((cell, host) => {
          const address = `${stem}${host}`;
          const label = `${address}: ${wordOf(cell, text)}`;
          return (
            <li class={classOf(cell)}>
              <Link
                class="grid-cell"
                href={`/ip/${address}`}
                title={label}
                tabindex={cell.score > lowest ? undefined : -1}
              >
                <span class="visually-hidden">{label}</span>
              </Link>
            </li>
          );
        })}
      </ol>
      {key(cells, text)}
      {twin(cells, stem, network, text)}
    </>
  );
}

/** The same map as a picture, beside a table with links: its cells are too small to press. */
export function addressPicture(
  cells: readonly AddressCell[],
  network: string,
  text: Translations,
  current: string,
): Html {
  const host = Number(current.slice(current.lastIndexOf('.') + 1));
  const seen = cells.filter(({ kind }) => kind !== 'unseen').length;
  return (
    <div>
      <div class="address-grid" role="img" aria-label={text.ip.network.seen(network, seen)}>
        {cells.map((cell, i) => (
          <span class={classOf(cell)}>
            <span class={i === host ? 'grid-cell is-current' : 'grid-cell'} />
          </span>
        ))}
      </div>
      {key(cells, text)}
    </div>
  );
}

// A network or a system.

export interface NamedNetwork {
  /** Canonical text. */
  readonly name: string;
  /** Country of its first address. */
  readonly countryCode: string;
  readonly entries: number;
  readonly malicious: number;
}

export interface NetworkPageData extends SurveyTotals {
  /** Canonical text, `192.0.2.0/24`. */
  readonly network: string;
  /** `ZZ` when unknown, or when its addresses have several. */
  readonly countryCode: string;
  readonly hasCountries: boolean;
  /** Empty when unknown, or when its addresses have several. */
  readonly provider: string;
  /** Number of the autonomous system, if that is known without a wait and all of it has one. */
  readonly system?: number | undefined;
  readonly hasProviders: boolean;
  /** An entry that holds all of it, and its score; undefined: none. */
  readonly whole?: { readonly name: string; readonly score: number } | undefined;
  /** The page of the list, and how many there are. */
  readonly page: number;
  readonly pages: number;
  /** The worst of its pieces, and how many have entries. */
  readonly pieces: readonly NamedNetwork[];
  readonly piecesInAll: number;
  /** The 256 addresses of an IPv4 /24; undefined for any other network. */
  readonly cells?: readonly AddressCell[] | undefined;
  /** Registry entry of special use (RFC 6890) that covers all of it. */
  readonly special?: { readonly name: string; readonly rfc: string } | undefined;
  /** The route of the API that checks it; undefined: none takes a network of this size. */
  readonly blockUrl?: string | undefined;
}

/** The first line says what is known of a whole. */
function lede(
  { entries, malicious, isPart }: SurveyTotals,
  text: Translations,
  format: Format,
): string {
  const { lede: whole, part } = text.ip.network;
  const formatted = [format.number(entries), format.number(malicious)] as const;
  return isPart ? part(formatted) : whole(entries, malicious, formatted);
}

function fact(label: string, value: Html, isWide = false): Html {
  return (
    <div class={isWide ? 'is-wide' : undefined}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function systemLink({ network, provider, system }: NetworkPageData): Html {
  const [first] = network.split('/');
  return (
    <Link href={`/as/${system ?? first}`}>
      {system !== undefined && `AS${system} `}
      <bdi>{provider}</bdi>
    </Link>
  );
}

/** Its number, and the name below. */
function systemFact(data: NetworkPageData): Html {
  const { provider, system } = data;
  if (system === undefined) return systemLink(data);
  return (
    <>
      <Link href={`/as/${system}`}>{`AS${system}`}</Link>
      <small>
        <bdi>{provider}</bdi>
      </small>
    </>
  );
}

function facts(data: NetworkPageData, text: Translations, format: Format): Html {
  const words = text.ip.network;
  const { whole, hasProviders, hasCountries } = data;
  const { unknown } = text.ip.facts;
  return (
    <dl class="facts">
      {fact(
        text.ip.facts.provider,
        data.provider === '' ? (hasProviders ? words.several : unknown) : systemFact(data),
      )}
      {fact(
        text.ip.facts.country,
        hasCountries ? words.severalCountries : (format.country(data.countryCode) ?? unknown),
      )}
      {data.entries > 0 && fact(words.entries, format.number(data.entries))}
      {whole !== undefined &&
        whole.name !== data.network &&
        fact(
          words.whole,
          <>
            <span class="mono is-whole">{whole.name}</span>{' '}
            <span class="fact-note">
              {text.ip.find.columns.score} {whole.score}
            </span>
          </>,
          true,
        )}
    </dl>
  );
}

/** The verdict of an entry that holds all of it; undefined: there is none. */
function verdictOf({ whole }: NetworkPageData) {
  return whole && scoreBand(whole.score);
}

/** Says first which verdict holds for all of it, then what is known within. */
function networkLede(data: NetworkPageData, text: Translations, format: Format): string {
  const verdict = verdictOf(data);
  if (verdict === undefined) return lede(data, text, format);
  const covered = text.ip.network.covered(
    text.ip.network.bands[verdict].replaceAll('\u00ad', '').toLowerCase(),
    data.whole!.score,
  );
  return data.entries === 0 ? covered : `${covered} ${lede(data, text, format)}`;
}

/** Says what a network of special use is for. */
function specialLine(
  { name, rfc }: NonNullable<NetworkPageData['special']>,
  { ip }: Translations,
): string {
  const example = /^Documentation \((.+)\)$/.exec(name)?.[1];
  const use = example ?? ip.specials[name] ?? name;
  return ip.network.special[example === undefined ? 'other' : 'example'](use, rfc);
}

/**
 * The worst first, each with a link to its page.
 * @param format of the numbers of reports; undefined: the table has none
 */
export function worstAddressesTable(
  worst: SurveyTotals['worst'],
  caption: string,
  text: Translations,
  format?: Format,
): Html {
  return (
    <Table
      caption={caption}
      columns={[
        {
          title: worst.some(({ name }) => name.includes('/'))
            ? text.ip.network.addressOrNetwork
            : text.ip.find.columns.address,
        },
        { title: text.ip.find.columns.score, numeric: true },
        ...(format === undefined ? [] : [{ title: text.ip.facts.reports, numeric: true }]),
      ]}
      rows={worst.map(({ name, score, reports }) => [
        <Link class="mono" href={`/ip/${name}`}>
          {name}
        </Link>,
        <span class={`score-cell band-${scoreBand(score)}`}>{score}</span>,
        ...(format === undefined ? [] : [format.number(reports)]),
      ])}
    />
  );
}

interface Paged extends SurveyTotals {
  readonly page: number;
  readonly pages: number;
}

function worstCard(
  { worst, entries, bands, page, pages }: Paged,
  path: string,
  text: Translations,
  format: Format,
): Html {
  const words = text.ip.network;
  const title = bands.clean === entries ? words.seenAddresses : words.worst;
  const counted = worst.some(({ reports }) => reports > 0) ? format : undefined;
  return (
    <Card
      title={title}
      aside={pages > 1 && <span class="card-aside">{words.page(page, pages)}</span>}
    >
      {worst.length === 0 ? (
        <EmptyState icon="flag" text={words.none} />
      ) : (
        worstAddressesTable(worst, title, text, counted)
      )}
      {pages > 1 && (
        <p class="acts">
          {page > 1 && (
            <LinkButton
              label={words.previous}
              href={`${path}?page=${page - 1}`}
              kind="secondary"
              icon="back"
            />
          )}
          {page < pages && (
            <LinkButton
              label={words.next}
              href={`${path}?page=${page + 1}`}
              kind="secondary"
              icon="arrow"
            />
          )}
        </p>
      )}
    </Card>
  );
}

/** Rows of networks in sight beside the worst addresses: both cards end together. */
function networksInSight({ worst }: Paged): number {
  return Math.max(6, worst.length - 1);
}

/**
 * Lists networks, each with a link to its page and what is known in it.
 * @param home the country that goes without saying; undefined: all of them do
 */
function networksTable(
  networks: readonly NamedNetwork[],
  home: string | undefined,
  caption: string,
  text: Translations,
  format: Format,
): Html {
  const words = text.ip.network;
  return (
    <Table
      caption={caption}
      columns={[
        words.heading,
        { title: words.entries, numeric: true },
        { title: words.bands.malicious, numeric: true },
      ]}
      rows={networks.map(({ name, countryCode, entries, malicious }) => [
        <>
          <Link class="mono is-whole" href={`/ip/${name}`}>
            {name}
          </Link>
          {home !== undefined && countryCode !== home && (
            <>
              {' '}
              <span class="fact-note">{format.country(countryCode)}</span>
            </>
          )}
        </>,
        format.number(entries),
        format.number(malicious),
      ])}
    />
  );
}

const fewRows = 3;

/** A table of networks: the first in sight, more behind a click, and a line that says what is left out. */
function foldedNetworks(
  networks: readonly NamedNetwork[],
  inAll: number,
  home: string | undefined,
  inSight: number,
  text: Translations,
  format: Format,
): Html {
  const words = text.ip.network;
  const isCut = inAll > networks.length;
  const caption = isCut
    ? words.networksCut(format.number(networks.length), format.number(inAll))
    : words.networks;
  // A click for a row or two costs more than they do.
  const rest = networks.slice(inSight);
  const more = rest.length <= fewRows ? [] : rest;
  return (
    <>
      {networksTable(
        more.length > 0 ? networks.slice(0, inSight) : networks,
        home,
        caption,
        text,
        format,
      )}
      {more.length > 0 && (
        <details>
          <summary>{words.networksMore(format.number(more.length))}</summary>
          {networksTable(more, home, caption, text, format)}
        </details>
      )}
      {isCut && <p class="card-note">{caption}</p>}
    </>
  );
}

/** The pieces of a network that is wider than they are. */
function piecesCard(data: NetworkPageData, text: Translations, format: Format): Html {
  return (
    <Card title={text.ip.network.pieces}>
      {foldedNetworks(
        data.pieces,
        data.piecesInAll,
        undefined,
        networksInSight(data),
        text,
        format,
      )}
    </Card>
  );
}

/** The way to a network: the look-up, its provider. */
function trail(place: string, text: Translations, provider?: Html): Html {
  return (
    <nav class="trail" aria-label={text.ip.network.trail}>
      <ol>
        <li>
          <Link href="/ip">{text.ip.find.title}</Link>
        </li>
        {provider && <li>{provider}</li>}
        <li class="mono" aria-current="page">
          {place}
        </li>
      </ol>
    </nav>
  );
}

/** A firewall for what is malicious, and the JSON of the page. */
function acts(isMalicious: boolean, path: string, text: Translations): Html {
  return (
    <p class="acts">
      {isMalicious && (
        <LinkButton
          label={text.ip.network.block}
          href="/connect#block"
          kind="secondary"
          icon="shield"
        />
      )}
      <LinkButton label={text.ip.asJson} href={`${path}?format=json`} kind="quiet" icon="code" />
    </p>
  );
}

/** Counts the entries by verdict, the worst first. */
function verdicts({ bands, entries }: SurveyTotals, text: Translations, format: Format): Html {
  if (entries === 0) return false;
  const found = scoreBands.toReversed().filter((band) => bands[band] > 0);
  return (
    <div>
      <h2 class="small-title">{text.ip.network.verdicts}</h2>
      <ShareList
        whole={entries}
        rows={found.map((band) => ({
          name: text.ip.network.bands[band],
          value: bands[band],
          formatted: format.number(bands[band]),
          band,
        }))}
      />
    </div>
  );
}

/** A network or a system, as its page shows it. */
interface Place {
  readonly title: string;
  readonly lookedUp: string;
  readonly path: string;
  readonly kind: string;
  readonly name: Html;
  /** A link to who has it; false for a system. */
  readonly provider: Html;
  readonly lede: Html;
  readonly isMalicious: boolean;
  readonly facts: Html;
  /** A card beside that of the worst addresses. */
  readonly parts: Html;
  /** Stands above the other card, which is much longer. */
  readonly isAbove?: boolean;
  readonly foot: Html;
}

function placePage(frame: PageFrame, place: Place, data: Paged): string {
  const text = frameText(frame);
  const format = formatFor(frame.language);
  return renderDocument(frame, {
    title: place.title,
    noindex: true,
    lookedUp: place.lookedUp,
    className: 'page-network',
    body: (
      <div class="wrap stack">
        {trail(place.lookedUp, text, place.provider)}
        <section class="card">
          <div class="columns">
            <div class="stack">
              <h1>
                <span class="eyebrow">{place.kind}</span> <span class="address">{place.name}</span>
              </h1>
              {place.lede}
              {acts(place.isMalicious, place.path, text)}
            </div>
            <div class="stack">
              {place.facts}
              {verdicts(data, text, format)}
            </div>
          </div>
        </section>
        <div class={place.isAbove ? 'columns is-one' : 'columns'}>
          {place.parts}
          {worstCard(data, place.path, text, format)}
        </div>
        {place.foot}
      </div>
    ),
  });
}

export function networkPage(frame: PageFrame, data: NetworkPageData): string {
  const text = frameText(frame);
  const words = text.ip.network;
  const format = formatFor(frame.language);
  const { cells, network, special, blockUrl } = data;
  // Nobody looks at 256 squares that all say the same as the line above them.
  const hasMap = cells?.some(({ kind, score }) => kind !== cells[0]!.kind || score > 0) ?? false;
  return placePage(
    frame,
    {
      title: words.title(network),
      lookedUp: network,
      path: `/ip/${network}`,
      kind: words.heading,
      name: <span class="mono">{network}</span>,
      provider: data.provider !== '' && systemLink(data),
      lede: (
        <>
          <p class="lede">{networkLede(data, text, format)}</p>
          {special !== undefined && <p>{unbroken(specialLine(special, text))}</p>}
        </>
      ),
      isMalicious: data.malicious > 0 || verdictOf(data) === 'malicious',
      facts: facts(data, text, format),
      parts: hasMap ? (
        <Card title={words.map}>{addressGrid(cells!, network, text)}</Card>
      ) : (
        data.pieces.length > 0 && piecesCard(data, text, format)
      ),
      foot: blockUrl !== undefined && (
        <Folds>
          <Fold title={words.check} icon="code">
            <CodeBlock
              id="check-line"
              title="curl"
              code={`curl -G ${blockUrl} \\\n  -H "Key: YOUR_KEY" \\\n  -d network=${network}`}
              text={text}
            />
          </Fold>
        </Folds>
      ),
    },
    data,
  );
}

/** Credits whom the licence of the names of networks asks for, and says how old they are. */
export interface Attribution {
  readonly name: string;
  readonly href: string;
  readonly licence: string;
  /** Milliseconds since 1970; 0: unknown. */
  readonly madeAt: number;
}

export function attributionLine(
  { name, href, licence, madeAt }: Attribution,
  text: Translations,
  format: Format,
): Html {
  return (
    <p class="attribution">
      {text.ip.attribution}{' '}
      <Link href={href} rel="noopener">
        {name}
      </Link>
      {` · ${licence}`}
      {madeAt > 0 && ` · ${text.ip.dataOf(format.day(madeAt))}`}
    </p>
  );
}

export interface SystemPageData extends SurveyTotals {
  readonly number: number;
  /** The operator's name; undefined: no range of it is known. */
  readonly name: string | undefined;
  readonly page: number;
  readonly pages: number;
  /** Number of ranges that it announces, by the table. */
  readonly ranges: number;
  /** The country of most of its networks, and in how many it has some. */
  readonly countryCode: string;
  readonly countries: number;
  /** Number of its networks by family. */
  readonly totals: { readonly 4: number; readonly 6: number };
  /** The worst of its networks, and how many have entries. */
  readonly networks: readonly NamedNetwork[];
  readonly networksInAll: number;
  /** The first of each family in which nothing is known. */
  readonly quiet: readonly Pick<NamedNetwork, 'name' | 'countryCode'>[];
  readonly attribution: Attribution;
}

function systemFacts(data: SystemPageData, text: Translations, format: Format): Html {
  const words = text.ip.network;
  const { totals, countries } = data;
  const both = [format.number(totals[4]), format.number(totals[6])] as const;
  return (
    <dl class="facts">
      {fact(
        text.ip.facts.country,
        <>
          {format.country(data.countryCode) ?? text.ip.facts.unknown}
          {countries > 1 && (
            <>
              {' '}
              <span class="fact-note">{words.countriesMore(format.number(countries - 1))}</span>
            </>
          )}
        </>,
      )}
      {fact(
        words.networkCount,
        <>
          {format.number(totals[4] + totals[6])}{' '}
          {totals[4] > 0 && totals[6] > 0 && (
            <span class="fact-note">{words.families(...both)}</span>
          )}
        </>,
      )}
      {fact(words.entries, format.number(data.entries))}
    </dl>
  );
}

/** Lists its networks: those with entries, the worst first, and behind a click others of each family. */
function networksCard(data: SystemPageData, text: Translations, format: Format): Html {
  const words = text.ip.network;
  const quietInAll = data.totals[4] + data.totals[6] - data.networksInAll;
  const isCut = quietInAll > data.quiet.length;
  return (
    <Card
      title={words.networks}
      aside={data.networks.length > 1 && <span class="card-aside">{words.networksOrder}</span>}
    >
      {data.networks.length > 0 &&
        foldedNetworks(
          data.networks,
          data.networksInAll,
          data.countryCode,
          networksInSight(data),
          text,
          format,
        )}
      {data.quiet.length > 0 && (
        <details open={data.networks.length === 0}>
          <summary>{words.quiet(format.number(quietInAll))}</summary>
          {isCut && <p class="card-note">{words.quietCut(format.number(quietMax))}</p>}
          <ul class="quiet-networks">
            {data.quiet.map(({ name, countryCode }) => (
              <li>
                <Link class="mono is-whole" href={`/ip/${name}`}>
                  {name}
                </Link>{' '}
                {countryCode !== data.countryCode && (
                  <span class="fact-note">{format.country(countryCode)}</span>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Card>
  );
}

/** Fewer networks than these don’t fill a column of their own. */
const networksBeside = 8;

export function systemPage(frame: PageFrame, data: SystemPageData): string {
  const text = frameText(frame);
  const words = text.ip.network;
  const format = formatFor(frame.language);
  const { name } = data;
  const number = `AS${data.number}`;
  return placePage(
    frame,
    {
      title: [number, name].filter(Boolean).join(' · '),
      lookedUp: number,
      path: `/as/${data.number}`,
      kind: words.system,
      name: (
        <>
          <span class="mono">{number}</span>
          {name && (
            <>
              {' · '}
              <bdi>{name}</bdi>
            </>
          )}
        </>
      ),
      provider: false,
      lede: <p class="lede">{name === undefined ? words.noSystem : lede(data, text, format)}</p>,
      isMalicious: data.malicious > 0,
      facts: name !== undefined && systemFacts(data, text, format),
      parts: name !== undefined && networksCard(data, text, format),
      isAbove: data.networks.length < networksBeside && data.worst.length >= networksBeside,
      foot: attributionLine(data.attribution, text, format),
    },
    data,
  );
}

// A pasted text.

export interface FoundAddress {
  /** Canonical text of an address or a network. */
  readonly name: string;
  readonly href: string;
  /** Country and provider; `ZZ` and empty: unknown, or a network has several. */
  readonly countryCode: string;
  readonly provider: string;
  /** Facts of an address; undefined for a network, which has no score of its own. */
  readonly known?:
    | {
        readonly cell: AddressCell;
        readonly reports: number;
        readonly listReports: number;
      }
    | undefined;
}

interface FindPageData {
  readonly text: string;
  /** The bound on what is looked up of a text. */
  readonly foundMax: number;
  readonly found: readonly FoundAddress[];
  /** Not all that the text has. */
  readonly more: boolean;
  /** Lines and words of it that are no address. */
  readonly others: PastedAddresses['others'];
  /** Something was sent and holds no address. */
  readonly isMiss: boolean;
  readonly csvHref: string;
}

/** In place of what is not known. A narrow screen leaves such a cell out. */
const none = <span class="is-unknown">–</span>;
/** So does it with what says nothing there. */
const zero = <span class="is-zero">0</span>;

const capital = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

function scoreCell({ known }: FoundAddress, text: Translations): Html {
  if (known === undefined) return none;
  const { kind, score } = known.cell;
  // As on its own page: what is known good or allowed has a score, which is 0.
  const hasScore = (kind !== 'unseen' && kind !== 'special') || score > 0;
  const band = hasScore ? scoreBand(score) : 'none';
  const word =
    kind === 'seen' ? text.score.words[scoreBand(score)] : capital(text.ip.network.cells[kind]);
  return (
    <span class={`score-cell band-${band}`}>
      {hasScore ? score : none} <span class="fact-note">{word}</span>
    </span>
  );
}

const otherKinds = ['good', 'allowed', 'special', 'unseen'] as const;

/** Counts the rows by what is said of them; the numbers add up to that of the rows. */
function countBadges(found: readonly FoundAddress[], text: Translations, format: Format): Html {
  const { cells } = text.ip.network;
  const is = (kind: AddressCell['kind']) =>
    found.filter(({ known }) => known?.cell.kind === kind).map(({ known }) => known!.cell.score);
  const seen = is('seen');
  const counts = [
    ...scoreBands.toReversed().map((band) => ({
      label: text.score.words[band],
      tone: band,
      count: seen.filter((score) => scoreBand(score) === band).length,
    })),
    ...otherKinds.map((kind) => ({
      label: capital(cells[kind]),
      tone: 'neutral' as const,
      count: is(kind).length,
    })),
    {
      label: text.ip.find.network,
      tone: 'neutral' as const,
      count: found.filter(({ known }) => known === undefined).length,
    },
  ].filter(({ count }) => count > 0);
  return (
    <p class="badges">
      {counts.map(({ label, tone, count }) => (
        <Badge label={`${label} · ${format.number(count)}`} tone={tone} />
      ))}
    </p>
  );
}

const othersShownMax = 5;

/** Names the first of what was pasted and is no address. */
function othersLine(
  { others, text: pasted }: FindPageData,
  text: Translations,
  format: Format,
): Html {
  const words = text.ip.find;
  if (others.count === 0) return null;
  const shown = others.examples.slice(0, othersShownMax);
  const hasLines = pasted.trimEnd().includes('\n');
  return (
    <p class="card-note">
      {words.others(others.count, format.number(others.count))}
      {shown.map((other, i) => (
        <>
          {i > 0 ? ', ' : ' '}
          <bdi class="mono">{other.text}</bdi>
          {hasLines && ` ${words.line(other.line)}`}
        </>
      ))}
      {others.count > shown.length &&
        ` ${words.othersMore(format.number(others.count - shown.length))}`}
    </p>
  );
}

export function findPage(frame: PageFrame, data: FindPageData): string {
  const text = frameText(frame);
  const words = text.ip.find;
  const format = formatFor(frame.language);
  const networks = data.found.filter(({ known }) => known === undefined).length;
  const addresses = data.found.length - networks;
  const counted = [
    addresses > 0 && words.addresses(addresses),
    networks > 0 && words.networks(networks),
  ]
    .filter(Boolean)
    .join(', ');
  const result = data.found.length > 0 && (
    <Card
      title={counted}
      icon="search"
      aside={
        <Link class="card-aside" href="#pasted">
          {words.edit}
        </Link>
      }
    >
      {data.more && <p class="card-note">{words.more(data.found.length)}</p>}
      {othersLine(data, text, format)}
      {countBadges(data.found, text, format)}
      <p>
        <LinkButton label={words.csv} href={data.csvHref} kind="secondary" icon="download" />
      </p>
      <Table
        caption={counted}
        stack
        columns={[
          { title: words.columns.address },
          { title: words.columns.score, plain: true },
          { title: text.ip.facts.country, plain: true },
          { title: text.ip.facts.provider, plain: true },
          { title: text.ip.facts.reports, numeric: true },
        ]}
        rows={data.found.map((row) => [
          <>
            <Link class="mono" href={row.href}>
              {row.name}
            </Link>
            {row.known === undefined && (
              <>
                {' '}
                <span class="fact-note">{words.network}</span>
              </>
            )}
          </>,
          scoreCell(row, text),
          format.country(row.countryCode) ?? none,
          row.provider === '' ? none : <bdi>{row.provider}</bdi>,
          row.known === undefined
            ? none
            : row.known.reports === 0
              ? zero
              : format.number(row.known.reports),
        ])}
      />
    </Card>
  );
  return renderDocument(frame, {
    title: words.title,
    noindex: true,
    className: 'page-find',
    body: (
      <div class="wrap stack">
        <h1>{words.title}</h1>
        {data.isMiss && (
          <Notice tone="danger" alert>
            {words.miss}
          </Notice>
        )}
        {result}
        <form class="card" action="/ip" method="get" role="search">
          <div class="field">
            <label for="pasted">{words.label}</label>
            <p class="field-hint" id="pasted-hint">
              {words.hint(data.foundMax)}
            </p>
            <textarea
              class="input mono"
              id="pasted"
              name="address"
              rows={6}
              required
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
              aria-describedby="pasted-hint"
            >
              {data.text}
            </textarea>
          </div>
          <p>
            <Button label={text.lookup.submit} icon="search" />
          </p>
        </form>
      </div>
    ),
  });
}
