/** A titled surface. The title's level follows the page's outline, not its size. */

import { classes, type Html } from '../html.ts';
import type { Translations } from '../language.ts';
import { Icon, type IconName } from './icon.tsx';

interface CardOptions {
  readonly title: string;
  /** The level of the heading. Default: 2. */
  readonly level?: 2 | 3 | undefined;
  readonly icon?: IconName | undefined;
  readonly className?: string | undefined;
  /** Next to the title, at the right. */
  readonly aside?: Html | undefined;
  readonly children: Html;
}

export function Card(options: CardOptions): Html {
  const content = (
    <>
      {options.icon && <Icon name={options.icon} />}
      <span>{options.title}</span>
    </>
  );
  return (
    <section class={classes('card', options.className)}>
      <header class="card-header">
        {options.level === 3 ? (
          <h3 class="card-title">{content}</h3>
        ) : (
          <h2 class="card-title">{content}</h2>
        )}
        {options.aside}
      </header>
      {options.children}
    </section>
  );
}

// Parts of a page of which a reader wants one at a time: each is a line with its state, and opens in place.

export function Folds({ children }: { readonly children: Html }): Html {
  return <div class="folds is-list">{children}</div>;
}

interface FoldOptions {
  /** A link leads to it by this. */
  readonly id?: string | undefined;
  readonly title: Html;
  readonly icon?: IconName | undefined;
  /** At the end of the line: what makes opening it needless. */
  readonly aside?: Html | undefined;
  readonly open?: boolean | undefined;
  /** The level of the heading; 0: it is none. Default: 2. */
  readonly level?: 0 | 2 | 3 | undefined;
  readonly children: Html;
}

export function Fold({ id, title, icon, aside, open, level, children }: FoldOptions): Html {
  return (
    <details id={id} open={open}>
      <summary>
        {icon && <Icon name={icon} />}
        {level === 0 ? <span>{title}</span> : level === 3 ? <h3>{title}</h3> : <h2>{title}</h2>}
        {aside && <span class="fold-aside">{aside}</span>}
        <Icon name="chevron" />
      </summary>
      <div class="fold-body">{children}</div>
    </details>
  );
}

// Code to copy. The button stays hidden until the page's script has made it work.

interface CodeBlockOptions {
  readonly id: string;
  /** The caption, e.g. `Terminal`. */
  readonly title: string;
  /** Screen readers name the block by it, where several of a page have one title. */
  readonly label?: string | undefined;
  readonly code: Html;
  readonly text: Translations;
  /** Nobody copies it, as it lacks a value, or is an answer: there is no button. */
  readonly isSample?: boolean | undefined;
}

export function CodeBlock({ id, title, label, code, text, isSample }: CodeBlockOptions): Html {
  return (
    <figure class="code">
      <figcaption>
        <span>{title}</span>
        {!isSample && <CopyButton id={id} text={text} />}
      </figcaption>
      <pre tabindex={0} role="region" aria-label={label ?? title}>
        <code id={id}>{code}</code>
      </pre>
    </figure>
  );
}

export function CopyButton({ id, text }: Pick<CodeBlockOptions, 'id' | 'text'>): Html {
  return (
    <button class="code-copy" type="button" hidden data-copy={id} data-done={text.code.copied}>
      <Icon name="copy" />
      <span aria-live="polite">{text.code.copy}</span>
    </button>
  );
}

// Messages set apart from the text: notices, and the state of having nothing to show.

type NoticeTone = 'info' | 'success' | 'warning' | 'danger';

const toneIcons: Record<NoticeTone, IconName> = {
  info: 'info',
  success: 'check',
  warning: 'alert',
  danger: 'alert',
};

interface NoticeOptions {
  readonly tone?: NoticeTone | undefined;
  readonly title?: string | undefined;
  readonly children: Html;
  /** Read out at once by screen readers: for answers to what the visitor just did. */
  readonly alert?: boolean | undefined;
}

export function Notice({ tone = 'info', title, children, alert }: NoticeOptions): Html {
  return (
    <div class={`notice notice-${tone}`} role={alert ? 'alert' : undefined}>
      <Icon name={toneIcons[tone]} />
      <div class="notice-body">
        {title && <strong>{title}</strong>}
        <div>{children}</div>
      </div>
    </div>
  );
}

export function EmptyState({
  icon: iconName,
  text,
  children: action,
}: {
  readonly icon: IconName;
  readonly text: string;
  readonly children?: Html | undefined;
}): Html {
  return (
    <div class="empty">
      <Icon name={iconName} />
      <p>{text}</p>
      {action}
    </div>
  );
}

/** Points of a text, each behind a tick. */
export function Ticks({ points }: { readonly points: readonly string[] }): Html {
  return (
    <ul class="ticks">
      {points.map((point) => (
        <li>
          <Icon name="check" />
          <span>{point}</span>
        </li>
      ))}
    </ul>
  );
}
