/**
 * A site that signs its visitors in here: its own host name and port, a link with fresh state and
 * challenge, a callback that compares the state and exchanges the code on the server.
 */

import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** CLIENT_SUFFIXES of the vectors in test/vectors/redirect-uri.txt. */
export const intranetSuffixes = 'internal,corp.internal,lan,local,test,home.arpa,.';

export interface ClientSite extends AsyncDisposable {
  /** On `localhost`. */
  readonly origin: string;
  readonly redirectUri: string;
  /** The page with the link, which asks for these scopes. */
  start(scope: string): string;
  /** A page that puts an address of the service into a frame. */
  framing(address: string): string;
  /** Every query that came to the callback. */
  readonly arrivals: URLSearchParams[];
  /** Every profile that was exchanged. */
  readonly profiles: Record<string, unknown>[];
  /** `Referer` headers of all requests that came from elsewhere. */
  readonly referrers: string[];
}

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
    <main><h1>${title}</h1>${body}</main></html>`;
}

/** @param service BASE_URL */
export async function startClientSite(service: string): Promise<ClientSite> {
  const arrivals: URLSearchParams[] = [];
  const profiles: Record<string, unknown>[] = [];
  const referrers: string[] = [];
  /** Verifiers by the state that was sent. */
  const pending = new Map<string, string>();

  function signInLink(scope: string): string {
    const state = randomBytes(16).toString('base64url');
    const verifier = randomBytes(32).toString('base64url');
    pending.set(state, verifier);
    const query = new URLSearchParams({
      client_id: 'localhost',
      redirect_uri: redirectUri(),
      response_type: 'code',
      scope,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return `${service}/authorize.php?${query}`;
  }

  async function arrive(query: URLSearchParams): Promise<string> {
    arrivals.push(query);
    const state = query.get('state') ?? '';
    const verifier = pending.get(state);
    pending.delete(state);
    if (verifier === undefined) return page('Stopped', '<p>The state is not ours.</p>');
    const error = query.get('error');
    if (error !== null) return page('Not signed in', `<p>${escaped(error)}</p>`);
    const exchange = new URLSearchParams({
      code: query.get('code') ?? '',
      client_id: 'localhost',
      redirect_uri: redirectUri(),
      code_verifier: verifier,
    });
    const answer = await fetch(`${service}/api.php?${exchange}`);
    const profile = (await answer.json()) as Record<string, unknown>;
    profiles.push(profile);
    return page('Signed in', `<pre>${escaped(JSON.stringify(profile, null, 2))}</pre>`);
  }

  async function answer(url: URL): Promise<string | undefined> {
    switch (url.pathname) {
      case '/start': {
        const link = escaped(signInLink(url.searchParams.get('scope') ?? ''));
        return page('Shop', `<p><a href="${link}">Sign in</a></p>`);
      }
      case '/framing': {
        const source = escaped(url.searchParams.get('address') ?? '');
        return page('Trap', `<iframe title="bait" src="${source}"></iframe>`);
      }
      case '/cb':
        return arrive(url.searchParams);
      default:
        return undefined;
    }
  }

  const server = createServer((request, response) => {
    const { referer } = request.headers;
    if (referer !== undefined && !referer.startsWith(origin())) referrers.push(referer);
    answer(new URL(request.url ?? '/', origin())).then(
      (body) => {
        response.writeHead(body === undefined ? 204 : 200, { 'content-type': 'text/html' });
        response.end(body);
      },
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = () => `http://localhost:${(server.address() as AddressInfo).port}`;
  const redirectUri = () => `${origin()}/cb`;
  return {
    origin: origin(),
    redirectUri: redirectUri(),
    start: (scope) => `${origin()}/start?${new URLSearchParams({ scope })}`,
    framing: (address) => `${origin()}/framing?${new URLSearchParams({ address })}`,
    arrivals,
    profiles,
    referrers,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
