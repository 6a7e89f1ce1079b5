/**
 * The colours of an operator's accent in both themes, each legible on every ground that it stands on: WCAG 2.2
 * asks for a contrast of 4.5 between text and its ground. A colour that is not is moved in lightness alone
 * (OKLCH: https://www.w3.org/TR/css-color-4/#ok-lab), so that it stays the operator's hue.
 */

/** All are `#rrggbb`. */
interface AccentColours {
  readonly accent: string;
  readonly hover: string;
  /** The text on the accent. */
  readonly on: string;
  /** The ground of a chosen row, which text in the accent stands on. */
  readonly tint: string;
}

export interface Accent {
  readonly light: AccentColours;
  readonly dark: AccentColours;
}

export const contrastMin = 4.5;

type Triple = readonly [number, number, number];

/** The grounds are those of app.css, where a test finds them. */
const themes = {
  light: { grounds: ['#f2f4f3', '#ffffff', '#e7ebea'], on: '#ffffff', step: -0.002, end: 0 },
  dark: { grounds: ['#0c131a', '#131d27', '#080e14'], on: '#0b1a2a', step: 0.002, end: 1 },
} as const;
type ThemeName = keyof typeof themes;

const hexPattern = /^#[0-9a-f]{6}$/i;

const channels = (hex: string): Triple => {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
};
const mapTriple = ([r, g, b]: Triple, change: (part: number, i: number) => number): Triple => [
  change(r, 0),
  change(g, 1),
  change(b, 2),
];
const hexOf = (rgb: Triple): string =>
  `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
const linear = (part: number): number =>
  part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
const encoded = (part: number): number =>
  part <= 0.0031308 ? part * 12.92 : 1.055 * part ** (1 / 2.4) - 0.055;

function luminance(hex: string): number {
  const [r, g, b] = mapTriple(channels(hex), (part) => linear(part / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Returns the contrast of two colours, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function mix(hex: string, other: string, share: number): string {
  const [a, b] = [channels(hex), channels(other)];
  return hexOf(mapTriple(a, (part, i) => part * (1 - share) + b[i]! * share));
}

function coloursOf(hex: string, theme: ThemeName): AccentColours {
  const { on, grounds } = themes[theme];
  const isLight = theme === 'light';
  return {
    accent: hex.toLowerCase(),
    hover: isLight ? mix(hex, '#000000', 0.28) : mix(hex, '#ffffff', 0.32),
    on,
    tint: mix(grounds[1], hex, isLight ? 0.12 : 0.1),
  };
}

/** Returns the least contrast of the colour in the theme: as text on its grounds, and under the text on it. */
export function lowestContrast(hex: string, theme: ThemeName): number {
  const { accent, on, tint } = coloursOf(hex, theme);
  return Math.min(...[...themes[theme].grounds, on, tint].map((other) => contrast(accent, other)));
}

function toOklab(hex: string): Triple {
  const [r, g, b] = mapTriple(channels(hex), (part) => linear(part / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** Returns undefined outside of what a screen shows. */
function fromOklab([lightness, a, b]: Triple): string | undefined {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const rgb: Triple = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  // A rounding error is no other colour.
  if (rgb.some((part) => part < -0.0005 || part > 1.0005)) return undefined;
  return hexOf(mapTriple(rgb, (part) => 255 * encoded(Math.min(1, Math.max(0, part)))));
}

/** Returns the colour at another lightness, as strong as a screen can show it there. */
function atLightness([, a, b]: Triple, lightness: number): string {
  for (let strength = 1; strength > 0; strength -= 0.02) {
    const found = fromOklab([lightness, a * strength, b * strength]);
    if (found !== undefined) return found;
  }
  return fromOklab([lightness, 0, 0]) ?? (lightness > 0.5 ? '#ffffff' : '#000000');
}

/** Returns the colour itself where it fits, else the nearest of its hue that does. */
export function nearestFit(hex: string, theme: ThemeName): string {
  if (lowestContrast(hex, theme) >= contrastMin) return hex.toLowerCase();
  const lab = toOklab(hex);
  const { step, end } = themes[theme];
  for (let l = lab[0] + step; step < 0 ? l > end : l < end; l += step) {
    const found = atLightness(lab, l);
    if (lowestContrast(found, theme) >= contrastMin) return found;
  }
  return theme === 'light' ? '#000000' : '#ffffff';
}

/**
 * Reads `#rrggbb`, the colour of the light theme, or two with a comma between, the second of the dark one: alone,
 * the first is lightened for it. Returns what is wrong as text that follows the setting's name.
 */
export function readAccent(text: string): Accent | string {
  const parts = text.split(',').map((part) => part.trim());
  const [first = '', second] = parts;
  if (parts.length > 2 || !parts.every((part) => hexPattern.test(part))) {
    return 'must be a colour such as #16416f, or two: of the light and of the dark theme';
  }
  const given = [['light', first] as const, ...(second ? [['dark', second] as const] : [])];
  const faults = given
    .filter(([theme, hex]) => lowestContrast(hex, theme) < contrastMin)
    .map(
      ([theme, hex]) =>
        `${hex} has a contrast of ${lowestContrast(hex, theme).toFixed(1)} in the ${theme} theme: the nearest colour that fits is ${nearestFit(hex, theme)}`,
    );
  if (faults.length > 0) return `must have a contrast of ${contrastMin}; ${faults.join('; ')}`;
  return {
    light: coloursOf(first, 'light'),
    dark: coloursOf(second ?? nearestFit(first, 'dark'), 'dark'),
  };
}
