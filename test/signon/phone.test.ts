/** Phone codes, and the webhook that carries them. */

import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { after, before, beforeEach, it } from 'node:test';
import { webhookMessages } from '../../src/signon/messages.ts';
import { normalisePhone, phoneCodeLifeMs } from '../../src/signon/phone.ts';
import { memoryLog } from '../support/memory-log.ts';
import { type Bench, errorOf, openBench, value, visitor } from './account-fixture.ts';

let bench: Bench;
let account = '';
let number = '';
let network = '';
let count = 0;

before(() => {
  bench = openBench('phone');
});
beforeEach(() => {
  account = `account-${++count}`;
  number = `+336123456${String(count).padStart(2, '0')}`;
  network = `n${count}`;
});
after(() => bench.close());

const send = (to = number, from = network) =>
  bench.signon.phoneCodes.send(account, to, { ...visitor, network: from });
const verify = (code: string, side = bench.signon) =>
  side.phoneCodes.verify(account, code, visitor);
const codeSent = () => /^\d{6}/.exec(bench.messages.at(-1)!.text)![0];

it('a right code shows the number once, in E.164', async () => {
  const local = `0${number.slice(3)}`;
  assert.deepEqual(value(await send(local)), { number });
  assert.equal(bench.messages.at(-1)!.to, number);
  const code = codeSent();
  assert.deepEqual(value(await verify(` ${code.slice(0, 3)} ${code.slice(3)}`)), { number });
  assert.equal(errorOf(await verify(code)), 'invalid_code');
});

it('five tries in all, however many come at once', async () => {
  value(await send());
  const code = codeSent();
  const wrong = code === '000000' ? '000001' : '000000';
  for (let i = 0; i < 4; i++) assert.equal(errorOf(await verify(wrong)), 'invalid_code');
  value(await verify(code));
  value(await send());
  const next = codeSent();
  const guesses = Array.from({ length: 5 }, (_, i) =>
    String((Number(next) + 1 + i) % 1e6).padStart(6, '0'),
  );
  await Promise.all(guesses.map((guess, i) => verify(guess, i % 2 ? bench.signon : bench.other)));
  assert.equal(errorOf(await verify(next)), 'invalid_code');
});

it('of 60 who give the right code at once, from two sides, one succeeds', async () => {
  value(await send());
  const code = codeSent();
  const results = await Promise.all(
    Array.from({ length: 60 }, (_, i) => verify(code, i % 2 ? bench.signon : bench.other)),
  );
  assert.equal(results.filter((r) => r.ok).length, 1);
});

it('a code ends after ten minutes, with a newer one, and for another account', async () => {
  value(await send());
  const first = codeSent();
  const stranger = await bench.signon.phoneCodes.verify('another', first, visitor);
  assert.equal(errorOf(stranger), 'invalid_code');
  bench.clock.advance(phoneCodeLifeMs);
  assert.equal(errorOf(await verify(first)), 'invalid_code');
  value(await send());
  const second = codeSent();
  value(await send());
  if (second !== codeSent()) assert.equal(errorOf(await verify(second)), 'invalid_code');
  value(await verify(codeSent()));
});

it('three an hour to a number, ten from a network', async () => {
  for (let i = 0; i < 3; i++) value(await send(number, `${network}-${i}`));
  const refused = await send(number, `${network}-4`);
  assert.ok(!refused.ok && refused.error === 'client_limit_exceeded');
  assert.ok(refused.retryAfterSeconds! > 0 && refused.retryAfterSeconds! <= 3_900);
  for (let i = 0; i < 10; i++) value(await send(`+3361234${String(5_000 + i)}`));
  assert.equal(errorOf(await send('+33612349999')), 'client_limit_exceeded');
});

it('what is no number is refused', async () => {
  for (const text of [
    '',
    '12',
    'call me',
    '+33',
    '+336123',
    '+33612345678\r\nx',
    'x'.repeat(1e6),
  ]) {
    assert.equal(normalisePhone(text, 'FR'), undefined, text.slice(0, 20));
  }
  assert.equal(normalisePhone('0612345678', 'ZZ'), undefined);
  assert.equal(normalisePhone('06 12 34 56 78', 'FR'), '+33612345678');
  assert.equal(errorOf(await send('12')), 'invalid_parameter');
  for (const code of ['', '12345', 'x'.repeat(1e6)])
    assert.equal(errorOf(await verify(code)), 'invalid_code');
});

it('the webhook gets JSON; a refusal, a redirect and silence are failures; the log tells nothing', async () => {
  const bodies: string[] = [];
  let status = 204;
  const server = createServer(async (request: IncomingMessage, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    bodies.push(`${request.method} ${request.url} ${request.headers['content-type']} ${body}`);
    response.writeHead(status, status === 302 ? { Location: '/elsewhere' } : {}).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { log, lines } = memoryLog();
  const sender = webhookMessages(`http://127.0.0.1:${port}/sms`, log);
  value(await sender.send('account', '+33612345678', 'code 123456'));
  for (status of [302, 500])
    assert.equal(errorOf(await sender.send('account', '+33612345678', 'c')), 'overloaded');
  assert.equal(bodies[0], 'POST /sms application/json {"to":"+33612345678","text":"code 123456"}');
  assert.ok(!bodies.some((body) => body.includes('/elsewhere')));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  assert.equal(errorOf(await sender.send('account', '+33612345678', 'c')), 'overloaded');
  assert.equal(lines.length, 3);
  assert.doesNotMatch(JSON.stringify(lines), /336|123456|code/);
});
