/** A titled surface. The title's level follows the page's outline, not its size. */

import { classes, type Html, html } from '../html.ts';
import { type IconName, icon } from './icon.ts';

export interface CardOptions {
  readonly title: string;
  /** The level of the heading. Default: 2. */
  readonly level?: 2 | 3;
  readonly icon?: IconName;
  readonly className?: string;
  /** Next to the title, at the right. */
  readonly aside?: Html;
  readonly body: Html;
}

export function card(options: CardOptions): Html {
  const content = html`${options.icon && icon(options.icon)}<span>${options.title}</span>`;
  return html`<section class=${classes('card', options.className)}>
    <header class="card-header">
      ${
        options.level === 3
          ? html`<h3 class="card-title">${content}</h3>`
          : html`<h2 class="card-title">${content}</h2>`
      }
      ${options.aside}
    </header>
    ${options.body}
  </section>`;
}
