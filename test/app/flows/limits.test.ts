/**
 * Every limit per client that a handler counts, at every endpoint that declares it, on a whole server
 * with tight limits. A declaration without its way to the limit here fails, and so does a way without
 * a declaration. (What the guard counts is in test/app/endpoints.test.ts.)
 */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { endpoints } from '../../../src/app/modules.ts';
import {
  hiddenOf,
  mailedLink,
  type WebVisitor,
  webVisitor,
} from '../../support/browser/web-visitor.ts';
import { solveGif } from '../../support/captcha/solver.ts';
import { forFile } from '../../support/server/for-file.ts';
import {
  type Answer,
  type FetchOptions,
  startTestServer,
  within,
} from '../../support/server/server.ts';
import { totpOn } from '../../support/signon/factors.ts';
import { openPeopleOf, personPassword } from '../../support/signon/person.ts';

const preload = fileURLToPath(new URL('../../support/server/tight-limits.js', import.meta.url));
/** These need a link that works and is not used up, and are asked in the flows of sign-on. */
const elsewhere = [
  'POST /verify mailedLink',
  'POST /signin/link mailedLink',
  'POST /verify/passkey/options mailedLink',
  'POST /verify/resend ownMail',
  'POST /account/email/confirm mailedLink',
];
const all = endpoints.flatMap(({ method, path, handlerLimits = [] }) =>
  handlerLimits.map((limit) => `${method} ${path} ${limit}`),
);
const declared = all.filter((line) => !elsewhere.includes(line));

let clients = 0;
const from = (client: string) => ({ 'X-Forwarded-For': client });
const server = forFile(
  await startTestServer({
    threads: 1,
    demo: false,
    env: { TRUSTED_PROXIES: '127.0.0.1,::1', LOG_LEVEL: 'info' },
    nodeArguments: ['--import', preload],
  }),
);
const people = forFile(openPeopleOf(server));
// The first question about a network reads a file.
await within(async () => (await asked('/as/64500')()).status !== 503);

/** Each in a network of its own. */
function newClient(): string {
  clients++;
  return `198.${18 + (clients >> 8)}.${clients & 255}.7`;
}

type Ask = () => Promise<Answer>;

/** Fails unless exactly so many are admitted. */
async function ends(admitted: number, ask: Ask): Promise<void> {
  for (let i = 0; i < admitted; i++) {
    const { status, body } = await ask();
    assert.ok(status !== 429 && status < 500, `request ${i + 1}: ${status} ${body.slice(0, 500)}`);
  }
  const refused = await ask();
  assert.equal(refused.status, 429, refused.body.slice(0, 500));
  assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
}

function asked(path: string, method = 'GET', client = newClient(), cookie?: string): Ask {
  const headers = { ...from(client), ...(cookie === undefined ? {} : { Cookie: cookie }) };
  return () => server.fetch(path, { method, headers });
}

/** With a site key that does not exist: it is counted before it is looked for. */
const altchaPath = async () => '/captcha/altcha?sitekey=x';

/** Counts as one browser, then as its network; `captchaFree` is what all browsers of it may. */
async function freeFor(path: string, method?: string): Promise<Ask> {
  const greeting = await server.fetch('/captcha/new', { headers: from(newClient()) });
  const cookie = /^(captcha=[^;]+)/.exec(greeting.headers['set-cookie']![0]!)![1]!;
  return asked(path, method, newClient(), cookie);
}

/** A browser with the token of our forms. */
async function formUser(client = newClient()): Promise<{ visitor: WebVisitor; csrf: string }> {
  const visitor = webVisitor(server, from(client));
  return { visitor, csrf: hiddenOf(await visitor.get('/recover'), '/recover').csrf! };
}

function posts(
  { visitor, csrf }: Awaited<ReturnType<typeof formUser>>,
  path: string,
  fields: Readonly<Record<string, string>>,
): Ask {
  const body = new URLSearchParams({ csrf, ...fields }).toString();
  return () => visitor.post(path, body);
}

let persons = 0;
async function newPerson(): Promise<string> {
  const email = `limited${persons++}@example.org`;
  await people.register(email);
  return email;
}

/** One whose browser the account knows, signed out again. */
async function owner(email: string, code?: string): Promise<WebVisitor> {
  const visitor = webVisitor(server, from(newClient()));
  const answer = await visitor.signIn(email, personPassword);
  if (code !== undefined) await visitor.submit(answer, '/signin/second-factor', { code });
  assert.ok(visitor.cookies.has('browser'), answer.body.slice(0, 500));
  visitor.cookies.delete('session');
  return visitor;
}

/** One with a key of its own. */
async function bouncer(path: string, options: FetchOptions = {}) {
  const { text } = await server.cliJson('bouncer', 'add', await newPerson(), 'limited');
  const headers = { ...from(newClient()), 'X-Api-Key': text as string };
  return (query = '') => server.fetch(path + query, { ...options, headers });
}

const asJson = { 'Content-Type': 'application/json' };

/** An agent with a key of its own that logged in. */
async function agent() {
  const email = await newPerson();
  const { text } = await server.cliJson('bouncer', 'add', email, 'limited', '--agent');
  const client = from(newClient());
  const login = (password = text as string): Promise<Answer> =>
    server.fetch('/v1/watchers/login', {
      method: 'POST',
      headers: { ...client, ...asJson },
      body: JSON.stringify({ machine_id: 'limited', password, scenarios: [] }),
    });
  /** One call is all that is left: the log-in took it. */
  async function refuses(path: string, body?: string, method = 'GET') {
    const { token } = JSON.parse((await login()).body);
    const headers = { ...client, ...asJson, Authorization: `Bearer ${token}` };
    const sent = body === undefined ? { method } : { method: 'POST', body };
    const refused = await server.fetch(path, { headers, ...sent });
    assert.equal(refused.status, 429, refused.body);
    assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
  }
  return { login, refuses };
}

const wrongChallenge = {
  captcha_token: 'x',
  captcha_answer: 'x',
  email: 'new@example.org',
  password: personPassword,
};
const removal = { address: '45.10.0.7', reason: 'The machine was cleaned.' };
const tip = { address: '45.10.0.7', categories: '18' };
const nobody = () => ({ email: `nobody${persons++}@example.org`, password: 'wrong-guess-1' });

/** A form of /register with its challenge solved, sent by this client. */
async function registers(client: string, visitor = webVisitor(server)): Promise<Answer> {
  const page = await visitor.get('/register', from(newClient()));
  const { captcha_token: token, csrf } = hiddenOf(page, '/register');
  const path = `/captcha/img/${token}.gif`;
  const picture = await server.fetch(path, { headers: from(newClient()) });
  const fields = {
    csrf: csrf!,
    ...nobody(),
    captcha_token: token!,
    password: personPassword,
    captcha_answer: solveGif(new Uint8Array(picture.bytes)).word,
  };
  return visitor.post('/register', new URLSearchParams(fields).toString(), from(client));
}

/** Wrong answers to the challenge of a form about an address, in a new browser each. */
async function answersEnd(path: string, form: Record<string, string>): Promise<void> {
  const user = await formUser();
  const ask = posts(user, path, { ...wrongChallenge, ...form });
  await ends(1, async () => {
    user.visitor.cookies.delete('captcha');
    return ask();
  });
}

/** The same in one browser that has its own share. */
async function freeAnswersEnd(path: string, form: Record<string, string>): Promise<void> {
  const user = await formUser();
  const greeting = await server.fetch('/captcha/new', { headers: from(newClient()) });
  const [, value] = /^captcha=([^;]+)/.exec(greeting.headers['set-cookie']![0]!)!;
  user.visitor.cookies.set('captcha', value!);
  await ends(2, posts(user, path, { ...wrongChallenge, ...form }));
}

/** By somebody who is signed in. */
async function askingEnds(path: string, form: Record<string, string>): Promise<void> {
  const visitor = webVisitor(server, from(newClient()));
  await visitor.signIn(await newPerson(), personPassword);
  const { csrf } = hiddenOf(await visitor.get('/account'), '/signout');
  await ends(1, posts({ visitor, csrf: csrf! }, path, form));
}

/** A look-up over the limit says that nothing is decided, and that it is limited. */
async function saysNothing(path: string): Promise<void> {
  const ask = await bouncer(path);
  const answers = [await ask(), await ask()];
  const said = answers.map(({ status, headers }) => [status, headers['x-portcullis-limited']]);
  assert.deepEqual(said, [
    [200, undefined],
    [200, '1'],
  ]);
}

const ways: Readonly<Record<string, () => Promise<void>>> = {
  'GET /ip/:address ipPage': () => ends(1, asked('/ip/192.0.2.9')),
  'GET /ip ipPage': () => ends(1, asked('/ip?address=x')),
  'GET /ip/* ipPage': () => ends(1, asked('/ip/192.0.2.0/24')),
  'GET /as/:number ipPage': () => ends(1, asked('/as/64500')),
  'GET /as/:number systemNear': async () => {
    const near = newClient();
    let i = 0;
    await ends(3, () => asked('/as/64500', 'GET', near.replace(/7$/, String(10 + i++)))());
  },
  'GET /captcha/new captchaNew': () => ends(1, asked('/captcha/new')),
  'GET /captcha/start captchaNew': () => ends(1, asked('/captcha/start')),
  'GET /captcha/altcha captchaNew': async () => ends(1, asked(await altchaPath())),
  'POST /captcha/work captchaVerify': () => ends(1, asked('/captcha/work', 'POST')),
  'GET /captcha/ captchaNew': () => ends(1, asked('/captcha/')),
  'GET /captcha/img/:file captchaImage': () => ends(1, asked('/captcha/img/x.gif')),
  'GET /captcha/audio/:file captchaAudio': () => ends(1, asked('/captcha/audio/x.wav')),
  'POST /captcha/verify captchaVerify': () => ends(1, asked('/captcha/verify', 'POST')),
  'POST /captcha/ captchaVerify': () => ends(1, asked('/captcha/', 'POST')),
  'GET /.portcullis/challenge captchaNew': () => ends(1, asked('/.portcullis/challenge')),
  'GET /.portcullis/new captchaNew': () => ends(1, asked('/.portcullis/new')),
  'GET /.portcullis/start captchaNew': () => ends(1, asked('/.portcullis/start')),
  'GET /.portcullis/img/:file captchaImage': () => ends(1, asked('/.portcullis/img/x.gif')),
  'GET /.portcullis/audio/:file captchaAudio': () => ends(1, asked('/.portcullis/audio/x.wav')),
  'POST /.portcullis/challenge captchaVerify': () => {
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const headers = { ...from(newClient()), ...type };
    const options = { method: 'POST', headers, body: 'captcha_token=x' };
    return ends(1, () => server.fetch('/.portcullis/challenge', options));
  },
  'GET /captcha/new captchaFree': async () => ends(2, await freeFor('/captcha/new')),
  'GET /captcha/start captchaFree': async () => ends(2, await freeFor('/captcha/start')),
  'GET /captcha/altcha captchaFree': async () => ends(2, await freeFor(await altchaPath())),
  'POST /captcha/work captchaFree': async () => ends(2, await freeFor('/captcha/work', 'POST')),
  'GET /captcha/ captchaFree': async () => ends(2, await freeFor('/captcha/')),
  'GET /captcha/img/:file captchaFree': async () => ends(2, await freeFor('/captcha/img/x.gif')),
  'GET /captcha/audio/:file captchaFree': async () => ends(2, await freeFor('/captcha/audio/x')),
  'POST /captcha/verify captchaFree': async () => ends(2, await freeFor('/captcha/verify', 'POST')),
  'POST /captcha/ captchaFree': async () => ends(2, await freeFor('/captcha/', 'POST')),
  'POST /register captchaVerify': async () => {
    const user = await formUser();
    const ask = posts(user, '/register', wrongChallenge);
    await ends(1, async () => {
      user.visitor.cookies.delete('captcha');
      return ask();
    });
  },
  'POST /register captchaFree': async () => {
    const user = await formUser();
    const greeting = await server.fetch('/captcha/new', { headers: from(newClient()) });
    const [, value] = /^captcha=([^;]+)/.exec(greeting.headers['set-cookie']![0]!)!;
    user.visitor.cookies.set('captcha', value!);
    await ends(2, posts(user, '/register', wrongChallenge));
  },
  'POST /removal captchaVerify': () => answersEnd('/removal', removal),
  'POST /removal captchaFree': () => freeAnswersEnd('/removal', removal),
  'POST /removal removal': () => askingEnds('/removal', removal),
  'POST /report captchaVerify': () => answersEnd('/report', tip),
  'POST /report captchaFree': () => freeAnswersEnd('/report', tip),
  'POST /report tip': () => askingEnds('/report', tip),
  'POST /register register': async () => {
    // The solver misreads one in ten.
    for (let attempt = 0; attempt < 8; attempt++) {
      const client = newClient();
      if ((await registers(client)).status !== 303) continue;
      const second = await registers(client);
      if (second.status === 422) continue;
      assert.equal(second.status, 429, second.body.slice(0, 500));
      return;
    }
    assert.fail('no challenge was solved');
  },
  'POST /register/again register': async () => {
    // The solver misreads one in ten.
    for (let attempt = 0; attempt < 8; attempt++) {
      const client = newClient();
      const visitor = webVisitor(server);
      const done = await registers(client, visitor);
      if (done.status !== 303) continue;
      const page = await visitor.get(done.headers.location!, from(newClient()));
      const fields = new URLSearchParams(hiddenOf(page, '/register/again')).toString();
      return ends(0, () => visitor.post('/register/again', fields, from(client)));
    }
    assert.fail('no challenge was solved');
  },
  'POST /signin signIn': async () => ends(2, posts(await formUser(), '/signin', nobody())),
  'POST /signin signInNear': async () => {
    const near = newClient();
    let i = 0;
    await ends(3, async () => {
      const user = await formUser(near.replace(/7$/, String(10 + i++)));
      return posts(user, '/signin', nobody())();
    });
  },
  'POST /signin signInOwner': async () => {
    const email = await newPerson();
    const visitor = await owner(email);
    await ends(2, () => visitor.signIn(email, 'wrong-guess-1'));
  },
  'POST /signin/second-factor signIn': async () => {
    const fields = { ticket: 'A'.repeat(43), code: '123456' };
    await ends(2, posts(await formUser(), '/signin/second-factor', fields));
  },
  'POST /signin/second-factor signInOwner': async () => {
    const email = await newPerson();
    const { codes } = await totpOn(await people.signIn(email));
    const visitor = await owner(email, codes[0]);
    const page = await visitor.signIn(email, personPassword);
    // The password was the first of two.
    await ends(1, () => visitor.submit(page, '/signin/second-factor', { code: 'no-such-code' }));
  },
  'POST /recover recover': async () =>
    ends(1, posts(await formUser(), '/recover', { email: 'nobody@example.org' })),
  'POST /reset deadLink': async () => {
    const fields = { token: 'A'.repeat(43), password: personPassword };
    await ends(1, posts(await formUser(), '/reset', fields));
  },
  'POST /reset mailedLink': async () => {
    const email = await newPerson();
    const user = await formUser();
    assert.equal((await posts(user, '/recover', { email })()).status, 303);
    const { searchParams } = await mailedLink(server, email, '/reset');
    const token = searchParams.get('token')!;
    await ends(1, posts(user, '/reset', { token, password: 'x' }));
  },
  'POST /signin/link deadLink': async () =>
    ends(1, posts(await formUser(), '/signin/link', { token: 'A'.repeat(43) })),
  'POST /verify deadLink': async () =>
    ends(1, posts(await formUser(), '/verify', { token: 'A'.repeat(43) })),
  'POST /verify/passkey/options deadLink': async () => {
    const { visitor, csrf } = await formUser();
    const body = JSON.stringify({ csrf, token: 'A'.repeat(43) });
    const type = { 'Content-Type': 'application/json' };
    await ends(1, () => visitor.post('/verify/passkey/options', body, type));
  },
  'POST /account/email ownMail': async () => {
    const browser = await people.signIn(await newPerson());
    await ends(1, () => browser.post('/account/email', { email: 'not an address' }));
  },
  'POST /account/email/confirm deadLink': async () => {
    const browser = await people.signIn(await newPerson());
    const client = from(newClient());
    const fields = { token: 'A'.repeat(43) };
    await ends(1, () => browser.post('/account/email/confirm', fields, client));
  },
  'POST /account/confirm signInOwner': async () => {
    const browser = await people.signIn(await newPerson());
    await ends(2, () => browser.post('/account/confirm', { password: 'wrong-guess-1' }));
  },
  'POST /account/confirm/passkey signInOwner': async () => {
    const browser = await people.signIn(await newPerson());
    await ends(2, () => browser.call('/account/confirm/passkey', { response: {} }));
  },
  'GET /v1/decisions decisions': async () => {
    const ask = await bouncer('/v1/decisions?ip=8.8.8.8');
    const answers = [await ask(), await ask()];
    // Some clients take any other answer for a ban.
    const said = answers.map(({ status, body, headers }) => {
      return [status, body, headers['x-portcullis-limited']];
    });
    assert.deepEqual(said, [
      [200, 'null', undefined],
      [200, 'null', '1'],
    ]);
  },
  'POST /policy/dovecot decisions': async () => {
    const body = '{"remote":"8.8.8.8"}';
    const ask = await bouncer('/policy/dovecot', { method: 'POST', body });
    const answers = [await ask('?command=allow'), await ask('?command=allow')];
    assert.equal(answers[0]!.body, '{"status":0,"msg":""}');
    assert.match(answers[1]!.body, /^\{"status":0,"msg":"this key asks too often/);
  },
  'GET /v1/decisions decisionsStream': async () => saysNothing('/v1/decisions?type=captcha'),
  'GET /v1/decisions decisionsWhole': async () => saysNothing('/v1/decisions'),
  'GET /v1/decisions/stream decisionsWhole': async () =>
    ends(1, await bouncer('/v1/decisions/stream?startup=true')),
  'GET /v1/decisions/stream decisionsStream': async () => {
    const ask = await bouncer('/v1/decisions/stream');
    assert.equal((await ask('?startup=true')).status, 200);
    await ends(1, ask);
  },
  'POST /v1/watchers/login agentLogin': async () => {
    const { login } = await agent();
    await ends(1, () => login('wrong'));
    assert.equal((await login()).status, 200, 'the right one is not held up');
  },
  'POST /v1/watchers/login agentCalls': async () => {
    const { login } = await agent();
    await ends(1, () => login());
  },
  'POST /v1/watchers agentLogin': async () => {
    const client = from(newClient());
    const headers = { ...client, ...asJson };
    await ends(1, () => server.fetch('/v1/watchers', { method: 'POST', headers, body: '{}' }));
  },
  'DELETE /v1/watchers/self agentCalls': async () =>
    (await agent()).refuses('/v1/watchers/self', undefined, 'DELETE'),
  'GET /v1/heartbeat agentCalls': async () => (await agent()).refuses('/v1/heartbeat'),
  'GET /v1/alerts agentCalls': async () => (await agent()).refuses('/v1/alerts'),
  'GET /v1/alerts/:id agentCalls': async () => (await agent()).refuses('/v1/alerts/1'),
  'GET /v1/allowlists/:name agentCalls': async () =>
    (await agent()).refuses('/v1/allowlists/portcullis'),
  'GET /v1/allowlists agentCalls': async () => (await agent()).refuses('/v1/allowlists'),
  'GET /v1/allowlists/check/:value agentCalls': async () =>
    (await agent()).refuses('/v1/allowlists/check/8.8.8.8'),
  'POST /v1/allowlists/check agentCalls': async () =>
    (await agent()).refuses('/v1/allowlists/check', '{"targets":["8.8.8.8"]}'),
  'POST /v1/usage-metrics agentCalls': async () =>
    (await agent()).refuses('/v1/usage-metrics', '{}'),
  'POST /v1/usage-metrics decisionsStream': async () => {
    const ask = await bouncer('/v1/usage-metrics', { method: 'POST', body: '{}' });
    await ends(1, ask);
  },
};

describe('the limits that handlers count', () => {
  it('have each a way here', () => {
    assert.deepEqual(Object.keys(ways).sort(), [...declared].sort());
  });

  it('registering with passkeys takes no sign-in from neighbours', async () => {
    const user = await formUser();
    await ends(1, posts(user, '/register/passkey', { passkey: '{}' }));
    await ends(2, posts(user, '/signin', nobody()));
  });

  for (const line of declared) {
    it(`${line}: ends there`, async () => {
      await ways[line]!();
    });
  }
});
