/**
 * Pages are JSX, rendered to text. Every string in it is escaped then, as text or as an attribute;
 * there is no way to pass raw markup through (lint refuses `dangerouslySetInnerHTML`).
 */

import { type ComponentChildren, Fragment, h } from 'preact';
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

/** Returns a text whose words with a hyphen, such as `TEST-NET-2`, stay on one line. */
export function unbroken(text: string): Html {
  return text
    .split(/([^\s()]+-[^\s()]+)/)
    .map((part, i) => (i % 2 === 0 ? part : h('span', { class: 'unbroken' }, part)));
}

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
