/**
 * Decodes bytes to text, strictly: bytes that are not UTF-8 are refused. Free text alone may be
 * repaired, where a refusal would lose the values that came with it.
 */

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Returns undefined if the bytes are not UTF-8. A byte order mark is dropped. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

const repairing = new TextDecoder('utf-8');

/** Decodes with U+FFFD in place of bytes that are not UTF-8, such as half a character at a cut. */
export function repairUtf8(bytes: Uint8Array): string {
  return repairing.decode(bytes);
}
