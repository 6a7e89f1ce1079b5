/**
 * The operator's logo: a small PNG or SVG file, read once at start. An SVG may hold scripts, which no page runs:
 * pages show it as a picture, and its own address has a policy without any (web/assets.ts).
 */

import { readFileSync, statSync } from 'node:fs';
import { OperatorError } from '../core/errors.ts';

export interface SiteLogo {
  readonly type: 'image/png' | 'image/svg+xml';
  readonly bytes: Uint8Array;
  /** Width and height in pixels, as `192x192`; `any` of an SVG. */
  readonly sizes: string;
}

const bytesMax = 65_536;
const sideMax = 2_048;
const pngBegin = Buffer.from('89504e470d0a1a0a', 'hex');
/** The last chunk, with its checksum. */
const pngEnd = Buffer.from('49454e44ae426082', 'hex');
/**
 * A declaration and comments may stand before the element; a document type may not: it can hold entities
 * without end.
 */
const svgBegin = /^\uFEFF?\s*(<\?xml[^>]{0,200}\?>\s*)?(<!--[\s\S]{0,4000}?-->\s*)*<svg[\s>]/;
const svgNamespace = /xmlns\s*=\s*["']http:\/\/www\.w3\.org\/2000\/svg["']/;

/** @throws OperatorError for a logo that can't be used */
export function readLogo(path: string): SiteLogo {
  const refused = (reason: string) => new OperatorError(`SITE_LOGO ${path} ${reason}`);
  const large = () => refused(`has more than ${bytesMax / 1_024} KiB`);
  let bytes: Buffer;
  try {
    // A pipe or a device has no end that one could wait for.
    const found = statSync(path);
    if (!found.isFile()) throw refused('is not a file');
    if (found.size > bytesMax) throw large();
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw refused(`can't be read: ${(error as Error).message}`);
  }
  if (bytes.length > bytesMax) throw large();
  if (bytes.subarray(0, pngBegin.length).equals(pngBegin) && bytes.length >= 33) {
    const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
    const isFit = Math.min(width, height) > 0 && Math.max(width, height) <= sideMax;
    if (!isFit) throw refused(`has more than ${sideMax} pixels on a side, or none`);
    if (!bytes.includes(pngEnd)) throw refused('is cut off');
    return { type: 'image/png', bytes, sizes: `${width}x${height}` };
  }
  const text = bytes.toString('utf8');
  if (!svgBegin.test(text)) throw refused('is not a PNG or SVG picture');
  if (!svgNamespace.test(text)) throw refused('lacks xmlns="http://www.w3.org/2000/svg"');
  return { type: 'image/svg+xml', bytes, sizes: 'any' };
}

/** The file's name below /static/. */
export function logoName({ type }: Pick<SiteLogo, 'type'>): string {
  return type === 'image/png' ? 'site-logo.png' : 'site-logo.svg';
}
