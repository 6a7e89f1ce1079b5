/**
 * The first steps of a route that needs a key: who asks, may it spend, and is what it asks well
 * formed? 401 before 429 before 422: who is wrong about a parameter has paid for the answer.
 */

import { type Gate, quotaKind } from '../access/gate.ts';
import { fail, type Result } from '../core/result.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import { type Params, parseQuery } from '../http/query.ts';
import type { Caller } from '../http/router.ts';
import { apiProblem } from './problem.ts';
import { quotaDetail, quotaHeaders } from './quota-headers.ts';

/** Rate-limit headers for the answer, copied: the gate's findings belong to its last call. */
export type Spent =
  | { readonly ok: true; readonly slot: number; readonly headers: Header[] }
  | { readonly ok: false; readonly refusal: Reply };

export function spendKeyed(
  gate: Gate,
  keyText: string | undefined,
  kind: keyof typeof quotaKind,
  cost = 1,
): Spent {
  const slot = gate.authenticate(keyText);
  if (slot < 0) return { ok: false, refusal: apiProblem(fail('unauthenticated')) };
  return spendMore(gate, slot, kind, cost);
}

/** What a request costs beyond its first read, once that is known. */
export function spendMore(
  gate: Gate,
  slot: number,
  kind: keyof typeof quotaKind,
  cost: number,
): Spent {
  const admitted = gate.spend(slot, quotaKind[kind], cost);
  const headers = quotaHeaders(gate.quotas);
  if (admitted) return { ok: true, slot, headers };
  const failure = fail('quota_exceeded', quotaDetail(gate.quotas, kind));
  return { ok: false, refusal: apiProblem(failure, headers) };
}

/** A read whose parameters stand in the query, with the key in the header or among them. */
export type KeyedRead<Asked> =
  | {
      readonly ok: true;
      readonly asked: Asked;
      readonly slot: number;
      readonly headers: Header[];
    }
  | { readonly ok: false; readonly refusal: Reply };

/** @param read the parameters, checked; asked only when the key is good and one read is paid */
export function readKeyed<Asked>(
  gate: Gate,
  request: Request,
  read: (params: Params) => Result<Asked>,
): KeyedRead<Asked> {
  const query = parseQuery(request.query);
  const keyText = firstHeader(request, 'key') ?? (query.ok ? query.value.get('key') : undefined);
  const spent = spendKeyed(gate, keyText, 'read');
  if (!spent.ok) return spent;
  const { slot, headers } = spent;
  const asked = query.ok ? read(query.value) : query;
  if (!asked.ok) return { ok: false, refusal: apiProblem(asked, headers) };
  return { ok: true, asked: asked.value, slot, headers };
}

/** False once nobody waits for the answer: long work ends. */
export function wantedBy(caller: Caller): () => boolean {
  let isWanted = true;
  caller.onGone(() => {
    isWanted = false;
  });
  return () => isWanted;
}
