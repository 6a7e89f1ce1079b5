/**
 * POST of the consent page. The form is ours and of this very session (the desk checks its token),
 * names a request that is kept here, and says which switches are on; client, scopes and redirect
 * address are the kept request's, whatever else was sent. One form, one answer.
 */

import type { Failure, Result } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endedFormPage } from '../../pages/signon/consent-notes.ts';
import type { Authorization } from '../../signon/authorization.ts';
import { consentPath, signedInOf, signInHref } from './authorize.ts';
import type { Desk } from './desk.ts';
import type { Visit } from './visit.ts';

export function consentRoute(options: {
  desk: Desk;
  authorization: Pick<Authorization, 'allow' | 'deny' | 'transactions'>;
}): PlainRoute {
  const { desk, authorization } = options;

  async function handle(visit: Visit, form: Params): Promise<Reply> {
    const { session, browserId } = visit;
    if (session === undefined) return over(visit);
    const id = form.get('id') ?? '';
    switch (form.get('decision')) {
      case 'allow':
        return answered(
          visit,
          await authorization.allow(id, signedInOf(session), form.all('scope')),
        );
      case 'deny':
        return answered(visit, await authorization.deny(id, signedInOf(session)));
      case 'switch': {
        // Whoever signs in next in this browser may answer it, and the present one no more.
        const moved = await authorization.transactions.rebind(id, session.id, browserId);
        return moved.ok ? desk.go(visit, signInHref(moved.value)) : failed(visit, moved);
      }
      default:
        return desk.problem(visit, { ok: false, error: 'bad_request' });
    }
  }

  function answered(visit: Visit, address: Result<string>): Reply {
    return address.ok ? desk.go(visit, address.value) : failed(visit, address);
  }

  function failed(visit: Visit, failure: Failure): Reply {
    return failure.error === 'unknown_transaction' ? over(visit) : desk.problem(visit, failure);
  }

  function over(visit: Visit): Reply {
    return desk.show(visit, (frame) => endedFormPage(frame), { status: 403 });
  }

  return desk.form(consentPath, 'anyone', handle, { limit: 'consent', repeatable: ['scope'] });
}
