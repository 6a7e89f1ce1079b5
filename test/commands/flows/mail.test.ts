/** `portcullis mail test`: over SMTP, into the outbox, and what it says when nobody takes the mail. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startTestServer } from '../../support/server/server.ts';
import { startSmtp } from '../../support/signon/smtp-stub.ts';

it('one mail is sent now, and the command says how it went', async () => {
  await using smtp = await startSmtp(1);
  await using server = await startTestServer({
    threads: 1,
    env: { SMTP_URL: smtp.url, SITE_NAME: 'Wall', SITE_CONTACT: 'help@wall.example' },
  });
  const refused = await server.cli('mail', 'test', 'me@example.org');
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /the mail was not taken: .*451/);
  const { by, tls, ...sent } = await server.cliJson(
    'mail',
    'test',
    'me@example.org',
    '--language',
    'fr',
  );
  assert.deepEqual(sent, { to: 'me@example.org', language: 'fr' });
  assert.equal(by, new URL(smtp.url).host);
  assert.equal(tls, 'without TLS');
  const said = smtp.said.join('\n');
  assert.match(said, /RCPT TO:<me@example\.org>/);
  assert.match(said, /From: Wall </);
  assert.match(said, /help@wall\.example/);
  const wrong = await server.cli('mail', 'test', 'me@example.org\r\nRCPT TO:<x@y>');
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /is not a mail address/);
});
