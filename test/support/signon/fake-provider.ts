/** A sign-on service that answers every exchange with what the test says, true or not. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeProvider extends AsyncDisposable {
  readonly origin: string;
  /** The next answers, until it is set again. */
  answer: {
    status: number;
    headers: Readonly<Record<string, string>>;
    body: string;
  };
  /** Forms that were posted to /api.php, in order. */
  readonly exchanges: URLSearchParams[];
  /** Method and path of all that came. */
  readonly asked: string[];
}

export async function startFakeProvider(): Promise<FakeProvider> {
  const exchanges: URLSearchParams[] = [];
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    asked.push(`${request.method} ${request.url}`);
    if (request.url === '/api.php') exchanges.push(new URLSearchParams(body));
    response.writeHead(provider.answer.status, provider.answer.headers);
    response.end(provider.answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider: FakeProvider = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: { status: 503, headers: {}, body: '' },
    exchanges,
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
  return provider;
}

/** A profile for a site, as the true service would send it. */
export function profileAnswer(clientId: string, profile: object): FakeProvider['answer'] {
  const headers = { 'Content-Type': 'application/json', 'X-SSO-Client': clientId };
  return { status: 200, headers, body: JSON.stringify(profile) };
}
