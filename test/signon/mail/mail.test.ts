/** Mails: what is sent, what never is, and what the log says of it. A real SMTP conversation. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { type Accent, readAccent } from '../../../src/core/accent.ts';
import { mailSender } from '../../../src/signon/mail/mail-format.ts';
import { createMailer, type MailTransport } from '../../../src/signon/mail/mailer.ts';
import { openOutbox } from '../../../src/signon/mail/outbox.ts';
import { smtpTransport } from '../../../src/signon/mail/smtp.ts';
import {
  type MailName,
  type MailText,
  mailText,
  mailTranslations,
} from '../../../src/signon/mail/texts.ts';
import { changeEvents } from '../../../src/signon/sessions/security-log.ts';
import { value } from '../../support/house/result.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { startSmtp } from '../../support/signon/smtp-stub.ts';
import { openBench, password, visitor } from '../account-fixture.ts';

const link = 'https://id.example.org/verify?token=secret-token';
const from = 'portcullis@example.org';
const sender = { name: 'test', contact: undefined, logo: undefined };

function mailerOn(transport: MailTransport, limit = () => 0) {
  const { log, lines } = memoryLog();
  const clock = manualClock(0);
  const retryDelaysMs = [1, 1];
  const mailer = createMailer({ transport, sender, clock, log, limit, retryDelaysMs });
  return { mailer, lines };
}

it('a mail goes out over SMTP, is tried again, and the log tells nothing of it', async () => {
  await using smtp = await startSmtp(1);
  const { mailer, lines } = mailerOn(smtpTransport(smtp.url, from, sender));
  assert.ok(mailer.post('person@example.org', 'en', 'verify', { link }));
  await mailer.idle();
  await mailer.close();
  const conversation = smtp.said.join('\n');
  assert.match(conversation, /RCPT TO:<person@example\.org>/);
  assert.ok(conversation.replaceAll('=\n', '').includes('secret-token'));
  assert.equal(lines.filter((l) => l.msg === 'mail: not sent, will retry').length, 1);
  assert.doesNotMatch(JSON.stringify(lines), /secret-token|person@|Confirm/);
});

it('a mail that can not be delivered is given up; the queue is bounded', async () => {
  let tries = 0;
  const { mailer, lines } = mailerOn({
    async send() {
      tries++;
      throw Object.assign(new Error('no such mailbox person@example.org'), { code: 'EENVELOPE' });
    },
    async close() {},
  });
  mailer.post('person@example.org', 'fr', 'verify', { link });
  // A try that waits does not keep the process alive by itself.
  const awake = setInterval(() => {}, 1_000);
  await mailer.idle();
  clearInterval(awake);
  assert.equal(tries, 3);
  assert.equal(mailer.isFailing, false, 'a mailbox that is none is no fault of the server');
  assert.equal(lines.at(-1)!.msg, 'mail: given up');
  assert.doesNotMatch(JSON.stringify(lines), /secret-token|person@/);
  const posted = Array.from({ length: 1_200 }, (_, i) =>
    mailer.post(`p${i}@example.org`, 'en', 'verify', { link }),
  );
  assert.equal(posted.filter(Boolean).length, 1_000);
  await mailer.close();
});

it('a mail server that takes nothing is failing until it takes a mail', async () => {
  let isUp = false;
  const { mailer } = mailerOn({
    async send() {
      if (!isUp) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    },
    async close() {},
  });
  const send = () => mailer.deliver('person@example.org', 'en', 'verify', { link });
  assert.equal(mailer.isFailing, false);
  assert.equal(await send(), 'given_up');
  assert.equal(mailer.isFailing, true);
  isUp = true;
  assert.equal(await send(), 'sent');
  assert.equal(mailer.isFailing, false);
  await mailer.close();
});

it('an address gets five mails an hour that somebody asked for, three of a kind', async () => {
  const bench = openBench('mail-limit');
  const { registration, recovery, mailer } = bench.signon;
  const email = 'person@example.org';
  await bench.person(email);
  const again = () => registration.register({ email, password, visitor });
  const forgotten = () => recovery.request({ email, visitor });
  for (let i = 0; i < 10; i++) value(await forgotten());
  for (let i = 0; i < 10; i++) value(await again());
  value(await recovery.request({ email: 'nobody@example.org', visitor }));
  await mailer.idle();
  const subjects = bench.mails.map(({ subject }) => subject);
  const confirm = 'Confirm your email address';
  const known = 'You already have an account';
  const choose = 'Choose a new password';
  assert.deepEqual(subjects, [confirm, choose, choose, choose, known]);
  assert.equal(bench.mails.filter(({ to }) => to !== email).length, 0);
  bench.clock.advance(2 * 3_600_000);
  for (let i = 0; i < 10; i++) value(await again());
  for (let i = 0; i < 10; i++) value(await forgotten());
  await mailer.idle();
  assert.deepEqual(
    bench.mails.slice(subjects.length).map(({ subject }) => subject),
    [known, known, known, choose, choose],
  );
  await bench.close();
});

it('whoever has confirmations sent to an address leaves its owner the link for a password', async () => {
  const bench = openBench('mail-resend');
  const { registration, recovery, people, mailer, emailChange, sessions } = bench.signon;
  const email = 'owner@example.org';
  const stranger = { ...visitor, browserId: 'a stranger', client: 'n2' };
  value(await registration.register({ email, password, visitor: stranger }));
  const pending = (await people.byEmail(email))!;
  for (let i = 0; i < 9; i++) value(await registration.resend(pending, stranger));
  await mailer.idle();
  assert.equal(bench.mails.length, 3);
  // The owner opened one of them; from then on others can still cause mails to the address.
  const link = await bench.tokenTo(email);
  value(await registration.verify(link, stranger, { password }));
  await bench.person('other@example.org');
  const { token } = await bench.signIn('other@example.org');
  const other = (await sessions.find(token))!;
  for (let i = 0; i < 4; i++) value(await emailChange.request(other, email, visitor));
  for (let i = 0; i < 4; i++) value(await recovery.request({ email, visitor }));
  await mailer.idle();
  const resets = bench.mails.filter(({ to, link }) => to === email && link?.includes('/reset?'));
  assert.equal(resets.length, 2);
  await bench.close();
});

it('what strangers ask for leaves the notices to an owner their share', async () => {
  const bench = openBench('mail-notices');
  const email = 'person@example.org';
  await bench.person(email);
  for (let i = 0; i < 10; i++) value(await bench.signon.recovery.request({ email, visitor }));
  const before = bench.mails.length;
  await bench.signIn(email, { browser: undefined });
  await bench.signon.mailer.idle();
  assert.match(bench.mails.at(-1)!.subject, /sign-in/i);
  assert.ok(bench.mails.length > before);
  await bench.close();
});

it('who must know how a mail ended is told', async () => {
  let failures = 1;
  const told: string[] = [];
  const { mailer } = mailerOn({
    async send({ to }) {
      if (failures-- > 0) throw new Error('not now');
      told.push(to);
    },
    async close() {},
  });
  const farewell = (to: string) => mailer.deliver(to, 'en', 'accountDeleted', {});
  assert.equal(await farewell('a@example.org'), 'sent', 'the second time');
  failures = 3;
  assert.equal(await farewell('b@example.org'), 'given_up');
  failures = 1;
  const waits = farewell('c@example.org');
  const queued = farewell('d@example.org');
  await mailer.close();
  assert.equal(await waits, 'not_now');
  assert.equal(await queued, 'not_now');
  assert.equal(await farewell('e@example.org'), 'not_now');
  assert.deepEqual(told, ['a@example.org']);
  const limited = mailerOn({ async send() {}, async close() {} }, () => 60).mailer;
  assert.equal(await limited.deliver('a@example.org', 'en', 'accountDeleted', {}), 'given_up');
});

it('notices that somebody caused do not use up the mail that tells of a deletion', async () => {
  const bench = openBench('mail-farewell');
  const email = 'person@example.org';
  const id = await bench.person(email);
  for (let i = 0; i < 9; i++) {
    const values = { link, agent: '', country: 'ZZ' };
    bench.signon.mailer.post(email, 'en', 'newSignIn', values);
  }
  value(await bench.signon.erasures.begin(id));
  await bench.signon.erasures.idle();
  assert.equal(bench.mails.at(-1)!.subject, 'Your account was deleted');
  await bench.close();
});

it('an address or subject with a line break never reaches the server', async () => {
  await using smtp = await startSmtp();
  const transport = smtpTransport(smtp.url, from, sender);
  for (const to of ['a@b\r\nRCPT TO:<c@d>', 'a@b\n', 'a\0@b']) {
    await assert.rejects(
      transport.send({ to, language: 'en', subject: 's', text: 't' }),
      TypeError,
    );
  }
  const subject = 's\r\nBcc: c@d';
  await assert.rejects(
    transport.send({ to: 'a@b', language: 'en', subject, text: 't' }),
    TypeError,
  );
  // Taken apart as a list by whoever parses addresses; here it is one, which the server judges.
  await transport.send({ to: 'a@b, c@d', language: 'en', subject: 's', text: 't' }).catch(() => {});
  assert.ok(smtp.said.filter((line) => line.startsWith('RCPT')).length <= 1);
  await transport.close();
});

it('the outbox has a file for each mail, logs its link, and forgets a person', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'outbox-'));
  const folder = join(dataDir, 'outbox');
  const { log, lines } = memoryLog();
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const outbox = openOutbox({
    folder,
    from,
    clock,
    log,
    random: seededRandom(1),
    isErased: async () => false,
  });
  assert.equal(await outbox.forget('person@example.org'), 0);
  const { subject, text } = mailText('fr', 'verify', { link }, 'id.example.org', 0);
  await outbox.mail.send({ to: 'person@example.org', language: 'fr', subject, text, link });
  await outbox.mail.send({ to: 'other@example.org', language: 'fr', subject, text, link });
  await outbox.writeMessage('account-1', '+33612345678', 'code 123456');
  const files = readdirSync(folder);
  assert.equal(files.length, 3);
  const mail = files.filter((name) => name.endsWith('.eml'))[0]!;
  assert.equal(statSync(join(folder, mail)).mode & 0o777, 0o600);
  assert.match(readFileSync(join(folder, mail), 'utf8'), /^To: \w+@example\.org\r$/m);
  assert.equal(lines[0]!.msg.replace(/[\w-]+\.eml$/, ''), 'mail written to outbox/');
  assert.equal((lines[0] as unknown as { link: string }).link, link);
  assert.equal(await outbox.forget('person@example.org'), 1);
  assert.equal(await outbox.forget('account-1'), 1);
  assert.equal(readdirSync(folder).length, 1);
});

it('every mail in every language is plain, short of line, and holds its link whole', () => {
  const facts = { link, agent: 'Firefox, Linux', country: 'FR' };
  const names = Object.keys(mailTranslations.en) as MailName[];
  const cases: { name: MailName; values: object }[] = changeEvents.map((what) => {
    return { name: 'changed', values: { ...facts, former: false, what } };
  });
  for (const name of names) {
    const isOne = name !== 'changed' && name !== 'peerNotice';
    if (isOne) cases.push({ name, values: { ...facts, limit: 20_000 } });
  }
  for (const notice of ['held', 'strange key', 'stale', 'rotated', 'budget']) {
    cases.push({ name: 'peerNotice', values: { link, peer: 'b.example', notice } });
  }
  const paced = { ...facts, worksFrom: '2026-11-22 07:35 UTC', choose: true };
  cases.push({ name: 'verify', values: paced });
  for (const [language, catalogue] of Object.entries(mailTranslations)) {
    for (const { name, values } of cases) {
      const { subject, text } = (catalogue[name] as (v: object) => MailText)(values);
      assert.ok(subject.length > 5 && !/\p{Cc}/u.test(subject), `${language} ${name}`);
      assert.ok(linkless.includes(name) || text.split('\n').includes(link), `${language} ${name}`);
      for (const line of text.split('\n')) assert.ok(line === link || line.length <= 78, line);
    }
  }
});

const linkless: readonly MailName[] = ['accountDeleted', 'budgetNear'];

it('a mail is text and HTML: all of it escaped, nothing to fetch, the mark inside', async () => {
  await using smtp = await startSmtp();
  const logo = readFileSync('data/static/icon-192.png');
  const accent = readAccent('#7b2d8b') as Accent;
  const own = { accent, subjectEnd: 'Wall' };
  const contact = 'https://wall.example/help?a=1&b=2';
  const hostile = { name: 'Wall & "Gate" <x>', contact, logo, ...own };
  const transport = smtpTransport(smtp.url, from, hostile);
  const { mailer } = mailerOn(transport);
  const values = { link, agent: '<img src=https://evil.example/x>', country: 'FR' };
  assert.ok(mailer.post('person@example.org', 'fr', 'newSignIn', values));
  await mailer.idle();
  await mailer.close();
  await transport.close();
  const mail = smtp.said.join('\n').replaceAll('=\n', '').replaceAll('=3D', '=');
  assert.match(mail, /multipart\/alternative/);
  assert.match(mail, /Content-Id: <mark@portcullis>/i);
  assert.match(mail, /<html lang="fr">/);
  assert.match(mail, /background:#7b2d8b;color:#ffffff/);
  const [, subject = ''] = /^Subject: ((?:.*\r?\n)(?: .*\r?\n)*)/m.exec(smtp.said.join('\n')) ?? [];
  assert.match(subject.trim(), /=C2=B7_Wall\?=$/, 'the subject ends with the name');
  assert.match(mail, /&lt;img src=https:\/\/evil\.example\/x&gt;/);
  assert.match(mail, /Wall &amp; &quot;Gate&quot; &lt;x&gt;/);
  assert.match(mail, /href="https:\/\/wall\.example\/help\?a=1&amp;b=2"/);
  assert.match(
    mail,
    /href="https:\/\/id\.example\.org\/verify\?token=secret-token" style="display/,
  );
  const [, html = ''] = mail.split('<!doctype html>');
  assert.match(html, /rifier mes sessions<\/a>/, 'the link says where it leads');
  assert.match(html, /Date=C2=A0: 1 janv\. 1970, 00:00 UTC.*Pays=C2=A0: France/s);
  assert.deepEqual(html.match(/<(script|iframe|link|object|img src="(?!cid:))/g), null);
});

it('a mark that is no small picture stops the start with one line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mark-'));
  const settings = (siteLogo: string) => ({ baseUrl: 'https://id.example.org', siteLogo });
  const paths = { text: join(folder, 'a.png'), large: join(folder, 'b.png') };
  writeFileSync(paths.text, 'no picture');
  const png = readFileSync('data/static/icon-192.png');
  writeFileSync(paths.large, Buffer.concat([png, Buffer.alloc(65_536)]));
  assert.throws(() => mailSender(settings(join(folder, 'none.png'))), /SITE_LOGO .* can't be read/);
  assert.throws(() => mailSender(settings(paths.text)), /is not a PNG or SVG/);
  assert.throws(() => mailSender(settings(paths.large)), /more than 64 KiB/);
  assert.throws(() => mailSender(settings(folder)), /is not a file/);
  writeFileSync(paths.text, png.subarray(0, png.length - 12));
  assert.throws(() => mailSender(settings(paths.text)), /is cut off/);
  const svg = (text: string) => {
    writeFileSync(paths.text, text);
    return mailSender(settings(paths.text));
  };
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>';
  // Few mail programs show one: mails go without.
  assert.equal(svg(`<?xml version="1.0"?>\n<!-- a --><!-- b -->\n${drawing}`).logo, undefined);
  assert.throws(() => svg('<svg viewBox="0 0 1 1"/>'), /lacks xmlns/);
  for (const bad of [
    `<html>${drawing}`,
    `<!DOCTYPE svg [<!ENTITY a "b">]>${drawing}`,
    '',
    '<svgx/>',
  ]) {
    assert.throws(() => svg(bad), /is not a PNG or SVG/, bad);
  }
  const wide = Buffer.from(png);
  wide.writeUInt32BE(65_000, 16);
  writeFileSync(paths.text, wide);
  assert.throws(() => mailSender(settings(paths.text)), /more than 2048 pixels/);
  assert.equal(mailSender({ baseUrl: 'https://id.example.org' }).name, 'id.example.org');
});
