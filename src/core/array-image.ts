/**
 * Typed arrays as named blobs and back, for the snapshot that makes a start fast. The blobs are
 * in the machine's byte order: such a file never leaves the machine.
 */

/** Names: 1 to 32 of a-z 0-9 . - */
export type ArrayImage = ReadonlyMap<string, Uint8Array>;

/** A view of the array's bytes, not a copy. */
export function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Copies a blob to the front of `target`. False, and nothing copied: missing, or it doesn't fit. */
export function restoreArray(
  image: ArrayImage,
  name: string,
  target: ArrayBufferView & { readonly BYTES_PER_ELEMENT: number },
): boolean {
  const bytes = image.get(name);
  if (bytes === undefined || bytes.byteLength > target.byteLength) return false;
  if (bytes.byteLength % target.BYTES_PER_ELEMENT !== 0) return false;
  bytesOf(target).set(bytes);
  return true;
}
