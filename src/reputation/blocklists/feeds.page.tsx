/** The page of the feeds: what there is, how large and how fresh, under which terms, and where each is set up. */

import { feedLicenceDefault } from '../../config.ts';
import { Card, CodeBlock, Notice } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText, type Translations } from '../words.ts';
export type FeedLabel = keyof Translations['feeds']['about'];

export interface FeedFigures {
  /** File name under /feeds/. */
  readonly name: FeedLabel;
  /** Undefined while the first build runs, and of changes. */
  readonly now:
    | {
        readonly entries: number;
        readonly bytes: number;
        /** As most readers get it; undefined when there is no compressed form. */
        readonly gzipBytes: number | undefined;
        readonly changedAtMs: number;
      }
    | undefined;
}

export interface FeedsPageData {
  /** Without a slash at the end. */
  readonly feedsUrl: string;
  readonly feeds: readonly FeedFigures[];
  /** Terms of the list, as its heads say. */
  readonly licence: string;
  /** Whom to credit for provider names. */
  readonly attribution: { readonly name: string; readonly href: string; readonly licence: string };
  readonly requestsPerMinute: number;
  readonly nowMs: number;
  /** False until the first build is done. */
  readonly ready: boolean;
}

/** The program that takes a feed, and its screen of /connect; a feed for programs of one's own has none. */
const setUps: Readonly<Partial<Record<FeedLabel, readonly [string, string]>>> = {
  'blocklist.txt': ['cron + curl', 'cron'],
  'blocklist.ipset': ['iptables', 'ipset'],
  'blocklist.nft': ['nftables', 'nftables'],
  'blocklist.haproxy': ['HAProxy', 'haproxy-list'],
  'blocklist.nginx': ['nginx', 'nginx-list'],
  'blocklist.geo': ['nginx', 'nginx-geo'],
  'blocklist.rsc': ['RouterOS', 'mikrotik'],
  'blocklist.zone': ['rbldnsd', 'rbldnsd'],
  'blocklist.zone6': ['rbldnsd', 'rbldnsd'],
  'blocklist.rpz': ['unbound', 'unbound'],
};

function setUpLink(name: FeedLabel, { feeds: text }: Translations): Html {
  const [program, screen] = setUps[name] ?? [];
  return screen === undefined || program === undefined ? (
    <Link href={name === 'changes.json' ? '/docs/feeds#changes' : '/docs/feeds'}>
      {text.noSetUp}
      <span class="visually-hidden"> ({name})</span>
    </Link>
  ) : (
    <Link href={`/connect/${screen}`}>
      {text.setUp(program)}
      <span class="visually-hidden"> ({name})</span>
    </Link>
  );
}

function feedTable(frame: PageFrame, data: FeedsPageData, text: Translations): Html {
  const format = formatFor(frame.language);
  const { columns, about, gzip } = text.feeds;
  const none = '–';
  return (
    <Table
      caption={text.feeds.tableTitle}
      stack
      columns={[
        { title: columns.feed },
        { title: columns.what, plain: true },
        { title: columns.entries, numeric: true },
        { title: columns.size, numeric: true },
        { title: columns.changed },
        { title: columns.setUp, plain: true },
      ]}
      rows={data.feeds.map(({ name, now }) => [
        // Changes need a version to begin with.
        name === 'changes.json' ? (
          <span class="mono">{name}</span>
        ) : (
          <Link class="mono" href={`/feeds/${name}`}>
            {name}
          </Link>
        ),
        <span class="feed-about">{about[name]}</span>,
        now === undefined ? none : format.number(now.entries),
        now === undefined ? (
          none
        ) : (
          <>
            {format.bytes(now.bytes)}{' '}
            {now.gzipBytes !== undefined && (
              <span class="fact-note feed-gzip">{gzip(format.bytes(now.gzipBytes))}</span>
            )}
          </>
        ),
        now === undefined ? none : format.near(now.changedAtMs, data.nowMs),
        setUpLink(name, text),
      ])}
    />
  );
}

/** Facts of the whole list say how long and how fresh it is, what it holds and who may have it. */
function listFacts(frame: PageFrame, data: FeedsPageData, text: Translations): Html {
  const format = formatFor(frame.language);
  const { facts } = text.feeds;
  const of = (name: FeedLabel) => data.feeds.find((feed) => feed.name === name)?.now;
  const whole = of('blocklist.txt');
  const [v4, v6] = (['blocklist.zone', 'blocklist.zone6'] as const).map((name) =>
    format.number(of(name)?.entries ?? 0),
  );
  const rows: readonly (readonly [string, Html, string])[] = [
    ...(whole === undefined
      ? []
      : [
          [facts.entries, format.number(whole.entries), facts.families(v4!, v6!)] as const,
          [facts.changed, format.near(whole.changedAtMs, data.nowMs), facts.rebuilt] as const,
        ]),
    [facts.score, facts.score75, facts.scoreNote],
    [facts.access, facts.open, facts.rate(data.requestsPerMinute)],
  ];
  return (
    <dl class="facts">
      {rows.map(([name, value, note]) => (
        <div>
          <dt>{name}</dt>
          <dd>
            {value} <small>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const parameterExamples = [
  ['ipVersion', '?ipVersion=4'],
  ['minimumScore', '?minimumScore=95'],
  ['aggregate', '?aggregate=1'],
] as const;

function parameters({ feeds: text }: Translations): Html {
  return (
    <Card title={text.parametersTitle}>
      <dl class="parameters">
        {parameterExamples.map(([name, example]) => (
          <div>
            <dt class="mono">{example}</dt>
            <dd>{text.parameters[name]}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function terms(data: FeedsPageData, { feeds: text }: Translations): Html {
  const { attribution } = data;
  return (
    <Card title={text.termsTitle}>
      <p>{data.licence === feedLicenceDefault ? text.freeTerms : data.licence}</p>
      <p class="attribution">
        {text.attribution}{' '}
        <Link href={attribution.href} rel="noopener">
          {attribution.name}
        </Link>
        {' · '}
        {attribution.licence}
      </p>
      <p class="card-note">{text.limits}</p>
    </Card>
  );
}

export function feedsPage(frame: PageFrame, data: FeedsPageData): string {
  const text = frameText(frame);
  const fetchCode = `curl -fsS --compressed -R -z blocklist.txt -o blocklist.txt ${data.feedsUrl}/blocklist.txt\n`;
  const isEmpty = data.ready && !data.feeds.some(({ now }) => now !== undefined && now.entries > 0);
  return renderDocument(
    { ...frame, current: 'feeds' },
    {
      title: text.feeds.title,
      description: text.feeds.description,
      className: 'page-feeds',
      body: (
        <div class="wrap stack">
          <div class="section-intro page-intro">
            <h1>{text.feeds.title}</h1>
            <p class="lede">{text.feeds.lede}</p>
          </div>
          {!data.ready && <Notice tone="info">{text.feeds.building}</Notice>}
          {isEmpty && (
            <Notice tone="info">
              {text.feeds.empty} <Link href="/admin/lists">{text.feeds.emptyLink}</Link>
            </Notice>
          )}
          {listFacts(frame, data, text)}
          <section class="feed-fetch">
            <h2>{text.feeds.fetchTitle}</h2>
            <CodeBlock id="feed-fetch" title="Shell" code={fetchCode} text={text} />
            <p class="card-note">{text.feeds.fetchText}</p>
          </section>
          <section class="feed-fetch">
            <h2>{text.feeds.tableTitle}</h2>
            {feedTable(frame, data, text)}
            <p class="card-note">
              {text.feeds.moreForms} <Link href="/docs/feeds">{text.feeds.moreFormsLink}</Link>
            </p>
          </section>
          <div class="columns feed-terms">
            {parameters(text)}
            {terms(data, text)}
          </div>
        </div>
      ),
    },
  );
}
