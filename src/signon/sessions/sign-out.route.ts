/** POST /signout: ends the session of this browser. Works before the mail address is verified. */

import type { PlainRoute } from '../../http/router.ts';
import { sessionForm } from '../../web/guard/session-endpoint.ts';
import type { Signon } from '../open-signon.ts';
import type { PageBuilder } from '../request-context.route.ts';

export const signOutEndpoint = sessionForm('/signout', 'signed-in');

export function signOutRoutes(options: { pageBuilder: PageBuilder; signon: Signon }): PlainRoute[] {
  const { pageBuilder, signon } = options;
  return [
    pageBuilder.form(signOutEndpoint, async (context) => {
      const ended = await signon.sessions.end(context.session.accountId, context.session.id);
      return ended.ok ? pageBuilder.signedOut(context, '/') : pageBuilder.problem(context, ended);
    }),
  ];
}
