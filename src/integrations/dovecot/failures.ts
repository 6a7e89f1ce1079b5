/**
 * Counts failed logins by address until there are enough for a report. Only times are kept: no login, no hash. After
 * a report an address is ignored for as long as its account could not report it again.
 *
 * Bounds: a number of addresses in all, and `ofNetworkMax` of an IPv6 /64, whose oldest is evicted. When the table is
 * full, the account with the most addresses loses the one that has not failed for longest. That one is reported later
 * or never, and no account evicts another one's addresses.
 */

import type { Clock } from '../../core/clock.ts';
import { MaxByCountSet } from '../../core/fair-share.ts';
import { minuteMs } from '../../core/time.ts';
import { networksOf } from '../../ip/networks.ts';

export const failuresForReport = 5;
export const failureWindowMs = 10 * minuteMs;
/** As long as a second report of an address by one account is a duplicate. */
export const reportedMs = 15 * minuteMs;
const ofNetworkMax = 16;
const addressesMax = 65_536;

interface Failing {
  readonly times: readonly number[];
  readonly reportedAtMs: number;
}

/** By client, and then by address; who failed last comes last. */
type Clients = Map<string, Map<string, Failing>>;

interface MailAccount {
  readonly slot: number;
  readonly clients: Clients;
  /** Its addresses. */
  count: number;
}

export function createLoginFailures(clock: Pick<Clock, 'monotonicMs'>, placesMax = addressesMax) {
  const accounts = new Map<number, MailAccount>();
  const held = new MaxByCountSet<MailAccount>();

  function takeOut(slot: number, client: string, ip: string): Failing | undefined {
    const account = accounts.get(slot);
    const addresses = account?.clients.get(client);
    const found = addresses?.get(ip);
    if (account === undefined || addresses === undefined || found === undefined) return undefined;
    held.less(account, account.count--);
    addresses.delete(ip);
    if (addresses.size === 0) account.clients.delete(client);
    if (account.count === 0) accounts.delete(slot);
    return found;
  }

  function makeRoom(): void {
    const { slot, clients } = held.largest()!;
    const [client, addresses] = clients.entries().next().value!;
    takeOut(slot, client, addresses.keys().next().value!);
  }

  function putIn(slot: number, client: string, ip: string, failing: Failing): void {
    const known = accounts.get(slot)?.clients.get(client);
    if (known !== undefined && known.size >= ofNetworkMax) {
      takeOut(slot, client, known.keys().next().value!);
    }
    if (held.total >= placesMax) makeRoom();
    const account = accounts.get(slot) ?? { slot, clients: new Map(), count: 0 };
    accounts.set(slot, account);
    const addresses = account.clients.get(client) ?? new Map();
    // Taken out and put in again: the order is that of the last failures.
    account.clients.delete(client);
    account.clients.set(client, addresses.set(ip, failing));
    held.more(account, account.count++);
  }

  return {
    /**
     * @param slot of the account whose mail server it is
     * @param ip canonical
     * @returns whether it is the last one needed; then the address is quiet for a while
     */
    note(slot: number, ip: string): boolean {
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

export type LoginFailures = ReturnType<typeof createLoginFailures>;
