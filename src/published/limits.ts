/**
 * The limits per client that are published: each one that an endpoint declares, with the endpoints
 * that it holds for. A limit that nothing enforces is in no declaration, so nobody reads of it.
 */

import { type ClientLimit, type ClientLimitName, clientLimits } from '../config.ts';
import { type Endpoint, limitsOf } from '../web/guard/endpoint.ts';

export interface PublishedLimit extends ClientLimit {
  readonly name: ClientLimitName;
  /** Method and path of each, such as `POST /signin`. */
  readonly endpoints: readonly string[];
}

/** In the order of the table in config.ts. */
export function publishedLimits(endpoints: readonly Endpoint[]): readonly PublishedLimit[] {
  const names = Object.keys(clientLimits) as ClientLimitName[];
  const all = names.map((name) => {
    const held = endpoints.filter((declared) => limitsOf(declared).includes(name));
    const lines = held.map(({ method, path }) => `${method} ${path}`);
    return { name, ...clientLimits[name], endpoints: lines };
  });
  return all.filter((limit) => limit.endpoints.length > 0);
}
