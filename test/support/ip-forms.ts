/** How translators and tunnels write an IPv4 address into an IPv6 one. */

function octetsOf(quad: string): number[] {
  return quad.split('.').map(Number);
}

function hex(octets: readonly number[]): string {
  return octets.map((octet) => octet.toString(16).padStart(2, '0')).join('');
}

/** Each form by its name. */
export function formsOf(quad: string): Readonly<Record<string, string>> {
  const octets = octetsOf(quad);
  const [a, b] = [hex(octets.slice(0, 2)), hex(octets.slice(2))];
  const inverted = octets.map((octet) => 255 - octet);
  return {
    nat64: `64:ff9b::${quad}`,
    localNat64: `64:ff9b:1::${quad}`,
    localNat64OfOneSite: `64:ff9b:1:fffe::${quad}`,
    localNat64Split: `64:ff9b:1:${a}:${b.slice(0, 2)}:${b.slice(2)}00::`,
    siit: `::ffff:0:${quad}`,
    sixToFour: `2002:${a}:${b}::1`,
    sixToFourHost: `2002:${a}:${b}:1:2:3:4:5`,
    teredo: `2001:0:4136:e378:8000:63bf:${hex(inverted.slice(0, 2))}:${hex(inverted.slice(2))}`,
    compatible: `::${quad}`,
  };
}
