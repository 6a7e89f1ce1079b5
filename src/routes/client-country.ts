/** The country from which somebody reports: kept with the report, shown beside it. */

import { countryOf, type GeoReader, unknownCountry } from '../geo/reader.ts';
import { parseIp } from '../ip/address.ts';

export function clientCountry(geo: GeoReader, clientIp: string): string {
  const words = new Uint32Array(4);
  const family = parseIp(clientIp, words);
  return family === 0 ? unknownCountry : geo.country(countryOf(geo.find(family, words)));
}
