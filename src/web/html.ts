/**
 * Pages are JSX, rendered to text. Every string in it is escaped then, as text or as an attribute;
 * there is no way to pass raw markup through (lint refuses `dangerouslySetInnerHTML`).
 * A word such as `e-mail` or `TEST-NET-2` stays on one line in any element that can hold another one.
 */

import { type ComponentChildren, Fragment, h, options, type VNode } from 'preact';
import { renderToStaticMarkup } from 'preact-render-to-string';

/** The children that an element accepts. `null`, `undefined` and booleans render as nothing. */
export type Html = ComponentChildren;

/** Replaces lone surrogates, which have no UTF-8 form. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Markup that is valid as UTF-8 and as HTML, which also forbids control characters. */
export function renderHtml(tree: Html): string {
  const markup = renderToStaticMarkup(h(Fragment, null, tree));
  return wellFormed(markup.replace(/[\u0000-\u0008\u000b\u000e-\u001f\u007f]/g, '\ufffd'));
}

/** Returns a host name that breaks at its dots alone. */
export function hostName(name: string): Html {
  const parts = name.split(/(?<=\.)(?=.)/);
  const labels = parts.flatMap((part, i) => (i === 0 ? [part] : [h('wbr', null), part]));
  return h('span', { class: 'host' }, labels);
}

/** Returns a text whose words with a hyphen, such as `Private-Use`, stay on one line. */
export function unbroken(text: string): Html {
  return withWhole(text, /([^\s()]+-[^\s()]+)/);
}

function withWhole(text: string, word: RegExp): Html[] {
  return text
    .split(word)
    .map((part, i) => (i % 2 === 0 ? part : h('span', { class: 'unbroken' }, part)));
}

/** A word with a hyphen and a single letter or digit on one side of it: nobody wants to read that side alone. */
const letter = '[\\p{L}\\p{N}]';
const shortSide = new RegExp(
  `(?<![\\p{L}\\p{N}.@/-])(${letter}-${letter}{2,12}|${letter}{2,12}(?:-${letter}{2,12})?-${letter})(?![\\p{L}\\p{N}@/-]|\\.${letter})`,
  'u',
);
/** They hold text alone, or text to copy. */
const textOnly = new Set(['title', 'option', 'textarea', 'script', 'style', 'code', 'pre', 'text']);

/** A text stays one child: its element may lay out each by itself. */
function wholeWords(child: Html): Html {
  if (typeof child === 'string') {
    const isHeld = child.includes('-') && shortSide.test(child);
    return isHeld ? h('span', { class: 'whole-words' }, withWhole(child, shortSide)) : child;
  }
  return Array.isArray(child) ? child.map(wholeWords) : child;
}

const before = options.vnode;
options.vnode = (vnode: VNode) => {
  const props = vnode.props as { class?: unknown; children?: Html };
  const isText = typeof vnode.type === 'string' && !textOnly.has(vnode.type);
  const isMade = props.class === 'unbroken' || props.class === 'whole-words';
  if (isText && !isMade && props.children !== undefined) {
    props.children = wholeWords(props.children);
  }
  before?.(vnode);
};

/** Class attribute from parts; false parts drop out. */
export function classes(...parts: (string | false | undefined)[]): string {
  return parts.filter((part) => part).join(' ');
}

/**
 * A link target that is safe to put in `href` or `action`: a path on this host, a fragment, or an
 * http(s)/mailto address. Anything else (`javascript:`, `data:`, `//host`) becomes `#`.
 */
export function safeHref(target: string): string {
  // Browsers drop tabs and newlines inside addresses, so "java\tscript:" must not get through.
  if (/[\u0000-\u0020\\]/.test(target)) return '#';
  if (target.startsWith('#')) return target;
  if (target.startsWith('/')) return target.startsWith('//') ? '#' : target;
  return /^(?:https?:\/\/|mailto:)[^/]/i.test(target) ? target : '#';
}
