/**
 * The pictures that can be asked for: size, letters and motion of each profile. A dot is one GIF
 * pixel, shown larger by CSS; under 3.4 CSS pixels a dot, fine balanced noise is no flash (WCAG).
 */

export type ProfileName = 'default' | 'economy' | 'hard';

export interface PictureProfile {
  readonly name: ProfileName;
  readonly widthDots: number;
  readonly heightDots: number;
  readonly letters: number;
  /** Words are drawn from these characters. */
  readonly alphabet: string;
  readonly frames: number;
  /** Multiples of 10; browsers turn 10 and less into 100. */
  readonly frameMs: number;
  /** Radius of the circle that both clouds run along, opposite each other. */
  readonly amplitudeDots: number;
  /** Angle on that circle between the upper and the lower edge, and between the left and the right. */
  readonly curveDownRad: number;
  readonly curveAcrossRad: number;
  /**
   * Whether each 32 columns have clouds of their own, whose rows are at the angle of these columns. So dots run along
   * circles everywhere, however far columns turn across the picture; else they stop twice a loop away from its
   * middle.
   */
  readonly hasStrips: boolean;
  /** Share of dots that follow their cloud in a frame, in 64ths; the rest are fresh noise. */
  readonly coherence64: number;
  readonly capHeightDots: number;
  /** A wider letter is squeezed to this. */
  readonly letterWidthDotsMax: number;
  /** Distance of the first letter's place, and of the last one's, to the border. */
  readonly marginDots: number;
  /** A letter is at most this far from its regular position. */
  readonly jitterXDots: number;
  readonly jitterYDots: number;
  readonly bobDots: number;
  readonly turnDegrees: number;
}

/** No letter or digit that an eye takes for another one while it moves, and none that reads as one in lower case. */
export const alphabet = 'ACEHKLPRVXY347';

/** CSS pixels that a dot is meant to be shown at. */
const cssPixelsPerDot = 3;

/** An eye reads it at a look. So does a program that follows motion: docs/CAPTCHA-STRENGTH.md has the rates. */
const easy = {
  widthDots: 150,
  heightDots: 50,
  letters: 4,
  alphabet,
  frames: 25,
  frameMs: 40,
  amplitudeDots: 4,
  curveDownRad: 1.05,
  curveAcrossRad: 1.5,
  hasStrips: false,
  coherence64: 60,
  capHeightDots: 34,
  letterWidthDotsMax: 26,
  marginDots: 8,
  jitterXDots: 1,
  jitterYDots: 1,
  bobDots: 1,
  turnDegrees: 4,
} as const;

export const profiles: Readonly<Record<ProfileName, PictureProfile>> = {
  default: { ...easy, name: 'default' },
  /** Two thirds of the frames, so of bytes and time: for bursts. On a smaller circle dots are as fast. */
  economy: { ...easy, name: 'economy', frames: 16, amplitudeDots: 3 },
  /**
   * A longer word that moves more, in clouds that turn far along their way across the picture: for client
   * addresses with a bad name. A program that looks for one motion of the whole picture reads none. Its frames
   * are shorter, so a look has more of them, and a program no more than before. L and Y are left out, which
   * other letters look like where a part is missed.
   */
  hard: {
    ...easy,
    name: 'hard',
    letters: 5,
    alphabet: 'ACEHKPRVX347',
    frameMs: 30,
    coherence64: 62,
    letterWidthDotsMax: 24,
    marginDots: 9,
    curveDownRad: 1.5,
    curveAcrossRad: 5,
    hasStrips: true,
    jitterYDots: 3,
    bobDots: 2,
    turnDegrees: 8,
  },
};

/** The displayed size of every picture where there is room, in CSS pixels. */
export const shownSize = {
  width: easy.widthDots * cssPixelsPerDot,
  height: easy.heightDots * cssPixelsPerDot,
} as const;
