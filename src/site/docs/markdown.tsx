/**
 * Markdown of our own to the page's tree. Nothing raw gets through: every text is escaped when the
 * tree is rendered, and what would be markup in the source (raw HTML, pictures) is an error
 * instead of being dropped or shown. Code gets the frame with the copy button, wide tables a frame
 * that scrolls by itself. Fences that follow one another, each in another language, are one sample in tabs.
 * A long table and a long answer are a line that opens in place: one looks something up in them, and reads past them.
 */

import { lexer, type Token, type Tokens } from 'marked';
import { CodeBlock, Fold, Folds } from '../../web/components/card.tsx';
import { Button, Field } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { Table } from '../../web/components/table.tsx';
import type { Html } from '../../web/html.ts';
import type { Translations } from '../words.ts';

// Colours of code in the documentation, as classes of the style sheet: comments, strings, words of the language,
// numbers and names. One expression for a language finds them, made when a page is first read. It is no parser:
// what it does not know stays plain, and the text is the same in each case.

const kinds = ['comment', 'string', 'keyword', 'number', 'name'] as const;
type Kind = (typeof kinds)[number];
/** The parts of a language's expression; a group of this name has each. */
type Rules = Partial<Readonly<Record<Kind, string>>>;

/** Longer code stays plain. */
const charsMax = 20_000;

const quoted = String.raw`"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'`;
const number = String.raw`(?<![\w.-])\d[\d_]*(?:\.\d+)?\b(?![.:-]\w)`;
const words = (list: string) => String.raw`(?<![\w$.-])(?:${list.replaceAll(' ', '|')})(?![\w-])`;

const script: Rules = {
  comment: String.raw`(?<![\w:])\/\/[^\n]*|\/\*[\s\S]*?\*\/`,
  string: String.raw`${quoted}|${'`'}(?:[^${'`'}\\]|\\[\s\S])*${'`'}`,
  keyword: words(
    'async await break case catch class const continue else export false finally for from function if import in instanceof let new null of return throw true try typeof undefined while',
  ),
  number,
};

/** Settings of one word a line, then its values: whatever program they are of. */
const settings: Rules = {
  comment: String.raw`(?<=^|\s)#[^\n]*`,
  string: quoted,
  name: String.raw`\$\w+|%\[[^\]\n]*\]`,
  keyword: String.raw`(?<=^[ \t}-]*)[a-z][\w.@-]*(?=[\s:={]|$)`,
};

const php: Rules = {
  ...script,
  comment: String.raw`(?<![\w:])\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<=^|\s)#[^\n]*`,
  keyword: String.raw`<\?php|${words('array catch class echo else exit false fn foreach function if int isset namespace new null return string throw true try unset use')}`,
  name: String.raw`\$\w+`,
};

const rulesOf: Readonly<Record<string, Rules>> = {
  js: script,
  mjs: script,
  php,
  php_part: php,
  go: {
    ...script,
    keyword: words(
      'const defer else err error for func go if import int map nil package range return string struct type var bool',
    ),
  },
  python: {
    comment: String.raw`(?<=^|\s)#[^\n]*`,
    string: String.raw`"""[\s\S]*?"""|${quoted}`,
    keyword: words(
      'and as class def elif else except False finally for from if import in is lambda None not or pass raise return True try while with yield',
    ),
    number,
  },
  sh: {
    comment: String.raw`(?<=^|\s)#[^\n]*`,
    // A quoted text may hold commands and lines of its own.
    string: String.raw`"(?:[^"\\]|\\[\s\S])*"|'[^']*'`,
    name: String.raw`\$\w+|\$\{[^}\n]*\}|(?<=^\s*)[A-Z_]+(?==)`,
    keyword: words('case do done elif else esac fi for function if in then until while'),
  },
  json: {
    name: String.raw`"(?:[^"\\\n]|\\.)*"(?=\s*:)`,
    string: String.raw`"(?:[^"\\\n]|\\.)*"`,
    number: String.raw`-?\b\d+(?:\.\d+)?\b`,
    keyword: words('true false null'),
  },
  html: {
    comment: String.raw`<!--[\s\S]*?-->`,
    keyword: String.raw`<\/?[a-z][\w-]*|\/?>`,
    name: String.raw`(?<=\s)[a-z][\w-]*(?==")`,
    string: '(?<==)"[^"]*"',
  },
  http: { keyword: String.raw`(?<=^)[A-Za-z][\w-]*(?=:)` },
};

/** Text that has no words of its own. */
const plain = new Set(['', 'text', 'csv']);

const made = new Map<string, RegExp>();

function expressionOf(language: string): RegExp | undefined {
  if (plain.has(language)) return undefined;
  const rules = rulesOf[language] ?? settings;
  const known = made.get(language);
  if (known !== undefined) return known;
  // The name of a JSON member is a string, too: names are looked for before.
  const parts = (['comment', 'name', 'string', 'keyword', 'number'] as const).flatMap((kind) =>
    rules[kind] === undefined ? [] : [`(?<${kind}>${rules[kind]})`],
  );
  const expression = new RegExp(parts.join('|'), 'gm');
  made.set(language, expression);
  return expression;
}

export function highlighted(language: string, code: string): Html {
  const expression = code.length > charsMax ? undefined : expressionOf(language);
  if (expression === undefined) return code;
  const shown: Html[] = [];
  let end = 0;
  for (const match of code.matchAll(expression)) {
    const kind = kinds.find((one) => match.groups?.[one] !== undefined)!;
    shown.push(code.slice(end, match.index), <span class={`code-${kind}`}>{match[0]}</span>);
    end = match.index + match[0].length;
  }
  shown.push(code.slice(end));
  return shown;
}

// One sample in several languages: all of them stand one below the other, and the script of the page makes
// tabs of them.

/** The languages of a sample by the name of their fence, and how their tabs are called. */
const sampleTitles: Readonly<Record<string, string>> = {
  sh: 'curl',
  js: 'Node',
  python: 'Python',
  php: 'PHP',
  go: 'Go',
};

interface Sample {
  readonly title: string;
  readonly figure: Html;
}

function sampleTabs(samples: readonly Sample[], { docs }: Translations): Html {
  return (
    <div class="samples" data-label={docs.sampleLanguages}>
      {samples.map(({ title, figure }) => (
        <div class="sample" data-title={title}>
          {figure}
        </div>
      ))}
    </div>
  );
}

interface Heading {
  readonly depth: number;
  readonly id: string;
  readonly text: string;
}

/** A heading and all that stands under it up to the next one, as plain text: sentences, then code and tables. */
interface DocsSection extends Heading {
  /** Each paragraph and each item of a list is a line; in the rest each row and each line of code. */
  readonly body: string;
  readonly rest: string;
}

/** A page as other pages name it. */
export interface Intro {
  /** Text of the first heading, which must be the only one of its depth. */
  readonly title: string;
  /** The first paragraph, as plain text. */
  readonly summary: string;
}

export interface Article extends Intro {
  /** The headings of depth 2 and 3, in the order of the page. */
  readonly headings: readonly Heading[];
  readonly sections: readonly DocsSection[];
  /** Everything; the labels of buttons are in the language of `text`. */
  render(text: Translations): readonly Html[];
}

/** Each function makes what stands behind the first sample under the heading with its id. */
export type AfterSample = Readonly<Record<string, (heading: string, text: Translations) => Html>>;

/** Returns the link's target as the page writes it; undefined: none, which is an error. */
type ResolveLink = (href: string) => string | undefined;

/** Each title stands over code of its language; one that is not here keeps its short name. */
const languageTitles: Readonly<Record<string, string>> = {
  '': 'Text',
  go: 'Go',
  csv: 'CSV',
  haproxy: 'HAProxy',
  html: 'HTML',
  http: 'Header',
  js: 'JavaScript',
  json: 'JSON',
  mjs: 'JavaScript',
  nginx: 'nginx',
  php: 'PHP',
  php_part: 'PHP',
  python: 'Python',
  sh: 'Shell',
};

/** Reads no further than the second heading: a list of pages needs no more of each. */
export function introOf(source: string): Intro {
  const next = source.indexOf('\n#');
  return introIn(lexer(next === -1 ? source : source.slice(0, next)));
}

function introIn(tokens: readonly Token[]): Intro {
  const first = tokens.find(({ type }) => type === 'heading') as Tokens.Heading | undefined;
  const intro = tokens.find(({ type }) => type === 'paragraph') as Tokens.Paragraph | undefined;
  return {
    title: first === undefined ? '' : plainText(first.tokens).trim(),
    summary: intro === undefined ? '' : plainText(intro.tokens).replace(/\s+/g, ' '),
  };
}

/**
 * Throws on what the rules above don't allow; `name` is of the file, for the message.
 * @param ids of the headings, when the page is a translation: a link to a section leads to both texts
 */
export function parseArticle(
  name: string,
  source: string,
  resolve: ResolveLink,
  after: AfterSample = {},
  ids?: readonly string[],
): Article {
  const tokens = lexer(source);
  checkTokens(name, tokens, resolve);
  const own = sectionsOf(tokens);
  if (ids !== undefined && ids.length !== own.length) {
    throw new Error(`${name}: ${own.length} headings, and ${ids.length} in the original`);
  }
  const sections = own.map((section, i) => ({ ...section, id: ids?.[i] ?? section.id }));
  const [first, ...rest] = sections;
  if (first === undefined || first.depth !== 1 || rest.some(({ depth }) => depth === 1)) {
    throw new Error(`${name}: must have one heading of the first depth, at its beginning`);
  }
  const astray = Object.keys(after).find((id) => !hasSample(tokens, sections, id));
  if (astray !== undefined) throw new Error(`${name}: no sample under #${astray}`);
  const { title, summary } = introIn(tokens);
  return {
    title,
    summary,
    headings: rest.filter(({ depth }) => depth <= 3),
    sections,
    render(text) {
      const rendering: Rendering = {
        text,
        resolve,
        ids: sections.map(({ id }) => id),
        codes: 0,
        under: first.text,
        underId: '',
        labels: new Set(),
        after: new Map(Object.entries(after)),
      };
      return blocks(tokens, rendering);
    },
  };
}

/** `GET /api.php` becomes `get-api-php`. */
export function anchorOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');
}

function checkTokens(name: string, tokens: readonly Token[], resolve: ResolveLink): void {
  for (const token of tokens) {
    const shown = token.raw.slice(0, 60);
    if (token.type === 'html' || token.type === 'image' || token.type === 'def') {
      throw new Error(`${name}: no raw HTML, pictures or references here: ${shown}`);
    }
    if (token.type === 'text' && /&#?\w+;/.test(token.raw)) {
      throw new Error(`${name}: write the character itself, not ${shown}`);
    }
    if (token.type === 'table' && (token as Tokens.Table).header.some(({ text }) => text === '')) {
      throw new Error(`${name}: a column without a title: ${shown}`);
    }
    if (token.type === 'link' && resolve((token as Tokens.Link).href) === undefined) {
      throw new Error(`${name}: a link that leads nowhere: ${shown}`);
    }
    checkTokens(name, childrenOf(token), resolve);
  }
}

function childrenOf(token: Token): readonly Token[] {
  if (token.type === 'list') return (token as Tokens.List).items.flatMap(({ tokens }) => tokens);
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [...header, ...rows.flat()].flatMap(({ tokens }) => tokens);
  }
  return ('tokens' in token ? token.tokens : undefined) ?? [];
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'list') {
        return (token as Tokens.List).items.map(({ tokens: own }) => `${plainText(own)} `).join('');
      }
      if (token.type === 'table') return `${tableText(token as Tokens.Table)} `;
      const children = childrenOf(token);
      if (children.length > 0) return plainText(children) + (isBlock(token) ? ' ' : '');
      if (token.type === 'br' || token.type === 'space') return ' ';
      return 'text' in token ? String(token.text) + (isBlock(token) ? ' ' : '') : '';
    })
    .join('');
}

function tableText({ header, rows }: Tokens.Table): string {
  return [header, ...rows]
    .map((row) => row.map(({ tokens }) => plainText(tokens).trim()).join(' · '))
    .join('\n');
}

function isBlock({ type }: Token): boolean {
  return !['text', 'strong', 'em', 'codespan', 'link', 'escape', 'del'].includes(type);
}

function sectionsOf(tokens: readonly Token[]): DocsSection[] {
  const found: (Heading & { parts: string[]; others: string[] })[] = [];
  const taken = new Set<string>();
  for (const token of tokens) {
    if (token.type !== 'heading') {
      const section = found.at(-1);
      if (token.type === 'table' || token.type === 'code') {
        section?.others.push(...plainText([token]).split('\n'));
      } else {
        const items = token.type === 'list' ? (token as Tokens.List).items : [token];
        section?.parts.push(...items.map((item) => plainText([item])));
      }
      continue;
    }
    const { depth, tokens: inner } = token as Tokens.Heading;
    const text = plainText(inner).trim();
    const base = anchorOf(text);
    let id = base;
    for (let n = 2; taken.has(id); n++) id = `${base}-${n}`;
    taken.add(id);
    found.push({ depth, id, text, parts: [], others: [] });
  }
  const lines = (texts: readonly string[]) =>
    texts.map((text) => text.replace(/\s+/g, ' ').trim()).filter((text) => text !== '');
  return found.map(({ parts, others, ...heading }) => ({
    ...heading,
    body: lines(parts).join('\n'),
    rest: lines(others).join('\n'),
  }));
}

interface Rendering {
  readonly text: Translations;
  readonly resolve: ResolveLink;
  /** The ids of the headings still to come: each heading takes the first. */
  readonly ids: string[];
  /** Blocks of code so far: their ids. */
  codes: number;
  /** Text of the last heading, and the labels given under it: no two regions are named alike. */
  under: string;
  underId: string;
  readonly labels: Set<string>;
  /** By heading: what still has to come. */
  readonly after: Map<string, AfterSample[string]>;
}

function regionLabel(rendering: Rendering, what: string): string {
  const base = `${what} (${rendering.under})`;
  let label = base;
  for (let n = 2; rendering.labels.has(label); n++) label = `${base} ${n}`;
  rendering.labels.add(label);
  return label;
}

function blocks(tokens: readonly Token[], rendering: Rendering): Html[] {
  const shown: Html[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const alike = alikeFrom(tokens, i);
    if (alike.length < 2) {
      const token = tokens[i]!;
      shown.push(block(token, rendering));
      if (isSample(token)) shown.push(afterSample(rendering));
      continue;
    }
    shown.push(
      sampleTabs(
        alike.map((code) => sample(code, rendering)),
        rendering.text,
      ),
    );
    shown.push(afterSample(rendering));
    i = tokens.indexOf(alike.at(-1)!);
  }
  return shown;
}

/** Fences that follow one another, each in another language that requests are shown in: one thing, said in each. */
function alikeFrom(tokens: readonly Token[], from: number): Tokens.Code[] {
  const found: Tokens.Code[] = [];
  for (const token of tokens.slice(from)) {
    if (token.type === 'space' && found.length > 0) continue;
    if (!isSample(token) || found.some(({ lang }) => lang === token.lang)) break;
    found.push(token);
  }
  return found;
}

function isSample(token: Token): token is Tokens.Code {
  return token.type === 'code' && ((token as Tokens.Code).lang ?? '') in sampleTitles;
}

function afterSample(rendering: Rendering): Html {
  const { after, under, underId, text } = rendering;
  const shown = after.get(underId)?.(under, text) ?? null;
  after.delete(underId);
  return shown;
}

/** Returns whether a sample stands between the heading of this id and the next one. */
function hasSample(
  tokens: readonly Token[],
  sections: readonly DocsSection[],
  id: string,
): boolean {
  const headings = tokens.filter(({ type }) => type === 'heading');
  const at = sections.findIndex((section) => section.id === id);
  if (at < 0) return false;
  const next = headings[at + 1];
  const from = tokens.indexOf(headings[at]!);
  const to = next === undefined ? tokens.length : tokens.indexOf(next);
  return tokens.slice(from, to).some(isSample);
}

function sample({ lang = '', text: code }: Tokens.Code, rendering: Rendering): Sample {
  const title = sampleTitles[lang] ?? lang;
  return { title, figure: codeFigure(title, lang, code, rendering) };
}

function codeFigure(title: string, language: string, code: string, rendering: Rendering): Html {
  rendering.codes += 1;
  const label = regionLabel(rendering, title);
  return (
    <CodeBlock
      id={`code-${rendering.codes}`}
      title={title}
      label={label}
      code={highlighted(language, code)}
      text={rendering.text}
    />
  );
}

/** A table with more rows is one to look something up in. */
const rowsMax = 20;
const answerLinesMax = 12;

function fold(title: string, size: string, children: Html): Html {
  return (
    <Folds>
      <Fold title={title} level={0} aside={size}>
        {children}
      </Fold>
    </Folds>
  );
}

function block(token: Token, rendering: Rendering): Html {
  const { text } = rendering;
  switch (token.type) {
    case 'space':
      return null;
    case 'heading':
      return heading(token as Tokens.Heading, rendering);
    case 'paragraph':
      return <p>{inlines(token.tokens ?? [], rendering)}</p>;
    case 'text':
      // A list without blank lines has its text here, without a paragraph.
      return inlines(token.tokens ?? [token], rendering);
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [], rendering)}</blockquote>;
    case 'code': {
      const { lang = '', text: code } = token as Tokens.Code;
      const figure = codeFigure(languageTitles[lang] ?? lang, lang, code, rendering);
      const lines = code.split('\n').length;
      return lang === 'json' && lines > answerLinesMax
        ? fold(text.docs.jsonSample, text.docs.lines(lines), figure)
        : figure;
    }
    case 'list': {
      const { ordered, items } = token as Tokens.List;
      const rows = items.map((item) => <li>{blocks(item.tokens, rendering)}</li>);
      return ordered ? <ol>{rows}</ol> : <ul>{rows}</ul>;
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      const columns = header.map((cell) => ({
        title: plainText(cell.tokens),
        numeric: cell.align === 'right',
      }));
      const titles = columns.map(({ title }) => title).join(', ');
      const caption = text.docs.tableOf(titles);
      const table = (
        <Table
          caption={regionLabel(rendering, caption)}
          columns={columns}
          rows={rows.map((row) => row.map((cell) => inlines(cell.tokens, rendering)))}
        />
      );
      return rows.length > rowsMax ? fold(caption, text.docs.rows(rows.length), table) : table;
    }
    default:
      throw new Error(`Markdown that is not known here: ${token.type}`);
  }
}

/** Takes the heading's id; what follows stands under it. */
function heading(token: Tokens.Heading, rendering: Rendering): Html {
  const id = rendering.ids.shift();
  const label = plainText(token.tokens).trim();
  rendering.under = label;
  rendering.underId = id ?? '';
  const content = inlines(token.tokens, rendering);
  const link = (
    <Link class="anchor" href={`#${id}`} aria-label={rendering.text.docs.linkTo(label)}>
      #
    </Link>
  );
  switch (token.depth) {
    case 1:
      return <h1 id={id}>{content}</h1>;
    case 2:
      return (
        <h2 id={id}>
          {content} {link}
        </h2>
      );
    case 3:
      return (
        <h3 id={id}>
          {content} {link}
        </h3>
      );
    default:
      return (
        <h4 id={id}>
          {content} {link}
        </h4>
      );
  }
}

function inlines(tokens: readonly Token[], rendering: Rendering): Html[] {
  return tokens.map((token): Html => {
    const inner = () => inlines(childrenOf(token), rendering);
    switch (token.type) {
      case 'text':
        return childrenOf(token).length > 0 ? inner() : token.text;
      case 'escape':
        return token.text;
      case 'codespan':
        return <code>{token.text}</code>;
      case 'strong':
        return <strong>{inner()}</strong>;
      case 'em':
        return <em>{inner()}</em>;
      case 'br':
        return <br />;
      case 'link':
        return <Link href={rendering.resolve((token as Tokens.Link).href) ?? '#'}>{inner()}</Link>;
      default:
        throw new Error(`Markdown that is not known here: ${token.type}`);
    }
  });
}

// "Try it": a form that sends a request to this very server with the reader's own key, and shows the answer.
// The script does that (docs.js), within the page's `connect-src 'self'`; without it the form stays hidden, and
// the box holds the same request as a command.

// Requests that a reader of the documentation can send from its page to this very server, by page
// and heading.

interface TryField {
  /** The parameter's name, which is the label of its field too. */
  readonly name: string;
  readonly value: string;
}

interface TryRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** False: it wants none. */
  readonly hasKey: boolean;
  readonly fields: readonly TryField[];
}

const check: TryRequest = {
  method: 'GET',
  path: '/api/v2/check',
  hasKey: true,
  fields: [
    { name: 'ipAddress', value: '198.51.100.7' },
    { name: 'maxAgeInDays', value: '' },
  ],
};

/** By the id of the heading; the first sample under it has the request below it. */
type Tries = Readonly<Record<string, TryRequest>>;

/** Has the samples that can be tried, by the slug of their page. */
export const tries: Readonly<Record<string, Tries>> = {
  'ask-about-an-address': { 'in-a-program': check },
  'ip-api': {
    'get-check': check,
    'get-reports': {
      method: 'GET',
      path: '/api/v2/reports',
      hasKey: true,
      fields: [
        { name: 'ipAddress', value: '198.51.100.9' },
        { name: 'perPage', value: '10' },
      ],
    },
    'get-check-block': {
      method: 'GET',
      path: '/api/v2/check-block',
      hasKey: true,
      fields: [
        { name: 'network', value: '203.0.113.0/24' },
        { name: 'maxAgeInDays', value: '30' },
      ],
    },
    // Each server takes this address and keeps nothing of it.
    'post-report': {
      method: 'POST',
      path: '/api/v2/report',
      hasKey: true,
      fields: [
        { name: 'ip', value: '127.0.0.1' },
        { name: 'categories', value: '18,22' },
        { name: 'comment', value: 'SSH brute force' },
      ],
    },
    'get-stats': { method: 'GET', path: '/api/v2/stats', hasKey: false, fields: [] },
  },
};

/** The same request for a shell; `docs.js` writes it anew as the fields change. */
export function commandOf({ method, path, hasKey, fields }: TryRequest, origin: string): string {
  const sent = fields.filter(({ value }) => value !== '');
  return [
    `curl -s${method === 'GET' && sent.length > 0 ? ' -G' : ''}${hasKey ? ' -H "Key: $KEY"' : ''} ${shellQuoted(origin + path)}`,
    ...sent.map(({ name, value }) => `--data-urlencode ${shellQuoted(`${name}=${value}`)}`),
  ].join(' \\\n  ');
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

interface TryContext {
  readonly id: string;
  /** The text of that heading, which tells the labels of several boxes apart. */
  readonly heading: string;
  readonly page: string;
  /** Scheme and host of the API. */
  readonly origin: string;
}

/** The script shows the one of these notes that fits what it found of the reader's key. */
function keyNotes(page: string, { docs }: Translations): Html {
  const { keys } = docs.tryIt;
  const back = encodeURIComponent(page);
  const notes = [
    ['shown', undefined],
    ['hidden', `/account/confirm?return=${back}`],
    ['none', '/account/keys'],
    ['unknown-reader', `/signin?return=${back}`],
  ] as const;
  return notes.map(([standing, href]) => (
    <p class="field-hint" data-standing={standing} hidden>
      {keys[standing].text}
      {href !== undefined && (
        <>
          {' '}
          <Link href={href}>{keys[standing].link}</Link>
        </>
      )}
    </p>
  ));
}

export function tryBox(request: TryRequest, context: TryContext, text: Translations): Html {
  const { tryIt } = text.docs;
  const { method, path, hasKey, fields } = request;
  const id = `try-${context.id}`;
  const plain = { mono: true, autocomplete: 'off', maxLength: 1_000 };
  return (
    <details
      class="try"
      lang={tryIt.language}
      data-method={method}
      data-path={path}
      data-origin={context.origin}
      data-failed={tryIt.failed}
    >
      <summary>
        {tryIt.title}
        <span class="visually-hidden"> ({context.heading})</span>
      </summary>
      <form class="try-form" autocomplete="off" hidden>
        {hasKey && (
          <>
            <Field
              {...plain}
              id={`${id}-key`}
              name="key"
              label={tryIt.key}
              hint={tryIt.keyHint}
              required
            />
            {keyNotes(context.page, text)}
          </>
        )}
        {fields.map(({ name, value }) => (
          <Field {...plain} id={`${id}-${name}`} name={name} label={name} value={value} />
        ))}
        <p>
          <Button label={tryIt.send} kind="secondary" />
        </p>
        <p class="mono" role="status" />
        <div class="try-answer" hidden>
          <pre tabindex={0} role="region" aria-label={tryIt.answer(context.heading)}>
            <code />
          </pre>
        </div>
      </form>
      <CodeBlock
        id={`${id}-command`}
        title={tryIt.command}
        text={text}
        label={`${tryIt.command} (${context.heading})`}
        code={commandOf(request, context.origin)}
      />
    </details>
  );
}
