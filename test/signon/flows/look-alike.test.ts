/** Look-alike mail addresses on the whole server: a domain has one spelling, and letters before the @ are plain. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { webVisitor } from '../../support/browser/web-visitor.ts';
import { startTestServer } from '../../support/server/server.ts';

it('letters before the @ and surprising domains are refused, domains and hints are A-labels', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  for (const email of [
    'víctim@example.test',
    'victim@exam\u00adple.test',
    'victim@ｅxample.test',
  ]) {
    const answer = await webVisitor(server).register(email, 'violet-harbour-72');
    assert.equal(answer.status, 422, email);
    const made = await server.cli('account', 'create', email);
    assert.match(made.stderr, /is not a mail address/, email);
  }
  const hinted = await webVisitor(server).get('/signin?hint=x%40ex%C3%A4mple.test');
  assert.match(hinted.body, /value="x@xn--exmple-cua.test"/);
  const made = await server.cliJson('account', 'create', 'alone@BÜCHER.test');
  assert.equal(made.email, 'alone@xn--bcher-kva.test');
  const again = await server.cli('account', 'create', 'alone@xn--bcher-kva.test');
  assert.match(again.stderr, /has an account already/);
  const shown = await server.cliJson('account', 'show', 'alone@bücher.test');
  assert.equal(shown.id, made.id);
});
