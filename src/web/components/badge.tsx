/** A short label with a tone. The word carries the meaning; the tone only helps. */

import type { ScoreBand } from '../../core/score-band.ts';
import type { Html } from '../html.ts';
import { Icon, type IconName } from './icon.tsx';

export type BadgeTone = 'neutral' | 'accent' | ScoreBand;

export interface BadgeOptions {
  readonly label: string;
  readonly tone?: BadgeTone | undefined;
  readonly icon?: IconName | undefined;
  /** Explains the label when the pointer rests on it. */
  readonly title?: string | undefined;
}

export function Badge(options: BadgeOptions): Html {
  const tone = options.tone ?? 'neutral';
  const toneClass = tone === 'neutral' || tone === 'accent' ? `badge-${tone}` : `band-${tone}`;
  return (
    <span class={`badge ${toneClass}`} title={options.title}>
      {options.icon && <Icon name={options.icon} />}
      {options.label}
    </span>
  );
}
