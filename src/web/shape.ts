/**
 * The formats of errors on the wire. Each endpoint declares one; the guard, the handlers and the
 * transport send every refusal in it.
 */

import { detailOf, type ErrorCode, statusOf } from '../core/errors.ts';
import type { Failure } from '../core/result.ts';
import type {
  Header,
  Problem,
  RenderProblem,
  Reply,
  RequestLine,
} from '../http/request/message.ts';
import { createRouter, unknownPath } from '../http/router.ts';

/**
 * - `api`: `{"errors":[{"detail","status","source":{"parameter"}}]}`
 * - `exchange`: `{"error","error_description"}` with the names of RFC 6749, 5.2
 * - `captcha`: `{"ok":false}`, whatever the reason: the status says the rest
 * - `siteverify`: `{"success":false,"error-codes":[…]}`, as libraries for other services read it
 * - `bouncer`: `{"message":"…"}`, as clients of the CrowdSec local API read it, with `code` as well
 *   when 401
 * - `policy`: `{"status":0,"msg":"…"}`, as Dovecot reads it: an error lets everybody in
 * - `text`: the sentence, for scripts
 * - `page`: a page for people
 */
export const errorShapes = [
  'api',
  'exchange',
  'captcha',
  'siteverify',
  'bouncer',
  'policy',
  'text',
  'page',
] as const;
export type ErrorShape = (typeof errorShapes)[number];

export const jsonType: Header = ['Content-Type', 'application/json'];
export const textType: Header = ['Content-Type', 'text/plain; charset=utf-8'];
export const noStore: Header = ['Cache-Control', 'no-store'];

/** Replies with JSON that nobody keeps. @param body JSON already */
export function jsonReply(
  body: NonNullable<Reply['body']>,
  headers: readonly Header[] = [],
  status = 200,
): Reply {
  return { status, headers: [jsonType, noStore, ...headers], body };
}

/** Replies with a value as JSON that nobody keeps. */
export function jsonReplyOf(value: object, headers: readonly Header[] = [], status = 200): Reply {
  return jsonReply(JSON.stringify(value), headers, status);
}

/** Seconds that a client should wait when the service can't answer now. */
const retryAfterSeconds = 5;

/** Codes of the exchange; one that RFC 6749 doesn't know becomes the nearest that it does. */
export const exchangeErrors = [
  'invalid_grant',
  'invalid_request',
  'temporarily_unavailable',
] as const satisfies readonly ErrorCode[];

/** Names that the libraries of `siteverify` know, and `sitekey-secret-mismatch` of hCaptcha. */
export const siteverifyErrors = [
  'missing-input-secret',
  'invalid-input-secret',
  'missing-input-response',
  'invalid-input-response',
  'sitekey-secret-mismatch',
  'timeout-or-duplicate',
  'bad-request',
  'internal-error',
] as const;

const captchaRefusal = '{"ok":false}';

/** Body of the shape `api`. Its clients compare it: the id of the request stands in the head alone. */
export function apiErrorBody(status: number, detail: string, parameter?: string): string {
  const source = parameter === undefined ? {} : { source: { parameter } };
  return JSON.stringify({ errors: [{ detail, status, ...source }] });
}

export function bouncerErrorBody(message: string): string {
  return JSON.stringify({ message });
}

export function policyBody(status: number, msg: string): string {
  return JSON.stringify({ status, msg });
}

interface ErrorInfo {
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  readonly parameter?: string | undefined;
}

const bodies: Readonly<Record<Exclude<ErrorShape, 'page'>, (info: ErrorInfo) => string>> = {
  api: ({ status, detail, parameter }) => apiErrorBody(status, detail, parameter),
  exchange: ({ code, status, detail }) => {
    const nearest = isOurs(status) ? 'temporarily_unavailable' : 'invalid_request';
    const error: (typeof exchangeErrors)[number] = code === 'invalid_grant' ? code : nearest;
    return JSON.stringify({ error, error_description: detail });
  },
  captcha: () => captchaRefusal,
  siteverify: ({ status }) =>
    `{"success":false,"error-codes":["${isOurs(status) ? 'internal-error' : 'bad-request'}"]}`,
  bouncer: ({ status, detail }) =>
    status === 401 ? JSON.stringify({ code: status, message: detail }) : bouncerErrorBody(detail),
  policy: ({ detail }) => policyBody(0, detail),
  text: ({ detail }) => `${detail}\n`,
};

function isOurs(status: number): boolean {
  return status >= 500 || status === 429;
}

/** Reply to an expected failure in a shape that is not a page. */
export function failureBody(
  shape: Exclude<ErrorShape, 'page'>,
  failure: Failure,
  headers: readonly Header[] = [],
): Reply {
  const asked = statusOf(failure.error);
  // The API has one status for every fault of a parameter, the form of an address included.
  const status = asked === 400 && failure.parameter !== undefined ? 422 : asked;
  const waitSeconds = failure.retryAfterSeconds ?? (status === 503 ? retryAfterSeconds : undefined);
  const retry: Header[] =
    waitSeconds !== undefined && !headers.some(([name]) => name === 'Retry-After')
      ? [['Retry-After', String(waitSeconds)]]
      : [];
  const detail = failure.detail ?? detailOf(failure.error);
  const info = { code: failure.error, status, detail, parameter: failure.parameter };
  return {
    status,
    headers: [shape === 'text' ? textType : jsonType, noStore, ...headers, ...retry],
    body: bodies[shape](info),
  };
}

interface ErrorPageFacts {
  /** Its sentence stands for the detail in another language than English. */
  readonly code?: ErrorCode | undefined;
  readonly acceptLanguage?: string | undefined;
  /** Seconds until the next attempt may succeed. */
  readonly waitSeconds?: number | undefined;
  /** The page whose form was sent. */
  readonly back?: string | undefined;
  /** The page may stand in a window that a site opened. */
  readonly keepsOpener?: boolean | undefined;
}

/** A page for people, given by the composition; the transport's own refusals end here too. */
export type RenderErrorPage = (
  status: number,
  detail: string,
  more?: ErrorPageFacts,
) => { html: string; headers: readonly Header[] };

/** The shape of paths that no endpoint has: the longest beginning counts. */
export type Areas = readonly (readonly [prefix: string, shape: ErrorShape])[];

/**
 * Makes the renderer of the transport's refusals, in the format that the endpoint of the path declares. The
 * transport adds the problem's own headers (`Allow`, `Retry-After`) itself. A browser that opens the address
 * of a form whose answer was a page is redirected to the page of the form.
 */
export function createRenderProblem(options: {
  routes: readonly {
    readonly path: string;
    readonly method?: string;
    readonly shape?: string | undefined;
    readonly keepsOpener?: boolean | undefined;
    readonly backTo?: string | undefined;
  }[];
  areas: Areas;
  renderPage: RenderErrorPage;
}): RenderProblem {
  const { areas, renderPage } = options;
  const known = options.routes.filter(({ path }) => path !== unknownPath);
  const byPath = new Map(known.map((route) => [route.path, route]));
  const router = createRouter(
    [...byPath.keys()].map((path) => ({
      kind: 'plain',
      method: 'GET',
      path,
      handle: () => ({ status: 404, headers: [] }),
    })),
  );

  function shapeOf(path: string): ErrorShape {
    const match = router.match(path);
    if (match !== undefined)
      return (byPath.get(match.resource.path)?.shape as ErrorShape | undefined) ?? 'page';
    const tidy = path.replace(/^\/{2,}/, '/');
    const area = areas.find(([prefix]) => tidy.startsWith(prefix))?.[1];
    return area ?? (path.endsWith('.json') ? 'api' : 'page');
  }

  const pages = new Set(
    known
      .filter(({ method, shape }) => method === 'GET' && shape === 'page')
      .map(({ path }) => path),
  );

  /** The page that a form is on: its own path, or the nearest above it. */
  function pageOf(path: string): string | undefined {
    for (let at = path; at.length > 1; at = at.slice(0, at.lastIndexOf('/'))) {
      if (pages.has(at)) return at;
    }
    return undefined;
  }

  /** Returns the page that a GET of an address for forms alone is redirected to. */
  function formPageOf({ path, query }: RequestLine, backTo: string | undefined): string {
    if (backTo !== undefined) return backTo.replace(/:\w+$/, path.slice(path.lastIndexOf('/') + 1));
    const page = pageOf(path);
    if (page === undefined) return '/';
    return query === '' || !/^[\x21-\x7e]*$/.test(query) ? page : `${page}?${query}`;
  }

  return ({ code, status, detail, headers }: Problem, line: RequestLine): Reply => {
    const shape = shapeOf(line.path);
    if (shape === 'page') {
      const match = router.match(line.path);
      const route = match && byPath.get(match.resource.path);
      const isRead = line.method === 'GET' || line.method === 'HEAD';
      if (
        code === 'method_not_allowed' &&
        isRead &&
        route !== undefined &&
        !pages.has(route.path)
      ) {
        const target = formPageOf(line, route.backTo);
        return { status: 303, headers: [['Location', target], noStore] };
      }
      const wait = headers.find(([name]) => name === 'Retry-After')?.[1];
      const { acceptLanguage } = line;
      const waitSeconds = wait === undefined ? undefined : Number(wait);
      const page = renderPage(status, detail, {
        code,
        acceptLanguage,
        waitSeconds,
        back: line.method === 'POST' && match !== undefined ? pageOf(line.path) : undefined,
        keepsOpener: route?.keepsOpener,
      });
      return { status, headers: page.headers, body: page.html };
    }
    const type = shape === 'text' ? textType : jsonType;
    return { status, headers: [type, noStore], body: bodies[shape]({ code, status, detail }) };
  };
}

/** Renders a failure of a handler, of which the transport doesn't know, in the same format. */
export function renderFailure(render: RenderProblem, failure: Failure, line: RequestLine): Reply {
  const status = statusOf(failure.error);
  const detail = failure.detail ?? detailOf(failure.error);
  const reply = render({ code: failure.error, status, detail, headers: [] }, line);
  if (status !== 503) return reply;
  return { ...reply, headers: [...reply.headers, ['Retry-After', String(retryAfterSeconds)]] };
}
