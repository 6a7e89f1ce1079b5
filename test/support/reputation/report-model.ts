/**
 * Scores of addresses from the list of all reports, worked out anew each time: no index, no
 * decayed sums, nothing of the fold. Slow on purpose, so that it can be read beside the rules
 * (docs/SCORING.md):
 *
 * - an account's reports fill its contribution to an entry towards 1.5·w, each by two thirds of
 *   what is missing, an old one by what is left of that today; all of it halves in 14 days;
 * - w = 0.5 + 1.5·trust/100: a newcomer's at most 1, an earned one's at least 1.6, a member's 2,
 *   staff's 6; trust = 100·(1 − e^(−points/200));
 * - an IPv6 report counts for its /64 too, at half weight and with a contribution of its own;
 * - evidence is the sum over accounts; the score C·(1 − e^(−40·R/C)) under the ceiling C of the
 *   votes of the 30 days up to the last report; a report lowers no score;
 * - points: +1 for a report (20 a UTC day, 60 in all), 10/2^k (10 a day) once per address for the
 *   k-th reporter when somebody vouched reports it within seven days with a vote;
 * - a vote is charged 1, and what has come free of it when it is renewed.
 */

type Rank = 'newcomer' | 'earned' | 'member' | 'staff';

export interface ModelAccount {
  readonly createdAt: number;
  readonly verified: boolean;
  readonly vouched?: 'none' | 'member' | 'staff';
}

interface ModelReport {
  readonly account: string;
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  /** When it was recorded, ms. */
  readonly at: number;
  /** How long before that it happened. */
  readonly ageSeconds: number;
  readonly network: number;
  /** Bit n for category n. */
  readonly categories: number;
}

interface ReportModel {
  account(id: string, account: ModelAccount): void;
  /** In the order of the journal. */
  add(report: ModelReport): void;
  points(account: string): number;
  /** Votes that wait for confirmation. */
  open(account: string, now: number): number;
  /** 0..100, not rounded. */
  score(family: 4 | 6, words: Uint32Array, now: number): number;
}

interface Kept {
  readonly account: string;
  readonly at: number;
  readonly happenedAt: number;
  readonly weight: number;
}

interface Vote {
  readonly day: number;
  readonly units: number;
  readonly network: number;
  charged: boolean;
}

/** All that was said of one entry, an address or a /64. */
interface Place {
  readonly reports: Kept[];
  /** By account, in the order in which they came. */
  readonly votes: Map<string, Vote>;
  readonly confirmed: Set<string>;
  ceiling: number;
}

interface Person extends ModelAccount {
  /** Times of its reports. */
  readonly reported: number[];
  readonly credits: { day: number; points: number }[];
  /** Values with the time at which they were right: both halve in 14 days. */
  open: { value: number; at: number };
  confirmations: { value: number; at: number };
}

const dayMs = 86_400_000;
const halfLifeMs = 14 * dayMs;
const weekMs = 7 * dayMs;
const units = { newcomer: 0, earned: 4, member: 6, staff: 12 } as const;
const base = { newcomer: 0, earned: 30, member: 300, staff: 1_000 } as const;
const spoofable = [4, 6, 14];

const decay = (ms: number) => 2 ** -(Math.max(0, ms) / halfLifeMs);
const scoreUnder = (ceiling: number, evidence: number) =>
  ceiling * (1 - Math.exp((-40 * evidence) / ceiling));
const sum = (numbers: Iterable<number>) => [...numbers].reduce((all, one) => all + one, 0);

export function createReportModel(): ReportModel {
  const people = new Map<string, Person>();
  const places = new Map<string, Place>();

  function locationOf(name: string): Place {
    const place = places.get(name) ?? {
      reports: [],
      votes: new Map(),
      confirmed: new Set(),
      ceiling: 0,
    };
    places.set(name, place);
    return place;
  }

  function points(account: string): number {
    const { reported, credits } = people.get(account)!;
    const perDay = new Map<number, number>();
    for (const at of reported) {
      const day = Math.floor(at / dayMs);
      perDay.set(day, (perDay.get(day) ?? 0) + 1);
    }
    const accepted = sum([...perDay.values()].map((count) => Math.min(20, count)));
    return Math.min(60, accepted) + sum(credits.map((one) => one.points));
  }

  function rankOf({ vouched = 'none', verified, createdAt, credits }: Person, at: number): Rank {
    if (vouched !== 'none') return vouched;
    const days = new Set(credits.map(({ day }) => day)).size;
    const credit = sum(credits.map((one) => one.points));
    const isEarned = verified && at - createdAt >= 21 * dayMs && credit >= 60 && days >= 10;
    return isEarned ? 'earned' : 'newcomer';
  }

  function weightOf(account: string, rank: Rank): number {
    const byTrust = 0.5 + 1.5 * (1 - Math.exp(-points(account) / 200));
    if (rank === 'newcomer') return Math.min(1, byTrust);
    if (rank === 'earned') return Math.max(1.6, byTrust);
    return rank === 'member' ? 2 : 6;
  }

  const now = (of: { value: number; at: number }, at: number) => of.value * decay(at - of.at);

  function confirmOthers(place: Place, by: string, at: number): void {
    const reporters = [...new Set(place.reports.map(({ account }) => account))];
    for (const [i, account] of reporters.entries()) {
      const person = people.get(account)!;
      const own = place.reports.filter((report) => report.account === account);
      const newest = Math.max(...own.map(({ happenedAt }) => secondOf(happenedAt) * 1_000));
      if (account === by || at - newest > weekMs) continue;
      const vote = place.votes.get(account);
      if (vote?.charged) {
        const left = decay(at - vote.day * dayMs);
        person.open = { value: Math.max(0, now(person.open, at) - left), at };
        vote.charged = false;
      }
      if (place.confirmed.has(account)) continue;
      place.confirmed.add(account);
      const rank = Math.min(7, i + 1);
      const more = Math.max(1 / 4, 2 / 2 ** rank);
      person.confirmations = { value: now(person.confirmations, at) + more, at };
      const day = Math.floor(at / dayMs);
      const today = sum(person.credits.filter((one) => one.day === day).map((one) => one.points));
      const earned = Math.min(10 - today, 10 / 2 ** rank);
      if (earned > 0) person.credits.push({ day, points: earned });
    }
  }

  function raise(place: Place, report: ModelReport, rank: Rank): Vote | undefined {
    const { account, at, ageSeconds, network, categories } = report;
    const said = Array.from({ length: 24 }, (_, n) => n).filter((n) => categories & (1 << n));
    if (rank === 'newcomer' || said.every((n) => spoofable.includes(n))) return undefined;
    const day = Math.floor((at - ageSeconds * 1_000) / dayMs);
    if (day <= Math.floor(at / dayMs) - 30) return undefined;
    const former = place.votes.get(account);
    const isAlive = former !== undefined && former.day > day - 30;
    if (isAlive && former.units > units[rank]) return undefined;
    if (former !== undefined && former.day >= day && former.units === units[rank]) return undefined;
    const vote = { day, units: units[rank], network };
    if (isAlive && place.confirmed.has(account)) return { ...vote, charged: false };
    const cost = former?.charged ? 1 - decay(at - former.day * dayMs) : 1;
    const person = people.get(account)!;
    const open = now(person.open, at);
    const limit = base[rank] + 3 * now(person.confirmations, at);
    if (open + cost > limit) return undefined;
    person.open = { value: open + cost, at };
    return { ...vote, charged: true };
  }

  function quorumCeiling(place: Place): number {
    const last = Math.max(...place.reports.map(({ happenedAt }) => secondOf(happenedAt)));
    const oldest = Math.floor(last / 86_400) - 30;
    const alive = [...place.votes.values()].filter(({ day }) => day > oldest);
    const anchors = sum(alive.filter((one) => one.units > 4).map((one) => one.units));
    const networks = new Set(alive.filter((one) => one.units === 4).map((one) => one.network));
    const quorum = anchors + 4 * networks.size;
    if (quorum === 0) return 49;
    if (quorum < 12) return 74;
    return anchors > 0 ? 100 : 84;
  }

  /** The report into a place; the ceiling is held where its quorum has lapsed. */
  function put(place: Place, report: Kept, vote: Vote | undefined, share: number): void {
    const before = scoreUnder(place.ceiling || 1, evidence(place, share, report.at));
    place.reports.push(report);
    if (vote !== undefined) place.votes.set(report.account, vote);
    const former = place.ceiling;
    place.ceiling = quorumCeiling(place);
    const after = evidence(place, share, report.at);
    while (place.ceiling < former && scoreUnder(place.ceiling, after) < before) place.ceiling++;
  }

  function add(report: ModelReport): void {
    const { account, family, words, at, ageSeconds } = report;
    const person = people.get(account);
    if (person === undefined) throw new Error(`unknown account ${account}`);
    const place = locationOf(addressOf(family, words));
    const rank = rankOf(person, at);
    const vote = raise(place, report, rank);
    if (vote !== undefined && vote.units >= 6) confirmOthers(place, account, at);
    const weight = weightOf(account, rank);
    const kept = { account, at, happenedAt: at - ageSeconds * 1_000, weight };
    put(place, kept, vote, 1);
    if (family === 6) {
      put(locationOf(networkOf(words)), kept, vote && { ...vote, charged: false }, 0.5);
    }
    person.reported.push(at);
  }

  /** What an account's reports, in their order, amount to at a time. */
  function contribution(own: readonly Kept[], share: number, time: number): number {
    let held = 0;
    let heldAt = 0;
    for (const { at, happenedAt, weight } of own) {
      held *= decay(at - heldAt);
      heldAt = at;
      held += Math.max(0, 1.5 * weight * share - held) * (2 / 3) * decay(at - happenedAt);
    }
    return held * decay(time - heldAt);
  }

  function evidence({ reports }: Place, share: number, time: number): number {
    const accounts = new Set(reports.map(({ account }) => account));
    return sum(
      [...accounts].map((account) =>
        contribution(
          reports.filter((report) => report.account === account),
          share,
          time,
        ),
      ),
    );
  }

  function scoreAt(name: string, share: number, time: number): number {
    const place = places.get(name);
    return place === undefined ? 0 : scoreUnder(place.ceiling, evidence(place, share, time));
  }

  return {
    account(id, account) {
      const none = { value: 0, at: 0 };
      people.set(id, { ...account, reported: [], credits: [], open: none, confirmations: none });
    },
    add,
    points,
    open: (account, time) => now(people.get(account)!.open, time),
    score(family, words, time) {
      const own = scoreAt(addressOf(family, words), 1, time);
      return family === 4 ? own : Math.max(own, scoreAt(networkOf(words), 0.5, time));
    },
  };
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

function addressOf(family: 4 | 6, words: Uint32Array): string {
  return family === 4 ? `4:${words[0]}` : `6:${words.join()}`;
}

function networkOf(words: Uint32Array): string {
  return `64:${words[0]},${words[1]}`;
}

/**
 * Whether a shown score is the model's: whole numbers, and the server keeps evidence as float32,
 * so a value beside the half may be rounded either way.
 */
export function isScore(shown: number, exact: number): boolean {
  return Number.isInteger(shown) && Math.abs(shown - exact) <= 0.5 + 0.005;
}
