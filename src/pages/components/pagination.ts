/** Links to the pages before and after this one. Nothing when there is a single page. */

import { type Html, html, safeHref } from '../html.ts';
import type { Catalogue } from '../language.ts';
import { icon } from './icon.ts';

export interface PaginationOptions {
  /** From 1. */
  readonly page: number;
  readonly pages: number;
  readonly hrefFor: (page: number) => string;
  readonly number: (value: number) => string;
  readonly text: Catalogue;
}

export function pagination({ page, pages, hrefFor, number, text }: PaginationOptions): Html {
  if (pages <= 1) return null;
  const { label, previous, next, position } = text.pagination;
  return html`<nav class="pagination" aria-label=${label}>
    ${page > 1 && html`<a class="button button-secondary" rel="prev" href=${safeHref(hrefFor(page - 1))}>${icon('back')}<span>${previous}</span></a>`}
    <span class="pagination-position">${position(number(page), number(pages))}</span>
    ${page < pages && html`<a class="button button-secondary" rel="next" href=${safeHref(hrefFor(page + 1))}><span>${next}</span>${icon('arrow')}</a>`}
  </nav>`;
}
