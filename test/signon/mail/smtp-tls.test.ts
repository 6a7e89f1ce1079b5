/** Mail servers that take STARTTLS out, refuse it, or have somebody else's certificate: no password goes there. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Mail } from '../../../src/signon/mail/mail-format.ts';
import {
  checkSmtp,
  isOnThisMachine,
  smtpTransport,
  tlsText,
} from '../../../src/signon/mail/smtp.ts';
import { startSmtp } from '../../support/signon/smtp-stub.ts';

const sender = { name: 'Wall', contact: undefined, logo: undefined };
const mail: Mail = {
  to: 'me@example.org',
  language: 'en',
  subject: 's',
  text: 't',
  link: 'https://a/',
};

/** The stub, by a name that may be another machine's. */
function strange(url: string, more = ''): string {
  return `${url.replace('127.0.0.1', 'user:the-password@0.0.0.0')}${more}`;
}

async function send(url: string): Promise<void> {
  const transport = smtpTransport(url, 'from@example.org', sender);
  try {
    await transport.send(mail);
  } finally {
    await transport.close();
  }
}

it('a server without STARTTLS gets neither password nor mail', async () => {
  await using smtp = await startSmtp();
  // What nodemailer itself would take from a URL counts for nothing.
  for (const more of [
    '',
    '?requireTLS=false',
    '?ignoreTLS=true',
    '?opportunisticTLS=true',
    '?secure=false',
  ]) {
    const url = strange(smtp.url, more);
    await assert.rejects(send(url), /STARTTLS/, more);
    assert.match((await checkSmtp(url, 5_000)).refused ?? '', /STARTTLS/, more);
  }
  const said = smtp.said.join('\n');
  assert.doesNotMatch(said, /AUTH|MAIL|RCPT|DATA/);
  assert.match(said, /^EHLO/);
});

it('tls=optional goes on without TLS, and so does a server on this machine', async () => {
  await using smtp = await startSmtp();
  const url = `${smtp.url.replace('127.0.0.1', '0.0.0.0')}?tls=optional`;
  const check = await checkSmtp(url, 5_000);
  assert.deepEqual(check, { refused: undefined, tls: undefined, isTrusted: false });
  assert.equal(tlsText(check), 'without TLS');
  await send(url);
  await send(smtp.url);
  assert.equal(smtp.said.filter((line) => line.startsWith('RCPT')).length, 2);
});

it('this machine is told by its own addresses and name alone', () => {
  const isHere = (host: string) => isOnThisMachine(new URL(`smtp://u:p@${host}:25?name=x`));
  for (const host of ['localhost', 'LOCALHOST', 'localhost.', '127.0.0.1', '127.9.9.9', '[::1]']) {
    assert.ok(isHere(host), host);
  }
  const others = [
    'localhost.example.org',
    'mail.localhost',
    'notlocalhost',
    '127.0.0.1.example.org',
  ];
  for (const host of [
    ...others,
    '128.0.0.1',
    '0.0.0.0',
    '10.0.0.1',
    '[::2]',
    '[fe80::1]',
    '127.1',
  ]) {
    assert.ok(!isHere(host), host);
  }
});
