/**
 * Resolves the client's address: the peer, or, behind trusted proxies, the address that the nearest
 * untrusted hop came from. The hops are walked from the right, because only the right end was written by our proxies.
 *
 * `X-Forwarded-For` and `Forwarded` are read alike. A proxy writes one of them and passes the other on as
 * its client sent it, so where both come and don't name the same address, neither is believed.
 */

import { networkInterfaces } from 'node:os';
import type { Config } from '../../config.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { checkedPrefix } from '../../ip/operator-prefix.ts';
import { contains } from '../../ip/prefix.ts';
import { isLoopback, isLoopbackAddress } from '../../ip/special.ts';
import type { Request } from './message.ts';

/**
 * The name of a client on a Unix-domain socket, as TRUSTED_PROXIES spells it. It is no valid address in a header, so
 * nobody can claim it.
 */
export const unixPeer = 'unix';

/** Some proxies write the port too: `192.0.2.1:5123`, `[2001:db8::1]:5123`, `[2001:db8::1]`. */
const withPort = /^([0-9.]{7,15}):[0-9]{1,5}$/;
const inBrackets = /^\[([0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?$/;

function addressOfHop(hop: string, rules: AddressRules): string | undefined {
  const text = hop.trim();
  const found = rules.normalise(text);
  if (found !== undefined) return found;
  const bare = (withPort.exec(text) ?? inBrackets.exec(text))?.[1];
  return bare === undefined ? undefined : rules.normalise(bare);
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

/** Returns whether a program on this machine asks, and nothing between says that it forwards. */
export function isFromThisMachine({ clientIp, headers }: Request): boolean {
  const isForwarded = forwardingHeaders.some((name) => headers[name] !== undefined);
  return !isForwarded && isLoopbackAddress(clientIp);
}

/** Hops looked at; more than any real chain has. */
const hopsMax = 32;

/** Lines of both headers, in order of arrival. */
interface ForwardingLines {
  readonly xForwardedFor: readonly string[];
  readonly forwarded: readonly string[];
}

/**
 * The source of the address: `named` by a trusted proxy; else it is the peer's own, because the
 * peer is no trusted proxy (`stranger`), sends no header (`silent`), names no readable address
 * (`unreadable`) or two different ones (`contradictory`).
 */
type ClientStanding = 'named' | 'untrusted' | 'silent' | 'unreadable' | 'contradictory';

export interface ResolvedClient {
  /** Canonical text; `unixPeer` where a peer of a Unix-domain socket names nobody. */
  readonly ip: string;
  readonly standing: ClientStanding;
}

export function resolveClient(
  peer: string,
  lines: ForwardingLines,
  rules: AddressRules,
): ResolvedClient {
  const { xForwardedFor, forwarded } = lines;
  if (!rules.hasProxies || !rules.isTrusted(peer)) return { ip: peer, standing: 'untrusted' };
  const hasX = xForwardedFor.length > 0;
  if (!hasX && forwarded.length === 0) return { ip: peer, standing: 'silent' };
  const named = hasX ? walk(peer, hopsOf(xForwardedFor), addressOfHop, rules) : undefined;
  if (forwarded.length === 0) return named!;
  const other = walk(peer, hopsOfForwarded(forwarded), addressOfNode, rules);
  if (named === undefined) return other;
  const isOne = named.standing === 'named' && other.standing === 'named' && named.ip === other.ip;
  return isOne ? named : { ip: peer, standing: 'contradictory' };
}

function hopsOf(lines: readonly string[]): readonly string[] {
  // Most proxies write one, and each question of a gate comes through here.
  if (lines.length === 1 && !lines[0]!.includes(',')) return lines;
  return lines.join(',').split(',');
}
const hopsOfForwarded = (lines: readonly string[]) =>
  lines.flatMap((line) => readForwarded(line) ?? [undefined]);

function addressOfNode(node: string | undefined, rules: AddressRules): string | undefined {
  return node === undefined ? undefined : rules.normalise(node);
}

/** Walks the hops from the right, as long as the writer of the next one is trusted. */
function walk<Hop>(
  peer: string,
  hops: readonly Hop[],
  addressOf: (hop: Hop, rules: AddressRules) => string | undefined,
  rules: AddressRules,
): ResolvedClient {
  let ip = peer;
  const last = Math.max(0, hops.length - hopsMax);
  for (let i = hops.length - 1; i >= last && rules.isTrusted(ip); i--) {
    const hop = addressOf(hops[i] as Hop, rules);
    // A malformed entry stops the walk: whatever stands to its left can't be trusted either.
    if (hop === undefined) return { ip, standing: 'unreadable' };
    ip = hop;
  }
  // A chain of trusted proxies longer than `hopsMax` hides the client.
  const isWhole = hops.length > 0 && (last === 0 || !rules.isTrusted(ip));
  return { ip, standing: isWhole ? 'named' : 'unreadable' };
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

/** Pairs are matched one by one; no two parts of it can take the same character, so it is linear. */
const pair =
  /[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)=([!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*")[ \t]*)?([;,]|$)/y;

const ipv4 = /^([0-9.]{7,15})(?::(?:[0-9]{1,5}|_[\w.-]+))?$/;
const ipv6 = /^\[([0-9A-Fa-f]*:[0-9A-Fa-f:.]{1,44})\](?::(?:[0-9]{1,5}|_[\w.-]+))?$/;

/**
 * Reads `Forwarded` (RFC 7239) by the letter. Returns the bare, unchecked address in the `for` of each
 * element, from left to right; undefined for an element without one, `unknown`, and a name that
 * hides the address. Returns undefined for a line that breaks the grammar, which names nobody: a
 * quote that a client leaves open could swallow what a proxy wrote behind it.
 */
function readForwarded(line: string): (string | undefined)[] | undefined {
  const nodes: (string | undefined)[] = [];
  let names: string[] = [];
  let node: string | undefined;
  pair.lastIndex = 0;
  for (;;) {
    const found = pair.exec(line);
    if (found === null) return undefined;
    const [, name, value, end] = found;
    if (name !== undefined) {
      const lower = name.toLowerCase();
      if (names.includes(lower)) return undefined;
      names.push(lower);
      if (lower === 'for') node = addressIn(value!);
    }
    if (end === ';') continue;
    // A list may have empty elements, which say nothing.
    if (names.length > 0) nodes.push(node);
    if (end === '') return nodes;
    names = [];
    node = undefined;
  }
}

/** A colon or a bracket stands in quotes alone. */
function addressIn(value: string): string | undefined {
  const text = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
  return (ipv4.exec(text) ?? ipv6.exec(text))?.[1];
}

// Settings that concern a proxy in front of the server.

/**
 * Returns whether the settings imply a proxy in front, named in them or not: the server speaks
 * plain http itself, and on a loopback address nobody else reaches it. A proxy with the shortest
 * configuration names no client in its headers.
 */
export function isProxied({
  trustedProxies,
  host,
  baseUrl,
  secureUrl,
}: Pick<Config, 'trustedProxies' | 'host' | 'baseUrl' | 'secureUrl'>): boolean {
  const urls = [new URL(baseUrl), new URL(secureUrl)];
  return (
    trustedProxies.length > 0 ||
    urls.some(({ protocol }) => protocol === 'https:') ||
    (isLoopback(host) && urls.some(({ hostname }) => !isLoopback(hostname)))
  );
}

/** Returns whether visitors come over https, by a proxy whose word on their addresses counts. */
export function isBehindTls({
  trustedProxies,
  baseUrl,
}: Pick<Config, 'trustedProxies' | 'baseUrl'>): boolean {
  return new URL(baseUrl).protocol === 'https:' && trustedProxies.length > 0;
}

/** Returns the host and port on which a proxy on this machine reaches the server; behind TLS visitors use others. */
export function proxiedHost({ baseUrl, port }: Config): string {
  const { protocol, host, hostname } = new URL(baseUrl);
  if (protocol === 'https:') return `127.0.0.1:${port}`;
  return host === hostname ? `${host}:80` : host;
}

// The transport's rules for addresses: their canonical text, and which of them are trusted proxies.

/** @param trustedProxies addresses, prefixes and `unix`, checked at start */
export function addressRules(trustedProxies: readonly string[]) {
  const words = new Uint32Array(4);
  let trusted = '';
  const trustsUnix = trustedProxies.includes(unixPeer);
  const networks = trustedProxies.filter((text) => text !== unixPeer);
  const prefixes = networks.map(checkedPrefix);
  return {
    /** False when no proxy is configured: then no such header is read. */
    hasProxies: trustedProxies.length > 0,
    /** Canonical text in, or `unixPeer`. */
    isTrusted(ipText: string): boolean {
      if (ipText === unixPeer) return trustsUnix;
      if (ipText === trusted) return true;
      const family = parseIp(ipText, words);
      if (family === 0 || !prefixes.some((prefix) => contains(prefix, family, words))) return false;
      // The same proxy asks again and again.
      trusted = ipText;
      return true;
    },
    /** Canonical text of a strictly valid address, else undefined. */
    normalise(ipText: string): string | undefined {
      const family = parseIp(ipText, words);
      if (family === 0) return undefined;
      // A dotted quad has one text.
      return family === 4 && !ipText.includes(':') ? ipText : formatIp(family, words);
    },
  };
}

export type AddressRules = ReturnType<typeof addressRules>;

/** Returns the addresses of this machine's interfaces: a report of one is a sender's mistake. */
export function machineAddresses(): string[] {
  const { normalise } = addressRules([]);
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => normalise(address))
    .filter((address) => address !== undefined);
}
