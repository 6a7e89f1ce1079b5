/** The security log: coarse, bounded, gone when asked; and what is known of a visitor. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { agentName, browserHash, visitorCountryOf } from '../../../src/contracts/visitor.ts';
import { pendingLifeMs } from '../../../src/signon/people/pending.ts';
import {
  changesLogMax,
  securityLogMax,
  unauthenticatedLogMax,
} from '../../../src/signon/sessions/security-log.ts';
import { value } from '../../support/house/result.ts';
import { within } from '../../support/server/server.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

it('entries are shown newest first, the oldest beyond the bound go', async () => {
  const bench = openBench('security-log');
  const { securityLog } = bench.signon;
  for (let i = 0; i < securityLogMax + 30; i++) {
    bench.clock.advance(1_000);
    const from = { ...visitor, country: i === 0 ? 'DE' : 'not a country' };
    await securityLog.add('somebody', i === 0 ? 'registered' : 'signed_in', from);
  }
  await securityLog.add('somebody else', 'verified', visitor);
  const entries = await securityLog.list('somebody');
  assert.equal(entries.length, securityLogMax - unauthenticatedLogMax - changesLogMax);
  assert.ok(entries.every((entry, i) => i === 0 || entry.at < entries[i - 1]!.at));
  assert.deepEqual(entries[0], {
    at: bench.clock.now(),
    event: 'signed_in',
    country: 'ZZ',
    agent: 'Firefox, Linux',
  });
  await securityLog.clear('somebody');
  assert.deepEqual(await securityLog.list('somebody'), []);
  assert.equal((await securityLog.list('somebody else')).length, 1);
  await bench.close();
});

it('what strangers cause has a bound of its own and drives nothing else out', async () => {
  const bench = openBench('security-log-strangers');
  const { securityLog } = bench.signon;
  await securityLog.add('somebody', 'password_changed', visitor);
  const caused = ['sign_in_failed', 'reset_requested', 'registration_repeated'] as const;
  for (let i = 0; i < securityLogMax + 50; i++) {
    bench.clock.advance(1_000);
    await securityLog.add('somebody', caused[i % 3]!, visitor);
  }
  const entries = await securityLog.list('somebody');
  assert.equal(entries.length, unauthenticatedLogMax + 1);
  assert.equal(entries.at(-1)!.event, 'password_changed');
  await bench.close();
});

it('changes of the account have a bound of their own: nothing else drives them out', async () => {
  const bench = openBench('security-log-changes');
  const { securityLog } = bench.signon;
  await securityLog.add('somebody', 'passkey_added', visitor);
  for (let i = 0; i < securityLogMax + 50; i++) {
    bench.clock.advance(1_000);
    await securityLog.add('somebody', 'sessions_ended', visitor);
  }
  assert.equal((await securityLog.list('somebody')).at(-1)!.event, 'passkey_added');
  await bench.close();
});

it('what is written down about an account that nobody verifies goes with it', async () => {
  const bench = openBench('security-log-pending');
  const { signIn, registration, securityLog, people } = bench.signon;
  const email = 'pending@example.org';
  value(await registration.register({ email, password, visitor }));
  const { id } = (await people.byEmail(email))!;
  await bench.signIn(email);
  await signIn.withPassword({ email, password: 'wrong-password-1', visitor });
  await within(async () => (await securityLog.list(id)).length === 3, 'three entries');
  bench.clock.advance(pendingLifeMs);
  assert.equal(await people.byEmail(email), undefined);
  assert.deepEqual(await securityLog.list(id), []);
  await bench.close();
});

it('verification makes what was written down before it lasting', async () => {
  const bench = openBench('security-log-verified');
  const { signIn, registration, securityLog, people } = bench.signon;
  const email = 'verified@example.org';
  value(await registration.register({ email, password, visitor }));
  const { id } = (await people.byEmail(email))!;
  await signIn.withPassword({ email, password: 'wrong-password-1', visitor });
  await within(async () => (await securityLog.list(id)).length === 2, 'two entries');
  value(await registration.verify(await bench.tokenTo(email), visitor));
  bench.clock.advance(2 * pendingLifeMs);
  const events = (await securityLog.list(id)).map(({ event }) => event);
  assert.deepEqual(events.sort(), ['registered', 'sign_in_failed', 'verified']);
  await bench.close();
});

it('a browser is named in two words, whatever the header holds', () => {
  const named: [string, string][] = [
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0',
      'Edge, Windows',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari, iOS',
    ],
    [
      'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
      'Chrome, Android',
    ],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Gecko/20100101 Firefox/140.0',
      'Firefox, macOS',
    ],
    ['', ''],
    ['<script>alert(1)</script>\r\nSet-Cookie: x', ''],
    [`${'x'.repeat(1e6)} Firefox/1`, ''],
  ];
  for (const [header, expected] of named) assert.equal(agentName(header), expected);
  assert.equal(visitorCountryOf({ ...visitor, country: '' }), 'ZZ');
});

it('the mark of a browser differs from account to account', () => {
  assert.notDeepEqual(browserHash('a', 'cookie'), browserHash('b', 'cookie'));
  assert.equal(browserHash('a', 'cookie').length, 16);
});
