/**
 * Attacks on an owner's way in, and on the account through it. Strangers come from many networks
 * and solve every challenge; the owner must get in all the same, and the strangers no further than
 * before. Time is moved by hand.
 */

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import type { Visitor } from '../../../src/contracts/visitor.ts';
import { type PasswordRequest, signInLinksMax } from '../../../src/signon/sessions/sign-in.ts';
import { signonLinkPrefix } from '../../../src/storage/keys.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { countStoreWork } from '../../support/signon/store-work.ts';
import { type Bench, openBench, password, visitor } from '../account-fixture.ts';

const newPassword = 'copper-meadow-19';
let bench: Bench;
let email = '';
let count = 0;

beforeEach(() => {
  bench = openBench('lockout');
  email = `owner${++count}@example.org`;
});

afterEach(() => bench.close());

const home: Visitor = { ...visitor, client: 'home', neighbourhood: 'home', browserId: 'home' };

interface Networks {
  readonly name: string;
  /** The i-th of them. */
  at(i: number): { client: string; neighbourhood: string };
  readonly count: number;
}

const botnets: readonly Networks[] = [
  {
    name: '20 IPv4 addresses',
    count: 20,
    at: (i) => ({ client: `4:${i}`, neighbourhood: `4:${i}/24` }),
  },
  {
    name: '200 IPv6 in as many /64, of 10 /48',
    count: 200,
    at: (i) => ({ client: `6:${i}`, neighbourhood: `6:${i % 10}/48` }),
  },
];

function guess(i: number, networks: Networks, more: Partial<PasswordRequest> = {}) {
  const from = { ...visitor, ...networks.at(i % networks.count), browserId: `bot ${i}` };
  const request = { email, password: `wrong-guess-${i}`, visitor: from, challenged: true };
  return bench.signon.signIn.withPassword({ ...request, ...more });
}

/** All that a botnet can have judged at this moment. */
async function hammer(networks: Networks, more: Partial<PasswordRequest> = {}): Promise<number> {
  let judged = 0;
  for (let i = 0; i < networks.count; i++) {
    if (errorOf(await guess(i, networks, more)) === 'sign_in_refused') judged++;
  }
  return judged;
}

async function resetBy(from: Visitor): Promise<void> {
  value(await bench.signon.recovery.request({ email, visitor: from }));
  const token = await bench.tokenTo(email);
  value(await bench.signon.recovery.reset({ token, password: newPassword, visitor: from }));
}

/** The browser, with the cookie that tells that it asked for a link. */
async function askedBy(from: Visitor, more: Partial<PasswordRequest> = {}): Promise<Visitor> {
  const request = { email, password, visitor: from, challenged: true, ...more };
  const done = value(await bench.signon.signIn.withPassword(request));
  assert.ok(done.kind === 'link_mailed', done.kind);
  return { ...from, asked: done.asked };
}

/** Signs in from a browser that nobody knows, with whatever the service asks for. */
async function signInByAllMeans(from: Visitor, secret = password): Promise<'password' | 'link'> {
  const request = { email, password: secret, visitor: from };
  let done = await bench.signon.signIn.withPassword(request);
  if (errorOf(done) === 'too_many_attempts') {
    done = await bench.signon.signIn.withPassword({ ...request, challenged: true });
  }
  const first = value(done);
  if (first.kind === 'signed_in') return 'password';
  assert.ok(first.kind === 'link_mailed', first.kind);
  const token = await bench.tokenTo(email);
  const visitor = { ...from, asked: first.asked };
  const entered = value(await bench.signon.signIn.withLink({ token, visitor }));
  assert.equal(entered.done.kind, 'signed_in');
  return 'link';
}

for (const networks of botnets) {
  describe(networks.name, () => {
    it('an owner with a freshly reset password gets in, 84 times of 84', async () => {
      await bench.person(email);
      let judged = await hammer(networks);
      await resetBy(home);
      for (let i = 0; i < 84; i++) {
        judged += await hammer(networks);
        const request = { email, password: newPassword, visitor: home };
        assert.equal(value(await bench.signon.signIn.withPassword(request)).kind, 'signed_in');
        bench.clock.advance(Math.floor(3_600_000 / 84));
      }
      assert.ok(judged <= 84, `${judged} guesses in an hour`);
    });

    it('so does an owner on a browser that nobody knows: by a challenge, or a mailed link', async () => {
      await bench.person(email);
      await hammer(networks);
      const from = { ...home, browserId: `new browser ${count}` };
      assert.equal(await signInByAllMeans(from), 'link');
    });

    it('where strangers solve no challenges the password does, with one', async () => {
      await bench.person(email);
      for (let i = 0; i < 5; i++) await hammer(networks, { challenged: false });
      const from = { ...home, browserId: `new browser ${count}` };
      assert.equal(await signInByAllMeans(from), 'password');
    });

    it('a browser that the account knows is not asked for anything', async () => {
      await bench.person(email);
      const { browser } = await bench.signIn(email, home);
      for (let i = 0; i < 3; i++) {
        await hammer(networks);
        await bench.signIn(email, { ...home, browser });
      }
    });
  });
}

it('mails with links can not be pumped, and eat no other share', async () => {
  await bench.person(email);
  bench.clock.advance(3_600_000 * 2);
  const before = bench.mails.length;
  const networks = botnets[1]!;
  for (let round = 0; round < 5; round++) await hammer(networks);
  await bench.signon.mailer.idle();
  // The mail that tells of the failed sign-ins comes once beside them.
  const sent = () =>
    bench.mails
      .slice(before)
      .filter(({ to, subject }) => to === email && !subject.startsWith('Many failed'));
  assert.equal(sent().length, 3);
  for (let i = 0; i < 3; i++) value(await bench.signon.recovery.request({ email, visitor: home }));
  for (let i = 0; i < 2; i++) {
    value(await bench.signon.registration.register({ email, password, visitor: home }));
  }
  await bench.signon.mailer.idle();
  assert.equal(sent().length, 3 + 5);
});

it('an owner who finds the share used up by strangers uses the link that they had sent', async () => {
  await bench.person(email);
  bench.clock.advance(3_600_000 * 2);
  for (let round = 0; round < 2; round++) await hammer(botnets[0]!);
  const token = await bench.tokenTo(email);
  // Nearly an hour later, when the share is still used up.
  bench.clock.advance(50 * 60_000);
  await hammer(botnets[0]!);
  const before = bench.mails.length;
  const owner = await askedBy(home);
  await bench.signon.mailer.idle();
  assert.equal(bench.mails.length, before, 'no further mail');
  const entered = value(await bench.signon.signIn.withLink({ token, visitor: owner }));
  assert.equal(entered.done.kind, 'signed_in');
});

it('whatever strangers ask, the browser of the owner that asked is not forgotten', async () => {
  await bench.person(email);
  const rowsBefore = (await bench.store.scan(signonLinkPrefix(), { limit: 1_000 })).length;
  const of = (tag: string): Networks => ({
    name: 'of 40 /48',
    count: 1_100,
    at: (i) => ({ client: `${tag}${i}`, neighbourhood: `${tag}${i % 40}/48` }),
  });
  await hammer(of('before'));
  const owner = await askedBy(home);
  await hammer(of('after'));
  const token = await bench.tokenTo(email);
  const entered = value(await bench.signon.signIn.withLink({ token, visitor: owner }));
  assert.equal(entered.done.kind, 'signed_in');
  const rows = (await bench.store.scan(signonLinkPrefix(), { limit: 1_000 })).length;
  assert.ok(rows - rowsBefore <= signInLinksMax, `${rows - rowsBefore} rows`);
});

describe('a link', () => {
  let asker = home;
  async function mailed(from: Visitor = home): Promise<string> {
    await bench.person(email);
    await hammer(botnets[0]!);
    bench.mails.length = 0;
    asker = await askedBy(from, { onward: async () => 'return=%2Fip' });
    return bench.tokenTo(email);
  }
  const use = (token: string, from: Visitor = asker, side = bench.signon) =>
    side.signIn.withLink({ token, visitor: from });

  it('works in the browser that asked, once, and says where it was going', async () => {
    const token = await mailed();
    assert.equal(await bench.signon.signIn.linkState(token, asker), 'ready');
    const copied = { ...asker, browserId: 'other' };
    const altered = { ...asker, asked: `${asker.asked!.slice(0, -1)}_` };
    for (const elsewhere of [copied, altered, home, { ...asker, browserId: undefined }]) {
      assert.equal(await bench.signon.signIn.linkState(token, elsewhere), 'other_browser');
      assert.equal(errorOf(await use(token, elsewhere)), 'forbidden');
    }
    assert.equal(value(await use(token)).onward, 'return=%2Fip');
    assert.equal(errorOf(await use(token)), 'invalid_link');
    assert.equal(await bench.signon.signIn.linkState(token, asker), 'over');
  });

  it('works for one of 20 who use it at once, from two sides', async () => {
    const token = await mailed();
    const sides = [bench.signon, bench.other];
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => use(token, asker, sides[i % 2])),
    );
    assert.equal(all.filter((done) => done.ok).length, 1);
  });

  it('opens a session that is not fresh', async () => {
    const { done } = value(await use(await mailed()));
    assert.ok(done.kind === 'signed_in');
    const session = (await bench.signon.sessions.find(done.token))!;
    assert.equal(session.method, 'link');
    assert.equal(session.fresh, false);
    assert.equal(
      errorOf(await bench.signon.secondFactors.begin(session)),
      'reauthentication_required',
    );
  });

  it('is over after two hours, and with the password it was asked for', async () => {
    const first = await mailed();
    bench.clock.advance(2 * 3_600_000);
    assert.equal(errorOf(await use(first)), 'invalid_link');
    for (let round = 0; round < 2; round++) await hammer(botnets[0]!);
    assert.equal(errorOf(await use(await bench.tokenTo(email))), 'forbidden', 'asked too long ago');
    email = `again${count}@example.org`;
    const second = await mailed();
    await resetBy(home);
    assert.equal(errorOf(await use(second)), 'invalid_link');
  });

  it('of another account is of no use in a browser that asked for this one', async () => {
    const token = await mailed();
    const victim = asker;
    email = `other${count}@example.org`;
    const own = await mailed({ ...home, browserId: 'mallory' });
    assert.equal(errorOf(await use(token)), 'forbidden');
    assert.equal(errorOf(await use(own, victim)), 'forbidden');
  });

  it('still asks for the second factor', async () => {
    await bench.person(email);
    const { secret, codes } = await enableFactor();
    bench.clock.advance(3_600_000 * 2);
    await hammer(botnets[0]!);
    asker = await askedBy(home);
    const token = await bench.tokenTo(email);
    const { done } = value(await use(token));
    assert.ok(done.kind === 'second_factor');
    assert.equal(errorOf(await use(token)), 'invalid_link');
    const { ticket } = done;
    const wrong = { ticket, code: '000000', visitor: home };
    assert.equal(errorOf(await bench.signon.signIn.withSecondFactor(wrong)), 'invalid_code');
    const right = { ticket, code: codeOf(secret), visitor: home };
    const entered = value(await bench.signon.signIn.withSecondFactor(right));
    const session = (await bench.signon.sessions.find(entered.token))!;
    assert.deepEqual([session.method, session.fresh], ['link+totp', false]);
    assert.ok(codes);
  });
});

async function enableFactor() {
  const { token, browser } = await bench.signIn(email, home);
  const session = (await bench.signon.sessions.find(token))!;
  const { secret } = value(await bench.signon.secondFactors.begin(session));
  const codes = value(await bench.signon.secondFactors.enable(session, codeOf(secret), home));
  return { secret, codes, browser };
}

function codeOf(secret: string): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: bench.clock.now() });
}

for (const kind of ['codes of the second factor', 'backup codes']) {
  it(`who knows the password has 17 guesses at ${kind} in an hour, from 200 networks`, async () => {
    await bench.person(email);
    const { secret, browser } = await enableFactor();
    bench.clock.advance(60_000);
    const networks = botnets[1]!;
    let [judged, n] = [0, 0];
    for (let minute = 0; minute < 60; minute++) {
      for (let i = 0; i < 3; i++) {
        n++;
        const from = { ...visitor, ...networks.at(n), browserId: `bot ${n}` };
        const request = { email, password, visitor: from, challenged: true };
        const first = await bench.signon.signIn.withPassword(request);
        if (!first.ok || first.value.kind !== 'second_factor') continue;
        const code = kind === 'backup codes' ? `aaaaa-${String(n).padStart(5, 'b')}` : '000000';
        const { ticket } = first.value;
        const done = await bench.signon.signIn.withSecondFactor({ ticket, code, visitor: from });
        if (errorOf(done) === 'invalid_code') judged++;
      }
      bench.clock.advance(60_000);
    }
    assert.ok(judged > 5 && judged <= 17, String(judged));
    // A reset by mail gains no tries, neither for the browser that made it.
    await resetBy(home);
    const request = { email, password: newPassword, visitor: home };
    const again = value(await bench.signon.signIn.withPassword(request));
    assert.ok(again.kind === 'second_factor');
    const { ticket } = again;
    const refused = await bench.signon.signIn.withSecondFactor({
      ticket,
      code: '1',
      visitor: home,
    });
    assert.equal(errorOf(refused), 'too_many_attempts');
    // The owner's own browser is not held up by any of it.
    const own = { ...home, browser };
    const at = { ticket, code: codeOf(secret), visitor: own };
    const entered = await bench.signon.signIn.withSecondFactor(at);
    assert.ok(entered.ok || entered.error === 'too_many_attempts');
  });
}

it('guesses at many accounts from one /48 end at 400, whatever the /64s and challenges', async () => {
  let judged = 0;
  for (let i = 0; i < 1_000; i++) {
    const from = { ...visitor, client: `spray ${i}`, neighbourhood: 'spray/48' };
    const request = { email: `victim${i}@example.org`, password, visitor: from, challenged: true };
    const done = await bench.signon.signIn.withPassword(request);
    if (errorOf(done) === 'sign_in_refused') judged++;
  }
  assert.equal(judged, 400);
});

it('with and without an account: the same answers, after the same reads and writes', async () => {
  await bench.person(email);
  const { work, quiet, stop } = countStoreWork(bench.store);
  const steps = async (address: string, tag: string) => {
    const seen: string[] = [];
    for (let i = 0; i < 30; i++) {
      const near = { client: `${tag} ${i}`, neighbourhood: `${tag} ${i}` };
      const from = { ...visitor, ...near, browserId: `${tag} ${i}` };
      for (const challenged of [false, true]) {
        Object.assign(work, { gets: 0, commits: 0 });
        const request = { email: address, password: 'wrong-guess-1', visitor: from, challenged };
        const done = await bench.signon.signIn.withPassword(request);
        const answer = done.ok ? done.value.kind : `${done.error} ${done.retryAfterSeconds}`;
        seen.push(`${answer}, ${work.gets} reads, ${work.commits} writes`);
        await quiet();
      }
    }
    return seen;
  };
  const unknown = await steps(`nobody${count}@example.org`, 'u');
  const known = await steps(email, 'k');
  stop();
  assert.ok(unknown.some((line) => line.startsWith('link_mailed')));
  assert.deepEqual(known, unknown);
});

it('a million asked-for sign-ins by passkey leave no row, and each is answered once', async () => {
  const writes: number[] = [];
  const { commit } = bench.store;
  Object.assign(bench.store, {
    commit: (...args: Parameters<typeof commit>) => {
      writes.push(args[0].set?.length ?? 0);
      return commit.apply(bench.store, args);
    },
  });
  const seen = new Set<string>();
  for (let i = 0; i < 300; i++)
    seen.add(value(await bench.signon.passkeys.signInOptions()).challenge);
  const [challenge] = seen;
  const clientDataJSON = Buffer.from(JSON.stringify({ challenge })).toString('base64url');
  const response = { clientDataJSON, authenticatorData: 'AA', signature: 'AA' };
  const answer = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response };
  assert.equal(errorOf(await bench.signon.passkeys.signIn(answer, visitor)), 'passkey_refused');
  Object.assign(bench.store, { commit });
  assert.equal(seen.size, 300);
  assert.deepEqual(writes, []);
});
