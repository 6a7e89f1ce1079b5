/**
 * DELETE /api/v2/clear-address: an account takes back all it reported of an address. When it is
 * answered that is on disk and gone from the score that a check through any thread shows.
 * Order of refusals: 401, 429, 422, 503. Costs one write.
 */

import type { Gate } from '../access/gate.ts';
import { fail } from '../core/result.ts';
import type { Turnstile } from '../core/turnstile.ts';
import type { Reply, Request } from '../http/message.ts';
import type { PlainRoute } from '../http/router.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import { addressIn, keyOf, readFields } from './fields.ts';
import { spendKeyed } from './keyed.ts';
import { readAddress } from './parameters.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';

const bodyBytesMax = 4 * 1024;

export interface ClearAddressOptions {
  readonly gate: Gate;
  readonly reports: Pick<ReportStore, 'withdraw'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Turnstile;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: (seq: bigint) => Promise<void>;
}

export function clearAddressRoute(options: ClearAddressOptions): PlainRoute {
  const { gate, reports, walks } = options;

  async function handle(request: Request): Promise<Reply> {
    const fields = await readFields(request);
    const spent = spendKeyed(gate, keyOf(request, fields), 'write');
    if (!spent.ok) return spent.refusal;
    const { headers } = spent;
    if (!fields.ok) return apiProblem(fields, headers);
    const text = addressIn(fields.value);
    const address = text.ok ? readAddress(text.value) : text;
    if (!address.ok) return apiProblem(address, headers);
    const account = options.accountOf(spent.slot);
    if (account === undefined) return apiProblem(fail('unauthenticated'));
    const { family, words } = address.value;
    // A person's second thought costs no trust.
    const done = await walks.run(() => reports.withdraw(account, family, words, false));
    const withdrawn = done.ok ? done.value : done;
    if (!withdrawn.ok) return apiProblem(withdrawn, headers);
    await options.catchUpTo(withdrawn.value.seq);
    return {
      status: 200,
      headers: [jsonType, noStore, ...headers],
      body: `{"data":{"numReportsDeleted":${withdrawn.value.removed}}}`,
    };
  }

  return {
    kind: 'plain',
    method: 'DELETE',
    path: '/api/v2/clear-address',
    headers: ['key', 'content-type'],
    bodyBytesMax,
    handle,
  };
}
