/** Lists the operations that read memory or what a node keeps on its own disk. */

const ofOwnPart: ReadonlySet<string> = new Set(['check', 'stats']);

/**
 * Returns true for operations that read memory or the disk of a node: a running node answers them, although
 * the store is shared.
 */
export function asksNode(name: string): boolean {
  return ofOwnPart.has(name);
}
