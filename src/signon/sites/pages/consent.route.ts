/**
 * POST of the consent page. The form is ours and of this very session (the page builder checks its
 * token), names a request that is kept here, and says which switches are on; client, scopes and
 * redirect address are the kept request's, whatever else was sent. One form, one answer.
 */

import type { Config } from '../../../config.ts';
import type { Failure, Result } from '../../../core/result.ts';
import type { Reply } from '../../../http/request/message.ts';
import type { Params } from '../../../http/request/query.ts';
import type { PlainRoute } from '../../../http/router.ts';
import { sessionForm, sessionPage } from '../../../web/guard/session-endpoint.ts';
import type { PageBuilder, RequestContext } from '../../request-context.route.ts';
import { authorizePath, carriesRequest, continueHref } from '../../sessions/onward.route.ts';
import type { Authorization } from '../authorization.ts';
import { consentPath, signedInOf, signInHref } from './authorize.route.ts';
import { endedFormPage } from './consent-notes.page.tsx';

/** The address of a form that was answered with a page: leads to the request that it carries. */
export const consentAgainEndpoint = sessionPage(consentPath, 'anyone', carriesRequest);

export const consentEndpoint = sessionForm(consentPath, 'anyone', {
  ...carriesRequest,
  limits: ['consent'],
  errors: ['unknown_transaction', 'too_many_sites'],
});

export function consentRoutes(options: {
  config: Pick<Config, 'baseUrl'>;
  pageBuilder: PageBuilder;
  authorization: Pick<Authorization, 'allow' | 'deny' | 'transactions'>;
}): PlainRoute[] {
  const { pageBuilder, authorization, config } = options;

  async function handle(context: RequestContext, form: Params): Promise<Reply> {
    const { session } = context;
    if (session === undefined || session.reviewing || session.factorDue !== undefined) {
      return over(context);
    }
    const id = form.get('id') ?? '';
    const who = signedInOf(session, context, config.baseUrl);
    switch (form.get('decision')) {
      case 'allow':
        return answered(
          context,
          await authorization.allow(id, who, form.all('scope'), form.get('shown') ?? ''),
          id,
        );
      case 'deny':
        return answered(context, await authorization.deny(id, who), id);
      case 'switch': {
        // Whoever signs in next in this browser may answer it, and the present one no more.
        const withdrawn = await authorization.transactions.withdraw(id, session.id);
        if (!withdrawn.ok) return failed(context, withdrawn);
        return pageBuilder.go(context, signInHref(withdrawn.value.query));
      }
      default:
        return pageBuilder.problem(context, { ok: false, error: 'bad_request' });
    }
  }

  function answered(context: RequestContext, address: Result<string>, id: string): Reply {
    if (address.ok) return pageBuilder.go(context, address.value);
    // Its values are not what the page showed: the same form once more, with those of today.
    if (address.error === 'conflict')
      return pageBuilder.go(context, `${continueHref(id)}&changed=1`);
    return failed(context, address);
  }

  function failed(context: RequestContext, failure: Failure): Reply {
    return failure.error === 'unknown_transaction'
      ? over(context)
      : pageBuilder.problem(context, failure);
  }

  function over(context: RequestContext): Reply {
    const { query } = context.request;
    const nextHref = query === '' ? undefined : `${authorizePath}?${query}`;
    return pageBuilder.show(context, (frame) => endedFormPage(frame, nextHref), { status: 403 });
  }

  return [
    pageBuilder.page(consentAgainEndpoint, (context, query) =>
      query.has('client_id')
        ? pageBuilder.go(context, `${authorizePath}?${context.request.query}`)
        : pageBuilder.show(context, (frame) => endedFormPage(frame, undefined), { status: 403 }),
    ),
    // The form may be of an earlier session: whoever is signed in by now is asked anew.
    pageBuilder.form(consentEndpoint, handle, ['scope'], (context, _form, failure) =>
      failure.error === 'form_expired' ? over(context) : pageBuilder.problem(context, failure),
    ),
  ];
}
