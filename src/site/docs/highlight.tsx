/**
 * Colours of code in the documentation, as classes of the style sheet: comments, strings, words of the language,
 * numbers and names. One expression for a language finds them, made when a page is first read. It is no parser:
 * what it does not know stays plain, and the text is the same in each case.
 */

import type { Html } from '../../web/html.ts';

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
