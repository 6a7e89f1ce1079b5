/** From where the attackers of the slow-bodies bench come, and how their bodies begin. */

export type AttackKind = 'one /64' | '34 IPv4 addresses' | 'one /64 that waits for no end';

interface Attacker {
  readonly addressOf: (n: number) => string;
  readonly firstBytes: number;
  readonly hasty?: boolean;
}

const oneNetwork = {
  addressOf: (n: number) => `2001:db8::${(n & 0xffff).toString(16)}`,
  firstBytes: 0,
};

export const attackers: Readonly<Record<AttackKind, Attacker>> = {
  'one /64': oneNetwork,
  'one /64 that waits for no end': { ...oneNetwork, hasty: true },
  '34 IPv4 addresses': { addressOf: (n) => `198.18.${n % 34}.7`, firstBytes: 1 },
};
