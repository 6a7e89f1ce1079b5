/** A request for removal granted: what was said of the address is taken back, at no cost of trust. */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { parseIp } from '../../ip/address.ts';
import { textBehind } from '../../ip/behind.ts';
import type { Store } from '../../storage/store.ts';
import { createAllowlist } from '../lists/allowlist.ts';
import { createReportStore } from '../reports/store/report-store.ts';
import { createRemovals } from './removals.ts';

const reportsPerStep = 10_000;

/**
 * The request goes last, so that one that was cut short can be granted again.
 * @param given canonical
 * @param allow put it on the allowlist too, so that no list blocks it
 * @returns how many reports went; `not_found` without a request
 */
export async function acceptRemoval(
  parts: { store: Store; clock: Clock; random: Random },
  given: string,
  allow: boolean,
): Promise<Result<number>> {
  const removals = createRemovals(parts);
  const isKept = (await removals.find(given)) !== undefined;
  const address = isKept ? given : textBehind(given);
  if ((await removals.find(address)) === undefined) {
    return fail('not_found', `there is no request for ${address}`);
  }
  const removed = await retractAll(parts, address);
  if (!removed.ok) return removed;
  if (allow) {
    const allowed = await createAllowlist(parts).add(address, 'asked for its removal');
    if (!allowed.ok) return allowed;
  }
  const done = await removals.remove(address);
  return done.ok ? removed : done;
}

async function retractAll(
  parts: { store: Store; clock: Clock; random: Random },
  address: string,
): Promise<Result<number>> {
  const reports = createReportStore(parts);
  const words = new Uint32Array(4);
  const family = parseIp(address, words) as 4 | 6;
  let removed = 0;
  async function retract(said: readonly { readonly account: string }[]): Promise<Result<void>> {
    for (const account of new Set(said.map((one) => one.account))) {
      const gone = await reports.withdraw(account, family, words, false);
      if (!gone.ok) return gone;
      removed += gone.value.removed;
    }
    return ok(undefined);
  }
  for (;;) {
    const found = await reports.list(family, words, 0, reportsPerStep);
    const before = removed;
    const done = await retract(found);
    if (!done.ok) return done;
    if (found.length < reportsPerStep || removed === before) break;
  }
  for await (const page of reports.tails(family, words)) {
    const done = await retract(page);
    if (!done.ok) return done;
  }
  return ok(removed);
}
