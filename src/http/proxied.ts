/** Settings that concern a proxy in front of the server. */

import type { Config } from '../config.ts';
import { isLoopback } from '../ip/loopback.ts';

/**
 * Returns whether the settings imply a proxy in front, named in them or not: the server speaks
 * plain http itself, and on a loopback address nobody else reaches it. A proxy with the shortest
 * configuration names no client in its headers.
 */
export function isProxied({ trustedProxies, host, baseUrl, secureUrl }: Config): boolean {
  const urls = [new URL(baseUrl), new URL(secureUrl)];
  return (
    trustedProxies.length > 0 ||
    urls.some(({ protocol }) => protocol === 'https:') ||
    (isLoopback(host) && urls.some(({ hostname }) => !isLoopback(hostname)))
  );
}

/**
 * Returns the host and port on which a proxy on this machine reaches the server; behind TLS visitors use
 * others.
 */
export function proxiedHost({ baseUrl, port }: Config): string {
  const { protocol, host, hostname } = new URL(baseUrl);
  if (protocol === 'https:') return `127.0.0.1:${port}`;
  return host === hostname ? `${host}:80` : host;
}
