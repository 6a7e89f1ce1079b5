/**
 * The pages of addresses, networks and systems. They need no key, so they are limited per client.
 */

import { fail } from '../../core/result.ts';
import type { Systems } from '../../geo/systems/systems.ts';
import { firstHeader, type Header, type Reply, type Request } from '../../http/request/message.ts';
import type { Callers } from '../../web/guard/callers.ts';
import { errorReply, languageOf, tooManyText } from '../../web/page-tools.ts';
import { createReplyCache } from '../../web/reply-cache.ts';
import { failureBody } from '../../web/shape.ts';
import {
  type AddressNeeds,
  addressRoute,
  findAddressRoute,
  networkRoute,
  systemRoute,
} from './address.route.ts';

/** A flood on one page costs one read of the store a second. Some pages of the largest kind. */
const cacheOptions = { keepMs: 1_000, entriesMax: 500, bytesMax: 8 << 20 } as const;

export function openAddressPages(
  needs: AddressNeeds & {
    readonly callers: Callers;
    readonly systems: Systems;
  },
) {
  const { tools, clock, callers } = needs;
  const cache = createReplyCache({ clock, ...cacheOptions });

  function admit(
    request: Request,
    asJson: boolean,
    waitSeconds = callers.takeOrWait('ipPage', request),
  ): Reply | undefined {
    if (waitSeconds === 0) return undefined;
    const retry: Header[] = [['Retry-After', String(waitSeconds)]];
    if (asJson) return failureBody('api', fail('client_limit_exceeded'), retry);
    const language = languageOf(request);
    const reply = errorReply(tools, language, 429, tooManyText(language, waitSeconds));
    return { ...reply, headers: [...reply.headers, ...retry] };
  }

  function admitToSystem(request: Request, asJson: boolean): Reply | undefined {
    const near = callers.networksOf(request).neighbourhood;
    const wait = callers.takeOrWait('ipPage', request) || callers.takeOrWaitFor('systemNear', near);
    return admit(request, asJson, wait);
  }

  const shared = { ...needs, admit, wantsJson };
  const { route, showOperator } = addressRoute({ ...shared, cache });
  return {
    routes: [
      findAddressRoute(shared),
      route,
      networkRoute(shared),
      systemRoute({ ...shared, admit: admitToSystem }),
    ],
    tables: cache.tables('address_pages'),
    showOperator,
  };
}

/** A link can't say what it accepts: `?format=json` does. */
function wantsJson(request: Request): boolean {
  if (/(?:^|&)format=json(?:&|$)/.test(request.query)) return true;
  return /^application\/json\b/i.test(firstHeader(request, 'accept')?.trim() ?? '');
}
