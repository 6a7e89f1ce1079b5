/** Options and address of the forms about an address. */

import type { Clock } from '../../core/clock.ts';
import { type Failure, fail } from '../../core/result.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { Params } from '../../http/request/query.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { lookBehind } from '../../ip/behind.ts';
import { specialUse } from '../../ip/special.ts';
import { typedAddress } from '../../ip/typed.ts';
import type { Callers } from '../../web/guard/callers.ts';
import type { FormChallenges } from '../../web/guard/form-challenges.ts';
import type { AnyPageBuilder } from '../../web/guard/page-builder.ts';
import type { AnyRequestContext, SessionLike } from '../../web/guard/request-context.ts';
import type { Check } from '../check/check.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import type { AnonymousReports } from './anonymous-reports.ts';
import type { Removals } from './removals.ts';

export interface Requester extends SessionLike {
  readonly accountId: string;
}
export type PersonRequest = AnyRequestContext<Requester>;

export interface RequestPageOptions {
  readonly pageBuilder: AnyPageBuilder<Requester>;
  readonly removals: Removals;
  readonly anonymousReports: AnonymousReports;
  /** Returns the mark of a client's network (queue.ts). */
  readonly networkMark: (clientIp: string) => Uint8Array;
  readonly challenges: FormChallenges;
  readonly callers: Pick<Callers, 'take'>;
  readonly check: Check;
  readonly clock: Clock;
  readonly geo: GeoReader;
  readonly reports: ReportStore;
  /** Returns the slot of an account's first key; undefined: it has none. */
  readonly slotOf: (accountId: string) => number | undefined;
  /** Takes one report from what the account may write. */
  readonly spend: (slot: number) => boolean;
  readonly catchUpTo: (seq: bigint) => Promise<void>;
  readonly allowDocumentation: boolean;
  readonly serverAddresses: readonly string[];
}

export interface Asked {
  readonly ip: string;
  readonly family: 4 | 6;
  readonly words: Uint32Array;
}

export const noAddress = fail('invalid_parameter', undefined, 'address');

/** Reads an address that is public, or an example in the demo; undefined for any other. */
export function addressIn(params: Params, allowDocumentation: boolean): Asked | undefined {
  const words = new Uint32Array(4);
  const family = lookBehind(parseIp(typedAddress(params.get('address') ?? ''), words), words);
  if (family === 0) return undefined;
  const use = specialUse(family, words);
  const isExample = allowDocumentation && use?.documentation === true;
  if (use !== undefined && !use.globallyReachable && !isExample) return undefined;
  return { ip: formatIp(family, words), family, words };
}

export function tooMany(retryAfterSeconds: number): Failure {
  return { ...fail('too_many_attempts'), retryAfterSeconds };
}

export function isVerified({ session }: PersonRequest): boolean {
  return session?.verified === true && session.factorDue === undefined;
}
