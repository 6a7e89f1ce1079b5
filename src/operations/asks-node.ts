/** Which operations look at memory or at what a node keeps on its own disk. */

const ofOwnPart: ReadonlySet<string> = new Set(['check', 'stats']);

/** Whether a running node is asked, though the store is shared: it has loaded what they look at. */
export function asksNode(name: string): boolean {
  return ofOwnPart.has(name);
}
