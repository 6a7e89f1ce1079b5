/** The page of an autonomous system: what is known of all its networks together, and the worst of them. */

import { Card } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import { EmptyState } from '../../web/components/notice.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText } from '../words.ts';
import { worstCard } from './network.page.tsx';
import type { Survey } from './survey.ts';

export interface SystemPageData extends Survey {
  readonly number: number;
  /** The operator's name; undefined: no range of it is known. */
  readonly name: string | undefined;
  /** Number of ranges that it announces, by the table. */
  readonly ranges: number;
  readonly attribution: { readonly name: string; readonly href: string; readonly licence: string };
}

function fact(label: string, value: Html): Html {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
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
