/**
 * A crowd registers from one network, each member from an address of its own: the form, the page
 * after it and the link's page tell what is asked; another network, and CLIENT_LIMITS=off, notice
 * nothing. The mail's own words stand in test/signon/people/pacing.test.ts.
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mailedLink, webVisitor } from '../../support/browser/web-visitor.ts';
import { forFile } from '../../support/server/for-file.ts';
import { metricsHeaders, startTestServer } from '../../support/server/server.ts';

const password = 'violet-harbour-72';
const promptSent = '/register/sent';

/** Each from a /64 of its own in one /48. */
const addressOf = (i: number) => `2001:db8:7:${i.toString(16)}::1`;

const env = { TRUSTED_PROXIES: '127.0.0.1,::1' };
const server = forFile(await startTestServer({ threads: 1, env, demo: false }));

describe('registrations of one network', () => {
  let members = 0;

  const member = () => webVisitor(server, { 'X-Forwarded-For': addressOf(++members) });
  const stranger = () => webVisitor(server, { 'X-Forwarded-For': '203.0.113.9' });

  async function register(count: number): Promise<string[]> {
    const places: string[] = [];
    for (let i = 0; i < count; i++) {
      // Without a password there is none to hash.
      const fields = { with: 'mail', email: `m${members}@portcullis.example` };
      const answer = await member().registerWith(fields);
      assert.equal(answer.status, 303, answer.body);
      places.push(answer.headers.location!);
    }
    return places;
  }

  it('the 21st and the next are delayed, and the page and the link say from when', async () => {
    const places = await register(20);
    assert.ok(
      places.every((place) => place === promptSent),
      places.join(),
    );
    const email = 'late@portcullis.example';
    const late = member();
    const answer = await late.register(email, password);
    const place = answer.headers.location!;
    assert.match(place, /^\/register\/sent\?from=\d+$/);
    const sent = await late.get(place);
    const [time] = /\d{4}-\d\d-\d\d \d\d:\d\d UTC/.exec(sent.body)!;
    const link = await mailedLink(server, email, '/verify');
    const page = await late.get(`${link.pathname}${link.search}`);
    assert.equal(page.status, 200);
    assert.ok(page.body.includes(`works from ${time} on`), page.body);
    assert.ok(!page.body.includes('action="/verify"'), 'no form before its time');
    const elsewhere = await stranger().register(`e-${email}`, password);
    assert.equal(elsewhere.headers.location, promptSent);
  });

  it('from the 41st on the form takes no password, and what is sent in it is dropped', async () => {
    const early = member();
    const before = await early.get('/register');
    assert.match(before.body, /name="password"/);
    await register(19);
    const late = member();
    const form = await late.get('/register');
    assert.ok(!form.body.includes('name="password"'));
    assert.ok(!form.body.includes('data-passkey-choice'));
    assert.match(form.body, /choose your password later/);
    for (const fields of [{ password }, { with: 'passkey' }]) {
      const email = `mail${members}@portcullis.example`;
      const answer = await late.registerWith({ ...fields, email });
      assert.match(answer.headers.location!, /^\/register\/sent\?from=\d+&choose=1$/);
      const sent = await late.get(answer.headers.location!);
      assert.match(sent.body, /You choose your password when you open the link/);
      const refused = await late.signIn(email, password);
      assert.equal(refused.status, 422);
    }
    const free = await stranger().get('/register');
    assert.match(free.body, /name="password"/);
    const { body } = await server.fetch('/metrics', { headers: metricsHeaders });
    assert.match(body, /portcullis_registrations_paced_total\{asked="by_mail"\} 2\n/);
  });
});
