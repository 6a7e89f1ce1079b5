/**
 * What a picture file is beside its first image, told from the chunks it consists of: an animation,
 * or a file of another kind that begins where the picture ends. Never looks into a chunk, and never
 * outside of the bytes; what is cut off is for the decoder to find.
 *
 * PNG (RFC 2083 and APNG) and WebP (RFC 9649) alone. Cameras put a film or a second picture behind a
 * JPEG, so that is no sign of anything there; like all that isn't pixels, it is not kept.
 */

/** `still`: one picture and nothing behind it, as far as the bytes go. */
export type Container = 'still' | 'animated' | 'followed';

const pngHeaderBytes = 8;
/** Length, name and checksum around the data of a PNG's chunk. */
const pngChunkBytes = 12;
const riffHeaderBytes = 12;
const riffChunkBytes = 8;

export function pngContainer(file: Uint8Array): Container {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  for (let at = pngHeaderBytes; at + pngChunkBytes <= bytes.length; ) {
    const name = bytes.toString('latin1', at + 4, at + 8);
    if (name === 'acTL') return 'animated';
    at += pngChunkBytes + bytes.readUInt32BE(at);
    if (name === 'IEND') return at < bytes.length ? 'followed' : 'still';
  }
  return 'still';
}

export function webpContainer(file: Uint8Array): Container {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < riffHeaderBytes) return 'still';
  const end = riffChunkBytes + bytes.readUInt32LE(4);
  for (let at = riffHeaderBytes; at + riffChunkBytes <= Math.min(end, bytes.length); ) {
    const name = bytes.toString('latin1', at, at + 4);
    if (name === 'ANIM' || name === 'ANMF') return 'animated';
    const size = bytes.readUInt32LE(at + 4);
    // Padded to an even length.
    at += riffChunkBytes + size + (size % 2);
  }
  return bytes.length > end ? 'followed' : 'still';
}
