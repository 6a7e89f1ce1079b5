/** Code to copy. The button stays hidden until the page's script has made it work. */

import type { Html } from '../html.ts';
import type { Catalogue } from '../language.ts';
import { Icon } from './icon.tsx';

export interface CodeBlockOptions {
  /** Unique on the page. */
  readonly id: string;
  /** The caption, e.g. `Terminal`. */
  readonly title: string;
  /** For screen readers, where several blocks of a page have one title. */
  readonly label?: string | undefined;
  readonly code: string;
  readonly text: Catalogue;
}

export function CodeBlock({ id, title, label, code, text }: CodeBlockOptions): Html {
  return (
    <figure class="code">
      <figcaption>
        <span>{title}</span>
        <button class="code-copy" type="button" hidden data-copy={id} data-done={text.code.copied}>
          <Icon name="copy" />
          <span aria-live="polite">{text.code.copy}</span>
        </button>
      </figcaption>
      <pre tabindex={0} role="region" aria-label={label ?? title}>
        <code id={id}>{code}</code>
      </pre>
    </figure>
  );
}
