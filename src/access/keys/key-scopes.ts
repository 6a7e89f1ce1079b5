/** The scopes of API keys as bits, and the scopes that each integration and its commands ask for. */

export const keyScopes = { check: 1, report: 2, bouncer: 4, agent: 8, mail: 16 } as const;
export type KeyScope = keyof typeof keyScopes;

/** The scopes of a key without a name, and of every key made before there were names. */
export const plainScopes: number = keyScopes.check | keyScopes.report;
export const allScopes: number = Object.values(keyScopes).reduce<number>(
  (all, bit) => all | bit,
  0,
);

export function scopeNames(bits: number): KeyScope[] {
  return (Object.keys(keyScopes) as KeyScope[]).filter((name) => (bits & keyScopes[name]) !== 0);
}

export function scopeBits(names: readonly KeyScope[]): number {
  return names.reduce((bits, name) => bits | keyScopes[name], 0);
}

/** The scopes by use, of which a key needs one. A key that fetches decisions may not report. */
export const keyUses = {
  /** /api/v2 and the receipts of the CAPTCHA. */
  read: ['check'],
  write: ['report'],
  /** /v1: look-up, stream, usage metrics, and the rest of what bouncers ask. */
  decisions: ['bouncer'],
  /** /v1: log-in, heartbeat, alerts, and the rest of what agents ask. */
  agent: ['agent'],
  /** /policy/dovecot by its command. */
  mailAllow: ['bouncer', 'mail'],
  mailReport: ['mail'],
} as const satisfies Record<string, readonly KeyScope[]>;
export type KeyPurpose = keyof typeof keyUses;

const useBits = new Map(
  Object.entries(keyUses).map(([use, scopes]) => [use, scopeBits(scopes)] as const),
);

/** Bits of which a key needs one for this. */
export function bitsFor(use: KeyPurpose): number {
  return useBits.get(use)!;
}
