/**
 * GET /outbox: the mails of a demo, with links that sign in. For this machine's own browser alone: a
 * loopback peer, nothing in between, and a loopback name in `Host`, so that a site whose name was
 * turned to this machine (DNS rebinding) reads nothing. Anything else, and a server that is no demo
 * or sends its mails, answers 404.
 */

import { fail } from '../../core/result.ts';
import { forwardingHeaders } from '../../http/client-ip.ts';
import type { Request } from '../../http/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { openPage } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { languageOf, type PageTools, pageRequestHeaders } from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';
import { outboxPage } from './outbox.page.ts';
import type { OutboxMessage } from './outbox-files.ts';

export const outboxPath = '/outbox';

export const outboxEndpoint = openPage(outboxPath, {
  headers: [...pageRequestHeaders, 'host', ...forwardingHeaders],
  robots: 'disallow',
});

export function outboxRoute(options: {
  guard: Guard;
  tools: PageTools;
  baseUrl: string;
  /** The newest messages; undefined where there is no such page. */
  read: (() => Promise<readonly OutboxMessage[]>) | undefined;
}): PlainRoute {
  const { guard, tools, baseUrl, read } = options;
  return guard.open(outboxEndpoint, async (request) => {
    if (read === undefined || !isOwnBrowser(request)) return fail('not_found');
    const language = languageOf(request);
    const messages = await read();
    const headers = [...tools.headers(language), noStore];
    return { status: 200, headers, body: outboxPage(tools.frame(language), { messages, baseUrl }) };
  });
}

function isOwnBrowser({ headers, clientIp }: Request): boolean {
  const hosts = headers.host ?? [];
  return (
    /^(127\.|::1$)/.test(clientIp) &&
    !forwardingHeaders.some((name) => headers[name] !== undefined) &&
    hosts.length === 1 &&
    /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/i.test(hosts[0]!)
  );
}
