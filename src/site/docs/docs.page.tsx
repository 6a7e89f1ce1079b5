/**
 * A page of the documentation: navigation with the search, the text, and a list of its headings.
 * The first pages are there in both languages, the others in English; what is around them speaks the
 * language of the reader and says so.
 * The text comes first: a narrow screen begins with it, and links to the navigation below it.
 * Without a script the navigation is the list of all pages, and the search stays hidden.
 */

import type { Language } from '../../core/language.ts';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { type Catalogue, catalogueFor, frameText } from '../words.ts';
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

const groups: readonly DocGroup[] = ['start', 'signOn', 'reputation'];

/** A button that opens the dialog; so does Ctrl K. The page's script shows it. */
function searchBox(text: Catalogue, searchPath: string): Html {
  const { docs } = text;
  return (
    <div class="docs-search" id="docs-search-open" hidden>
      <button class="input" type="button" aria-keyshortcuts="Control+K">
        <Icon name="search" />
        <span>{docs.searchShort}</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <dialog
        class="docs-dialog"
        aria-label={docs.search}
        data-index={searchPath}
        data-connect={docs.searchConnect}
        data-none={docs.searchNone}
        data-failed={docs.searchFailed}
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
        <p class="docs-found" role="status" />
        <ol id="docs-results" class="docs-results" aria-label={docs.searchResults} hidden />
        <p class="docs-keys" aria-hidden="true">
          <kbd>↑</kbd> <kbd>↓</kbd> {docs.searchMove} <kbd>↵</kbd> {docs.searchOpen}
        </p>
      </dialog>
    </div>
  );
}

function pageList(data: DocsPageData, language: Language, text: Catalogue): Html {
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
              </li>
            );
          })}
        </ul>
      </section>
    );
  });
}

function contents({ language, article }: DocText, text: Catalogue): Html {
  const headings = article.headings.filter(({ depth }) => depth === 2);
  if (headings.length < 2) return null;
  return (
    <nav class="docs-contents" aria-label={text.docs.onThisPage}>
      <p class="eyebrow" aria-hidden="true">
        {text.docs.onThisPage}
      </p>
      <ul lang={language}>
        {headings.map(({ id, text: label }) => (
          <li>
            <Link href={`#${id}`}>{label}</Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The same page in the other language, or a word that there is none. */
function languageNote({ slug, french }: DocPage, language: Language, { docs }: Catalogue): Html {
  if (french === undefined) {
    return language === 'en' ? null : <p class="docs-note">{docs.inEnglish}</p>;
  }
  const other = language === 'en' ? 'fr' : 'en';
  return (
    <p class="docs-note">
      <Link href={`${docPath(slug)}?language=${other}`} lang={other} hreflang={other}>
        {docs.readIn[other]}
      </Link>
    </p>
  );
}

export function docsPage(frame: PageFrame, data: DocsPageData): string {
  const text = frameText(frame);
  const { slug } = data.page;
  const shown = textFor(data.page, frame.language);
  const { article, language } = shown;
  const [heading, ...rest] = article.render(text, data.page.folded);
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
            <p class="docs-jump">
              <a href="#docs-all">
                <Icon name="list" />
                <span>{text.docs.pages}</span>
              </a>
            </p>
            {languageNote(data.page, frame.language, text)}
            <article class="docs-article" lang={language}>
              {heading}
              {slug === 'index' && tasks(text)}
              {rest}
            </article>
            <p class="docs-twin">
              <Link href={markdownPath(slug, language)}>
                <Icon name="code" />
                <span>{text.docs.asMarkdown}</span>
              </Link>
            </p>
          </div>
          {contents(shown, text)}
          <div class="docs-side" id="docs-all">
            {searchBox(text, data.searchPath)}
            <nav aria-label={text.docs.pages}>{pageList(data, frame.language, text)}</nav>
          </div>
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
    return shown.article.sections.map(({ depth, id, text, body, rest }) => ({
      href: depth === 1 ? path : `${path}#${id}`,
      language: shown.language,
      page: shown.article.title,
      title: text,
      text: body,
      more: rest,
    }));
  });
  const { places } = catalogueFor(language).docs;
  return JSON.stringify({ sections, screens, places });
}

const taskIcons = ['shield', 'flag', 'person', 'check', 'arrow', 'sliders'] as const;

/** The first page begins with what people come for. */
function tasks({ docs }: Catalogue): Html {
  return (
    <nav class="docs-tasks" aria-label={docs.tasksTitle}>
      {docs.tasks.map(({ title, text, href }, i) => (
        <Link class="target" href={href}>
          <span class="arch" aria-hidden="true">
            <Icon name={taskIcons[i]!} />
          </span>
          <strong>{title}</strong>
          <span class="target-short">{text}</span>
        </Link>
      ))}
    </nav>
  );
}
