/**
 * Sign-on routes under the operators' log: each request that changed something of an account, and
 * each one that was turned away, becomes an entry with the client's address.
 */

import type { Request } from '../../http/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { SignInLog } from './sign-in-log.ts';

/** A form with a mail address is shorter. */
const formBytesMax = 8_192;

/** Returns the typed mail address; the log compares it with the accounts and drops it. */
function typedEmail({ method, body }: Request): string | undefined {
  if (method !== 'POST' || body.length === 0 || body.length > formBytesMax) return undefined;
  return new URLSearchParams(Buffer.from(body).toString('utf8')).get('email') ?? undefined;
}

export function watched(
  routes: readonly PlainRoute[],
  log: Pick<SignInLog, 'during'>,
): PlainRoute[] {
  return routes.map((route) => ({
    ...route,
    handle: (request, caller) =>
      log.during(
        async () => route.handle(request, caller),
        ({ status }) => ({
          address: request.clientIp,
          path: route.path,
          status,
          email: status >= 400 ? typedEmail(request) : undefined,
        }),
      ),
  }));
}
