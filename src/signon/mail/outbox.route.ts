/**
 * GET /outbox/:name: the mails of a demo, with links that sign in. Its name is random at each
 * start, and the terminal alone prints it: a proxy that adds no header can't be distinguished from
 * a browser of this machine. Besides, a loopback peer, nothing in between that says so, and a
 * loopback name in `Host` are asked for, so that a site whose name was turned to this machine (DNS
 * rebinding) reads nothing. Anything else, and a server that is no demo or sends its mails, answers
 * 404. `?mail=` chooses one, and with `as=html` it alone is the answer, for the frame of the page:
 * without scripts, of no origin, so that nothing in it reaches this one's pages or cookies.
 */

import { equalBytes } from '../../core/crypto.ts';
import { fail } from '../../core/result.ts';
import { forwardingHeaders, isFromThisMachine } from '../../http/request/client-ip.ts';
import type { Header, Request } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { hostOfAuthority, isLoopback } from '../../ip/special.ts';
import { openPage } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { languageOf, type PageTools, pageRequestHeaders } from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';
import { outboxPage } from './outbox.page.tsx';
import type { OutboxMessage } from './outbox.ts';

/** A link leaves the frame: it opens in the page's own window. */
const frameRights = 'allow-top-navigation-by-user-activation';
const frameHeaders: readonly Header[] = [
  ['Content-Type', 'text/html; charset=utf-8'],
  [
    'Content-Security-Policy',
    `default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'; sandbox ${frameRights}`,
  ],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  noStore,
];

/** The random bytes of the name. */
export const outboxNameBytes = 16;

export const outboxEndpoint = openPage('/outbox/:name', {
  headers: [...pageRequestHeaders, 'host', ...forwardingHeaders],
  robots: 'disallow',
});

export function outboxRoute(options: {
  guard: Guard;
  tools: PageTools;
  baseUrl: string;
  /** The last part of the page's path. */
  name: string | undefined;
  /** Returns the newest messages; undefined where there is no such page. */
  read: (() => Promise<readonly OutboxMessage[]>) | undefined;
}): PlainRoute {
  const { guard, tools, baseUrl, name, read } = options;
  return guard.open(outboxEndpoint, async (request) => {
    if (read === undefined || name === undefined) return fail('not_found');
    if (
      !isOwnBrowser(request) ||
      !equalBytes(Buffer.from(request.path), Buffer.from(outboxPathOf(name)))
    )
      return fail('not_found');
    const query = parseQuery(request.query);
    const chosen = query.ok ? query.value.get('mail') : undefined;
    const messages = await read();
    const found = messages.find(({ file }) => file === chosen);
    if (query.ok && query.value.get('as') === 'html') {
      if (found?.html === undefined) return fail('not_found');
      const body = found.html.replace('<head>', '<head><base target="_top">');
      return { status: 200, headers: frameHeaders, body };
    }
    const language = languageOf(request);
    const headers = [...tools.headers(language, { frames: true }), noStore];
    const data = { messages, shown: found ?? messages[0], baseUrl, path: request.path };
    return { status: 200, headers, body: outboxPage(tools.frame(language), data) };
  });
}

/** Returns the address that the terminal prints. */
export function outboxPathOf(name: string): string {
  return `/outbox/${name}`;
}

function isOwnBrowser(request: Request): boolean {
  const hosts = request.headers.host ?? [];
  return isFromThisMachine(request) && hosts.length === 1 && isLoopback(hostOfAuthority(hosts[0]!));
}
