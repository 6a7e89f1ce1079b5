/** Units of time, in the unit that a name ends with, and durations as people write them, such as 24h. */

const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

export const hourSeconds = 3_600;
/** The last hour since 1970 whose seconds fit into 32 bits. */
export const lastHour32 = Math.floor(0xffff_ffff / hourSeconds);
export const daySeconds = 24 * hourSeconds;

/** A clock that was ahead by over a day signed this, and was set back: it would be good for as much too long. */
export function isOfFuture(endsAt: number, nowMs: number, lifeMs: number): boolean {
  return endsAt - nowMs > lifeMs + dayMs;
}

const unitMs = { s: 1_000, m: minuteMs, h: hourMs, d: dayMs } as const;

/** Milliseconds of a text such as 24h; undefined when it is none from 1 second to 365 days. */
export function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,8})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * unitMs[unit as keyof typeof unitMs];
  return ms >= unitMs.s && ms <= 365 * unitMs.d ? ms : undefined;
}

export const durationRule = 'must be a duration such as 24h, 90m or 7d';
