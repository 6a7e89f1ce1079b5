/** A short label with a tone. The word carries the meaning; the tone only helps. */

import { type Html, html } from '../html.ts';
import type { ScoreBand } from '../score-band.ts';
import { type IconName, icon } from './icon.ts';

export type BadgeTone = 'neutral' | 'accent' | ScoreBand;

export interface BadgeOptions {
  readonly label: string;
  readonly tone?: BadgeTone;
  readonly icon?: IconName;
  /** Explains the label when the pointer rests on it. */
  readonly title?: string;
}

export function badge(options: BadgeOptions): Html {
  const tone = options.tone ?? 'neutral';
  const toneClass = tone === 'neutral' || tone === 'accent' ? `badge-${tone}` : `band-${tone}`;
  return html`<span class=${`badge ${toneClass}`} title=${options.title}>${options.icon && icon(options.icon)}${options.label}</span>`;
}
