/** Where a person goes after signing in or registering, as it travels from page to page. */

import { hidden } from '../components/form.ts';
import { type Html, html } from '../html.ts';

/** Both were checked for what they may be. */
export interface Onward {
  /** Id of an authorization that goes on afterwards. */
  readonly continueId?: string | undefined;
  /** Path of this host. */
  readonly back?: string | undefined;
}

/** For the forms. */
export function onwardFields({ continueId, back }: Onward): Html {
  return html`${continueId && hidden('continue', continueId)}${back && hidden('return', back)}`;
}

/** A path of ours with it. @param more further parameters; undefined ones are left out */
export function onwardHref(
  path: string,
  { continueId, back }: Onward,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  const query = Object.entries({ continue: continueId, return: back, ...more })
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return query === '' ? path : `${path}?${query}`;
}
