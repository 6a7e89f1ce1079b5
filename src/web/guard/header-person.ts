/**
 * Public pages with the session in their header. They are made, and kept, for everybody; for who is
 * signed in the header is put into the finished page. That answer is for one browser: nobody may
 * keep it. Every other one says that it depends on the cookie.
 */

import type { Header, Reply } from '../../http/request/message.ts';
import { withPersonMenu } from '../layout/layout.tsx';
import { languageOf, type PageTools } from '../page-tools.ts';
import { noStore } from '../shape.ts';
import { isHtml, replacedHeaders, textOf, unconditional } from './appearance.ts';
import type { Cookies } from './cookies.ts';
import { isPage } from './endpoint.ts';
import type { Hook } from './hooks.ts';
import type { SessionLike } from './request-context.ts';
import { isSessionEndpoint } from './session-endpoint.ts';

export function headerPerson<Session extends SessionLike>(options: {
  readonly sessions: { find(token: string): Promise<Session | undefined> };
  readonly prefersGlass: (session: Session) => Promise<boolean>;
  readonly cookies: Cookies;
  readonly tools: PageTools;
}): Hook {
  const { sessions, prefersGlass, cookies, tools } = options;
  return {
    name: 'person in the header',
    // Pages of signed-in people load the person themselves.
    appliesTo: (declared) =>
      declared.method === 'GET' && isPage(declared) && !isSessionEndpoint(declared),
    headers: ['cookie', 'accept-language'],
    async around(run, request) {
      const token = cookies.read(request, 'session');
      const session = token === undefined ? undefined : await sessions.find(token);
      if (session === undefined) return forAll(await run(request));
      const reply = await run(unconditional(request));
      const markup = isHtml(reply) ? textOf(reply) : undefined;
      if (markup === undefined) return forAll(reply);
      const person = {
        email: session.email,
        csrf: session.csrf,
        operator: session.operator,
        prefersGlass: await prefersGlass(session),
      };
      const body = withPersonMenu(markup, { ...tools.frame(languageOf(request)), person });
      const kept = reply.headers.filter(([name]) => !replacedHeaders.includes(name.toLowerCase()));
      return forAll({ status: reply.status, headers: [...kept, noStore], body });
    },
  };
}

/** A cache must not give one visitor's page to another. */
function forAll(reply: Reply): Reply {
  const vary: Header = ['Vary', 'Cookie'];
  return isHtml(reply) || reply.status === 304
    ? { ...reply, headers: [...reply.headers, vary] }
    : reply;
}
