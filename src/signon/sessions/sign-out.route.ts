/** POST /signout: ends the session of this browser. Works before the mail address is verified. */

import type { PlainRoute } from '../../http/router.ts';
import { deskForm } from '../../web/guard/desk-endpoint.ts';
import type { Desk } from '../desk.route.ts';
import type { Signon } from '../open-signon.ts';

export const signOutEndpoint = deskForm('/signout', 'signed-in');

export function signOutRoutes(options: { desk: Desk; signon: Signon }): PlainRoute[] {
  const { desk, signon } = options;
  return [
    desk.form(signOutEndpoint, async (visit) => {
      const ended = await signon.sessions.end(visit.session.accountId, visit.session.id);
      return ended.ok ? desk.signedOut(visit, '/') : desk.problem(visit, ended);
    }),
  ];
}
