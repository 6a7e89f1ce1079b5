/** Bounds of the checks that are published as well as enforced. */

/** Addresses in one bulk check. */
export const bulkAddressesMax = 10_000;
/** Reports in one verbose check. */
export const verboseReportsMax = 10_000;
