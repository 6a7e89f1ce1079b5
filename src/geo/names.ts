/** Names by small ids, as the range tables hold them. Id 0 is "no name" in every table. */

/** Ids share a 31-bit value with the other table's: see layout.ts. */
const countryIdMax = 0x3ff;
const providerIdMax = 0x1f_ffff;

/** Longest name kept, in UTF-16 units; real ones stay under 150. */
const nameLengthMax = 200;

export interface NameTable {
  /** The id of `name`, or 0 when it is not a usable name or the table is full. */
  idOf(name: string): number;
  /** By id; entry 0 is empty. */
  readonly names: readonly string[];
}

function createNameTable(idMax: number, clean: (name: string) => string): NameTable {
  const names = [''];
  const ids = new Map<string, number>([['', 0]]);
  return {
    names,
    idOf(name) {
      const cleaned = clean(name);
      const known = ids.get(cleaned);
      if (known !== undefined) return known;
      if (names.length > idMax) return 0;
      ids.set(cleaned, names.length);
      return names.push(cleaned) - 1;
    },
  };
}

/** ISO 3166-1 alpha-2 codes, upper case. "ZZ" means unknown and has no id of its own. */
export function createCountryNames(): NameTable {
  return createNameTable(countryIdMax, (name) => {
    const code = name.toUpperCase();
    return /^[A-Z]{2}$/.test(code) && code !== 'ZZ' ? code : '';
  });
}

const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Names of providers, without control characters and outer spaces. */
export function createProviderNames(): NameTable {
  return createNameTable(providerIdMax, (name) => {
    const short = name.length > nameLengthMax ? name.slice(0, nameLengthMax) : name;
    return (control.test(short) ? short.replace(/\p{Cc}|[\u2028\u2029]/gu, ' ') : short).trim();
  });
}
