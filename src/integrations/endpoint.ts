/** The address and the port at which an integration listens, as settings name them. */

import { formatIp, parseIp } from '../ip/address.ts';

export interface IntegrationEndpoint {
  readonly family: 4 | 6;
  /** Canonical text. */
  readonly address: string;
  readonly port: number;
}

const pattern = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/;

/**
 * `192.0.2.1:53`, `[2001:db8::1]:53`. Undefined for anything else, and for the wildcards: an answer
 * over UDP would leave from whatever address the system picks, and its client would not take it.
 */
export function readEndpoint(text: string): IntegrationEndpoint | undefined {
  const [, bracketed, quad, digits] = pattern.exec(text) ?? [];
  const words = new Uint32Array(4);
  const family = parseIp(bracketed ?? quad ?? '', words);
  const port = Number(digits);
  // An IPv4 address in brackets would be a second spelling; one is enough.
  if (family === 0 || port > 65_535 || (family === 4) !== (quad !== undefined)) return undefined;
  if (words.every((word) => word === 0)) return undefined;
  return { family, address: formatIp(family, words), port };
}

/** As it is written in settings. */
export function endpointText({ family, address, port }: IntegrationEndpoint): string {
  return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
