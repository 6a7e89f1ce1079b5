/** The first steps of a route that needs a key: who asks, and may it spend? 401 before 429. */

import { type Gate, quotaKind } from '../access/gate.ts';
import { fail } from '../core/result.ts';
import type { Header, Reply } from '../http/message.ts';
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

/** False once nobody waits for the answer: long work ends. */
export function wantedBy(caller: Caller): () => boolean {
  let isWanted = true;
  caller.onGone(() => {
    isWanted = false;
  });
  return () => isWanted;
}
