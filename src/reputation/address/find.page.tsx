/**
 * The page for a pasted text: a table of the addresses in it, or the text again with what is
 * wrong.
 */

import { scoreBand } from '../../core/score-band.ts';
import { Button, LinkButton } from '../../web/components/button.tsx';
import { Card } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import { Notice } from '../../web/components/notice.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { type Catalogue, frameText } from '../words.ts';
import type { AddressCell } from './grid.page.tsx';

export interface FoundAddress {
  /** Canonical text of an address or a network. */
  readonly name: string;
  readonly href: string;
  /** Facts of an address; undefined for a network, which has no score of its own. */
  readonly known?:
    | {
        readonly cell: AddressCell;
        readonly countryCode: string;
        readonly provider: string;
        readonly reports: number;
      }
    | undefined;
}

export interface FindPageData {
  readonly text: string;
  readonly textCharsMax: number;
  readonly found: readonly FoundAddress[];
  /** Not all that the text has. */
  readonly more: boolean;
  /** Something was sent and holds no address. */
  readonly isMiss: boolean;
  readonly csvHref: string;
}

/** In place of what is not known. */
const none = '–';

function scoreCell({ known }: FoundAddress, text: Catalogue): Html {
  if (known === undefined) return text.ip.find.network;
  const { kind, score } = known.cell;
  const hasScore = kind === 'seen' || score > 0;
  const band = hasScore ? scoreBand(score) : 'none';
  const word = kind === 'seen' ? text.score.words[scoreBand(score)] : text.ip.network.cells[kind];
  return (
    <span class={`score-cell band-${band}`}>
      {hasScore ? score : none} <span class="fact-note">{word}</span>
    </span>
  );
}

export function findPage(frame: PageFrame, data: FindPageData): string {
  const text = frameText(frame);
  const words = text.ip.find;
  const format = formatFor(frame.language);
  const result = data.found.length > 0 && (
    <Card title={words.result(data.found.length)} icon="search">
      {data.more && <p class="card-note">{words.more(data.found.length)}</p>}
      <Table
        caption={words.result(data.found.length)}
        stack
        columns={[
          { title: words.columns.address },
          { title: words.columns.score },
          { title: text.ip.facts.country },
          { title: text.ip.facts.provider },
          { title: text.ip.facts.reports, numeric: true },
        ]}
        rows={data.found.map((row) => [
          <Link class="mono" href={row.href}>
            {row.name}
          </Link>,
          scoreCell(row, text),
          (row.known && format.country(row.known.countryCode)) ?? none,
          <bdi>{row.known?.provider || none}</bdi>,
          row.known === undefined ? none : format.number(row.known.reports),
        ])}
      />
      <p>
        <LinkButton label={words.csv} href={data.csvHref} kind="secondary" icon="download" />
      </p>
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
              {words.hint}
            </p>
            <textarea
              class="input mono"
              id="pasted"
              name="address"
              rows={6}
              required
              maxlength={data.textCharsMax}
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
