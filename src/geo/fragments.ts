/**
 * Country and provider of an address as ready JSON, so that a check quotes no name twice: a
 * name is encoded the first time its id is met, then found by the id.
 */

import type { IpFamily } from '../ip/address.ts';
import { countryOf, type GeoReader, providerOf } from './reader.ts';

export interface GeoFragments {
  /** `"countryCode":"FR","isp":"…"`, to stand among other members of an object. */
  fragment(family: IpFamily, words: Uint32Array): string;
}

export function createGeoFragments(geo: GeoReader): GeoFragments {
  const countries = new Array<string | undefined>(geo.countryCount).fill(undefined);
  const providers = new Array<string | undefined>(geo.providerCount).fill(undefined);
  return {
    fragment(family, words) {
      const ids = geo.find(family, words);
      const country = countryOf(ids);
      const provider = providerOf(ids);
      countries[country] ??= `"countryCode":${JSON.stringify(geo.country(country))},`;
      providers[provider] ??= `"isp":${JSON.stringify(geo.provider(provider))}`;
      return countries[country] + providers[provider];
    },
  };
}
