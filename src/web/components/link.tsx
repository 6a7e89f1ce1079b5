/** A link whose target is computed. Every other `<a>` has its target in the source. */

import type { JSX } from 'preact';
import { type Html, safeHref } from '../html.ts';

export type LinkOptions = JSX.IntrinsicElements['a'] & { readonly href: string };

/** The target is one of `safeHref`, whoever gave it. */
export function Link(options: LinkOptions): Html {
  return <a {...options} href={safeHref(options.href)} />;
}
