/**
 * Byte ranges (RFC 9110, 14): one range of a GET. Several ranges, another unit and what is no
 * range at all are ignored, as the RFC allows, and the whole is sent.
 */

export interface ByteRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** Returns undefined when the whole is to be sent; `unsatisfiable` when nothing of the range exists (416). */
export function parseRange(
  lines: readonly string[],
  total: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [line, ...more] = lines;
  const match = /^bytes=(\d{0,40})-(\d{0,40})$/i.exec(line?.trim() ?? '');
  if (match === null || more.length > 0) return undefined;
  const [, from, to] = match as unknown as [string, string, string];
  if (from === '') {
    if (to === '') return undefined;
    const length = Math.min(Number(to), total);
    return length === 0 ? 'unsatisfiable' : { first: total - length, last: total - 1 };
  }
  if (to !== '' && Number(to) < Number(from)) return undefined;
  if (Number(from) >= total) return 'unsatisfiable';
  const last = to === '' ? total - 1 : Math.min(Number(to), total - 1);
  return { first: Number(from), last };
}

/** The bytes of a range, as views. */
export function sliceParts(parts: readonly Uint8Array[], range: ByteRange): Uint8Array[] {
  const slices: Uint8Array[] = [];
  let before = 0;
  for (const part of parts) {
    const from = Math.max(0, range.first - before);
    const to = Math.min(part.length, range.last + 1 - before);
    if (from < to) slices.push(part.subarray(from, to));
    before += part.length;
  }
  return slices;
}
