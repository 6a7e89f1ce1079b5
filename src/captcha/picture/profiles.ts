/**
 * The pictures that can be asked for: size, letters and motion of each profile. A dot is one GIF
 * pixel, shown larger by CSS; under 3.4 CSS pixels a dot, fine balanced noise is no flash (WCAG).
 */

export type ProfileName = 'default' | 'economy' | 'long';

export interface PictureProfile {
  readonly name: ProfileName;
  readonly widthDots: number;
  readonly heightDots: number;
  /** CSS pixels a dot is meant to be shown at. */
  readonly cssPixelsPerDot: number;
  readonly letters: number;
  readonly frames: number;
  /** Multiples of 10; browsers turn 10 and less into 100. */
  readonly frameMs: number;
  /** Radius of the circle that both clouds run along, opposite each other. */
  readonly amplitudeDots: number;
  /** How far apart on that circle the upper edge and the lower one are, and the left and the right. */
  readonly curveDownRad: number;
  readonly curveAcrossRad: number;
  /** Share of dots that follow their cloud in a frame, in 64ths; the rest are fresh noise. */
  readonly coherence64: number;
  /** A letter has one of them. */
  readonly capHeightsDots: readonly number[];
  /** A wider letter is squeezed to this, before it is made wider or narrower at random. */
  readonly letterWidthDotsMax: number;
  /** How far a letter stands from its place at most. */
  readonly jitterXDots: number;
  readonly jitterYDots: number;
  readonly bobDots: number;
  readonly turnDegrees: number;
}

/**
 * No letter or digit that reads as another one in any letter case, and none so wide that its place would squeeze it
 * to half: M and W.
 */
export const alphabet = 'ABCDEFHJKLNPRTUVXY3479';

const letterSize = {
  cssPixelsPerDot: 2,
  capHeightsDots: [29, 34],
  letterWidthDotsMax: 25,
  jitterXDots: 3,
  jitterYDots: 4,
  bobDots: 2,
  turnDegrees: 12,
} as const;

export const profiles: Readonly<Record<ProfileName, PictureProfile>> = {
  default: {
    name: 'default',
    ...letterSize,
    widthDots: 150,
    heightDots: 50,
    letters: 5,
    frames: 25,
    frameMs: 40,
    amplitudeDots: 6,
    curveDownRad: 4.2,
    curveAcrossRad: 6,
    coherence64: 45,
  },
  /** Half the bytes and time, for bursts. */
  economy: {
    name: 'economy',
    cssPixelsPerDot: 3,
    capHeightsDots: [26, 29],
    letterWidthDotsMax: 20,
    jitterXDots: 2,
    jitterYDots: 3,
    bobDots: 1,
    turnDegrees: 12,
    widthDots: 120,
    heightDots: 40,
    letters: 5,
    frames: 20,
    frameMs: 40,
    amplitudeDots: 4,
    curveDownRad: 3.5,
    curveAcrossRad: 5,
    coherence64: 52,
  },
  /** A longer word, for client addresses with a bad name. */
  long: {
    name: 'long',
    ...letterSize,
    widthDots: 208,
    heightDots: 50,
    letters: 7,
    frames: 25,
    frameMs: 40,
    amplitudeDots: 6,
    curveDownRad: 4.2,
    curveAcrossRad: 6,
    coherence64: 45,
  },
};

/** How large the picture of a profile is shown, in CSS pixels. */
export interface ShownSize {
  readonly width: number;
  readonly height: number;
  /** `dots:pixels` of every profile: the script learns from the picture which one it got. */
  readonly widths: string;
}

const widths = Object.values(profiles)
  .map(({ widthDots, cssPixelsPerDot }) => `${widthDots}:${widthDots * cssPixelsPerDot}`)
  .join(' ');

export function shownSize(name: ProfileName): ShownSize {
  const { widthDots, heightDots, cssPixelsPerDot } = profiles[name];
  return { width: widthDots * cssPixelsPerDot, height: heightDots * cssPixelsPerDot, widths };
}
