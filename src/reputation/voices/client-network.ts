/** From which network somebody reports: it goes into the journal with the report. */

import type { Clock } from '../../core/clock.ts';
import { type GeoReader, providerOf } from '../../geo/reader.ts';
import { parseIp } from '../../ip/address.ts';
import { lookBehind } from '../../ip/behind.ts';
import type { Check } from '../check/check.ts';
import { networkNumber } from './network.ts';

export interface ClientNetworkOptions {
  readonly geo: GeoReader;
  readonly check: Pick<Check, 'judge'>;
  readonly clock: Clock;
}

/** See reputation/voices/network.ts. 0 for what is no address. */
export function clientNetwork(options: ClientNetworkOptions, clientIp: string): number {
  const { geo, check, clock } = options;
  const words = new Uint32Array(4);
  const family = lookBehind(parseIp(clientIp, words), words);
  if (family === 0) return 0;
  const provider = providerOf(geo.find(family, words));
  return networkNumber({
    family,
    words,
    isAnonymousExit: check.judge(family, words, clock.now()).anonymousExit,
    provider: provider === 0 ? undefined : geo.provider(provider),
  });
}
