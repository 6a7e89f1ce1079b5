/**
 * Decides which reports are accepted, before anything is written. The index must have room, and an account may add a
 * limited number of new addresses a day, since one account could fill the index alone. New addresses in reports under
 * way count too: a file has hundreds of them at a time.
 */

import type { CatchUpTo } from '../../contracts/memory.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Entries } from '../state/entries.ts';

type Settle = (seq?: bigint) => void;

interface Address {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
}

const nothingToSettle: Result<Settle> = ok(() => undefined);

export function createReportAdmission(options: {
  entries: Pick<Entries, 'hasRoomFor' | 'get'>;
  clock: Clock;
  /** On the UTC day of `at`. */
  newAddresses: (slot: number, at: number) => { limit: number; used: number };
  secondsLeftOfDay: (at: number) => number;
  /** Resolves when the event is counted among `newAddresses`; may reject when it never will be. */
  catchUpTo: CatchUpTo;
}) {
  const { entries, clock, newAddresses, secondsLeftOfDay, catchUpTo } = options;
  /** New addresses under way, of the accounts that have some. */
  const underWay = new Map<number, Map<string | number, Address>>();

  const isKnown = ({ family, words }: Address) =>
    entries.get(family, words, family === 4 ? 32 : 128) !== 0;

  function enter(slot: number, name: string | number, address: Address): Settle {
    const own = underWay.get(slot) ?? new Map();
    underWay.set(slot, own.set(name, address));
    function leave(): void {
      own.delete(name);
      if (own.size === 0 && underWay.get(slot) === own) underWay.delete(slot);
    }
    return (seq) => {
      if (seq === undefined) leave();
      else catchUpTo(seq).then(leave, leave);
    };
  }

  /**
   * Returns true when an account has no new address left today. An event is counted before its writer
   * learns of it: near the limit those are left out that would count twice.
   */
  function isSpent(slot: number, now: number): boolean {
    const { limit, used } = newAddresses(slot, now);
    const own = underWay.get(slot);
    if (own === undefined || used + own.size < limit) return used >= limit;
    for (const [name, address] of own) if (isKnown(address)) own.delete(name);
    return used + own.size >= limit;
  }

  return {
    /**
     * `capacity_exceeded`, `address_quota_exceeded`; else it may be written.
     * @returns to be called once, with the position of the report's event, or without when there is none
     */
    admit(slot: number, family: 4 | 6, words: Uint32Array): Result<Settle> {
      if (!entries.hasRoomFor(family, words)) {
        return fail('capacity_exceeded', 'No more addresses can be recorded at the moment.');
      }
      if (isKnown({ family, words })) return nothingToSettle;
      const name = family === 4 ? words[0]! : words.join();
      // It counts once; the first of its reports settles it.
      if (underWay.get(slot)?.has(name) === true) return nothingToSettle;
      const now = clock.now();
      if (!isSpent(slot, now)) return ok(enter(slot, name, { family, words: words.slice() }));
      const { limit } = newAddresses(slot, now);
      const detail =
        `The limit of ${limit} new addresses a day is reached. ` +
        'Addresses that were reported before can still be reported.';
      const failure = fail('address_quota_exceeded', detail, 'ip');
      return { ...failure, retryAfterSeconds: secondsLeftOfDay(now) };
    },
  };
}

export type ReportAdmission = ReturnType<typeof createReportAdmission>;
