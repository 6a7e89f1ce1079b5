/** A link whose target is computed. Every other `<a>` has its target in the source. */

import type { JSX } from 'preact';
import { type Html, safeHref } from '../html.ts';

type LinkOptions = JSX.IntrinsicElements['a'] & { readonly href: string };

/** The target is one of `safeHref`, whoever gave it. */
export function Link(options: LinkOptions): Html {
  return <a {...options} href={safeHref(options.href)} />;
}

/** A text that a narrow line breaks behind its @, as a mail address. */
export function MailAddress({ text }: { readonly text: string }): Html {
  const [name = '', ...domain] = text.split(/(?<=@)/);
  return domain.length === 0 ? (
    name
  ) : (
    <>
      {name}
      <wbr />
      {domain.join('')}
    </>
  );
}
