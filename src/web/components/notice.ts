/** Messages set apart from the text: notices, and the state of having nothing to show. */

import { type Html, html } from '../html.ts';
import { type IconName, icon } from './icon.ts';

export type NoticeTone = 'info' | 'success' | 'warning' | 'danger';

const toneIcons: Record<NoticeTone, IconName> = {
  info: 'info',
  success: 'check',
  warning: 'alert',
  danger: 'alert',
};

export interface NoticeOptions {
  readonly tone?: NoticeTone;
  readonly title?: string;
  readonly body: Html;
  /** Read out at once by screen readers: for answers to what the visitor just did. */
  readonly alert?: boolean;
}

export function notice({ tone = 'info', title, body, alert }: NoticeOptions): Html {
  return html`<div class=${`notice notice-${tone}`} role=${alert ? 'alert' : undefined}>
    ${icon(toneIcons[tone])}
    <div class="notice-body">${title && html`<strong>${title}</strong>`}<div>${body}</div></div>
  </div>`;
}

export function emptyState(iconName: IconName, text: string, action?: Html): Html {
  return html`<div class="empty">${icon(iconName)}<p>${text}</p>${action}</div>`;
}
