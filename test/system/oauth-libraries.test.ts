/**
 * The recipes for OAuth libraries as docs/site/oauth-libraries.md has them, each with the library
 * itself against a running server: a person agrees, and the recipe ends with the profile.
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { openSamples, publishedAt } from '../support/docs/doc-samples.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { forFile } from '../support/server/for-file.ts';
import { startTestServer } from '../support/server/server.ts';
import { allow, createAgent, openPeople } from '../support/signon/visitor.ts';

const recipes = openSamples(['mjs', 'python']);
const email = 'ada@mail.example';
const server = forFile(
  await startTestServer({ threads: 1, demo: false, env: { CLIENT_LIMITS: 'off' } }),
);
const people = forFile(openPeople(server));
await people.add(email, { givenName: 'Ada', familyName: 'Lovelace', nickname: 'countess' });

/** The visitor agrees to what an address of /authorize.php asks for. @returns the way back */
async function agreed(address: string): Promise<URL> {
  const { pathname, search } = new URL(address);
  const person = createAgent(server, await people.signIn(email));
  return allow(person, `${pathname}${search}&prompt=consent`);
}

interface Runner {
  readonly command: string;
  /** Before the code. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Code beside the packages; it reads a line for each line that it prints. */
async function talk(
  code: string,
  next: (line: string, turn: number) => Promise<string | undefined>,
  runner: Runner = { command: process.execPath, args: ['--input-type=module', '-e'], env: {} },
) {
  const args = [...runner.args, publishedAt(server.baseUrl, code)];
  const secret = { SESSION_SECRET: 'a secret of the test' };
  const env = { PATH: process.env.PATH ?? '', ...secret, ...runner.env };
  const child = spawn(runner.command, args, { cwd: 'test/system', env, timeout: 300_000 });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  let turn = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const said = await next(line, turn++);
    if (said === undefined) child.stdin.end();
    else if (said !== '') child.stdin.write(`${said}\n`);
  }
  assert.ok(turn > 0, errors);
  return errors;
}

const profileOf = (line: string) => {
  const { service_id, ...rest } = JSON.parse(line) as Record<string, unknown>;
  assert.match(String(service_id), /^\S{10,}$/, line);
  assert.equal(rest.email, email);
  assert.equal(rest.given_name, 'Ada');
};

for (const name of ['simple-oauth2', 'client-oauth2', 'arctic', 'oauth4webapi']) {
  const recipe = recipes.take(`docs/site/oauth-libraries.md, ${name}`, 'mjs');
  it(`${name}: the profile, once`, { timeout: 600_000 }, async () => {
    const verifier = randomBytes(48).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const visit = { state: randomBytes(16).toString('hex'), verifier, challenge };
    const trailer = `
      const { createInterface } = await import('node:readline');
      const visit = ${JSON.stringify(visit)};
      console.log(String(await begin(visit)));
      for await (const line of createInterface({ input: process.stdin })) {
        const out = await finish(line, visit).catch((error) => ({ failed: String(error) }));
        console.log(JSON.stringify(out));
      }`;
    let back = '';
    await talk(recipe + trailer, async (line, turn) => {
      if (turn === 0) {
        const address = new URL(line);
        assert.equal(address.searchParams.get('state'), visit.state);
        assert.equal(address.searchParams.get('code_challenge'), challenge);
        back = (await agreed(line)).href;
        return back;
      }
      if (turn === 1) {
        profileOf(line);
        return back;
      }
      assert.doesNotMatch(line, /service_id/, 'the second time');
      return undefined;
    });
  });
}

const grantRecipe = recipes.take('docs/site/oauth-libraries.md, grant', 'mjs');
it('grant: the profile, once', { timeout: 600_000 }, async () => {
  const trailer = `
    const { createServer } = await import('node:http');
    createServer(answer).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
    process.stdin.on('end', () => process.exit()).resume();`;
  await talk(grantRecipe + trailer, async (line) => {
    const origin = `http://127.0.0.1:${line}`;
    const out = await fetch(`${origin}/connect/portcullis`, { redirect: 'manual' });
    const cookie = out.headers.get('set-cookie')!.split(';')[0]!;
    const back = await agreed(out.headers.get('location')!);
    assert.equal(back.pathname, '/connect/portcullis/callback');
    const visit = () =>
      fetch(`${origin}${back.pathname}${back.search}`, { headers: { Cookie: cookie } });
    profileOf(await (await visit()).text());
    assert.doesNotMatch(await (await visit()).text(), /service_id/);
    return undefined;
  });
});

const passportRecipe = recipes.take('docs/site/oauth-libraries.md, passport-oauth2', 'mjs');
it('passport-oauth2: the profile, once', { timeout: 600_000 }, async () => {
  // What passport does with a strategy, for one visitor with one session.
  const trailer = `
    const { createInterface } = await import('node:readline');
    const session = {};
    const run = (query) => new Promise((resolve) => {
      const own = Object.create(strategy);
      own.redirect = (address) => resolve(address);
      own.success = (user) => resolve(JSON.stringify(user));
      own.fail = (info) => resolve(JSON.stringify({ failed: info }));
      own.error = (error) => resolve(JSON.stringify({ failed: String(error) }));
      own.authenticate({ query, body: {}, session, headers: {}, connection: {} }, {});
    });
    console.log(await run({}));
    for await (const line of createInterface({ input: process.stdin })) {
      console.log(await run(Object.fromEntries(new URL(line).searchParams)));
    }`;
  let back = '';
  await talk(passportRecipe + trailer, async (line, turn) => {
    if (turn === 0) {
      back = (await agreed(line)).href;
      return back;
    }
    if (turn === 1) {
      profileOf(line);
      return back;
    }
    assert.doesNotMatch(line, /service_id/, 'the second time');
    return undefined;
  });
});

/** Debian's packages are this one's, whatever comes first in PATH. */
const python = '/usr/bin/python3';
for (const [name, module] of [
  ['Authlib', 'authlib'],
  ['requests-oauthlib', 'requests_oauthlib'],
] as const) {
  const recipe = recipes.take(`docs/site/oauth-libraries.md, ${name}`, 'python');
  it(`${name}: the profile, once, and only for its own state`, {
    timeout: 600_000,
  }, async (context) => {
    if (!hasTool(context, python)) return;
    const [state, verifier] = ['s-of-this-visit', randomBytes(48).toString('base64url')];
    const trailer = `
import json, sys
state, verifier = ${JSON.stringify(state)}, ${JSON.stringify(verifier)}
print(begin(state, verifier), flush=True)
for line in sys.stdin:
    for given in ("another", state):
        try:
            print(json.dumps(finish(line.strip(), given, verifier)), flush=True)
        except Exception as error:
            print("failed: " + type(error).__name__, flush=True)
`;
    // The service of the tests is on plain http.
    const env = { OAUTHLIB_INSECURE_TRANSPORT: '1', AUTHLIB_INSECURE_TRANSPORT: '1' };
    const told: string[] = [];
    let back = '';
    const errors = await talk(
      recipe + trailer,
      async (line, turn) => {
        if (turn === 0) {
          assert.equal(new URL(line).searchParams.get('state'), state);
          back = (await agreed(line)).href;
          return back;
        }
        told.push(line);
        // Each callback is tried with two states.
        return turn === 2 ? back : turn === 4 ? undefined : '';
      },
      { command: python, args: ['-c'], env },
    );
    assert.equal(told.length, 4, `${module}: ${errors}`);
    const [stranger, profile, ...again] = told;
    assert.match(stranger!, /^failed/);
    profileOf(profile!);
    for (const line of again) assert.match(line, /^failed|invalid_grant/, 'the second time');
  });
}

it('no recipe is left without a test', () => {
  const here = recipes.left().filter((place) => place.includes('oauth-libraries.md'));
  assert.deepEqual(here, []);
});
