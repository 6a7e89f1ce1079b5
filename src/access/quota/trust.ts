/**
 * Trust of an account and the quotas that follow from it. Pure. Trust grows with points and
 * flattens towards 100; a quota grows in a straight line with trust, to ten times its base.
 */

const pointsScale = 200;
const readsPerMinuteBase = 1_000;
const writesPerMinuteBase = 50;

/** Trust in [0, 100) of an account with `points`; points under zero count as none. */
export function trustFromPoints(points: number): number {
  if (Number.isNaN(points)) throw new RangeError('points must be a number');
  return 100 * (1 - Math.exp(-Math.max(0, points) / pointsScale));
}

/** The rank of an account's reports, by its standing. A newcomer's don't count for the quorum. */
export type Rank = 'newcomer' | 'earned' | 'member' | 'staff';

/**
 * Evidence that a first report adds: 0.5 without trust to 2 with full trust, within the bounds of
 * its rank. One report of staff is enough to block an address.
 */
export function reportWeight(rank: Rank, trust: number): number {
  const byTrust = 0.5 + (1.5 * trust) / 100;
  switch (rank) {
    case 'newcomer':
      return Math.min(1, byTrust);
    case 'earned':
      return Math.max(1.6, byTrust);
    case 'member':
      return Math.max(2, byTrust);
    case 'staff':
      return 6;
    default:
      rank satisfies never;
      return 0;
  }
}

/** Addresses that may be looked up in a minute: 1,000 at trust 0, 10,000 at trust 100. */
export function readQuota(trust: number): number {
  return quota(readsPerMinuteBase, trust);
}

/** Reports accepted in a minute: 50 at trust 0, 500 at trust 100. */
export function writeQuota(trust: number): number {
  return quota(writesPerMinuteBase, trust);
}

/**
 * Addresses that nobody has named before and that an account may add in a UTC day: 2,000 at trust
 * 0, 20,000 at trust 100, in step with a quota of writes that was set by hand. What one account
 * adds in the year for which reports are kept fills less than the index.
 */
export function newAddressQuota(writesPerMinute: number): number {
  return writesPerMinute * newAddressesPerWrite;
}

const newAddressesPerWrite = 40;

function quota(base: number, trust: number): number {
  if (Number.isNaN(trust)) throw new RangeError('trust must be a number');
  const bounded = Math.min(100, Math.max(0, trust));
  // Divided last, so that whole numbers of trust give whole quotas.
  return Math.floor((base * (100 + 9 * bounded)) / 100);
}
