/**
 * A zip whose bytes follow from names and contents alone: not from the clock, the time zone, the
 * locale, file times or the umask. Entries are sorted by code unit; folders have no entries.
 */

import { type Zippable, zipSync } from 'fflate';

export interface KitFile {
  /** With `/`, from the root of the archive. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * The archive stores local time without a zone, and the library reads it off with local methods:
 * so this is given in local time too. Noon: midnight is missing on some days in some places.
 */
const modifiedAt = () => new Date(2020, 0, 1, 12);
/** Unix: a regular file, rw-r--r--. */
const attributes = 0o100644 << 16;
const unix = 3;
const deflateLevel = 9;
/** A file that is a zip already gains nothing. */
const levelOf = (name: string) => (name.endsWith('.zip') ? 0 : deflateLevel);

export function zipKit(files: readonly KitFile[]): Uint8Array {
  const entries: Zippable = {};
  const sorted = [...files].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  for (const { name, bytes } of sorted) {
    if (name in entries) throw new Error(`kit file twice: ${name}`);
    entries[name] = [
      bytes,
      { level: levelOf(name), mtime: modifiedAt(), os: unix, attrs: attributes },
    ];
  }
  return zipSync(entries);
}
