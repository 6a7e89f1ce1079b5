/**
 * One sample in several languages: all of them stand one below the other, and the script of the page makes
 * tabs of them.
 */

import type { Html } from '../../web/html.ts';
import type { Catalogue } from '../words.ts';

/** The languages of a sample by the name of their fence, and how their tabs are called. */
export const sampleTitles: Readonly<Record<string, string>> = {
  sh: 'curl',
  js: 'Node',
  python: 'Python',
  php: 'PHP',
  go: 'Go',
};

export interface Sample {
  readonly title: string;
  readonly figure: Html;
}

export function sampleTabs(samples: readonly Sample[], { docs }: Catalogue): Html {
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
