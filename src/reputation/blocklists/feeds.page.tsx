/** The page of the feeds: what there is, how large and how fresh, and how each firewall takes it. */

import { feedLicenceDefault } from '../../config.ts';
import { CodeBlock, Fold, Folds, Notice } from '../../web/components/card.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { type Catalogue, frameText } from '../words.ts';
import {
  type RecipeName,
  recipeNames,
  recipesFor,
  type Snippet,
  type SnippetPlace,
} from './recipes.ts';

export type FeedLabel = keyof Catalogue['feeds']['about'];

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
  /** False until the first build is done. */
  readonly ready: boolean;
}

function feedTable(frame: PageFrame, data: FeedsPageData, text: Catalogue): Html {
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
        now === undefined ? none : format.time(now.changedAtMs),
      ])}
    />
  );
}

function placeTitle(place: SnippetPlace, { feeds: text }: Catalogue): string {
  return typeof place === 'string' ? text.places[place] : place.file;
}

function snippet({ id, place, code }: Snippet, step: string, text: Catalogue): Html {
  const title = placeTitle(place, text);
  return <CodeBlock id={id} title={title} label={`${step}: ${title}`} code={code} text={text} />;
}

function recipe(name: RecipeName, snippets: readonly Snippet[], text: Catalogue): Html {
  const { title, intro, notes } = text.feeds.recipes[name];
  return (
    <Fold title={title} level={3}>
      <div class="recipe-text" id={`set-up-${name}`}>
        <p>{intro}</p>
        {notes.length > 0 && (
          <ul class="ticks">
            {notes.map((note) => (
              <li>
                <Icon name="check" />
                <span>{note}</span>
              </li>
            ))}
          </ul>
        )}
      </div>
      <div class="recipe-code">
        {snippets.map((one, i) => snippet(one, `${title} ${i + 1}`, text))}
      </div>
    </Fold>
  );
}

const parameterExamples = [
  ['ipVersion', '?ipVersion=4'],
  ['minimumScore', '?minimumScore=95'],
  ['aggregate', '?aggregate=1'],
] as const;

function parameters({ feeds: text }: Catalogue): Html {
  return (
    <Fold title={text.parametersTitle} icon="code">
      <dl class="parameters">
        {parameterExamples.map(([name, example]) => (
          <div>
            <dt class="mono">{example}</dt>
            <dd>{text.parameters[name]}</dd>
          </div>
        ))}
      </dl>
    </Fold>
  );
}

function terms(data: FeedsPageData, { feeds: text }: Catalogue): Html {
  const { attribution } = data;
  return (
    <Fold title={text.termsTitle} icon="info">
      <p>{data.licence === feedLicenceDefault ? text.freeTerms : data.licence}</p>
      <p class="attribution">
        {text.attribution}{' '}
        <Link href={attribution.href} rel="noopener">
          {attribution.name}
        </Link>
        {' · '}
        {attribution.licence}
      </p>
      <p class="card-note">{text.limits(data.requestsPerMinute)}</p>
    </Fold>
  );
}

export function feedsPage(frame: PageFrame, data: FeedsPageData): string {
  const text = frameText(frame);
  const recipes = recipesFor(data.feedsUrl);
  const isEmpty = data.ready && !data.feeds.some(({ now }) => now !== undefined && now.entries > 0);
  return renderDocument(
    { ...frame, current: 'feeds' },
    {
      title: text.feeds.title,
      description: text.feeds.description,
      className: 'page-feeds',
      body: (
        <>
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
            <h2 class="visually-hidden">{text.feeds.tableTitle}</h2>
            {feedTable(frame, data, text)}
            <p class="card-note">
              {text.feeds.moreForms} <Link href="/docs/feeds">{text.feeds.moreFormsLink}</Link>
            </p>
            <Folds>
              {parameters(text)}
              {terms(data, text)}
            </Folds>
          </div>
          <section class="section section-sunken">
            <div class="wrap">
              <div class="section-intro">
                <h2>{text.feeds.setUpTitle}</h2>
                <p>{text.feeds.setUpText}</p>
              </div>
              <Folds>{recipeNames.map((name) => recipe(name, recipes[name], text))}</Folds>
            </div>
          </section>
        </>
      ),
    },
  );
}
