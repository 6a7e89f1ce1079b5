/** Messages set apart from the text: notices, and the state of having nothing to show. */

import type { Html } from '../html.ts';
import { Icon, type IconName } from './icon.tsx';

export type NoticeTone = 'info' | 'success' | 'warning' | 'danger';

const toneIcons: Record<NoticeTone, IconName> = {
  info: 'info',
  success: 'check',
  warning: 'alert',
  danger: 'alert',
};

export interface NoticeOptions {
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
