/** Who gets to an operator's page: the role, the factor and the recent proof that the desk asks for. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sessionForm, sessionPage } from '../../../src/web/guard/endpoint.ts';
import type { ProofStrength, SessionLike } from '../../../src/web/guard/request-context.ts';
import { askDesk, deskOf, formOf } from '../../support/server/page-builder.ts';

const page = sessionPage('/operators', 'signed-in operator');
const change = sessionForm('/operators/change', 'confirmed operator', { backTo: '/operators' });

async function ask(
  declared: typeof page | typeof change,
  session: Partial<SessionLike> | null,
  strength: ProofStrength = 'strong',
) {
  const desk = deskOf({ takeOrWait: () => 0 }, session, strength);
  const reply = await askDesk(desk, declared).handle(formOf(declared), { onGone: () => {} });
  const location = reply.headers.find(([name]) => name === 'Location')?.[1];
  return { status: reply.status, location, body: String(reply.body ?? '') };
}

it('who is not signed in is asked to, and a member finds nothing there', async () => {
  assert.equal((await ask(page, null)).location, '/signin?return=%2Foperators');
  for (const declared of [page, change]) {
    assert.equal((await ask(declared, { operator: false })).status, 404);
    assert.equal((await ask(declared, { operator: true })).status, 200);
  }
});

it('an operator without a second factor is told to add one, and one who has it shows it', async () => {
  const missing = await ask(page, {}, 'missing');
  assert.equal(missing.location, '/account/security?return=%2Foperators');
  const refused = await ask(change, {}, 'missing');
  assert.equal(refused.status, 403);
  assert.match(refused.body, /href="\/account\/security"/);
  for (const declared of [page, change]) {
    const weak = await ask(declared, {}, 'weak');
    assert.equal(weak.location, '/account/confirm?return=%2Foperators');
  }
});

it('a change wants a recent proof, a page does not', async () => {
  assert.equal((await ask(page, { fresh: false })).status, 200);
  const stale = await ask(change, { fresh: false });
  assert.equal(stale.location, '/account/confirm?return=%2Foperators');
});

it('neither a review that is due nor an unverified address lets an operator in', async () => {
  assert.equal((await ask(page, { verified: false })).location, '/verify');
  const reviewing = await ask(page, { reviewing: true });
  assert.equal(reviewing.location, '/account/review?return=%2Foperators');
});
