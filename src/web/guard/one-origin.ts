/**
 * Gives a demo one name. It listens on a loopback address, but links, cookies and passkeys belong to the
 * `localhost` of BASE_URL, so a page asked for by address redirects there. Calls of programs are answered
 * where they arrive.
 */

import { firstHeader, type Request } from '../../http/request/message.ts';
import { hostOfAuthority, isLoopbackAddress } from '../../ip/loopback.ts';
import { noStore } from '../shape.ts';
import { isPage } from './endpoint.ts';
import type { Hook } from './hooks.ts';

export function oneOrigin({ baseUrl, port }: { baseUrl: string; port: number }): Hook {
  const base = new URL(baseUrl);
  // A port that nobody named is in no link.
  const isNamed = port !== 0 && Number(base.port || 80) === port;
  const isOn = base.hostname === 'localhost' && isNamed;
  return {
    name: 'one origin',
    appliesTo: (declared) => isOn && declared.method === 'GET' && isPage(declared),
    headers: ['host', 'accept'],
    onRequest(request) {
      if (!isByAddress(request)) return undefined;
      const query = request.query === '' ? '' : `?${request.query}`;
      const location = `${baseUrl}${request.path}${query}`;
      return { status: 307, headers: [['Location', location], noStore] };
    },
  };
}

function isByAddress(request: Request): boolean {
  const accept = firstHeader(request, 'accept') ?? '';
  const isProgram = accept.includes('application/json') && !accept.includes('text/html');
  return !isProgram && isLoopbackAddress(hostOfAuthority(firstHeader(request, 'host') ?? ''));
}
