/**
 * The place to which a sign-in or a registration leads: a site's request that the form carries (`request`,
 * sealed) or that is kept (`continue`, its id), or back to a page of ours (`return`). None can name
 * another site: a request is read by the rules of /authorize.php, an id is only ever put into a path
 * of ours, and what is left must be a path. Whatever carries them (a query, a form, the row of a link
 * in a mail), they are read here again.
 */

import { readKnownAddress } from '../../core/mail-address.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import { localPath } from '../../web/guard/intake/unsaved.ts';
import type { AnyPageBuilder } from '../../web/guard/page-builder.ts';
import type { AnyRequestContext } from '../../web/guard/request-context.ts';
import type { Authorization } from '../sites/authorization.ts';
import { requestQuery } from '../sites/authorize.ts';
import { requestQueryCharsMax } from '../sites/carried-requests.ts';
import { isForSite, type Onward, onwardHref } from './parts.page.tsx';
import type { Session } from './sessions.ts';

/** The request context with the session of sign-on in it, as the page builder below has it. */
export type RequestContext = AnyRequestContext<Session>;
export type PageBuilder = AnyPageBuilder<Session>;

export const authorizePath = '/authorize.php';
export const continuePath = `${authorizePath}/continue`;

/** The options of pages on the way of a site's request. */
export const siteFlowOptions = { keepsOpener: true } as const;

/** The options of pages that get a site's request as their query. */
export const siteRequestOptions = {
  ...siteFlowOptions,
  queryCharsMax: requestQueryCharsMax,
} as const;

/** The id of a request that is kept (signon/sites/authorization.ts). */
const continueShape = /^[A-Za-z0-9_-]{43}$/;

/** The session that a sign-in opened. */
interface NewSession {
  readonly sessionId: string;
  readonly verified: boolean;
}

export function createOnwards(
  authorization: Pick<Authorization, 'readQuery' | 'seals' | 'transactions'>,
) {
  const { seals, transactions, readQuery } = authorization;

  /** Reads a page's query, where a request stands as the site wrote it. */
  function ofQuery(context: RequestContext, query: Params): Onward {
    const onward = plainOnward(query.get);
    if (onward.continueId !== undefined || !query.has('client_id')) return onward;
    const own = requestQuery(context.request.query, 'with hint');
    const site = readQuery(own)?.client.id;
    if (site === undefined) return onward;
    return { ...onward, request: { site, query: own, seal: seals.seal(own, context.browserId) } };
  }

  /** Reads a form or a script's call, where a request is sealed. */
  function ofForm(context: RequestContext, get: (name: string) => unknown): Onward {
    const onward = plainOnward(get);
    const seal = get('request');
    if (typeof seal !== 'string' || seal === '') return onward;
    const query = seals.open(seal, context.browserId)?.query;
    const site = query && readQuery(query)?.client.id;
    if (!query || !site) return { ...onward, requestEnded: true };
    return { ...onward, request: { site, query, seal } };
  }

  return {
    ofQuery,
    ofForm,
    /** Reads a form without a valid token: its address, which a link might set as well, or else its fields. */
    ofStale(context: RequestContext, form: Params): Onward {
      const query = parseQuery(context.request.query, { charsMax: requestQueryCharsMax });
      const own = query.ok ? ofQuery(context, query.value) : {};
      return isForSite(own) || own.back !== undefined ? own : ofForm(context, form.get);
    },
    /** Returns the page for a person who has just signed in. From now on the request is kept for the session. */
    async entered(
      context: RequestContext,
      onward: Onward,
      { sessionId, verified }: NewSession,
    ): Promise<string> {
      const { request } = onward;
      // Nothing is kept before the address is verified: the page that asks for it carries the request on.
      if (request === undefined || !verified) return targetOf(onward, verified);
      const opened = seals.open(request.seal, context.browserId);
      const begun = opened && (await transactions.begin(opened, sessionId, opened));
      return begun?.ok === true ? continueHref(begun.value) : continuePath;
    },
    /**
     * Keeps a request until a link of this kind, which is about to be mailed, expires. Returns what goes into the
     * link and the next page.
     */
    async hold(
      context: RequestContext,
      onward: Onward,
      until: 'verify' | 'reset',
    ): Promise<Onward> {
      const { request, continueId } = onward;
      const { browserId, visitor } = context;
      if (continueId !== undefined) {
        // If it can't be prolonged the mail is sent all the same: the request ends by itself.
        await transactions.prolong(continueId, browserId, visitor.client, until);
        return onward;
      }
      const opened = request && seals.open(request.seal, browserId);
      const id = opened && (await transactions.wait(opened, browserId, visitor.client, until));
      return id === undefined ? onward : { back: onward.back, continueId: id };
    },
  };
}

export type Onwards = ReturnType<typeof createOnwards>;

export function continueHref(id: string): string {
  return `${continuePath}?id=${encodeURIComponent(id)}`;
}

/** Reads all but a request, also from what was kept with a link. */
function plainOnward(get: (name: string) => unknown): Onward {
  const text = (name: string) => {
    const value = get(name);
    return typeof value === 'string' ? value : undefined;
  };
  const id = text('continue');
  const continueId = id !== undefined && continueShape.test(id) ? id : undefined;
  return { continueId, back: localPath(text('return')) };
}

const keptBackCharsMax = 1_000;

/** Returns the query without `?` for the row of a link; empty if there is nowhere in particular to go. */
export function onwardQuery({ continueId, back }: Onward): string {
  // A form that was not saved is too long for a row that anybody can have written.
  const short = back !== undefined && back.length > keptBackCharsMax ? back.split('?', 1)[0] : back;
  return onwardHref('', { continueId, back: short }).slice(1);
}

/** Reads the query that was kept with a link (`onwardQuery`). */
export function onwardKept(query: string): Onward {
  const parsed = parseQuery(query);
  return parsed.ok ? plainOnward(parsed.value.get) : {};
}

/**
 * Returns the page for a person who is signed in in this browser.
 * @param verified false: the page of the verification comes first, unless a site's request waits
 */
export function targetOf(onward: Onward, verified: boolean): string {
  const { request, requestEnded, continueId, back } = onward;
  if (request !== undefined) return `${authorizePath}?${request.query}`;
  // The page there says that the request has expired.
  if (requestEnded === true) return continuePath;
  if (continueId !== undefined) return continueHref(continueId);
  return verified ? (back ?? '/account') : '/verify';
}

/** Returns the address that a site suggests (`login_hint`). Undefined for what can't be one. */
export function hintOf(query: Params): string | undefined {
  const hint = query.get('hint') ?? query.get('login_hint');
  return hint === undefined ? undefined : readKnownAddress(hint);
}
