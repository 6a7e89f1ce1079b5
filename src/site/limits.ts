/**
 * The limits per client that are published: each one that an endpoint declares, with the endpoints
 * that it holds for, and those of the transport. A limit that nothing enforces is in no declaration, so nobody reads of it.
 */

import { type ClientLimit, type ClientLimitName, clientLimits } from '../config/limits.ts';
import type { PaceLimit } from '../http/limits/pace.ts';
import { type Endpoint, limitsOf } from '../web/guard/endpoint.ts';

export interface PublishedLimit extends ClientLimit {
  readonly name: ClientLimitName;
  /** Method and path of each, such as `POST /signin`; undefined: all others, and paths that nobody has. */
  readonly endpoints: readonly string[] | undefined;
}

/** The transport (http/limits/pace.ts) applies these, even where no endpoint is, so none declares them. */
const everywhere: readonly ClientLimitName[] = ['answers', 'answersNear'] satisfies PaceLimit[];
const ofProbes: ClientLimitName = 'probes' satisfies PaceLimit;

/** In the order of the table in config.ts. */
export function publishedLimits(endpoints: readonly Endpoint[]): readonly PublishedLimit[] {
  const names = Object.keys(clientLimits) as ClientLimitName[];
  const all = names.map((name) => {
    const held = endpoints.filter((declared) =>
      name === ofProbes ? declared.isProbe === true : limitsOf(declared).includes(name),
    );
    const lines = held.map(({ method, path }) => `${method} ${path}`);
    const isEverywhere = everywhere.includes(name);
    return { name, ...clientLimits[name], endpoints: isEverywhere ? undefined : lines };
  });
  return all.filter(({ endpoints: lines }) => lines === undefined || lines.length > 0);
}
