/** What the receipt routes answer when the store can't write: never a success, and when to retry. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { captchaReceiptRoutes } from '../../src/captcha/receipt.route.ts';
import { fail } from '../../src/core/result.ts';
import type { Request } from '../../src/http/request/message.ts';
import { guardOf } from '../support/server/guard.ts';

const quotas = { limit: 10, remaining: 9, resetSecond: 1, retryAfterSeconds: 0, countedAtMs: 0 };
const quotaGuard = {
  authenticate: () => 0,
  spend: () => true,
  noteRefused: () => {},
  quotas: { ...quotas, take: () => true },
};
const routes = captchaReceiptRoutes({
  quotaGuard,
  guard: guardOf({ quotaGuard }),
  receipts: {
    redeem: async () => fail('store_unavailable', 'the disk is full'),
    siteFault: async () => undefined,
  },
  callers: { abuseScoreOf: () => 0 },
  accountOf: () => 'owner',
});

async function ask(path: string, body: object) {
  const request: Request = {
    method: 'POST',
    path,
    param: '',
    query: '',
    headers: { 'content-type': ['application/json'] },
    body: Buffer.from(JSON.stringify(body)),
    clientIp: '192.0.2.1',
    id: 'r1',
  };
  const route = routes.find((r) => r.path === path)!;
  const reply = await route.handle(request, { onGone: () => undefined });
  return { status: reply.status, header: new Map(reply.headers), body: String(reply.body) };
}

test('POST /captcha/receipt answers 503 with Retry-After', async () => {
  const reply = await ask('/captcha/receipt', { secret: 'k', receipt: 'r' });
  assert.equal(reply.status, 503);
  assert.equal(reply.header.get('Retry-After'), '5');
  assert.equal(reply.header.get('X-RateLimit-Remaining'), '9');
  assert.equal(reply.body, '{"ok":false}');
});

test('POST /captcha/siteverify answers internal-error with 200 and Retry-After', async () => {
  const reply = await ask('/captcha/siteverify', { secret: 'k', response: 'r' });
  assert.equal(reply.status, 200);
  assert.equal(reply.header.get('Retry-After'), '5');
  assert.deepEqual(JSON.parse(reply.body), { success: false, 'error-codes': ['internal-error'] });
});

test('neither route has CORS', () => {
  for (const route of routes) assert.equal(route.cors, undefined, route.path);
});
