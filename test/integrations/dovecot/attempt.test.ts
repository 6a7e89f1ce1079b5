/** What Dovecot sends, as bytes: whatever they are, nothing throws and nobody is refused for them. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Request } from '../../../src/http/request/message.ts';
import {
  createPolicyIntegration,
  type PolicyIntegrationOptions,
  readAttempt,
} from '../../../src/integrations/dovecot/policy.route.ts';
import { manualClock } from '../../support/seeded.ts';

const read = (value: unknown) => readAttempt(Buffer.from(JSON.stringify(value)));

it('only a failure that no policy made counts', () => {
  const facts = { login: 'ada', pwhash: '0a76', remote: '45.10.0.7' };
  for (const [more, isFailure] of [
    [{ success: false, policy_reject: false }, true],
    [{ success: false }, true],
    [{ success: false, policy_reject: true }, false],
    [{ success: true, policy_reject: false }, false],
    [{ success: 'false' }, false],
    [{}, false],
  ] as const) {
    const value = { remote: '45.10.0.7', isFailure };
    assert.deepEqual(read({ ...facts, ...more }), { ok: true, value });
  }
});

it('a body without an address is told what it lacks', () => {
  for (const [text, wanted] of [
    ['', /JSON object/],
    ['[]', /JSON object/],
    ['null', /JSON object/],
    ['{"login":"ada"}', /remote=%\{rip\}/],
    ['{"remote":7}', /remote=%\{rip\}/],
  ] as const) {
    const answer = readAttempt(Buffer.from(text));
    assert.ok(!answer.ok && wanted.test(answer.detail ?? ''), text);
  }
});

/** Everybody has a bad name, and every key is good. */
function strictDoor() {
  const verdict = { score: 100, malicious: true, anonymousExit: false, allowlisted: false };
  const options = {
    quotaGuard: { authenticate: () => 0 },
    check: { judge: () => verdict },
    clock: manualClock(1_800_000_000_000),
    admitQuestion: () => true,
    shares: { admit: () => true },
    count() {},
  };
  const integration = createPolicyIntegration(options as unknown as PolicyIntegrationOptions);
  return (body: Uint8Array, command: string) => {
    const given = { body, query: `command=${command}`, headers: { 'x-api-key': ['pcl_key'] } };
    return integration.ask(given as unknown as Request);
  };
}

it('of any bytes at all, only an address that can have a name is refused', () => {
  const ask = strictDoor();
  const ip = fc.oneof(fc.ipV4(), fc.ipV6(), fc.string(), fc.constant('10.0.0.7'));
  const object = fc.record(
    { remote: fc.oneof(ip, fc.anything()), success: fc.anything(), policy_reject: fc.boolean() },
    { requiredKeys: [] },
  );
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.oneof(object, fc.jsonValue()).map((value) => Buffer.from(JSON.stringify(value) ?? '')),
  );
  fc.assert(
    fc.property(bytes, fc.constantFrom('allow', 'report', 'x'), (body, command) => {
      const answer = ask(body, command);
      if ('slot' in answer) return assert.equal(command, 'report');
      if ('ok' in answer) return assert.equal(answer.error, 'bad_request');
      const { status } = JSON.parse(String(answer.body)) as { status: number };
      if (status === 0) return;
      assert.equal(status, -1);
      assert.equal(command, 'allow');
      const { remote } = JSON.parse(Buffer.from(body).toString('utf8'));
      assert.match(remote, /[.:]/);
      assert.doesNotMatch(remote, /^10\./);
    }),
    { numRuns: 2_000 },
  );
});
