/**
 * The pages of a network and of an autonomous system: what is known of it as a whole, its worst addresses, and a
 * map of a /24.
 */

import { scoreBand } from '../../core/score-band.ts';
import { Card } from '../../web/components/card.tsx';
import { ScoreScale } from '../../web/components/gauge.tsx';
import { Link } from '../../web/components/link.tsx';
import { EmptyState } from '../../web/components/notice.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';

import { type Catalogue, frameText } from '../words.ts';
import { type AddressCell, addressGrid } from './grid.page.tsx';
import type { Survey } from './known.ts';

export interface NetworkPageData extends Survey {
  /** Canonical text, `192.0.2.0/24`. */
  readonly network: string;
  /** Country of its first address. */
  readonly countryCode: string;
  readonly provider: string;
  /** An entry that holds all of it, and its score; undefined: none. */
  readonly whole?: { readonly name: string; readonly score: number } | undefined;
  /** The 256 addresses of an IPv4 /24; undefined for any other network. */
  readonly cells?: readonly AddressCell[] | undefined;
  /** Registry entry of special use (RFC 6890) that covers all of it. */
  readonly special?: { readonly name: string; readonly rfc: string } | undefined;
}

function fact(label: string, value: Html): Html {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function facts(data: NetworkPageData, text: Catalogue, format: Format): Html {
  const words = text.ip.network;
  const { whole } = data;
  return (
    <>
      <dl class="facts">
        {fact(
          text.ip.facts.provider,
          data.provider === '' ? text.ip.facts.unknown : <bdi>{data.provider}</bdi>,
        )}
        {fact(text.ip.facts.country, format.country(data.countryCode) ?? text.ip.facts.unknown)}
        {fact(words.entries, format.number(data.entries))}
        {fact(words.malicious, format.number(data.malicious))}
        {whole !== undefined &&
          fact(
            words.whole,
            <>
              <span class="mono">{whole.name}</span>{' '}
              <span class="fact-note">
                {text.score.words[scoreBand(whole.score)]} {whole.score}
              </span>
            </>,
          )}
      </dl>
      {data.isPart && <p class="card-note">{words.part(format.number(data.entries))}</p>}
    </>
  );
}

/** The worst first, each with a link to its page. */
export function worstTable(
  worst: Survey['worst'],
  caption: string,
  text: Catalogue,
  format: Format,
): Html {
  return (
    <Table
      caption={caption}
      columns={[
        { title: text.ip.find.columns.address },
        { title: text.ip.find.columns.score, numeric: true },
        { title: text.ip.facts.reports, numeric: true },
      ]}
      rows={worst.map(({ name, score, reports }) => [
        <Link class="mono" href={`/ip/${name}`}>
          {name}
        </Link>,
        <span class={`score-cell band-${scoreBand(score)}`}>{score}</span>,
        format.number(reports),
      ])}
    />
  );
}

function worstCard(worst: Survey['worst'], text: Catalogue, format: Format): Html {
  const words = text.ip.network;
  return (
    <Card title={words.worst} icon="flag">
      {worst.length === 0 ? (
        <EmptyState icon="flag" text={words.none} />
      ) : (
        worstTable(worst, words.worst, text, format)
      )}
    </Card>
  );
}

export function networkPage(frame: PageFrame, data: NetworkPageData): string {
  const text = frameText(frame);
  const words = text.ip.network;
  const format = formatFor(frame.language);
  return renderDocument(frame, {
    title: words.title(data.network),
    noindex: true,
    headerLookup: true,
    className: 'page-network',
    body: (
      <div class="wrap stack">
        <h1>
          <span class="eyebrow">{words.heading}</span>{' '}
          <span class="address mono">{data.network}</span>
        </h1>
        {data.special !== undefined && <p>{words.special(data.special.name, data.special.rfc)}</p>}
        <Card title={words.known} icon="shield">
          {facts(data, text, format)}
        </Card>
        {data.cells !== undefined && (
          <Card title={words.map} icon="chart">
            {addressGrid(data.cells, data.network, text)}
            <ScoreScale text={text} />
          </Card>
        )}
        {worstCard(data.worst, text, format)}
      </div>
    ),
  });
}

export interface SystemPageData extends Survey {
  readonly number: number;
  /** The operator's name; undefined: no range of it is known. */
  readonly name: string | undefined;
  /** Number of ranges that it announces, by the table. */
  readonly ranges: number;
  readonly attribution: { readonly name: string; readonly href: string; readonly licence: string };
}

export function systemPage(frame: PageFrame, data: SystemPageData): string {
  const text = frameText(frame);
  const words = text.ip.network;
  const format = formatFor(frame.language);
  const { name, attribution } = data;
  return renderDocument(frame, {
    title: words.systemTitle(data.number),
    noindex: true,
    headerLookup: true,
    className: 'page-network',
    body: (
      <div class="wrap stack">
        <h1>
          <span class="eyebrow">{words.system}</span>{' '}
          <span class="address mono">AS{data.number}</span>
        </h1>
        {name === undefined ? (
          <section class="card">
            <EmptyState icon="flag" text={words.noSystem} />
          </section>
        ) : (
          <>
            <Card title={words.known} icon="shield">
              <dl class="facts">
                {fact(
                  text.ip.facts.provider,
                  name === '' ? text.ip.facts.unknown : <bdi>{name}</bdi>,
                )}
                {fact(words.ranges, format.number(data.ranges))}
                {fact(words.entries, format.number(data.entries))}
                {fact(words.malicious, format.number(data.malicious))}
              </dl>
              {data.isPart && <p class="card-note">{words.part(format.number(data.entries))}</p>}
            </Card>
            {worstCard(data.worst, text, format)}
          </>
        )}
        <p class="attribution">
          {text.ip.attribution}{' '}
          <Link href={attribution.href} rel="noopener">
            {attribution.name}
          </Link>
          {' · '}
          {attribution.licence}
        </p>
      </div>
    ),
  });
}
