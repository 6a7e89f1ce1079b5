/** The page of one form or one message: a title over a single column. */

import type { Html } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';

export interface NarrowPageOptions {
  readonly title: string;
  /** The line above the title, e.g. the site that asks. */
  readonly eyebrow?: string;
  readonly lede?: Html;
  /** The static file of a script for this page. */
  readonly script?: string;
  readonly body: Html;
  /** The links below the card. */
  readonly foot?: Html;
}

export function narrowPage(frame: PageFrame, options: NarrowPageOptions): string {
  return renderDocument(frame, {
    title: options.title,
    noindex: true,
    className: 'page-narrow',
    ...(options.script === undefined ? {} : { script: options.script }),
    body: (
      <div class="wrap narrow">
        {options.eyebrow && <p class="eyebrow">{options.eyebrow}</p>}
        <h1>{options.title}</h1>
        {options.lede && <p class="narrow-lede">{options.lede}</p>}
        <div class="card narrow-card">{options.body}</div>
        {options.foot && <div class="narrow-foot">{options.foot}</div>}
      </div>
    ),
  });
}
