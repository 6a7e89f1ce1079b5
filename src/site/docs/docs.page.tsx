/**
 * A page of the documentation: navigation with the search, the text, and a list of its headings.
 * The first pages are there in both languages, the others in English; what is around them speaks the
 * language of the reader, says so, and marks the links to such a page.
 * The text comes first: a narrow screen begins with it, and links to the navigation below it.
 * Without a script the navigation is the list of all pages, and the search stays hidden.
 */

import type { Language } from '../../core/language.ts';
import { Fold, Folds, Notice } from '../../web/components/card.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { classes, type Html } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText, type Translations, translationsFor } from '../words.ts';
import {
  type DocGroup,
  type DocPage,
  type DocText,
  docPath,
  markdownPath,
  textFor,
} from './library.ts';

interface DocsPageData {
  readonly pages: readonly DocPage[];
  readonly page: DocPage;
  /** The script loads the sections of all pages from this path. */
  readonly searchPath: string;
}

const groups: readonly DocGroup[] = ['start', 'signOn', 'api', 'block', 'scores', 'forms'];

/** A button that opens the dialog; so does Ctrl K. The page's script shows it. */
function searchButton(label: string): Html {
  return (
    <div class="docs-search" hidden>
      <button class="input" type="button" aria-keyshortcuts="Control+K">
        <Icon name="search" />
        <span>{label}</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
    </div>
  );
}

/** The script makes a line for each result, with an icon of the template. */
function searchDialog({ docs }: Translations, searchPath: string): Html {
  return (
    <dialog
      class="docs-dialog"
      aria-label={docs.search}
      data-index={searchPath}
      data-connect={docs.searchConnect}
      data-none={docs.searchNone}
      data-failed={docs.searchFailed}
      data-one={docs.searchOne}
      data-many={docs.searchMany}
      data-foreign={docs.inEnglish.mark}
    >
      <label class="visually-hidden" for="docs-search">
        {docs.search}
      </label>
      <div class="docs-field">
        <Icon name="search" />
        <input
          class="input"
          id="docs-search"
          type="search"
          autocomplete="off"
          spellcheck={false}
          maxlength={80}
          aria-controls="docs-results"
          placeholder={docs.search}
        />
        <form method="dialog">
          <button class="docs-close" aria-label={docs.searchClose}>
            <kbd aria-hidden="true">Esc</kbd>
          </button>
        </form>
      </div>
      <ol id="docs-results" class="docs-results" aria-label={docs.searchResults} hidden />
      <p class="docs-keys">
        <span aria-hidden="true">
          <kbd>↑</kbd> <kbd>↓</kbd> {docs.searchMove} <kbd>↵</kbd> {docs.searchOpen}
        </span>
        <span class="docs-found" role="status" />
      </p>
      <template>
        <Icon name="shield" />
        <Icon name="book" />
        <Icon name="arrow" />
      </template>
    </dialog>
  );
}

function pageList(data: DocsPageData, language: Language, text: Translations): Html {
  const { docs } = text;
  return groups.map((group) => {
    const members = data.pages.filter((page) => page.group === group);
    return (
      <section class="docs-group">
        <h2 class="eyebrow" id={`docs-${group}`}>
          {docs.groups[group]}
        </h2>
        <ul aria-labelledby={`docs-${group}`}>
          {members.map((page) => {
            const shown = textFor(page, language);
            const french = language === 'fr' ? page.frenchTitle : undefined;
            return (
              <li lang={french === undefined ? shown.language : language}>
                <Link
                  href={docPath(page.slug)}
                  aria-current={page.slug === data.page.slug ? 'page' : undefined}
                >
                  {french ?? shown.intro.title}
                </Link>
                {shown.language !== language && (
                  <span class="docs-foreign" lang={language}>
                    <span aria-hidden="true">{docs.inEnglish.short}</span>
                    <span class="visually-hidden">{docs.inEnglish.mark}</span>
                  </span>
                )}
              </li>
            );
          })}
        </ul>
      </section>
    );
  });
}

/** Stands beside the text; on a narrow screen it is a line above it, which opens. */
function contents({ language, article }: DocText, text: Translations, isLine: boolean): Html {
  const headings = article.headings.filter(({ depth }) => depth === 2);
  if (headings.length < 2) return null;
  const { onThisPage } = text.docs;
  const list = (
    <ul lang={language}>
      {headings.map(({ id, text: label }) => (
        <li>
          <Link href={`#${id}`}>{label}</Link>
        </li>
      ))}
    </ul>
  );
  return isLine ? (
    <nav class="docs-contents-line" aria-label={onThisPage}>
      <Folds>
        <Fold title={onThisPage} level={0}>
          {list}
        </Fold>
      </Folds>
    </nav>
  ) : (
    <nav class="docs-contents" aria-label={onThisPage}>
      <p class="eyebrow" aria-hidden="true">
        {onThisPage}
      </p>
      {list}
    </nav>
  );
}

/** The same page in the other language; undefined: there is none. */
function otherLanguage(
  { slug, french }: DocPage,
  language: Language,
  { docs }: Translations,
): Html {
  if (french === undefined) return null;
  const other = language === 'en' ? 'fr' : 'en';
  return (
    <Link href={`${docPath(slug)}?language=${other}`} lang={other} hreflang={other}>
      <Icon name="globe" />
      <span>{docs.readIn[other]}</span>
    </Link>
  );
}

export function docsPage(frame: PageFrame, data: DocsPageData): string {
  const text = frameText(frame);
  const { slug } = data.page;
  const shown = textFor(data.page, frame.language);
  const { article, language } = shown;
  const [heading, ...rest] = article.render(text);
  const isFirst = slug === 'index';
  return renderDocument(
    { ...frame, current: 'docs' },
    {
      title: article.title,
      description: article.summary.slice(0, 200),
      className: 'page-docs',
      script: 'docs.js',
      body: (
        <div class="wrap docs">
          <div class="docs-main">
            <div class="docs-jump">
              <a href="#docs-all">
                <Icon name="list" />
                <span>{text.docs.allPages}</span>
              </a>
              {!isFirst && searchButton(text.docs.searchShort)}
            </div>
            {language !== frame.language && (
              <Notice tone="info">{text.docs.inEnglish.sentence}</Notice>
            )}
            {isFirst && (
              <div class="docs-start">
                <h1 id={article.sections[0]?.id}>{text.docs.tasksTitle}</h1>
                {searchButton(text.docs.search)}
                {tasks(text)}
              </div>
            )}
            {!isFirst && contents(shown, text, true)}
            <article class="docs-article" lang={language}>
              {!isFirst && heading}
              {rest}
            </article>
            <p class="docs-twin">
              {otherLanguage(data.page, frame.language, text)}
              <Link href={markdownPath(slug, language)}>
                <Icon name="code" />
                <span>{text.docs.asMarkdown}</span>
              </Link>
            </p>
          </div>
          {contents(shown, text, false)}
          <div class="docs-side" id="docs-all">
            {searchButton(text.docs.searchShort)}
            <nav aria-label={text.docs.pages}>{pageList(data, frame.language, text)}</nav>
          </div>
          {searchDialog(text, data.searchPath)}
        </div>
      ),
    },
  );
}

export interface SearchScreen {
  readonly href: string;
  readonly title: string;
  readonly text: string;
}

/** All sections of all pages, the pages to connect something, and places of an account, as the search reads them. */
export function searchIndex(
  pages: readonly DocPage[],
  language: Language,
  screens: readonly SearchScreen[],
): string {
  const sections = pages.flatMap((page) => {
    const shown = textFor(page, language);
    const path = docPath(page.slug);
    const named = language === 'fr' ? page.frenchTitle : undefined;
    return shown.article.sections.map(({ depth, id, text, body, rest }) => ({
      href: depth === 1 ? path : `${path}#${id}`,
      language: shown.language,
      // As the reader's navigation names it.
      page: named ?? shown.article.title,
      title: text,
      text: body,
      more: rest,
    }));
  });
  const { places } = translationsFor(language).docs;
  return JSON.stringify({ sections, screens, places });
}

const taskLooks = [
  ['shield', undefined],
  ['flag', 'tone-report'],
  ['person', 'tone-signOn'],
  ['check', 'tone-captcha'],
  ['arrow', undefined],
  ['sliders', 'tone-mail'],
] as const;

/** The first page begins with what people come for. */
function tasks({ docs }: Translations): Html {
  return (
    <nav class="docs-tasks" aria-label={docs.tasksTitle}>
      {docs.tasks.map(({ title, text, href }, i) => {
        const [icon, tone] = taskLooks[i]!;
        return (
          <Link class={classes('target', tone)} href={href}>
            <span class="arch" aria-hidden="true">
              <Icon name={icon} />
            </span>
            <strong>{title}</strong>
            <span class="target-short">{text}</span>
          </Link>
        );
      })}
    </nav>
  );
}
