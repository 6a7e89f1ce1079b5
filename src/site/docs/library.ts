/**
 * The published documentation: files of docs/ as they were at the start. Each is the page of a path, as
 * HTML and as Markdown. What only operators and authors need stands in the same files between
 * `<!-- unpublished -->` and `<!-- published -->`, or the end, and is left out.
 */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Language, languages } from '../../core/language.ts';
import { once, prepareInTurns } from '../../core/preparation.ts';
import {
  type AfterSample,
  type Article,
  type Intro,
  introOf,
  parseArticle,
  tries,
  tryBox,
} from './markdown.tsx';

interface DocFile {
  readonly slug: string;
  readonly file: string;
  /** The same page in French, heading by heading. Without one, French readers get the English text. */
  readonly french?: string;
  /** Names a page without French text in the navigation of French readers; without it, the English title does. */
  readonly frenchTitle?: string;
  readonly group: 'start' | 'signOn' | 'api' | 'scores' | 'block' | 'forms';
}

/** Stand in the order of the navigation. The first is /docs itself. */
const files = [
  {
    slug: 'index',
    file: 'site/index.md',
    french: 'site/fr/index.md',
    group: 'start',
  },
  {
    slug: 'sign-in-button',
    file: 'site/sign-in-button.md',
    french: 'site/fr/sign-in-button.md',
    group: 'signOn',
  },
  {
    slug: 'oauth-libraries',
    file: 'site/oauth-libraries.md',
    frenchTitle: 'Bibliothèques OAuth',
    group: 'signOn',
  },
  {
    slug: 'sign-on',
    file: 'SIGNON.md',
    frenchTitle: 'Connexion unique',
    group: 'signOn',
  },
  {
    slug: 'ask-about-an-address',
    file: 'site/ask-about-an-address.md',
    french: 'site/fr/ask-about-an-address.md',
    group: 'api',
  },
  { slug: 'ip-api', file: 'API.md', frenchTitle: 'API IP', group: 'api' },
  {
    slug: 'api-rules',
    file: 'API-RULES.md',
    frenchTitle: 'Règles de l’API IP',
    group: 'api',
  },
  { slug: 'pages', file: 'PAGES.md', frenchTitle: 'Pages en JSON', group: 'api' },
  {
    slug: 'high-rates',
    file: 'site/high-rates.md',
    frenchTitle: 'Très hauts débits',
    group: 'api',
  },
  {
    slug: 'scoring',
    file: 'SCORING.md',
    frenchTitle: 'Calcul du score',
    group: 'scores',
  },
  {
    slug: 'poisoning',
    file: 'POISONING.md',
    frenchTitle: 'Score et faux signalements',
    group: 'scores',
  },
  {
    slug: 'rules',
    file: 'RULES.md',
    frenchTitle: 'Règles manuelles et retraits',
    group: 'scores',
  },
  { slug: 'gate', file: 'GATE.md', frenchTitle: 'Porte', group: 'block' },
  {
    slug: 'feeds',
    file: 'FEEDS.md',
    frenchTitle: 'Listes de blocage',
    group: 'block',
  },
  { slug: 'bouncers', file: 'BOUNCERS.md', group: 'block' },
  {
    slug: 'dns-block-list',
    file: 'DNSBL.md',
    frenchTitle: 'Liste de blocage DNS',
    group: 'block',
  },
  { slug: 'dovecot', file: 'DOVECOT.md', group: 'block' },
  { slug: 'webhooks', file: 'WEBHOOKS.md', group: 'block' },
  { slug: 'captcha', file: 'CAPTCHA.md', group: 'forms' },
  {
    slug: 'captcha-strength',
    file: 'CAPTCHA-STRENGTH.md',
    frenchTitle: 'Ce que le CAPTCHA arrête',
    group: 'forms',
  },
  {
    slug: 'limits',
    file: 'site/limits.md',
    french: 'site/fr/limits.md',
    group: 'start',
  },
  { slug: 'machines', file: 'site/machines.md', french: 'site/fr/machines.md', group: 'start' },
] as const satisfies readonly DocFile[];

type DocSlug = (typeof files)[number]['slug'];
export type DocGroup = (typeof files)[number]['group'];

export interface DocText {
  readonly language: Language;
  readonly intro: Intro;
  readonly article: Article;
  /** The same as Markdown, its links absolute. */
  readonly markdown: string;
}

export interface DocPage {
  readonly slug: DocSlug;
  readonly group: DocGroup;
  readonly english: DocText;
  /** Undefined: there is no translation. */
  readonly french: DocText | undefined;
  readonly frenchTitle: string | undefined;
}

/** Returns the page's text for a reader of this language: English where there is no translation. */
export function textFor(page: DocPage, language: Language): DocText {
  return (language === 'fr' ? page.french : undefined) ?? page.english;
}

/** `{base_url}` and the like, by name without the braces. */
export type Substitutions = Readonly<Record<string, string>>;

/** Found from the compiled file: dist/src/site/docs/. */
export const docsFolder = fileURLToPath(new URL('../../../../docs', import.meta.url));

export const docsPath = '/docs';

export function docPath(slug: DocSlug): string {
  return slug === 'index' ? docsPath : `${docsPath}/${slug}`;
}

export function markdownPath(slug: DocSlug, language: Language = 'en'): string {
  return `${docsPath}/${slug}${language === 'en' ? '' : `.${language}`}.md`;
}

/** The Markdown that is there, in both languages. */
export const markdownPaths: readonly string[] = files.flatMap((one) =>
  languages
    .filter((language) => language === 'en' || 'french' in one)
    .map((language) => markdownPath(one.slug, language)),
);

/**
 * @param folder docs/
 * @param origin what the links of the Markdown twins begin with
 * Each page is made when it is first read, which throws on a broken link, an unknown substitution
 * and raw HTML. Whoever reads one searches soon, so all others are made behind it, in turns.
 */
export function loadDocs(
  folder: string,
  origin: string,
  valuesIn: (language: Language) => Substitutions,
): DocPage[] {
  const makeOthers = once(() =>
    // A page that can't be made throws again when it is read.
    prepareInTurns(
      pages.flatMap(({ english, french }) => [() => english.article, () => french?.article]),
      () => {},
    ),
  );

  function textOf(slug: DocSlug, file: string, language: Language, original?: DocText): DocText {
    const text = readFileSync(join(folder, file), 'utf8');
    const source = once(() => substitute(file, publishedPart(text), valuesIn(language)));
    const article = once(() =>
      parseArticle(
        file,
        source(),
        (href) => resolveLink(file, href, docPath),
        triesOf(slug, valuesIn(language).secure_url ?? ''),
        original?.article.sections.map(({ id }) => id),
      ),
    );
    const pathOf = (to: DocSlug) =>
      markdownPath(to, 'fr' === language && isFrench(to) ? 'fr' : 'en');
    const markdown = once(() => withAbsoluteLinks(file, source(), origin, pathOf));
    const intro = once(() => introOf(source()));
    return {
      language,
      get intro() {
        return intro();
      },
      get article() {
        makeOthers();
        return article();
      },
      get markdown() {
        return markdown();
      },
    };
  }

  const pages: DocPage[] = files.map((one) => {
    const { slug, file, group } = one;
    const english = textOf(slug, file, 'en');
    const french = 'french' in one ? textOf(slug, one.french, 'fr', english) : undefined;
    const frenchTitle = 'frenchTitle' in one ? one.frenchTitle : undefined;
    return { slug, group, english, french, frenchTitle };
  });
  return pages;
}

function isFrench(slug: DocSlug): boolean {
  return files.some((one) => one.slug === slug && 'french' in one);
}

function triesOf(slug: DocSlug, origin: string): AfterSample {
  const page = docPath(slug);
  return Object.fromEntries(
    Object.entries(tries[slug] ?? {}).map(([id, request]) => [
      id,
      (heading, text) => tryBox(request, { id, heading, page, origin }, text),
    ]),
  );
}

export function publishedPart(source: string): string {
  const kept = source.replace(/<!-- unpublished -->[\s\S]*?(?:<!-- published -->\n?|$)/g, '');
  return `${kept.trimEnd()}\n`;
}

function substitute(file: string, source: string, values: Substitutions): string {
  return source.replace(/\{([a-z]+(?:_[a-z]+)+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`${file}: nothing is known of {${name}}`);
    return value;
  });
}

/** Links between files of docs/ become links between pages; undefined when there is no such page. */
function resolveLink(
  from: string,
  href: string,
  pathOf: (slug: DocSlug) => string,
): string | undefined {
  if (/^(https?:\/\/|#|\/)/.test(href)) return href;
  const [target = '', fragment] = href.split('#');
  const name = join(dirname(from), target);
  const page = files.find((one) => one.file === name || ('french' in one && one.french === name));
  if (page === undefined) return undefined;
  return pathOf(page.slug) + (fragment === undefined ? '' : `#${fragment}`);
}

/** Readers of the Markdown follow a link without a page around it. */
function withAbsoluteLinks(
  file: string,
  source: string,
  origin: string,
  pathOf: (slug: DocSlug) => string,
): string {
  return source.replace(/\]\(([^)\s]+)\)/g, (whole, href: string) => {
    const target = resolveLink(file, href, pathOf);
    return target?.startsWith('/') ? `](${origin}${target})` : whole;
  });
}
