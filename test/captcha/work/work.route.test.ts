/** Levels and proof of work by the calls of pages and in forms: who gets what, what is good, and what a bad one costs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Request } from '../../../src/http/request/message.ts';
import type { Params } from '../../../src/http/request/query.ts';
import {
  exit,
  header,
  low,
  malicious,
  type Sent,
  setUp,
  suspect,
  visitor,
} from '../../support/captcha/routes.ts';
import { payloadOf, solve } from '../../support/captcha/solution.ts';

const origin = 'https://shop.example';
type Setup = ReturnType<typeof setUp>;

async function start({ send }: Setup, query = '', sent: Sent = {}) {
  const reply = await send('/captcha/start', { query, origin, ...sent });
  assert.equal(reply.status, 200);
  assert.equal(header(reply, 'access-control-allow-origin'), origin);
  assert.equal(header(reply, 'cache-control'), 'no-store');
  return JSON.parse(String(reply.body)) as {
    level: string;
    work?: object;
    token?: string;
    img?: string;
    audio?: string;
    receipt?: string;
    expires_in: number;
  };
}

const solvedOf = async (setup: Setup, query = 'sitekey=pcs_silent', sent: Sent = {}) =>
  payloadOf(await solve((await start(setup, query, sent)).work));

async function verify({ send }: Setup, fields: Record<string, unknown>, sent: Sent = {}) {
  const body = JSON.stringify({ sitekey: 'pcs_silent', ...fields });
  const post = { method: 'POST', type: 'application/json', origin, body } as const;
  const reply = await send('/captcha/work', { ...post, ...sent });
  return reply.status === 200 ? String(reply.body) : reply.status;
}

test('the server alone chooses the level: no request asks for less', async () => {
  const setup = setUp();
  const levelOf = async (query: string, clientIp = visitor) =>
    (await start(setup, query, { clientIp })).level;
  for (const [clientIp, level] of [
    [visitor, 'silent'],
    [low, 'easy'],
    [suspect, 'hard'],
    [malicious, 'hard'],
    [exit, 'hard'],
  ] as const) {
    assert.equal(await levelOf('', clientIp), level, clientIp);
    assert.equal(await levelOf('sitekey=pcs_silent&level=silent&least=silent', clientIp), level);
  }
  assert.equal(await levelOf('sitekey=pcs_easy'), 'easy');
  assert.equal(await levelOf('sitekey=pcs_hard&level=silent'), 'hard');
  assert.equal(await levelOf('sitekey=pcs_a'), 'easy', 'a puzzle');
  assert.equal(await levelOf('sitekey=pcs_nobody'), 'easy');
  // A picture on request: easy where work would have done, and nothing lower where it would not.
  assert.equal(await levelOf('picture=1'), 'easy');
  assert.equal(await levelOf('picture=1&sitekey=pcs_silent'), 'easy');
  assert.equal(await levelOf('picture=1', exit), 'hard');
  assert.equal(await levelOf('sitekey=pcs_silent&sitekey=pcs_silent'), 'easy', 'unreadable');
  assert.equal(await levelOf('sitekey=%ff'), 'easy');
});

test('a picture of a level has its number of letters, and the old call knows levels too', async () => {
  const setup = setUp();
  const given = await start(setup, 'sitekey=pcs_hard');
  assert.deepEqual(Object.keys(given), ['level', 'token', 'img', 'audio', 'expires_in']);
  assert.equal((await setup.send(given.img!)).status, 200);
  assert.equal((await setup.send(given.audio!)).status, 200);
  const old = await setup.send('/captcha/new', { query: 'sitekey=pcs_hard' });
  assert.equal((await setup.send(JSON.parse(String(old.body)).img)).status, 200);
  const easy = await start(setup, 'picture=1');
  assert.equal((await setup.send(easy.img!)).status, 200);
  assert.deepEqual(setup.words, ['long', 'long', 'normal']);
});

test('work brings a receipt of its level, once, as JSON or as a form', async () => {
  const setup = setUp();
  const work = await solvedOf(setup);
  assert.equal(await verify(setup, { work }), `{"ok":true,"receipt":"silent for ${origin}"}`);
  assert.equal(await verify(setup, { work }), '{"ok":false}', 'replayed');
  const again = await solvedOf(setup);
  const body = new URLSearchParams({ work: again, sitekey: 'pcs_silent' }).toString();
  const form = { type: 'application/x-www-form-urlencoded', body };
  assert.equal(await verify(setup, {}, form), `{"ok":true,"receipt":"silent for ${origin}"}`);
  const elsewhere = await solvedOf(setup);
  assert.equal(
    await verify(setup, { work: elsewhere }, { clientIp: '192.0.2.77' }),
    `{"ok":true,"receipt":"silent for ${origin}"}`,
    'an address beside it',
  );
  const named = await start(setup, `sitekey=pcs_silent&action=${encodeURIComponent('réservé')}`);
  assert.match(JSON.stringify(named.work), /"action":""/, 'a browser could not send it back');
});

test('expired, of another site or network, altered, malformed: no, and nothing is thrown', async () => {
  const setup = setUp({ limitsOn: false });
  const { send, clock } = setup;
  const no = '{"ok":false}';
  const work = await solvedOf(setup);
  assert.equal(await verify(setup, { work, sitekey: 'pcs_easy' }), no, 'of another site');
  assert.equal(await verify(setup, { work, sitekey: '' }), no, 'for forms of our own');
  assert.equal(await verify(setup, { work, sitekey: undefined }), no);
  assert.equal(await verify(setup, { work }, { clientIp: '198.18.0.1' }), no, 'another network');
  const evil = 'https://evil.example';
  assert.equal(await verify(setup, { work }, { origin: evil }), no, 'brought by another page');
  const { challenge, solution } = await solve((await start(setup, 'sitekey=pcs_silent')).work);
  const parameters = { ...challenge.parameters, cost: 1 };
  const easier = payloadOf({ challenge: { ...challenge, parameters }, solution });
  for (const bad of [easier, '', 'x', 'x'.repeat(3_000), 12, null, {}, [], true, '\u0000', '=']) {
    assert.equal(await verify(setup, { work: bad }), no, JSON.stringify(bad));
  }
  for (const body of ['', '{', 'null', '[]', '{"work":1,"work":2}', 'work=%ff', 'work=a&work=b']) {
    assert.equal(await verify(setup, {}, { body }), no, body);
  }
  assert.match(String(await verify(setup, { work })), /"ok":true/, 'nothing before used it up');
  const late = await solvedOf(setup);
  clock.advance(120_001);
  assert.equal(await verify(setup, { work: late }), no, 'expired');
  const reply = await send('/captcha/work', { method: 'POST', query: `work=${work}` });
  assert.equal(reply.body, no, 'the query takes no part');
});

test('of ten thousand solutions from one address few are looked at, whatever they are', async () => {
  const setup = setUp();
  const { spent, clock } = setup;
  const good = await solvedOf(setup);
  assert.match(String(await verify(setup, { work: good })), /"ok":true/);
  const { challenge, solution } = await solve((await start(setup, 'sitekey=pcs_silent')).work);
  const forged = payloadOf({ challenge: { ...challenge, signature: 'ab'.repeat(32) }, solution });
  const kinds = [good, forged, 'x'.repeat(4_000), 'bad', ''];
  /** Sends them in turn, all in the same minute. Returns how many were not refused with 429. */
  async function burst(sent: Sent): Promise<number> {
    let judged = 0;
    for (let i = 0; i < 10_000; i++) {
      const answer = await verify(setup, { work: kinds[i % kinds.length] }, sent);
      if (answer === 429) continue;
      assert.equal(answer, '{"ok":false}');
      judged++;
    }
    return judged;
  }
  Object.assign(spent, { opened: 0, committed: 0 });
  // A bad one costs three of 900 units, of which the good one took the first.
  assert.equal(await burst({}), 300);
  assert.deepEqual(
    spent,
    { opened: 300, committed: 60 },
    'refused ones cost no look, and replays alone ask the store',
  );
  const other = await verify(setup, { work: 'bad' }, { clientIp: '198.18.0.1' });
  assert.equal(other, '{"ok":false}', 'another network is not held up');

  // Cookies cost nothing: all that a network has of them are bounded together.
  clock.advance(120_000);
  const cookies: string[] = [];
  for (let i = 0; i < 240; i++) {
    const reply = await setup.send('/captcha/new', {});
    cookies.push(header(reply, 'set-cookie')!.split(';')[0]!);
  }
  let judged = 0;
  for (const cookie of cookies) {
    for (let i = 0; i < 21; i++) {
      if ((await verify(setup, { work: forged }, { cookie })) !== 429) judged++;
    }
  }
  assert.equal(judged, 4_000 + 300);
});

test('so many challenges of work are made at a time; beyond them there is a picture', async () => {
  const setup = setUp();
  const { table } = setup.work;
  const asked = Array.from({ length: 3 * table.limit }, () => start(setup));
  assert.ok(table.used() <= table.limit);
  const given = await Promise.all(asked);
  const silent = given.filter(({ level }) => level === 'silent').length;
  assert.equal(silent, table.limit);
  assert.ok(given.every(({ level, token }) => level === 'silent' || token !== undefined));
  assert.equal(table.used(), 0);
});

test('an address with many pictures open gets hard ones, and all that tells of them says so', async () => {
  const setup = setUp({ longWordFrom: 3 });
  const open = async (query: string) => {
    const given = await start(setup, query);
    assert.equal((await setup.send(given.img!)).status, 200);
    return given;
  };
  async function receiptOf({ token }: { token?: string }): Promise<unknown> {
    const body = JSON.stringify({ token, answer: 'KX7RM', sitekey: 'pcs_silent' });
    const post = { method: 'POST', type: 'application/json', origin, body } as const;
    return JSON.parse(String((await setup.send('/captcha/verify', post)).body)).receipt;
  }
  const early = await start(setup, 'picture=1');
  const given = [];
  for (let i = 0; i < 4; i++) given.push(await open('picture=1'));
  assert.deepEqual(
    given.map(({ level }) => level),
    ['easy', 'easy', 'easy', 'hard'],
  );
  // Made before there were many, and looked at after.
  assert.equal(early.level, 'easy');
  assert.equal((await setup.send(early.img!)).status, 200);
  assert.deepEqual(setup.words, ['normal', 'normal', 'normal', 'long', 'long']);
  assert.equal(await receiptOf(early), `hard for ${origin}`);
  assert.equal(await receiptOf(given[3]!), `hard for ${origin}`);
  assert.equal(await receiptOf(given[0]!), `easy for ${origin}`);
  assert.equal((await start(setup)).level, 'silent', 'who can work does so');
});

test('what was made for a better address serves no worse one, and a better one by all means', async () => {
  const setup = setUp();
  const { fetched, verify: answer } = setup;
  const right = async (madeFor: string, broughtBy: string) =>
    (await answer(await fetched(madeFor), 'KX7RM', broughtBy)).body;
  for (const worse of [suspect, malicious, exit]) {
    assert.equal(await right(visitor, worse), '{"ok":false,"level":"hard"}', worse);
    assert.equal(await right(worse, worse), '{"ok":true}');
    assert.equal(await right(worse, visitor), '{"ok":true}');
  }
  assert.equal(await right(visitor, low), '{"ok":true}', 'easy is enough');
  assert.equal(await right(visitor, '198.18.0.1'), '{"ok":true}', 'a telephone changes networks');
  const taken = await fetched();
  assert.equal(
    (await answer(taken, 'no', malicious)).body,
    '{"ok":false}',
    'a wrong one says no more',
  );
  assert.equal((await answer(taken, 'KX7RM')).body, '{"ok":false}');
  // Looked at by a worse address, it is drawn as hard as that one needs.
  const { token, img } = JSON.parse(String((await setup.send('/captcha/new')).body));
  assert.equal((await setup.send(img, { clientIp: suspect })).status, 200);
  assert.equal(setup.words.at(-1), 'long');
  assert.equal((await answer(token, 'KX7RM', suspect)).body, '{"ok":true}');
  // In the same network as a clean address.
  const work = await solvedOf(setup, 'sitekey=pcs_silent', { clientIp: '203.0.113.9' });
  assert.equal(await verify(setup, { work }, { clientIp: low }), '{"ok":false}');
  assert.match(String(await verify(setup, { work }, { clientIp: '203.0.113.8' })), /"ok":true/);
});

test('work for a sign-in is to be had by all, and counts for a sign-in of who may work alone', async () => {
  const setup = setUp();
  const { forms } = setup;
  async function judge(work: string, clientIp: string, workSuffices?: boolean) {
    const request = { clientIp, headers: {} } as unknown as Request;
    const fields: Record<string, string> = { captcha_work: work };
    const form = { get: (name) => fields[name], has: (name) => name in fields } as Params;
    const options = workSuffices === undefined ? {} : { workSuffices };
    const answer = forms.answerIn(request, form, options);
    return 'waitSeconds' in answer ? 'wait' : await answer.judge();
  }
  const signInWork = async (clientIp: string, query = '') =>
    solvedOf(setup, `for=sign-in${query}`, { clientIp });
  assert.equal(forms.signInWork.startHref, '/captcha/start?for=sign-in');
  for (const clientIp of [visitor, low, malicious, exit]) {
    const work = await signInWork(clientIp, '&picture=1');
    assert.equal(await judge(work, clientIp), 'wrong', `${clientIp}, in another form`);
    assert.equal(await judge(work, clientIp, false), 'wrong', 'a stranger there');
    assert.equal(await judge(work, clientIp, true), 'right', 'a browser that is known there');
    assert.equal(await judge(work, clientIp, true), 'wrong', 'replayed');
  }
  const plain = await solvedOf(setup, 'action=sign-in');
  assert.equal(await judge(plain, visitor), 'right', 'an action is not the purpose');
  const ofSite = await start(setup, 'sitekey=pcs_easy&for=sign-in');
  assert.equal(ofSite.level, 'easy', 'for forms of our own alone');
  const stolen = await signInWork(malicious);
  assert.equal(await verify(setup, { work: stolen }, { clientIp: malicious }), '{"ok":false}');
});

test('work for a sign-in is work however many are asked for, up to the limits of all challenges', async () => {
  const setup = setUp();
  const levels = new Set<string>();
  let refused = 0;
  for (let i = 0; i < 310; i++) {
    const reply = await setup.send('/captcha/start', { query: 'for=sign-in', origin });
    if (reply.status === 429) refused++;
    else levels.add(JSON.parse(String(reply.body)).level);
  }
  assert.deepEqual([[...levels], refused], [['silent'], 10]);
});

test('a form of ours takes the work or the picture; the picture counts where there is an answer', async () => {
  const setup = setUp();
  const { forms, fetched } = setup;
  const request = { clientIp: visitor, headers: {} } as unknown as Request;
  async function judge(fields: Record<string, string>) {
    const form = {
      get: (name: string) => fields[name],
      has: (name: string) => name in fields,
    } as Params;
    const answer = forms.answerIn(request, form);
    return 'waitSeconds' in answer ? 'wait' : await answer.judge();
  }
  async function work() {
    const started = await forms.start(request, false);
    assert.ok(started.ok && started.value.level === 'silent');
    return payloadOf(await solve(started.value.work));
  }
  assert.equal(await judge({}), 'none');
  const captcha_work = await work();
  assert.equal(await judge({ captcha_work }), 'right');
  assert.equal(await judge({ captcha_work }), 'wrong', 'replayed');
  const token = { captcha_token: await fetched(), captcha_answer: '' };
  assert.equal(await judge({ ...token, captcha_work: await work() }), 'right');
  assert.equal(await judge({ ...token, captcha_answer: 'KX7RM' }), 'right', 'still open');
  const left = await work();
  const answered = { captcha_token: await fetched(), captcha_answer: 'wrong' };
  assert.equal(await judge({ ...answered, captcha_work: left }), 'wrong');
  assert.equal(await judge({ captcha_work: left }), 'right', 'not used up');
  assert.equal(await judge({ captcha_work: '' }), 'none', 'without a script, where no picture is');
  const ofSite = await solvedOf(setup);
  assert.equal(await judge({ captcha_work: ofSite }), 'wrong', 'made for a site');
  const asked = await forms.start(request, true);
  assert.equal(asked.ok && asked.value.level, 'easy');
});
