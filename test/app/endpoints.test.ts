/**
 * The list of endpoints: complete, each with its word on who may call, and each declared limit enforced:
 * by the guard and the desk for those that they count, here; by the handlers, in flows/limits.test.ts.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createClientLimits } from '../../src/access/quota/client-limits.ts';
import { checkTable, endpoints } from '../../src/app/modules.ts';
import { robotsText } from '../../src/app/service/service.route.ts';
import { type ClientLimitName, clientLimits } from '../../src/config/limits.ts';
import { errors } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { fail } from '../../src/core/result.ts';
import type { AnswerLimitName } from '../../src/http/limits/admission.ts';
import type { PlainRoute, Route } from '../../src/http/router.ts';
import {
  alertsEndpoint,
  decideEndpoint,
  takeAlertBackEndpoint,
  takeAlertsBackEndpoint,
  takeBackEndpoint,
  takeBackOneEndpoint,
} from '../../src/integrations/crowdsec/agents.route.ts';
import { createCallers } from '../../src/web/guard/callers.ts';
import {
  type Endpoint,
  errorsOf,
  isSessionEndpoint,
  limitsOf,
  type SessionEndpoint,
} from '../../src/web/guard/endpoint.ts';
import { errorShapes } from '../../src/web/shape.ts';
import { manualClock } from '../support/seeded.ts';
import { guardOf } from '../support/server/guard.ts';
import { askDesk, deskOf, formOf } from '../support/server/page-builder.ts';

const lineOf = ({ method, path }: Endpoint | Route) => `${method} ${path}`;

function routeOf({ who, method, path }: Endpoint): Route {
  return { kind: 'plain', who, method, path, handle: () => ({ status: 200, headers: [] }) };
}

const log = createLog('silent');
const whole = endpoints.map(routeOf);

it('a table that is the list passes', () => {
  checkTable(whole, log);
  assert.equal(new Set(endpoints.map(lineOf)).size, endpoints.length);
});

it('a route that is not listed, or listed for others, stops the start', () => {
  const added = routeOf({ ...endpoints[0]!, path: '/new' });
  assert.throws(() => checkTable([...whole, added], log), /not listed: anyone GET/);
  const { who: _, ...bare } = whole[0]!;
  assert.throws(() => checkTable([bare as Route, ...whole.slice(1)], log), /not listed: undefined/);
  assert.throws(() => checkTable(whole.slice(1), log), /not served: /);
});

const everyone = [
  ...['anyone', 'api-key', 'bouncer', 'agent', 'operator'],
  ...['signed-in', 'reviewing', 'enrolling', 'verified', 'confirmed'],
  ...['signed-in operator', 'confirmed operator'],
];

const agentsThatPay: readonly Endpoint[] = [
  alertsEndpoint,
  decideEndpoint,
  takeBackEndpoint,
  takeBackOneEndpoint,
  takeAlertsBackEndpoint,
  takeAlertBackEndpoint,
];

it('every endpoint says who may call, has a shape, a bound, and errors that are in the table', () => {
  for (const declared of endpoints) {
    const line = lineOf(declared);
    assert.ok(everyone.includes(declared.who), line);
    assert.ok(errorShapes.includes(declared.shape), line);
    for (const code of errorsOf(declared)) assert.ok(code in errors, `${line}: ${code}`);
    const isKeyed = declared.who === 'api-key' || agentsThatPay.includes(declared);
    assert.equal(declared.cost !== undefined, isKeyed, `${line} costs, or needs no key`);
    assert.equal(declared.body !== undefined, declared.method === 'POST' || isBodyOf(declared));
  }
});

/** DELETE with fields in a body. */
function isBodyOf({ method, body }: Endpoint): boolean {
  return method === 'DELETE' && body !== undefined;
}

it("every limit of the table is declared by an endpoint that it holds for, or is the transport's", () => {
  const ofTransport = ['answers', 'answersNear', 'probes'] satisfies AnswerLimitName[];
  const declared = new Set<string>([...ofTransport, ...endpoints.flatMap(limitsOf)]);
  assert.deepEqual(new Set(Object.keys(clientLimits)), declared);
});

it('pages for one person are closed to crawlers, with all below them', () => {
  const text = robotsText(endpoints);
  assert.match(text, /^User-agent: \*\nDisallow: \/api\/$/m);
  assert.match(text, /^Disallow: \/account$/m);
  assert.doesNotMatch(text, /\/account\//);
  const rules = [...text.matchAll(/^Disallow: (.*)$/gm)].map(([, rule]) => rule!);
  for (const { who, method, path, robots } of endpoints) {
    const isOpen = who === 'anyone' || method !== 'GET';
    if (!isOpen)
      assert.ok(
        rules.some((rule) => path.startsWith(rule)),
        path,
      );
    if (who === 'anyone' && method === 'GET' && robots === undefined) {
      assert.ok(!rules.some((rule) => path.startsWith(rule)), path);
    }
  }
});

/** Asks until the limit refuses: as often as it admits, then once more. */
async function endsAtIts(limit: ClientLimitName, ask: () => ReturnType<PlainRoute['handle']>) {
  for (let i = 0; i < clientLimits[limit].max; i++) assert.equal((await ask()).status, 200);
  const { status, headers } = await ask();
  assert.equal(status, 429);
  assert.ok(headers.some(([name]) => name === 'Retry-After'));
}

const check = { judge: () => assert.fail('no score is asked for') };
for (const declared of endpoints) {
  for (const limit of declared.limits ?? []) {
    it(`${lineOf(declared)} ends at its limit ${limit}`, async () => {
      const limits = createClientLimits(clientLimits);
      const callers = createCallers({ limits, check, clock: manualClock(0) });
      const route = isSessionEndpoint(declared)
        ? askDesk(deskOf(callers), declared)
        : guardOf(callers).open(declared, () => ({ status: 200, headers: [] }));
      await endsAtIts(limit, () => route.handle(formOf(declared), { onGone: () => {} }));
    });
  }
}

it('an error that an endpoint does not declare is told and logged', async () => {
  const declared = endpoints.find(({ path }) => path === '/api/v2/check')!;
  assert.throws(() => guardOf().failureReply(declared, fail('weak_password')), /does not declare/);
  assert.equal(guardOf().failureReply(declared, fail('invalid_parameter')).status, 422);
  const page = endpoints.find(({ path }) => path === '/signin') as SessionEndpoint;
  const desk = deskOf({ takeOrWait: () => 0 });
  const route = desk.page(page, (visit) => desk.problem(visit, fail('unknown_key')));
  await assert.rejects(
    async () => route.handle(formOf(page), { onGone: () => {} }),
    /does not declare/,
  );
});
