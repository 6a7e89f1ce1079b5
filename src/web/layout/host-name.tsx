/**
 * The name of a site's host, so that a person can tell who asks. The A-label form is always shown
 * and comes first: of two names that look alike in their own letters, it differs. The part that
 * somebody had to register stands out, since what stands before it is free to choose.
 */

import { domainToUnicode } from 'node:url';
import type { Html } from '../html.ts';

/** The form in the letters of its language; undefined when it has no other than the plain one. */
export function foreignForm(host: string): string | undefined {
  const [name = '', port] = host.split(':', 2);
  const unicode = name.includes('xn--') ? domainToUnicode(name) : name;
  if (unicode === '' || unicode === name) return undefined;
  return port === undefined ? unicode : `${unicode}:${port}`;
}

/** @param registrable what was registered; a host that doesn't end with it is shown plain */
export function HostName({
  host,
  registrable,
}: {
  readonly host: string;
  readonly registrable: string;
}): Html {
  const mark = host.lastIndexOf(registrable);
  if (mark < 0) {
    return (
      <span class="host mono" dir="ltr">
        {host}
      </span>
    );
  }
  const end = mark + registrable.length;
  return (
    <span class="host mono" dir="ltr">
      {host.slice(0, mark)}
      <strong>{registrable}</strong>
      {host.slice(end)}
    </span>
  );
}
