/**
 * The network that an account reports from, as one number: its provider, else the IPv4 /16 or IPv6
 * /32; all anonymous exits are one. Earned votes count once per network (quorum.ts), so that one
 * provider's customer with many accounts is one vote. The number goes into the journal's event: the
 * reducer looks nothing up, and each node reaches the same state whatever its tables say.
 */

import type { Clock } from '../../core/clock.ts';
import { fnv1a } from '../../core/crypto.ts';
import { type GeoReader, providerOf } from '../../geo/reader.ts';
import type { IpWords } from '../../ip/address.ts';
import { readJudgedIp } from '../../ip/embedded-ipv4.ts';
import type { Check } from '../check/check.ts';

interface ClientNetworkOptions {
  readonly geo: GeoReader;
  readonly check: Pick<Check, 'judge'>;
  readonly clock: Clock;
}

/** Returns 0 for what is no address. */
export function clientNetwork(options: ClientNetworkOptions, clientIp: string): number {
  const { geo, check, clock } = options;
  const ip = readJudgedIp(clientIp);
  if (ip === undefined) return 0;
  const { family, words } = ip;
  const provider = providerOf(geo.find(family, words));
  return networkNumber({
    family,
    words,
    isAnonymousExit: check.judge(family, words, clock.now()).anonymousExit,
    provider: provider === 0 ? undefined : geo.provider(provider),
  });
}

/** Bits that the reducer keeps. Two networks with one number count as one, which is harmless. */
const bits = 16;

interface ReporterAddress extends IpWords {
  readonly isAnonymousExit: boolean;
  /** Name of the provider; undefined when unknown. */
  readonly provider: string | undefined;
}

function networkNumber(from: ReporterAddress | undefined): number {
  if (from === undefined) return 0;
  const { family, words, isAnonymousExit, provider } = from;
  if (isAnonymousExit) return numberOf('exits');
  if (provider !== undefined) return numberOf(`provider ${provider}`);
  const first = words[0]!;
  return numberOf(family === 4 ? `4 ${first >>> 16}` : `6 ${first}`);
}

/** Returns FNV-1a, folded to 16 bits; never 0, which stands for an unknown network. */
function numberOf(name: string): number {
  const hash = fnv1a(name);
  const folded = ((hash >>> bits) ^ hash) & 0xffff;
  return folded === 0 ? 1 : folded;
}
