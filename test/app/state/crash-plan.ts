/** What the crash rounds' parent and child must agree on. */

export const crashEntriesMax = 20_000;
export const crashPoolSeed = 77;
export const crashPoolSize = 2_000;
