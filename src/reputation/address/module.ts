/**
 * The pages of addresses, networks and systems. They need no key, so they are limited per client.
 */

import type { Clock } from '../../core/clock.ts';
import { fail } from '../../core/result.ts';
import type { Turns } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { Systems } from '../../geo/systems/systems.ts';
import { firstHeader, type Header, type Reply, type Request } from '../../http/request/message.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Callers } from '../../web/guard/callers.ts';
import { errorReply, languageOf, type PageTools, tooManyText } from '../../web/page-tools.ts';
import { createReplyCache } from '../../web/reply-cache.ts';
import { failureBody } from '../../web/shape.ts';
import type { Check } from '../check/check.ts';
import type { Hostnames } from '../hostnames.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import {
  type AddressOptions,
  addressRoute,
  findAddressRoute,
  networkRoute,
  systemRoute,
} from './address.route.ts';
import type { EvidenceReader } from './evidence.ts';

/** A flood on one page costs one read of the store a second. Some pages of the largest kind. */
const cacheOptions = { keepMs: 1_000, entriesMax: 500, bytesMax: 8 << 20 } as const;

export function openAddressPages(needs: {
  readonly tools: PageTools;
  readonly index: IpIndex;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly geoMadeAt: number;
  readonly clock: Clock;
  readonly reports: ReportStore;
  readonly callers: Callers;
  readonly evidence: EvidenceReader;
  readonly hostnames: Hostnames;
  readonly turns: Turns;
  readonly systems: Systems;
  /** Base URL of the API in the command that the page shows. */
  readonly secureUrl: string;
  readonly pageBuilder: AddressOptions['pageBuilder'];
  readonly isOperator: AddressOptions['isOperator'];
  readonly operatorBar: AddressOptions['operatorBar'];
}) {
  const { tools, index, check, geo, clock, reports, callers, evidence, hostnames, turns } = needs;
  const { systems, secureUrl, pageBuilder, isOperator, operatorBar } = needs;
  const cache = createReplyCache({ clock, ...cacheOptions });

  function admit(
    request: Request,
    asJson: boolean,
    waitSeconds = callers.take('ipPage', request),
  ): Reply | undefined {
    if (waitSeconds === 0) return undefined;
    const retry: Header[] = [['Retry-After', String(waitSeconds)]];
    if (asJson) return failureBody('api', fail('client_limit_exceeded'), retry);
    const language = languageOf(request);
    const reply = errorReply(tools, language, 429, tooManyText(language, waitSeconds));
    return { ...reply, headers: [...reply.headers, ...retry] };
  }

  function admitToSystem(request: Request, asJson: boolean): Reply | undefined {
    const near = callers.networkOf(request).wide;
    const wait = callers.take('ipPage', request) || callers.takeFor('systemNear', near);
    return admit(request, asJson, wait);
  }

  const { geoMadeAt } = needs;
  const shared = { tools, index, check, geo, geoMadeAt, clock, turns, admit, wantsJson };
  return {
    routes: [
      findAddressRoute({ tools, check, geo, clock, callers, admit }),
      addressRoute({
        ...shared,
        reports,
        evidence,
        hostnames,
        secureUrl,
        cache,
        pageBuilder,
        isOperator,
        operatorBar,
      }),
      networkRoute(shared),
      systemRoute({ ...shared, systems, admit: admitToSystem }),
    ],
    tables: cache.tables('address_pages'),
  };
}

/** A link can't say what it accepts: `?format=json` does. */
function wantsJson(request: Request): boolean {
  if (/(?:^|&)format=json(?:&|$)/.test(request.query)) return true;
  return /^application\/json\b/i.test(firstHeader(request, 'accept')?.trim() ?? '');
}
