/** A titled surface. The title's level follows the page's outline, not its size. */

import { classes, type Html } from '../html.ts';
import { Icon, type IconName } from './icon.tsx';

export interface CardOptions {
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
