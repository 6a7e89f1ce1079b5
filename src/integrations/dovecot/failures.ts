/**
 * Failed logins of addresses, until there are enough for a report. Only when they came is held: no login,
 * no hash. An address that was reported is quiet for as long as its account could not report it again.
 *
 * Bounds: so many addresses in all, and `ofNetworkMax` of an IPv6 /64, whose oldest makes room. When the table
 * is full the account with most makes room, by the client of its own that has not failed for longest: that is
 * reported later or never, and nobody pushes out another account's.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { CountsByKey } from '../../core/counts-by-key.ts';
import { minuteMs } from '../../core/time.ts';
import { networksOf } from '../../ip/networks.ts';

export const failuresForReport = 5;
export const failureWindowMs = 10 * minuteMs;
/** As long as a second report of an address by one account is a duplicate. */
export const reportedMs = 15 * minuteMs;
const ofNetworkMax = 16;
const addressesMax = 65_536;

export interface LoginFailures {
  /**
   * @param slot of the account whose mail server it is
   * @param ip canonical
   * @returns whether it is the last one needed; then the address is quiet for a while
   */
  note(slot: number, ip: string): boolean;
  readonly table: BoundedTable;
}

interface Failing {
  readonly times: readonly number[];
  readonly reportedAtMs: number;
}

/** By client, and then by address; who failed last comes last. */
type Clients = Map<string, Map<string, Failing>>;

export function createLoginFailures(
  clock: Pick<Clock, 'monotonicMs'>,
  placesMax = addressesMax,
): LoginFailures {
  const slots = new Map<number, Clients>();
  /** Addresses by slot. */
  const held = new CountsByKey();

  function takeOut(slot: number, client: string, ip: string): Failing | undefined {
    const clients = slots.get(slot);
    const addresses = clients?.get(client);
    const found = addresses?.get(ip);
    if (clients === undefined || addresses === undefined || found === undefined) return undefined;
    held.change(String(slot), -1);
    addresses.delete(ip);
    if (addresses.size === 0) clients.delete(client);
    if (clients.size === 0) slots.delete(slot);
    return found;
  }

  function makeRoom(): void {
    let most = slots.keys().next().value!;
    for (const slot of slots.keys()) {
      if (held.of(String(slot)) > held.of(String(most))) most = slot;
    }
    const [client, addresses] = slots.get(most)!.entries().next().value!;
    takeOut(most, client, addresses.keys().next().value!);
  }

  function putIn(slot: number, client: string, ip: string, failing: Failing): void {
    const known = slots.get(slot)?.get(client);
    if (known !== undefined && known.size >= ofNetworkMax) {
      takeOut(slot, client, known.keys().next().value!);
    }
    if (held.total >= placesMax) makeRoom();
    const clients: Clients = slots.get(slot) ?? new Map();
    const addresses = clients.get(client) ?? new Map();
    // Taken out and put in again: the order is that of the last failures.
    clients.delete(client);
    slots.set(slot, clients.set(client, addresses.set(ip, failing)));
    held.change(String(slot), 1);
  }

  return {
    note(slot, ip) {
      const nowMs = clock.monotonicMs();
      const { client } = networksOf(ip);
      const known = takeOut(slot, client, ip);
      const { times = [], reportedAtMs = Number.NEGATIVE_INFINITY } = known ?? {};
      if (nowMs - reportedAtMs < reportedMs) {
        putIn(slot, client, ip, known!);
        return false;
      }
      const recent = [...times.filter((atMs) => atMs > nowMs - failureWindowMs), nowMs];
      const isEnough = recent.length >= failuresForReport;
      const next = isEnough ? { times: [], reportedAtMs: nowMs } : { times: recent, reportedAtMs };
      putIn(slot, client, ip, next);
      return isEnough;
    },
    table: { name: 'login_failures', used: () => held.total, limit: placesMax },
  };
}
