/**
 * Who is asking: the peer, or, behind trusted proxies, the address that the nearest untrusted
 * hop came from. Walked from the right, because only the right end was written by our proxies.
 */

export interface AddressRules {
  /** False when no proxy is configured: then `X-Forwarded-For` is not even read. */
  readonly hasProxies: boolean;
  /** Canonical text in. */
  isTrusted(ipText: string): boolean;
  /** Canonical text of a strictly valid address, else undefined. */
  normalise(ipText: string): string | undefined;
}

/** Some proxies write the port too: `192.0.2.1:5123`, `[2001:db8::1]:5123`, `[2001:db8::1]`. */
const withPort = /^([0-9.]{7,15}):[0-9]{1,5}$/;
const inBrackets = /^\[([0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?$/;

function addressOfHop(hop: string, rules: AddressRules): string | undefined {
  const text = hop.trim();
  const bare = (withPort.exec(text) ?? inBrackets.exec(text))?.[1];
  return rules.normalise(bare ?? text);
}

/**
 * Any of these says that the request came through somebody else's hands, whatever it says about
 * them. For routes that are open to this machine alone; lower-case names.
 */
export const forwardingHeaders = [
  'x-forwarded-for',
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-forwarded',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'forwarded-for',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'x-azure-clientip',
  'cdn-loop',
] as const;

/** Hops looked at; more than any real chain has. */
const hopsMax = 32;

export function resolveClientIp(
  peer: string,
  forwardedLines: readonly string[],
  rules: AddressRules,
): string {
  if (!rules.hasProxies || forwardedLines.length === 0) return peer;
  const hops = forwardedLines.join(',').split(',');
  let client = peer;
  const last = Math.max(0, hops.length - hopsMax);
  for (let i = hops.length - 1; i >= last && rules.isTrusted(client); i--) {
    const hop = addressOfHop(hops[i]!, rules);
    // A malformed entry stops the walk: whatever stands to its left can't be trusted either.
    if (hop === undefined) return client;
    client = hop;
  }
  return client;
}

/** 4 or 16 bytes as the socket knows them; a v4-mapped address is the IPv4 address. */
export function peerText(bytes: Uint8Array, rules: Pick<AddressRules, 'normalise'>): string {
  const v4 = bytes.length === 4 ? 0 : isMapped(bytes) ? 12 : -1;
  if (v4 >= 0) return `${bytes[v4]}.${bytes[v4 + 1]}.${bytes[v4 + 2]}.${bytes[v4 + 3]}`;
  const groups: string[] = [];
  for (let i = 0; i < bytes.length; i += 2) {
    groups.push(((bytes[i]! << 8) | bytes[i + 1]!).toString(16));
  }
  const text = groups.join(':');
  return rules.normalise(text) ?? text;
}

function isMapped(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}
