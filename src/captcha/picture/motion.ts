/**
 * Where everything is in each frame. Both clouds run along a circle, always opposite each other,
 * so the loop has no seam and no wrap-around. A straight loop around the edge would show the
 * letters in the mean of all frames: each column's mean would differ inside and outside them.
 */

import type { Profile } from '../challenge/profile.ts';
import type { Keystream } from './keystream.ts';

const turn = 2 * Math.PI;

/** Offset of the letters' cloud in each frame, in dots; the background's is its negative. */
export interface Orbit {
  readonly dx: Int16Array;
  readonly dy: Int16Array;
}

/** A letter's own slow movement, one full swing a loop. */
export interface LetterMotion {
  /** Centre of the letter at rest. */
  readonly centreX: number;
  readonly centreY: number;
  readonly bobPhase: number;
  readonly turnPhase: number;
}

export function orbit(profile: Profile, stream: Keystream): Orbit {
  const { frames, amplitudeDots } = profile;
  const phase = stream.unit() * turn;
  const sense = stream.below(2) === 0 ? 1 : -1;
  const dx = new Int16Array(frames);
  const dy = new Int16Array(frames);
  for (let k = 0; k < frames; k++) {
    const angle = phase + (sense * turn * k) / frames;
    dx[k] = Math.round(amplitudeDots * Math.cos(angle));
    dy[k] = Math.round(amplitudeDots * Math.sin(angle));
  }
  return { dx, dy };
}

const jitterDots = 1;
const marginDots = 3;

/** Where letter `i` stands before jitter, dots from the left. */
export function letterCentre(profile: Profile, i: number): number {
  const first = marginDots + profile.letterWidthDotsMax / 2;
  return first + (i * (profile.widthDots - 2 * first)) / (profile.letters - 1);
}

export function letterMotions(profile: Profile, stream: Keystream): LetterMotion[] {
  const { letters, heightDots } = profile;
  return Array.from({ length: letters }, (_, i) => ({
    centreX: letterCentre(profile, i) + stream.below(2 * jitterDots + 1) - jitterDots,
    centreY: heightDots / 2 + stream.below(2 * jitterDots + 1) - jitterDots,
    bobPhase: stream.unit() * turn,
    turnPhase: stream.unit() * turn,
  }));
}

/** Vertical offset of a letter in frame `k`, dots. */
export function bobAt(profile: Profile, letter: LetterMotion, k: number): number {
  return profile.bobDots * Math.sin(letter.bobPhase + (turn * k) / profile.frames);
}

/** Turn of a letter in frame `k`, whole degrees, counter-clockwise. */
export function turnAt(profile: Profile, letter: LetterMotion, k: number): number {
  return Math.round(profile.turnDegrees * Math.sin(letter.turnPhase + (turn * k) / profile.frames));
}
