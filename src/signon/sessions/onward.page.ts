/** Where a person goes after signing in or registering, as it travels from page to page. */

import { hidden } from '../../web/components/form.ts';
import { type Html, html } from '../../web/html.ts';

/** All of it was checked for what it may be. One of the first three at most. */
export interface Onward {
  /** A site's request that nobody has signed in for: kept nowhere, so the pages carry it. */
  readonly request?: CarriedAlong | undefined;
  /** A request came with the form and can't be opened any more. */
  readonly requestEnded?: true | undefined;
  /** Id of a request that is kept. */
  readonly continueId?: string | undefined;
  /** Path of this host. */
  readonly back?: string | undefined;
}

export interface CarriedAlong {
  /** As the site wrote it: for links, which are never longer than the site's own. */
  readonly query: string;
  /** For the bodies of forms. */
  readonly seal: string;
}

/** The person comes from a site. */
export function isForSite({ request, requestEnded, continueId }: Onward): boolean {
  return request !== undefined || requestEnded === true || continueId !== undefined;
}

/** For the forms and the page's script. Undefined: nothing is carried. */
export function sealOf({ request, requestEnded }: Onward): string | undefined {
  return requestEnded === true ? 'ended' : request?.seal;
}

/** For the forms. */
export function onwardFields(onward: Onward): Html {
  const { continueId, back } = onward;
  const seal = sealOf(onward);
  return html`${seal && hidden('request', seal)}${continueId && hidden('continue', continueId)}${back && hidden('return', back)}`;
}

/**
 * A path of ours with it. With a request: its own query, and nothing that would make it longer.
 * @param more further parameters; undefined ones are left out
 */
export function onwardHref(
  path: string,
  { request, continueId, back }: Onward,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  // A link with a backslash would lead nowhere (safeHref).
  if (request !== undefined) return `${path}?${request.query.replaceAll('\\', '%5C')}`;
  const query = Object.entries({ continue: continueId, return: back, ...more })
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return query === '' ? path : `${path}?${query}`;
}
