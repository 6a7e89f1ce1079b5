/**
 * Scores of addresses from the list of all reports, worked out anew each time: no index, no
 * decayed sums, nothing of the fold. Slow on purpose, so that it can be read beside the rules:
 *
 * - weight w = 0.5 + 1.5·trust/100 at the moment of the report; trust = 100·(1 − e^(−points/200));
 * - an account's reports fill its contribution to an entry towards 1.5·w, each by two thirds of
 *   what is missing, an old one by what is left of that today; all of it halves in 14 days;
 * - an IPv6 report counts for its /64 too, at half weight and with a contribution of its own;
 * - evidence of an entry is the sum over accounts, its score 100·(1 − e^(−R/2.5)), R at most 20;
 *   an address shows the higher score of the address and of its /64;
 * - points: +1 for a report (20 a UTC day, 60 in all), +5 (25 a day) once per address when a
 *   verified account of seven days' age reports it within seven days.
 */

export interface ModelAccount {
  readonly createdAt: number;
  readonly verified: boolean;
}

export interface ModelReport {
  readonly account: string;
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  /** When it was recorded, ms. */
  readonly at: number;
  /** How long before that it happened. */
  readonly ageSeconds: number;
}

export interface ReportModel {
  account(id: string, account: ModelAccount): void;
  /** In the order of the journal. */
  add(report: ModelReport): void;
  points(account: string): number;
  /** 0..100, not rounded. */
  score(family: 4 | 6, words: Uint32Array, now: number): number;
}

interface Kept {
  readonly account: string;
  /** The address, and for IPv6 its /64; texts of the words. */
  readonly address: string;
  readonly network: string;
  readonly at: number;
  readonly happenedAt: number;
  readonly weight: number;
}

const dayMs = 86_400_000;
const halfLifeMs = 14 * dayMs;
const weekMs = 7 * dayMs;

const decay = (ms: number) => 2 ** -(ms / halfLifeMs);

function addressOf(family: 4 | 6, words: Uint32Array): string {
  return family === 4 ? `4:${words[0]}` : `6:${words.join()}`;
}

function networkOf(family: 4 | 6, words: Uint32Array): string {
  return family === 4 ? '' : `64:${words[0]},${words[1]}`;
}

export function createReportModel(): ReportModel {
  const accounts = new Map<string, ModelAccount>();
  const reports: Kept[] = [];
  /** Each +5: who earned it, for which address, on which day. */
  const praise: { account: string; address: string; day: number }[] = [];

  function points(account: string): number {
    const perDay = new Map<number, number>();
    for (const report of reports) {
      if (report.account !== account) continue;
      const day = Math.floor(report.at / dayMs);
      perDay.set(day, (perDay.get(day) ?? 0) + 1);
    }
    let accepted = 0;
    for (const count of perDay.values()) accepted += Math.min(20, count);
    const praised = praise.filter((one) => one.account === account).length;
    return Math.min(60, accepted) + 5 * praised;
  }

  function corroborate(by: string, address: string, at: number): void {
    const { createdAt, verified } = accounts.get(by)!;
    if (!verified || at - createdAt < weekMs) return;
    const day = Math.floor(at / dayMs);
    for (const account of accounts.keys()) {
      if (account === by) continue;
      const newest = Math.max(
        ...reports
          .filter((report) => report.account === account && report.address === address)
          .map((report) => Math.floor(report.happenedAt / 1_000) * 1_000),
      );
      const own = praise.filter((one) => one.account === account);
      if (at - newest > weekMs || own.some((one) => one.address === address)) continue;
      if (own.filter((one) => one.day === day).length < 5) praise.push({ account, address, day });
    }
  }

  function add({ account, family, words, at, ageSeconds }: ModelReport): void {
    if (!accounts.has(account)) throw new Error(`unknown account ${account}`);
    const trust = 1 - Math.exp(-points(account) / 200);
    const address = addressOf(family, words);
    corroborate(account, address, at);
    reports.push({
      account,
      address,
      network: networkOf(family, words),
      at,
      happenedAt: at - ageSeconds * 1_000,
      weight: 0.5 + 1.5 * trust,
    });
  }

  /** What an account's reports, in their order, amount to now. */
  function contribution(own: readonly Kept[], share: number, now: number): number {
    let held = 0;
    let heldAt = 0;
    for (const { at, happenedAt, weight } of own) {
      held *= decay(at - heldAt);
      heldAt = at;
      held += Math.max(0, 1.5 * weight * share - held) * (2 / 3) * decay(at - happenedAt);
    }
    return held * decay(now - heldAt);
  }

  function scoreOf(about: readonly Kept[], share: number, now: number): number {
    let evidence = 0;
    for (const account of new Set(about.map((report) => report.account))) {
      const own = about.filter((report) => report.account === account);
      evidence += contribution(own, share, now);
    }
    return 100 * (1 - Math.exp(-Math.min(20, evidence) / 2.5));
  }

  function score(family: 4 | 6, words: Uint32Array, now: number): number {
    const address = addressOf(family, words);
    const network = networkOf(family, words);
    const about = reports.filter((report) => report.address === address);
    const around = family === 4 ? [] : reports.filter((report) => report.network === network);
    return Math.max(scoreOf(about, 1, now), scoreOf(around, 0.5, now));
  }

  return { account: (id, account) => void accounts.set(id, account), add, points, score };
}

/**
 * Whether a shown score is the model's: whole numbers, and the server keeps evidence as float32,
 * so a value beside the half may be rounded either way.
 */
export function isScore(shown: number, exact: number): boolean {
  return Number.isInteger(shown) && Math.abs(shown - exact) <= 0.5 + 0.005;
}
