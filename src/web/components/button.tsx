/** Buttons and links that look like them. One primary action per view. */

import { classes, type Html } from '../html.ts';
import { Icon, type IconName } from './icon.tsx';
import { Link } from './link.tsx';

export type ButtonKind = 'primary' | 'secondary' | 'danger' | 'quiet';

export interface ButtonOptions {
  readonly label: string;
  readonly kind?: ButtonKind | undefined;
  readonly type?: 'submit' | 'button' | undefined;
  /** Form field that this button sends. */
  readonly name?: string | undefined;
  readonly value?: string | undefined;
  readonly icon?: IconName | undefined;
  /** Leaves the label to screen readers. */
  readonly iconOnly?: boolean | undefined;
}

export function Button(options: ButtonOptions): Html {
  return (
    <button
      class={`button button-${options.kind ?? 'primary'}`}
      type={options.type ?? 'submit'}
      name={options.name}
      value={options.value}
    >
      {options.icon && <Icon name={options.icon} />}
      <span class={options.iconOnly ? 'visually-hidden' : undefined}>{options.label}</span>
    </button>
  );
}

export interface LinkButtonOptions {
  readonly label: string;
  readonly href: string;
  readonly kind?: ButtonKind | undefined;
  readonly icon?: IconName | undefined;
  readonly className?: string | undefined;
}

export function LinkButton(options: LinkButtonOptions): Html {
  return (
    <Link
      class={classes('button', `button-${options.kind ?? 'primary'}`, options.className)}
      href={options.href}
    >
      {options.icon && <Icon name={options.icon} />}
      <span>{options.label}</span>
    </Link>
  );
}
