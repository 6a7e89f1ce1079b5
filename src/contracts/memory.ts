/** Types of what wings ask of a server’s memory, which follows the journal. */

/** Resolves when the journal event is in memory. */
export type CatchUpTo = (seq: bigint) => Promise<void>;

/** Returns the account's slot in the shared tables; undefined: it has no key yet. */
export type SlotOf = (account: string) => number | undefined;
