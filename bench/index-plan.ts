/** The sizes of the index benches: a full run for figures, a tiny one that shows it works. */

export interface IndexPlan {
  readonly entries: number;
  readonly queries: number;
  readonly rounds: number;
  readonly blockRules: number;
  readonly tortureLookups: number;
  readonly slowdownMs: number;
}

export const indexPlans: Readonly<Record<'tiny' | 'full', IndexPlan>> = {
  tiny: {
    entries: 2_000,
    queries: 200,
    rounds: 1,
    blockRules: 100,
    tortureLookups: 20_000,
    slowdownMs: 20,
  },
  full: {
    entries: 1_000_000,
    queries: 1 << 18,
    rounds: 25,
    blockRules: 10_000,
    tortureLookups: 50_000_000,
    slowdownMs: 300,
  },
};
