/** The frame of pages that stand beside the list of their area's sections: those of an account and of the console. */

import { Link } from '../components/link.tsx';
import type { Html } from '../html.ts';
import { type PageFrame, renderDocument } from './layout.tsx';

export interface SectionPageOptions<Section extends string> {
  /** Names the list of sections for who hears the page. */
  readonly navigation: string;
  /** The list shows them in this order. */
  readonly paths: Readonly<Record<Section, string>>;
  readonly names: Readonly<Record<Section, string>>;
  /** The section of this page. */
  readonly section: Section;
  readonly title: string;
  readonly titleClass?: string | undefined;
  readonly lede: string;
  readonly className: string;
  readonly script?: string | undefined;
  /** Stands below the lede. */
  readonly body: Html;
}

export function sectionPage<Section extends string>(
  frame: PageFrame,
  options: SectionPageOptions<Section>,
): string {
  const { paths, names, section, title, script, body } = options;
  return renderDocument(frame, {
    title,
    noindex: true,
    className: options.className,
    ...(script === undefined ? {} : { script }),
    body: (
      <div class="wrap account">
        <nav class="account-nav" aria-label={options.navigation}>
          <ul>
            {(Object.keys(paths) as Section[]).map((name) => (
              <li>
                <Link href={paths[name]} aria-current={name === section ? 'page' : undefined}>
                  {names[name]}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div class="account-body">
          <header class="account-head">
            <h1 class={options.titleClass}>{title}</h1>
            <p class="lede">{options.lede}</p>
          </header>
          {body}
        </div>
      </div>
    ),
  });
}
