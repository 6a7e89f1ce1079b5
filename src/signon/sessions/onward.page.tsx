/** The place to which a person goes after signing in or registering, as it travels from page to page. */

import { Hidden } from '../../web/components/form.tsx';
import type { Html } from '../../web/html.ts';

/** All values are checked. At most one of the first three is set. */
export interface Onward {
  /** A site's request before the sign-in: it is stored nowhere, so the pages carry it. */
  readonly request?: CarriedAlong | undefined;
  /** A request came with the form and can't be opened any more. */
  readonly requestEnded?: true | undefined;
  /** The id of a request that is kept. */
  readonly continueId?: string | undefined;
  /** A path of this host. */
  readonly back?: string | undefined;
}

export interface CarriedAlong {
  /** The query as the site wrote it, for links: they are never longer than the site's own. */
  readonly query: string;
  /** The sealed request, for the bodies of forms. */
  readonly seal: string;
}

/** Returns whether the person comes from a site. */
export function isForSite({ request, requestEnded, continueId }: Onward): boolean {
  return request !== undefined || requestEnded === true || continueId !== undefined;
}

/** Returns the value for forms and the page's script. Undefined: nothing is carried. */
export function sealOf({ request, requestEnded }: Onward): string | undefined {
  return requestEnded === true ? 'ended' : request?.seal;
}

/** Returns the hidden fields of a form that carry it on. */
export function onwardFields(onward: Onward): Html {
  const { continueId, back } = onward;
  const seal = sealOf(onward);
  return (
    <>
      {seal && <Hidden name="request" value={seal} />}
      {continueId && <Hidden name="continue" value={continueId} />}
      {back && <Hidden name="return" value={back} />}
    </>
  );
}

/**
 * Returns a path of ours that carries it on. A request goes as its own query, with nothing that would make it longer.
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
