/**
 * The score as a gate: the portcullis hangs in its arch and is the further down the higher the
 * score. The number and the word stand next to it, so neither colour nor picture carries the
 * meaning alone.
 */

import { bandEnds, bandStarts, scoreBand, scoreBands } from '../../core/score-band.ts';
import { classes, type Html } from '../html.ts';
import type { Catalogue } from '../language.ts';

const viewWidth = 168;
const viewHeight = 184;
const openingTop = 20;
const openingBottom = 180;
/** The part of the gate that still shows when it is fully raised: its points. */
const raisedShows = 26;
const verticals = [44, 64, 84, 104, 124] as const;
const horizontals = [-116, -90, -64, -38] as const;

const opening = `M26 ${openingBottom}V78a58 58 0 0 1 116 0v${openingBottom - 78}z`;

/** The gate drawn upwards from its lowest points, which stand at y = 0. */
function gate(): Html {
  return (
    <>
      {verticals.map((x) => (
        <line x1={x} x2={x} y1="-200" y2="-10" />
      ))}
      {horizontals.map((y) => (
        <line x1="18" x2="150" y1={y} y2={y} />
      ))}
      <line x1="18" x2="150" y1="-16" y2="-16" />
      {verticals.map((x) => (
        <path class="gate-point" d={`M${x - 5.5} -12h11L${x} 0z`} />
      ))}
      {horizontals.flatMap((y) =>
        verticals.map((x) => <circle class="gate-rivet" cx={x} cy={y} r="1.8" />),
      )}
    </>
  );
}

/**
 * The drawing alone, without text; hidden from screen readers.
 * `id` must be unique on the page. `closed` is 0 (raised) to 1 (down).
 */
export function GateDrawing({
  id,
  closed,
  className,
}: {
  readonly id: string;
  readonly closed: number;
  readonly className?: string | undefined;
}): Html {
  const share = Math.min(1, Math.max(0, closed));
  const lowest = openingTop + raisedShows + share * (openingBottom - openingTop - raisedShows);
  return (
    <svg
      class={classes('gate', className)}
      viewBox={`0 0 ${viewWidth} ${viewHeight}`}
      width={viewWidth}
      height={viewHeight}
      aria-hidden="true"
      focusable="false"
    >
      <clipPath id={id}>
        <path d={opening} />
      </clipPath>
      <path class="gate-opening" d={opening} />
      <g clip-path={`url(#${id})`}>
        <g class="gate-bars" transform={`translate(0 ${Math.round(lowest * 10) / 10})`}>
          {gate()}
        </g>
      </g>
      <path
        class="gate-arch"
        fill-rule="evenodd"
        d={`M8 ${openingBottom}V78a76 76 0 0 1 152 0v${openingBottom - 78}h-18V78a58 58 0 0 0-116 0v${openingBottom - 78}z`}
      />
      <path
        class="gate-joints"
        d="M8 112h18M8 146h18M142 112h18M142 146h18M14.600 46.8l16 7.400M40 16.7l9.500 14.600M84 2v18M128 16.7l-9.500 14.600M153.400 46.8l-16 7.400M8 78h18M142 78h18"
      />
      <path class="gate-ground" d={`M0 ${openingBottom}h${viewWidth}v4H0z`} />
    </svg>
  );
}

export interface GaugeOptions {
  /** Unique on the page. */
  readonly id: string;
  /** Whole number, 0 to 100. */
  readonly score: number;
  readonly text: Catalogue;
  /** In place of the band's word and colour: the score says nothing. */
  readonly unknown?: string | undefined;
}

export function Gauge({ id, score, text, unknown }: GaugeOptions): Html {
  const band = scoreBand(score);
  const word = unknown ?? text.score.words[band];
  return (
    <div
      class={classes('gauge', unknown === undefined ? `band-${band}` : 'band-none')}
      role="img"
      aria-label={text.score.gauge(score, word)}
    >
      <GateDrawing id={id} closed={score / 100} />
      <div class="gauge-reading">
        <span class="gauge-number">{score}</span>
        <span class="gauge-of">{text.score.outOf}</span>
        <span class="gauge-word">{word}</span>
      </div>
    </div>
  );
}

/** The four bands side by side with their meaning; `score` marks where an address stands. */
export function ScoreScale({
  text,
  score,
}: {
  readonly text: Catalogue;
  readonly score?: number | undefined;
}): Html {
  const current = score === undefined ? undefined : scoreBand(score);
  return (
    <div class="scale">
      <svg class="scale-bar" width="100%" height="22" aria-hidden="true" focusable="false">
        {scoreBands.map((band) => (
          <rect
            class={`band-${band}`}
            x={`${bandStarts[band]}%`}
            y="8"
            width={`${100 - bandStarts[band]}%`}
            height="8"
          />
        ))}
        {scoreBands.slice(1).map((band) => (
          <line
            class="scale-gap"
            x1={`${bandStarts[band]}%`}
            x2={`${bandStarts[band]}%`}
            y1="8"
            y2="16"
          />
        ))}
        {score === undefined ? null : (
          <circle class={`scale-mark band-${current}`} cx={`${score}%`} cy="12" r="8" />
        )}
      </svg>
      <ol class="scale-bands" aria-label={text.score.scale}>
        {scoreBands.map((band) => (
          <li class={classes(`band-${band}`, band === current && 'is-current')}>
            <span class="scale-range">{`${bandStarts[band]}–${bandEnds[band]}`}</span>
            <strong>{text.score.words[band]}</strong>
            <span class="scale-meaning">{text.score.meanings[band]}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
