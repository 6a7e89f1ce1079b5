/** Buttons and links that look like them. One primary action per view. */

import { classes, type Html, html, safeHref } from '../html.ts';
import { type IconName, icon } from './icon.ts';

export type ButtonKind = 'primary' | 'secondary' | 'danger' | 'quiet';

export interface ButtonOptions {
  readonly label: string;
  readonly kind?: ButtonKind;
  readonly type?: 'submit' | 'button';
  /** Form field that this button sends. */
  readonly name?: string;
  readonly value?: string;
  readonly icon?: IconName;
  /** Leaves the label to screen readers. */
  readonly iconOnly?: boolean;
}

export function button(options: ButtonOptions): Html {
  return html`<button class=${`button button-${options.kind ?? 'primary'}`} type=${options.type ?? 'submit'}
    name=${options.name} value=${options.value}>
    ${options.icon && icon(options.icon)}<span class=${options.iconOnly ? 'visually-hidden' : undefined}>${options.label}</span>
  </button>`;
}

export interface LinkButtonOptions {
  readonly label: string;
  readonly href: string;
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  readonly className?: string;
}

export function linkButton(options: LinkButtonOptions): Html {
  return html`<a class=${classes('button', `button-${options.kind ?? 'primary'}`, options.className)} href=${safeHref(options.href)}>
    ${options.icon && icon(options.icon)}<span>${options.label}</span>
  </a>`;
}
