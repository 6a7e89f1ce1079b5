/**
 * GET /outbox/:name: the mails of a demo, with links that sign in. Its name is random at each
 * start, and the terminal alone prints it: a proxy that adds no header can't be distinguished from
 * a browser of this machine. Besides, a loopback peer, nothing in between that says so, and a
 * loopback name in `Host` are asked for, so that a site whose name was turned to this machine (DNS
 * rebinding) reads nothing. Anything else, and a server that is no demo or sends its mails, answers
 * 404.
 */

import { equalBytes } from '../../core/digest.ts';
import { fail } from '../../core/result.ts';
import { forwardingHeaders, isFromThisMachine } from '../../http/request/client-ip.ts';
import type { Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { hostOfAuthority, isLoopback } from '../../ip/loopback.ts';
import { openPage } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { languageOf, type PageTools, pageRequestHeaders } from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';
import { outboxPage } from './outbox.page.tsx';
import type { OutboxMessage } from './outbox.ts';

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
    const language = languageOf(request);
    const messages = await read();
    const headers = [...tools.headers(language), noStore];
    return { status: 200, headers, body: outboxPage(tools.frame(language), { messages, baseUrl }) };
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
