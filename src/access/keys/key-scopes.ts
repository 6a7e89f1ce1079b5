/** What a key may be used for, as bits. */

export const keyScopes = { check: 1, report: 2, bouncer: 4, agent: 8 } as const;
export type KeyScope = keyof typeof keyScopes;

/** Of a key without a name, and of every key made before there were names. */
export const plainScopes: number = keyScopes.check | keyScopes.report;
export const allScopes: number = plainScopes | keyScopes.bouncer | keyScopes.agent;

export function isKeyScope(name: string): name is KeyScope {
  return Object.hasOwn(keyScopes, name);
}

export function scopeNames(bits: number): KeyScope[] {
  return (Object.keys(keyScopes) as KeyScope[]).filter((name) => (bits & keyScopes[name]) !== 0);
}

export function scopeBits(names: readonly KeyScope[]): number {
  return names.reduce((bits, name) => bits | keyScopes[name], 0);
}
