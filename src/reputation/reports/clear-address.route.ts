/**
 * DELETE /api/v2/clear-address: an account takes back all it reported of an address. When it is
 * answered that is on disk and gone from the score that a check through any thread shows.
 * Order of refusals: 401, 429, 422, 503. Costs one write.
 */

import { fail } from '../../core/result.ts';
import type { Semaphore } from '../../core/scheduling.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { addressIn } from '../../web/guard/intake/fields.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { readAddress } from '../check/check.route.ts';
import { clearAddressDocs } from './reports.openapi.ts';
import type { ReportStore } from './store/report-store.ts';

const bodyBytesMax = 4 * 1024;

export interface ClearAddressOptions {
  readonly guard: Guard;
  readonly reports: Pick<ReportStore, 'withdraw'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Semaphore;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: (seq: bigint) => Promise<void>;
}

export const clearAddressEndpoint = endpoint({
  method: 'DELETE',
  path: '/api/v2/clear-address',
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'write' },
  body: { types: ['form', 'multipart', 'json'], bytesMax: bodyBytesMax, takesGzip: true },
  errors: ['unsupported_media_type', 'store_unavailable'],
  robots: 'disallow',
  docs: clearAddressDocs,
});

export function clearAddressRoute(options: ClearAddressOptions): PlainRoute {
  const { guard, reports, walks } = options;
  return guard.keyedFields(clearAddressEndpoint, async (fields, { slot, headers }) => {
    const text = addressIn(fields);
    const address = text.ok ? readAddress(text.value) : text;
    if (!address.ok) return address;
    const account = options.accountOf(slot);
    if (account === undefined) return fail('unauthenticated');
    const { family, words } = address.value;
    // A person's second thought costs no trust.
    const done = await walks.run(() => reports.withdraw(account, family, words, false));
    const withdrawn = done.ok ? done.value : done;
    if (!withdrawn.ok) return withdrawn;
    await options.catchUpTo(withdrawn.value.seq);
    return {
      status: 200,
      headers: [jsonType, noStore, ...headers],
      body: `{"data":{"numReportsDeleted":${withdrawn.value.removed}}}`,
    };
  });
}
