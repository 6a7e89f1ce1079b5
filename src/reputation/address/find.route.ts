/**
 * GET /ip?address=<text>: what the address box of every page sends. One address or network leads to
 * its page, a system as `AS64500` to its own; of a text that has several a table is made, as a page or as CSV. A miss keeps the text.
 */

import type { Clock } from '../../core/clock.ts';
import { countryOf, type GeoReader, providerOf } from '../../geo/reader.ts';
import type { Reply, Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { formatNetwork, type Prefix } from '../../ip/prefix.ts';
import { addressesIn } from '../../ip/typed.ts';
import type { Callers } from '../../web/guard/callers.ts';
import { openPage, routeFacts } from '../../web/guard/endpoint.ts';
import { languageOf, type PageTools } from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';
import { csvText } from '../blocklists/pieces/records.ts';
import type { Check } from '../check/check.ts';
import { type FoundAddress, findPage } from './find.page.tsx';
import type { CellKind } from './grid.page.tsx';
import { cellOf } from './known.ts';

/** Rows of one answer. */
const foundMax = 100;
/** A table counts as one page for so many rows. */
const rowsPerPage = 10;
const textCharsMax = 4_000;
/** The page says of a number that is too large that it is none. */
const systemText = /^\s*AS[\s:]?(\d{1,10})\s*$/i;
/** Length of the longest text once percent-encoded. */
const queryCharsMax = 3 * textCharsMax;

export const findAddressEndpoint = openPage('/ip', {
  headers: ['accept-language'],
  handlerLimits: ['ipPage'],
  errors: ['invalid_parameter', 'client_limit_exceeded'],
  queryCharsMax,
});

export interface FindOptions {
  readonly tools: PageTools;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly clock: Clock;
  readonly callers: Pick<Callers, 'charge'>;
  /** A refusal when the client has asked too often. */
  readonly admit: (request: Request, asJson: boolean) => Reply | undefined;
}

export function findAddressRoute(options: FindOptions): PlainRoute {
  const { tools, callers } = options;

  function find(request: Request): Reply {
    const query = parseQuery(request.query, { charsMax: queryCharsMax });
    const text = query.ok ? (query.value.get('address') ?? '').slice(0, textCharsMax) : '';
    const { found, more } = addressesIn(text, foundMax);
    const [first] = found;
    if (first !== undefined && found.length === 1) {
      return { status: 303, headers: [['Location', `/ip/${formatNetwork(first)}`], noStore] };
    }
    const system = found.length === 0 && systemText.exec(text)?.[1];
    if (system) return { status: 303, headers: [['Location', `/as/${Number(system)}`], noStore] };
    const language = languageOf(request);
    const refusal = options.admit(request, false);
    if (refusal !== undefined) return refusal;
    callers.charge('ipPage', request, Math.floor(found.length / rowsPerPage));
    const rows = found.map((prefix) => rowOf(prefix, options));
    if (found.length > 0 && query.ok && query.value.get('format') === 'csv') return csvOf(rows);
    const isMiss = !query.ok || (found.length === 0 && query.value.get('address') !== undefined);
    return {
      status: isMiss ? 400 : 200,
      headers: [...tools.headers(language), noStore, ['X-Robots-Tag', 'noindex']],
      body: findPage(tools.frame(language), {
        text,
        textCharsMax,
        found: rows,
        more,
        isMiss,
        csvHref: `/ip?format=csv&address=${encodeURIComponent(rows.map(({ name }) => name).join(' '))}`,
      }),
    };
  }
  return { kind: 'plain', ...routeFacts(findAddressEndpoint), handle: find };
}

function rowOf(prefix: Prefix, { check, geo, clock }: FindOptions): FoundAddress {
  const name = formatNetwork(prefix);
  const href = `/ip/${name}`;
  if (name.includes('/')) return { name, href };
  const { family, words } = prefix;
  const verdict = check.judge(family, words, clock.now());
  const ids = geo.find(family, words);
  const provider = providerOf(ids);
  return {
    name,
    href,
    known: {
      cell: cellOf(family, words, verdict),
      countryCode: geo.country(countryOf(ids)),
      provider: provider === 0 ? '' : geo.provider(provider),
      reports: verdict.reports + verdict.listReports,
    },
  };
}

/** States of an address in the CSV: a score of 0 has several reasons. */
const stateNames: Readonly<Record<CellKind, string>> = {
  unseen: 'not observed',
  seen: 'observed',
  good: 'known good',
  allowed: 'allowlisted',
  special: 'private or reserved',
};

/** Addresses, numbers and names of providers: quoted where a spreadsheet would read more in it. */
function csvOf(rows: readonly FoundAddress[]): Reply {
  const lines = rows.map(({ name, known }) =>
    known === undefined
      ? `${name},,,,,`
      : `${name},${known.cell.score},${csvText(known.countryCode)},${csvText(known.provider)},${known.reports},${stateNames[known.cell.kind]}`,
  );
  const head = 'ipAddress,abuseConfidenceScore,countryCode,isp,totalReports,state';
  return {
    status: 200,
    headers: [
      ['Content-Type', 'text/csv; charset=utf-8; header=present'],
      ['Content-Disposition', 'attachment; filename="addresses.csv"'],
      noStore,
    ],
    body: `${[head, ...lines].join('\r\n')}\r\n`,
  };
}
