/**
 * POST of the consent page. The form is ours and of this very session (the desk checks its token),
 * names a request that is kept here, and says which switches are on; client, scopes and redirect
 * address are the kept request's, whatever else was sent. One form, one answer.
 */

import type { Config } from '../../../config.ts';
import type { Failure, Result } from '../../../core/result.ts';
import type { Reply } from '../../../http/message.ts';
import type { Params } from '../../../http/query.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { deskForm, deskPage } from '../../../web/guard/desk-endpoint.ts';
import type { Desk, Visit } from '../../desk.route.ts';
import { authorizePath, carriesRequest, continueHref } from '../../sessions/onward.route.ts';
import type { Authorization } from '../authorization.ts';
import { consentPath, signedInOf, signInHref } from './authorize.route.ts';
import { endedFormPage } from './consent-notes.page.ts';

/** The address of a form that was answered with a page: leads to the request that it carries. */
export const consentAgainEndpoint = deskPage(consentPath, 'anyone', carriesRequest);

export const consentEndpoint = deskForm(consentPath, 'anyone', {
  ...carriesRequest,
  limits: ['consent'],
  errors: ['unknown_transaction', 'too_many_sites'],
});

export function consentRoutes(options: {
  config: Pick<Config, 'baseUrl'>;
  desk: Desk;
  authorization: Pick<Authorization, 'allow' | 'deny' | 'transactions'>;
}): PlainRoute[] {
  const { desk, authorization, config } = options;

  async function handle(visit: Visit, form: Params): Promise<Reply> {
    const { session } = visit;
    if (session === undefined || session.reviewing || session.factorDue !== undefined) {
      return over(visit);
    }
    const id = form.get('id') ?? '';
    const who = signedInOf(session, visit, config.baseUrl);
    switch (form.get('decision')) {
      case 'allow':
        return answered(
          visit,
          await authorization.allow(id, who, form.all('scope'), form.get('shown') ?? ''),
          id,
        );
      case 'deny':
        return answered(visit, await authorization.deny(id, who), id);
      case 'switch': {
        // Whoever signs in next in this browser may answer it, and the present one no more.
        const withdrawn = await authorization.transactions.withdraw(id, session.id);
        if (!withdrawn.ok) return failed(visit, withdrawn);
        return desk.go(visit, signInHref(withdrawn.value.query));
      }
      default:
        return desk.problem(visit, { ok: false, error: 'bad_request' });
    }
  }

  function answered(visit: Visit, address: Result<string>, id: string): Reply {
    if (address.ok) return desk.go(visit, address.value);
    // Its values are not what the page showed: the same form once more, with those of today.
    if (address.error === 'conflict') return desk.go(visit, `${continueHref(id)}&changed=1`);
    return failed(visit, address);
  }

  function failed(visit: Visit, failure: Failure): Reply {
    return failure.error === 'unknown_transaction' ? over(visit) : desk.problem(visit, failure);
  }

  function over(visit: Visit): Reply {
    const { query } = visit.request;
    const nextHref = query === '' ? undefined : `${authorizePath}?${query}`;
    return desk.show(visit, (frame) => endedFormPage(frame, nextHref), { status: 403 });
  }

  return [
    desk.page(consentAgainEndpoint, (visit, query) =>
      query.has('client_id')
        ? desk.go(visit, `${authorizePath}?${visit.request.query}`)
        : desk.show(visit, (frame) => endedFormPage(frame, undefined), { status: 403 }),
    ),
    // The form may be of an earlier session: whoever is signed in by now is asked anew.
    desk.form(consentEndpoint, handle, ['scope'], (visit, _form, failure) =>
      failure.error === 'form_expired' ? over(visit) : desk.problem(visit, failure),
    ),
  ];
}
