/** Numbers, dates and country names as a reader of a language expects them. Dates are UTC and say so. */

import { h } from 'preact';
import { type Language, languages } from '../../core/language.ts';
import { once, type Preparation } from '../../core/preparation.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';
import type { Html } from '../html.ts';

const locales: Record<Language, string> = { en: 'en-GB', fr: 'fr-FR' };

/** `2026-11-21T09:30:00Z`, for `datetime` attributes. */
export function machineTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

const byteUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;

/** Making one takes up to some milliseconds, so each is made when it is first asked for. */
function createFormat(language: Language) {
  const locale = locales[language];
  const number = once(() => new Intl.NumberFormat(locale));
  const bytes = byteUnits.map((unit) =>
    once(
      () =>
        new Intl.NumberFormat(locale, {
          style: 'unit',
          unit,
          maximumSignificantDigits: 2,
          // Written out: English has no plural of the short form.
          unitDisplay: unit === 'byte' ? 'long' : 'short',
        }),
    ),
  );
  const dates = (options: Intl.DateTimeFormatOptions) =>
    once(() => new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }));
  const day = dates({ dateStyle: 'medium' });
  const shortDay = dates({ day: 'numeric', month: 'short' });
  const moment = dates({ dateStyle: 'medium', timeStyle: 'short' });
  const shortMoment = dates({
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  const relative = once(() => new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }));
  const brief = once(
    () => new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' }),
  );
  const regions = once(() => new Intl.DisplayNames(locale, { type: 'region', fallback: 'none' }));
  return {
    /** Makes what most pages use. */
    preparations: [number, day, moment, shortMoment, brief, regions] as const,
    number: (value: number): string => number().format(value),
    /** `0 B`, `1.4 kB`, `36 MB`: two figures, thousands. */
    bytes(value: number): string {
      const power = Math.floor(Math.log10(Math.max(1, value)) / 3);
      const unit = Math.min(power, byteUnits.length - 1);
      return bytes[unit]!().format(value / 1_000 ** unit);
    },
    /** `21 Nov 2026`. */
    day: (epochMs: number): string => day().format(epochMs),
    /** `21 Nov`, where the year is plain. */
    shortDay: (epochMs: number): string => shortDay().format(epochMs),
    /** `21 Nov 2026, 09:30 UTC`. */
    moment: (epochMs: number): string => `${moment().format(epochMs)} UTC`,
    /** The same as an element, in which the page's script tells it by the reader's own clock, with UTC on hover. */
    time: (epochMs: number): Html =>
      h('time', { datetime: machineTime(epochMs) }, `${moment().format(epochMs)} UTC`),
    /** `21 Nov, 09:30 UTC`, where the year is plain. */
    shortMoment: (epochMs: number): string => `${shortMoment().format(epochMs)} UTC`,
    /** `today`, `3 days ago`; from whole days between two instants. */
    ago(epochMs: number, nowMs: number): string {
      const days = Math.max(0, Math.floor(nowMs / dayMs) - Math.floor(epochMs / dayMs));
      if (days < 60) return relative().format(-days, 'day');
      return relative().format(-Math.round(days / 30.44), 'month');
    },
    /** `5 min ago`, `in 3 days`, within a week, else the day; an element with the moment on hover. */
    near(epochMs: number, nowMs: number): Html {
      const away = epochMs - nowMs;
      const steps = [
        ['second', minuteMs, 0],
        ['minute', hourMs, Math.trunc(away / minuteMs)],
        ['hour', dayMs, Math.trunc(away / hourMs)],
        ['day', 7 * dayMs, Math.floor(epochMs / dayMs) - Math.floor(nowMs / dayMs)],
      ] as const;
      const step = steps.find(([, below]) => Math.abs(away) < below);
      return h(
        'time',
        { class: 'near', datetime: machineTime(epochMs), title: `${moment().format(epochMs)} UTC` },
        step === undefined ? day().format(epochMs) : brief().format(step[2], step[0]),
      );
    },
    /** Name of an ISO 3166 code, or undefined when it has none (`ZZ`, malformed). */
    country(code: string): string | undefined {
      if (!/^[A-Z]{2}$/.test(code) || code === 'ZZ') return undefined;
      return regions().of(code);
    },
  };
}

export type Format = ReturnType<typeof createFormat>;

const formats: Record<Language, Format> = { en: createFormat('en'), fr: createFormat('fr') };

/** One language after the other, so that no page waits for all of it. */
export const formatPreparations: readonly Preparation[] = languages.flatMap((language) =>
  formats[language].preparations.map((one) => () => void one()),
);

export function formatFor(language: Language): Format {
  return formats[language];
}

/**
 * Names of what is numbered from 1, such as categories of reports; a number without one stays a number.
 * @param names that of number 1 comes first
 */
export function namesText(numbers: readonly number[], names: readonly string[]): string {
  return numbers.map((number) => names[number - 1] ?? String(number)).join(', ');
}
