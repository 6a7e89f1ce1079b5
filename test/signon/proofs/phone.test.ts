/** Phone codes, and the webhook that carries them. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { after, beforeEach, it } from 'node:test';
import { parsePhone, phoneCodeLifeMs, webhookMessages } from '../../../src/signon/proofs/phone.ts';
import { phoneCodeKey } from '../../../src/storage/keys.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { openBench, unreachableNumber, visitor } from '../account-fixture.ts';

let account = '';
let number = '';
let network = '';
let count = 0;

const bench = openBench('phone', {}, { smsCountries: ['FR', 'US'], smsPerDay: 1_000 });
beforeEach(() => {
  account = `account-${++count}`;
  number = `+336123456${String(count).padStart(2, '0')}`;
  network = `n${count}`;
});
after(() => bench.close());

const send = (to = number, from = network) =>
  bench.signon.phoneCodes.send(account, to, { ...visitor, client: from });
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

it('nobody is asked for a code that could not be sent', async () => {
  assert.equal(errorOf(await send(unreachableNumber)), 'overloaded');
  assert.equal(await bench.signon.phoneCodes.isOpen(account), false);
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
  const sendAs = (i: number) =>
    bench.signon.phoneCodes.send(`other-${i}`, `+3361234${5_000 + i}`, {
      ...visitor,
      client: network,
    });
  for (let i = 0; i < 10; i++) value(await sendAs(i));
  assert.equal(errorOf(await sendAs(10)), 'client_limit_exceeded');
});

it('five a day for an account, whatever the networks and numbers', async () => {
  const numberOf = (i: number) => `+3362345${5_000 + i}`;
  for (let i = 0; i < 5; i++) value(await send(numberOf(i), `day-${i}`));
  for (let hour = 0; hour < 23; hour++) {
    bench.clock.advance(3_600_000);
    assert.equal(errorOf(await send(numberOf(hour), `late-${hour}`)), 'client_limit_exceeded');
  }
  bench.clock.advance(3 * 3_600_000);
  value(await send(numberOf(90), 'next day'));
});

it('twenty a day from a /24 or /48, whatever the addresses and accounts', async () => {
  const sendAs = (i: number) => {
    const from = { ...visitor, client: `near-${i}`, neighbourhood: 'near' };
    return bench.signon.phoneCodes.send(`near-${i}`, `+3364345${5_000 + i}`, from);
  };
  for (let i = 0; i < 20; i++) value(await sendAs(i));
  for (let i = 20; i < 60; i++) assert.equal(errorOf(await sendAs(i)), 'client_limit_exceeded');
});

it('texts go to mobile numbers of the listed countries alone', async () => {
  const refusedNumbers = {
    'Jamaica, under the same +1': '+18762345678',
    Canada: '+14165550123',
    Spain: '+34612345678',
    'premium rate': '+33891234567',
    landline: '+33123456789',
    satellite: '+881612345678',
  };
  const before = bench.messages.length;
  for (const [what, to] of Object.entries(refusedNumbers)) {
    assert.equal(errorOf(await send(to)), 'invalid_parameter', what);
  }
  assert.equal(bench.messages.length, before);
  value(await send('+12125550123'));
});

it('a thousand accounts on as many networks have no more texts sent in a day than the budget', async () => {
  const small = openBench('phone-budget', {}, { smsPerDay: 30 });
  const pump = async () => {
    for (let i = 0; i < 1_000; i++) {
      const from = { ...visitor, client: `n${i}`, neighbourhood: `m${i}` };
      await small.signon.phoneCodes.send(`a${i}`, `+336${20_000_000 + i}`, from);
    }
    return small.messages.length;
  };
  assert.equal(await pump(), 30);
  small.clock.advance(20 * 3_600_000);
  assert.equal(await pump(), 30);
  small.clock.advance(6 * 3_600_000);
  assert.equal(await pump(), 60);
  assert.ok(small.lines.some(({ msg }) => msg.includes('budget')));
  await small.close();
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
    assert.equal(parsePhone(text, 'FR')?.number, undefined, text.slice(0, 20));
  }
  assert.equal(parsePhone('0612345678', 'ZZ')?.number, undefined);
  assert.equal(parsePhone('06 12 34 56 78', 'FR')?.number, '+33612345678');
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
  // Without the time, whose digits may be any.
  const told = JSON.stringify(lines.map((line) => ({ ...line, time: undefined })));
  assert.doesNotMatch(told, /336|123456|code/);
});

it('whoever has the store alone can try no code', async () => {
  value(await send());
  const row = await bench.store.get(phoneCodeKey(account));
  const stored = Buffer.from(row!.value).toString('hex');
  for (const text of [`phone code ${account} ${codeSent()}`, `${account} ${codeSent()}`]) {
    const digest = createHash('sha256').update(text).digest('hex');
    assert.equal(stored.includes(digest.slice(0, 32)), false);
  }
});
