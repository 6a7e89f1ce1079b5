/** A desk for routes under test: one visitor, signed in with a fresh proof, and whatever callers. */

import type { Reply, Request } from '../../../src/http/request/message.ts';
import type { PlainRoute } from '../../../src/http/router.ts';
import { failures } from '../../../src/signon/sessions/parts.page.tsx';
import type { Callers } from '../../../src/web/guard/callers.ts';
import { createCookies } from '../../../src/web/guard/cookies.ts';
import type { Endpoint, SessionEndpoint } from '../../../src/web/guard/endpoint.ts';
import { type AnyPageBuilder, createPageBuilder } from '../../../src/web/guard/page-builder.ts';
import type {
  AnyRequestContext,
  ProofStrength,
  SessionLike,
} from '../../../src/web/guard/request-context.ts';
import { createPageTools, openAssets, siteLinks } from '../../../src/web/page-tools.ts';

const csrf = 'token-of-a-desk-under-test-0123456789abcdef';
const boundary = 'boundary-of-a-desk-under-test';
const ok: Reply = { status: 200, headers: [] };

/** An error that its endpoint does not declare fails the test. */
export function deskOf(
  callers: Pick<Callers, 'takeOrWait'>,
  /** Null: nobody is signed in. */
  session: Partial<SessionLike> | null = {},
  strength: ProofStrength = 'strong',
): AnyPageBuilder {
  const tools = createPageTools({ assets: openAssets(), links: siteLinks, https: false });
  const facts = {
    email: 'a@example.org',
    verified: true,
    reviewing: false,
    factorDue: undefined,
    fresh: true,
    operator: true,
    csrf,
  };
  const person = session === null ? undefined : { ...facts, ...session };
  return createPageBuilder({
    failures,
    tools,
    callers,
    cookies: createCookies(false),
    baseUrl: 'http://127.0.0.1',
    unsaved: { seal: (text) => Buffer.from(text).toString('base64url'), open: () => undefined },
    unsavedNotice: (_language, isKept) => `<p>${isKept ? 'kept' : 'lost'}</p>`,
    sessions: { find: async () => person },
    strengthOf: async () => strength,
    async contextOf(request, endpoint) {
      const language = 'en';
      const named = person && { ...person, likesGlass: false };
      const frame = { ...tools.frame(language), person: named, nonce: 'n' };
      const own = {
        browserId: 'b',
        csrf,
        nonce: 'n',
        cookies: [],
        isRenewed: false,
        isCookieless: false,
      };
      const visitor = { client: 'n', country: 'ZZ', userAgent: '', language } as const;
      return {
        ...own,
        request,
        endpoint,
        session: person,
        language,
        visitor,
        frame,
      } as AnyRequestContext;
    },
    log: {
      error(facts: object, text?: string) {
        throw new Error(`${text}: ${JSON.stringify(facts)}`);
      },
    },
  });
}

/** A route that answers whatever the desk lets through. */
export function askDesk(desk: AnyPageBuilder, declared: SessionEndpoint): PlainRoute {
  switch (declared.body?.types[0]) {
    case undefined:
      return desk.page(declared, () => ok);
    case 'form':
      return desk.form(declared, () => ok);
    case 'multipart':
      return desk.upload(declared, () => ok);
    default:
      return desk.call(declared, async () => ({ ok: true, value: {} }));
  }
}

/** A request as our own page sends it; other fields by `fields`. */
export function formOf(
  { method, path, body }: Endpoint,
  fields: Readonly<Record<string, string>> = { csrf },
): Request {
  const [type, text] = encoded(body?.types[0], fields);
  return {
    method,
    path,
    param: '',
    query: '',
    clientIp: '192.0.2.1',
    id: 'r1',
    headers: type === undefined ? {} : { 'content-type': [type] },
    body: Buffer.from(text),
  };
}

function encoded(type: string | undefined, fields: Readonly<Record<string, string>>) {
  switch (type) {
    case 'form':
      return ['application/x-www-form-urlencoded', String(new URLSearchParams(fields))] as const;
    case 'json-call':
    case 'json':
      return ['application/json', JSON.stringify(fields)] as const;
    case 'multipart': {
      const parts = Object.entries(fields).map(
        ([name, value]) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      );
      const whole = `${parts.join('')}--${boundary}--\r\n`;
      return [`multipart/form-data; boundary=${boundary}`, whole] as const;
    }
    default:
      return [undefined, ''] as const;
  }
}
