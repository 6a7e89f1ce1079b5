/**
 * Sign-on routes under the operators' log: each request that changed something of an account, and
 * each one that was turned away, becomes an entry with the client's address.
 */

import type { Request } from '../../http/request/message.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Hook } from '../../web/guard/hooks.ts';
import type { SignInLog } from './sign-in-log.ts';

/** A form with a mail address is shorter. */
const formBytesMax = 8_192;

/** Returns the typed mail address; the log compares it with the accounts and drops it. */
function typedEmail({ method, body }: Request): string | undefined {
  if (method !== 'POST' || body.length === 0 || body.length > formBytesMax) return undefined;
  return new URLSearchParams(Buffer.from(body).toString('utf8')).get('email') ?? undefined;
}

/** @param endpoints the declarations of sign-on */
export function signInLogging(
  log: Pick<SignInLog, 'during'>,
  endpoints: readonly Endpoint[],
): Hook {
  return {
    name: 'sign-in log',
    appliesTo: (declared) => endpoints.includes(declared),
    around: (run, request, { path }) =>
      log.during(
        () => run(request),
        ({ status }) => ({
          address: request.clientIp,
          path,
          status,
          email: status >= 400 ? typedEmail(request) : undefined,
        }),
      ),
  };
}
