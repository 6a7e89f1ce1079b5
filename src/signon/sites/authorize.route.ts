/**
 * GET /authorize.php, its continuation after a sign-in, and the form of the consent page. The domain code decides
 * what comes next; here each decision becomes an answer. Until client and redirect address are known to belong
 * together, no redirect and no link to that address is sent.
 *
 * Nothing is stored for visitors who have not signed in: the request travels in the query of the next page, and from
 * there in its form (onward.route.ts).
 *
 * HEAD is refused: these GETs keep requests and issue codes, and programs send HEAD on their own.
 *
 * The consent form must be ours and of this session (the page builder checks its token). It names a request that is
 * kept here, and which switches are on; client, scopes and redirect address are always those of the kept request. One
 * form, one answer.
 */

import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { domainOf } from '../../core/mail-address.ts';
import { type Failure, fail, type Result } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { askedOrigin } from '../../web/guard/intake/form.ts';
import { enrolPath, reviewPath } from '../../web/guard/page-builder.ts';
import {
  authorizePath,
  continueHref,
  continuePath,
  type PageBuilder,
  type RequestContext,
  siteFlowOptions,
  siteRequestOptions,
  targetOf,
} from '../sessions/onward.route.ts';
import { onwardHref } from '../sessions/parts.page.tsx';
import type { Session } from '../sessions/sessions.ts';
import type { Authorization, SignedInVisitor } from './authorization.ts';
import {
  type AuthorizationRequest,
  type AuthorizeReading,
  type ErrorAnswer,
  errorAddress,
  type FlowDecision,
  requestQuery,
} from './authorize.ts';
import type { TransactionRef } from './carried-requests.ts';
import type { Client } from './client-id.ts';
import {
  consentPage,
  endedFormPage,
  nameTargetPage,
  notOpenPage,
  refusalPage,
  verifyFirstPage,
} from './consent.page.tsx';
import { lookAlikeOf, type SiteNames } from './site-names.ts';
import type { SiteTries, TryStep } from './tries.ts';

const consentPath = `${authorizePath}/consent`;
const signInPath = '/signin';
const verifyPath = '/verify';

/** A further attempt is needed only if the consent was changed at this very moment. */
const attemptsMax = 3;

export const authorizeEndpoints = {
  begin: sessionPage(authorizePath, 'anyone', {
    limits: ['authorize'],
    ...siteRequestOptions,
    noHead: true,
  }),
  goOn: sessionPage(continuePath, 'anyone', {
    ...siteFlowOptions,
    limits: ['consent'],
    noHead: true,
  }),
  /** The address of a form that was answered with a page: leads to the request that it carries. */
  consentAgain: sessionPage(consentPath, 'anyone', siteRequestOptions),
  consent: sessionForm(consentPath, 'anyone', {
    ...siteRequestOptions,
    limits: ['consent'],
    errors: ['unknown_transaction', 'too_many_sites'],
  }),
};

/** A request on its way to an answer. */
interface Flow {
  readonly context: RequestContext;
  readonly reading: AuthorizeReading;
  /** The query of the request (`requestQuery`). */
  readonly query: string;
  /** The time at which it was first seen, ms since 1970. */
  readonly askedAt: number;
  /** A kept request continues under its id. */
  readonly kept: TransactionRef | undefined;
  /** The form was sent, and a value is not the one that it showed. */
  readonly hasChanged: boolean;
}

type Answerable = Exclude<FlowDecision, { next: 'issue-code' }>;

/** Returns how far a request comes by itself. */
function stepOf(reading: AuthorizeReading): TryStep {
  if (reading.kind === 'request') return 'asked';
  if (reading.kind === 'error') return 'bad_request';
  return reading.error === 'invalid_client_id' ? 'bad_client' : 'bad_redirect';
}

/** Returns the address of the sign-in; the form there carries the request on. */
function signInHref(query: string): string {
  return `${signInPath}?${query}`;
}

function signedInOf(
  session: Session,
  { request }: RequestContext,
  baseUrl: string,
): SignedInVisitor {
  const { id, accountId, createdAt, authenticatedAt, verified } = session;
  const signedInAt = Math.max(createdAt, authenticatedAt);
  const issuer = askedOrigin(request, baseUrl);
  return { sessionId: id, accountId, signedInAt, verified, issuer };
}

export function authorizeRoutes(options: {
  readonly config: Pick<Config, 'baseUrl'>;
  readonly pageBuilder: PageBuilder;
  readonly clock: Clock;
  readonly authorization: Authorization;
  readonly siteNames: Pick<SiteNames, 'of'>;
  readonly tries: SiteTries;
}): PlainRoute[] {
  const { pageBuilder, authorization, siteNames, clock, config, tries } = options;
  const { transactions } = authorization;
  const { baseUrl } = config;

  function addressOf({ request }: RequestContext, { target, error, detail }: ErrorAnswer): string {
    return errorAddress(target, askedOrigin(request, baseUrl), error, detail);
  }

  /** Returns the person who is asked; undefined while a review or a second factor is due, which comes first. */
  function signedInPerson(context: RequestContext): SignedInVisitor | undefined {
    const { session } = context;
    return session === undefined || session.reviewing || session.factorDue !== undefined
      ? undefined
      : signedInOf(session, context, baseUrl);
  }

  /** Continues a request by its id, if it is kept for this session or this browser. */
  async function continueKept(
    context: RequestContext,
    id: string,
    hasChanged: boolean,
  ): Promise<Reply> {
    for (const holder of [context.session?.id, context.browserId]) {
      const found = holder === undefined ? undefined : await transactions.find(id, holder);
      if (holder === undefined || found === undefined) continue;
      const { request, query, askedAt } = found;
      const reading = { kind: 'request', request } as const;
      return follow({ context, reading, query, askedAt, kept: { id, holder }, hasChanged });
    }
    return requestEnded(context);
  }

  /** @param nextHref where the same request starts again, if that is known */
  function requestEnded(context: RequestContext, nextHref?: string): Reply {
    return pageBuilder.show(context, (frame) => endedFormPage(frame, nextHref), { status: 403 });
  }

  async function follow(flow: Flow): Promise<Reply> {
    const { context, reading, askedAt, kept } = flow;
    const who = signedInPerson(context);
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const decision = await authorization.decide(reading, who, askedAt);
      if (decision.next !== 'issue-code') return answer(flow, decision);
      const issued = await authorization.issue(decision.request, who!, kept);
      if (issued.ok) {
        tries.issued(context, decision.request.client.id, issued.value);
        return pageBuilder.go(context, issued.value);
      }
      if (issued.error === 'unknown_transaction') return requestEnded(context);
    }
    return nothingSaved(flow);
  }

  function answer(flow: Flow, decision: Answerable): Reply | Promise<Reply> {
    const { context } = flow;
    switch (decision.next) {
      case 'refuse':
        if (flow.reading.kind === 'request')
          tries.note(context, flow.reading.request.client.id, 'closed');
        if (decision.error === 'site_not_open' && flow.reading.kind === 'request') {
          const { client } = flow.reading.request;
          const about = { client, signInHref: signInHref(flow.query) };
          return pageBuilder.show(context, (frame) => notOpenPage(frame, about), { status: 403 });
        }
        return pageBuilder.show(context, (frame) => refusalPage(frame, decision), {
          status: decision.error.startsWith('site_') ? 403 : 400,
        });
      case 'sign-in':
        return signIn(flow);
      case 'verify':
        return verify(flow);
      case 'consent':
        return showConsent(flow, decision.request);
      case 'redirect-error':
        return pageBuilder.go(context, addressOf(context, decision));
      case 'name-target':
        return pageBuilder.show(context, (frame) =>
          nameTargetPage(frame, decision, addressOf(context, decision)),
        );
      default:
        decision satisfies never;
        throw new TypeError('no such decision');
    }
  }

  /** Leads to the sign-in: a request that waits for this browser goes by its id, any other by its query. */
  function signIn(flow: Flow): Reply | Promise<Reply> {
    const { context, query, kept } = flow;
    if (context.session?.factorDue !== undefined && !context.session.reviewing) {
      return factorFirst(flow, context.session);
    }
    if (context.session?.reviewing) {
      const onward =
        kept === undefined ? { request: { query, seal: '' } } : { continueId: kept.id };
      return pageBuilder.go(context, onwardHref(reviewPath, onward));
    }
    const waits = kept?.holder === context.browserId;
    const href = onwardHref(signInPath, { continueId: kept?.id });
    return pageBuilder.go(context, waits ? href : signInHref(query));
  }

  /** Keeps the request for the session, which continues after the demanded second factor. */
  async function factorFirst(flow: Flow, session: Session): Promise<Reply> {
    const { context, query, askedAt, kept } = flow;
    const { id: sessionId, factorDue } = session;
    let id = kept?.id;
    if (kept === undefined || kept.holder !== sessionId) {
      const held =
        kept === undefined
          ? await transactions.begin({ query, askedAt }, sessionId)
          : await transactions.rebind(kept.id, kept.holder, sessionId);
      if (!held.ok)
        return held.error === 'unknown_transaction' ? requestEnded(context) : nothingSaved(flow);
      id = held.value;
    }
    const path = factorDue === 'weak' ? '/account/confirm' : enrolPath;
    return pageBuilder.go(context, onwardHref(path, { back: continueHref(id!) }));
  }

  function verify({ context, query, kept }: Flow): Reply {
    const { email } = context.session!;
    const onward = kept === undefined ? { request: { query, seal: '' } } : { continueId: kept.id };
    const againHref = onwardHref(verifyPath, onward);
    const data = { email, nextHref: targetOf(onward, false), againHref };
    return pageBuilder.show(context, (frame) => verifyFirstPage(frame, data));
  }

  /**
   * Returns the known name that the client's name resembles: the mail domain, or a site that the
   * person signed in to.
   */
  async function lookAlike({ registrable }: Client, session: Session) {
    const sites = await authorization.connectedSites(session.accountId);
    const known = [domainOf(session.email), ...sites.map(({ clientId }) => clientId)];
    return lookAlikeOf(
      registrable,
      known.map((name) => authorization.registrableOf(name) ?? name),
    );
  }

  async function showConsent(flow: Flow, request: AuthorizationRequest): Promise<Reply> {
    const { context, query, askedAt, kept } = flow;
    const session = context.session!;
    if (kept !== undefined && kept.holder !== session.id) {
      const moved = await transactions.rebind(kept.id, kept.holder, session.id);
      if (moved.ok) return pageBuilder.go(context, continueHref(moved.value));
      // The old id has ended: a page that is loaded again must ask for the new one.
      return moved.error === 'unknown_transaction' ? requestEnded(context) : nothingSaved(flow);
    }
    const begun =
      kept === undefined ? await transactions.begin({ query, askedAt }, session.id) : undefined;
    if (begun?.ok === false) return nothingSaved(flow);
    const id = begun?.value ?? kept!.id;
    const data = {
      client: request.client,
      redirectHost: request.redirect.host,
      ownName: siteNames.of(request.redirect.origin, request.client.registrable),
      email: session.email,
      lookAlike: await lookAlike(request.client, session),
      ...(await authorization.asked(request, signedInOf(session, context, baseUrl), id)),
      hasChanged: flow.hasChanged,
      // The address of the answer, should it be a page, can be loaded again.
      action: onwardHref(consentPath, { request: { query, seal: '' } }),
      id,
      csrf: context.csrf,
    };
    // The answer to the form redirects to the site, and Chromium applies form-action to that.
    const needs = { formAction: 'unrestricted' } as const;
    const back = onwardHref(authorizePath, { request: { query, seal: '' } });
    return pageBuilder.show(context, (frame) => consentPage({ ...frame, back }, data), { needs });
  }

  /** Answers that nothing can be saved, to the site of a valid request: nothing is saved for any other. */
  function nothingSaved(flow: Flow): Reply | Promise<Reply> {
    const { reading, context } = flow;
    if (reading.kind !== 'request') throw new TypeError('nothing was to be saved');
    const next = context.session?.verified === true ? 'redirect-error' : 'name-target';
    const error = 'temporarily_unavailable';
    return answer(flow, { next, target: reading.request, error, detail: '' });
  }

  function badQuery(context: RequestContext, { detail = '' }: Failure): Reply {
    const refusal = { error: 'invalid_request', detail };
    return pageBuilder.show(context, (frame) => refusalPage(frame, refusal), { status: 400 });
  }

  function begin(context: RequestContext, parameters: Params) {
    const reading = authorization.read(parameters);
    tries.note(context, parameters.get('client_id') ?? '', stepOf(reading));
    const query = requestQuery(context.request.query, 'with hint');
    const fresh = { kept: undefined, hasChanged: false };
    return follow({ context, reading, query, ...fresh, askedAt: clock.now() });
  }

  async function consent(context: RequestContext, form: Params): Promise<Reply> {
    const who = signedInPerson(context);
    if (who === undefined) return formEnded(context);
    const id = form.get('id') ?? '';
    switch (form.get('decision')) {
      case 'allow': {
        const names = form.all('scope');
        const client = await clientOf(id, who.sessionId);
        const address = await authorization.allow(id, who, names, form.get('shown') ?? '');
        if (address.ok) tries.issued(context, client, address.value);
        return redirectAfter(context, address, id);
      }
      case 'deny': {
        const client = await clientOf(id, who.sessionId);
        const address = await authorization.deny(id, who);
        if (address.ok) tries.note(context, client, 'declined');
        return redirectAfter(context, address, id);
      }
      case 'switch': {
        // Whoever signs in next in this browser may answer it, and the present one no more.
        const withdrawn = await transactions.withdraw(id, who.sessionId);
        if (!withdrawn.ok) return failed(context, withdrawn);
        return pageBuilder.go(context, signInHref(withdrawn.value.query));
      }
      default:
        return pageBuilder.problem(context, fail('bad_request'));
    }
  }

  /** Returns the name of the site that a form is about; empty when it has ended. */
  async function clientOf(id: string, sessionId: string): Promise<string> {
    return (await transactions.find(id, sessionId))?.request.client.id ?? '';
  }

  function redirectAfter(context: RequestContext, address: Result<string>, id: string): Reply {
    if (address.ok) return pageBuilder.go(context, address.value);
    // Its values are not what the page showed: the same form once more, with those of today.
    if (address.error === 'conflict')
      return pageBuilder.go(context, `${continueHref(id)}&changed=1`);
    return failed(context, address);
  }

  function failed(context: RequestContext, failure: Failure): Reply {
    return failure.error === 'unknown_transaction'
      ? formEnded(context)
      : pageBuilder.problem(context, failure);
  }

  function formEnded(context: RequestContext): Reply {
    const { query } = context.request;
    return requestEnded(context, query === '' ? undefined : `${authorizePath}?${query}`);
  }

  return [
    pageBuilder.page(authorizeEndpoints.begin, begin, badQuery),
    pageBuilder.page(authorizeEndpoints.goOn, (context, query) =>
      continueKept(context, query.get('id') ?? '', query.has('changed')),
    ),
    pageBuilder.page(authorizeEndpoints.consentAgain, (context, query) =>
      query.has('client_id')
        ? pageBuilder.go(context, `${authorizePath}?${context.request.query}`)
        : requestEnded(context),
    ),
    // The form may belong to an earlier session: whoever is signed in now is asked again.
    pageBuilder.form(authorizeEndpoints.consent, consent, ['scope'], (context, _form, failure) =>
      failure.error === 'form_expired' ? formEnded(context) : pageBuilder.problem(context, failure),
    ),
  ];
}
