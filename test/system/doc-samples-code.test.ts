/**
 * The documentation's samples in PHP, Python and Go, run as they stand there against a server with
 * demo data and one without; each must do what the text around it promises.
 */

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import { openSamples, runCode } from '../support/docs/doc-samples.ts';
import {
  openSampleService,
  type SampleService,
  sampleEmail,
} from '../support/docs/sample-service.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasTool } from '../support/house/tools.ts';
import { startCommand } from '../support/server/child.ts';
import { freePort } from '../support/server/free-port.ts';
import { within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const php = openSamples(['php']);
const python = openSamples(['python']);
const go = openSamples(['go']);

for (const demo of [true, false])
  describe(`samples ${demo ? 'with' : 'without'} demo data`, () => {
    let at: SampleService;
    before(async () => {
      at = await openSampleService(demo);
    });
    after(() => at?.[Symbol.asyncDispose]());

    /** The requests of the reference: what one prints, in whatever language. */
    const checked = new RegExp(
      `198\\.51\\.100\\.7\\W.*abuseConfidenceScore\\W+${demo ? 99 : 0}\\b`,
      's',
    );
    const tried = /127\.0\.0\.1\W.*abuseConfidenceScore\W+0\b/s;
    const profile = /given_name\W+Ada\b/;
    const codeOfSite = async () => {
      const query = new URLSearchParams({
        client_id: 'example.com',
        redirect_uri: 'https://example.com/cb',
        response_type: 'code',
        scope: 'openid profile',
        state: 's',
      });
      const back = await at.agreed(`${at.server.baseUrl}/authorize.php?${query}`);
      return back.searchParams.get('code')!;
    };
    function prints(
      take: (place: string) => string,
      run: (code: string, env: Record<string, string>) => Promise<string>,
      hasIt: (context: TestContext) => boolean,
    ) {
      for (const [place, pattern] of [
        ['docs/API.md, GET check', checked],
        ['docs/API.md, POST report', tried],
        ['docs/SIGNON.md, GET or POST /api.php', profile],
      ] as const) {
        const code = take(place);
        it(place, async (context) => {
          if (!hasIt(context)) return;
          const env = {
            KEY: at.server.key,
            ...(pattern === profile && { CODE: await codeOfSite() }),
          };
          assert.match(await run(at.published(code), env), pattern);
        });
      }
    }

    describe('Go', () => {
      const folder = makeTempDir('go');
      after(() => folder.remove());
      const run = async (code: string, env: Record<string, string>) => {
        writeFileSync(`${folder.path}/main.go`, code);
        const own = { HOME: folder.path, GOCACHE: `${folder.path}/cache`, GOFLAGS: '-mod=mod' };
        const args = ['run', `${folder.path}/main.go`];
        return (await runCode('go', args, { env: { ...own, ...env } })).output;
      };
      const hasGo = (context: TestContext) => hasTool(context, 'go');
      prints((place) => go.take(place, 'go'), run, hasGo);
      const verdict = go.take('docs/site/ask-about-an-address.md, In a program', 'go');
      it('an address is asked about', async (context) => {
        if (!hasGo(context)) return;
        const env = { PORTCULLIS_KEY: at.server.key };
        const known = demo ? 'true 99 <nil>' : 'false 0 <nil>';
        assert.equal(await run(at.published(verdict), env), known);
        assert.match(await run(at.published(verdict), {}), /^false 0 401/);
      });
    });

    describe('PHP', () => {
      prints(
        (place) => php.take(place, 'php'),
        async (input, env) => (await runCode('php', [], { input, env })).output,
        (context) => hasTool(context, 'php'),
      );
      async function run(code: string, first: string, last = '', env: Record<string, string> = {}) {
        const begun = code.startsWith('<?php') ? code.slice('<?php'.length) : `\n${code}`;
        const input = `<?php ${first}${at.published(begun)}${last}`;
        const args = ['-d', 'display_errors=stderr', '-d', 'error_reporting=-1'];
        return (await runCode('php', args, { input, env })).output;
      }
      function sample(place: string, containing: string, check: (code: string) => Promise<void>) {
        const code = php.take(place, 'php', containing);
        it(`${place} ${containing}`, async (context) => {
          if (hasTool(context, 'php')) await check(code);
        });
      }

      sample('docs/CAPTCHA.md, 3. Your server', '', async (code) => {
        const form = `$_POST = ['portcullis-receipt' => ${JSON.stringify(await at.newReceipt())}];`;
        const ask = (first: string, key = at.server.key) =>
          run(code, first, `echo $solved ? 'yes' : 'no';`, { PORTCULLIS_KEY: key });
        assert.equal(await ask(form), 'yes');
        assert.equal(await ask(form), 'no');
        assert.equal(await ask(''), 'no');
        assert.equal(await ask(form, 'x'), 'no');
      });
      sample('docs/site/ask-about-an-address.md, In a program', '', async (code) => {
        const visit = (address: string, key = at.server.key) =>
          run(
            code,
            `$_SERVER['REMOTE_ADDR'] = '${address}';
         register_shutdown_function(fn () => print('status ' . var_export(http_response_code(), true)));`,
            `echo 'in, ';`,
            { PORTCULLIS_KEY: key },
          );
        const bad = demo ? 'status 403' : 'in, status false';
        assert.equal(await visit('198.51.100.7'), bad);
        assert.equal(await visit('198.51.100.1'), 'in, status false');
        assert.equal(await visit('2001:db8:bad::1'), bad);
        assert.equal(
          await visit('198.51.100.7', 'x'),
          'in, status false',
          'no verdict, no refusal',
        );
      });

      const login = php.take(
        'docs/site/sign-in-button.md, PHP',
        'php',
        "sso_verifier'] = $verifier",
      );
      sample('docs/site/sign-in-button.md, PHP', 'hash_equals', async (callback) => {
        const root = makeTempDir('php-site');
        writeFileSync(`${root.path}/login.php`, at.published(login));
        writeFileSync(`${root.path}/callback.php`, at.published(callback));
        const port = await freePort();
        const child = spawn('php', ['-S', `127.0.0.1:${port}`, '-t', root.path], {
          stdio: 'ignore',
        });
        const visit = (path: string, cookie = '') =>
          fetch(`http://127.0.0.1:${port}${path}`, {
            redirect: 'manual',
            headers: { Cookie: cookie },
          });
        try {
          const isUp = () =>
            visit('/').then(
              () => true,
              () => false,
            );
          await within(isUp, 'the site');
          const begin = async () => {
            const sent = await visit('/login.php');
            const cookie = sent.headers.get('set-cookie')!.split(';')[0]!;
            return { cookie, address: sent.headers.get('location')! };
          };
          const { cookie, address } = await begin();
          const back = await at.agreed(address);
          assert.equal(back.origin + back.pathname, 'https://example.com/callback.php');
          const path = back.pathname + back.search;
          assert.equal((await visit(path)).status, 400, 'another browser');
          const done = await visit(path, cookie);
          assert.equal(done.status, 302, await done.text());
          assert.equal(done.headers.get('location'), '/');
          const fresh = done.headers.get('set-cookie')!.split(';')[0]!;
          assert.notEqual(fresh, cookie);
          assert.equal((await visit(path, fresh)).status, 400, 'the second time');
          const other = await begin();
          const state = new URL(other.address).searchParams.get('state');
          const from = back.searchParams.get('iss')!;
          const refused = await visit(
            `/callback.php?error=%3Cb%3E&iss=${from}&state=${state}`,
            other.cookie,
          );
          assert.equal(await refused.text(), 'No sign-in: &lt;b&gt;');
          for (const iss of ['', '&iss=https://evil.example', '&iss[]=x']) {
            const begun = await begin();
            const sent = new URL(begun.address).searchParams.get('state');
            const mixedUp = `/callback.php?code=x${iss}&state=${sent}`;
            assert.equal((await visit(mixedUp, begun.cookie)).status, 400, iss);
          }
        } finally {
          await ended(child);
          root.remove();
        }
      });
    });

    describe('Python', () => {
      prints(
        (place) => python.take(place, 'python'),
        async (input, env) =>
          (await runCode('python3', ['-W', 'error', '-'], { input, env })).output,
        (context) => hasTool(context, 'python3'),
      );
      function sample(place: string, check: (code: string) => Promise<void>) {
        const code = python.take(place, 'python');
        it(place, async (context) => {
          if (hasTool(context, 'python3')) await check(code);
        });
      }

      sample('docs/site/ask-about-an-address.md, In a program', async (code) => {
        const run = async (more: string, key = at.server.key) => {
          const env = { PORTCULLIS_KEY: key };
          const input = `${at.published(code)}\n${more}`;
          return (await runCode('python3', ['-W', 'error', '-'], { input, env })).output;
        };
        const questions = `print(is_malicious("198.51.100.7"), is_malicious("198.51.100.1"),
      report("127.0.0.1", [18, 22], "brute force, 100 % \\"sure\\" & more"))`;
        assert.equal(await run(questions), `${demo ? 'True' : 'False'} False 0`);
        assert.equal(await run('print(is_malicious("198.51.100.7"))', 'x'), 'False');
        const code401 =
          'try:\n  ask("check", ipAddress="1.1.1.1")\nexcept urllib.error.HTTPError as e:\n  print(e.code)';
        assert.equal(await run(code401, 'x'), '401');
      });
      sample('docs/site/sign-in-button.md, Python', async (code) => {
        const root = makeTempDir('python-site');
        const file = `${root.path}/site.py`;
        const turns = `
import sys
session = {}
for line in sys.stdin:
    query = dict(urllib.parse.parse_qsl(line.strip()))
    try:
        print(json.dumps(callback(session, query) if query else login(session)), flush=True)
    except ValueError as error:
        print(json.dumps(str(error)), flush=True)
`;
        writeFileSync(file, at.published(code) + turns);
        const child = startCommand('python3', ['-W', 'error', file]);
        let seen = 0;
        const turn = async (query: string) => {
          child.process.stdin!.write(`${query}\n`);
          const wanted = seen++;
          const ended = child.ended.then(() => assert.fail('the site ended'));
          await Promise.race([child.line(() => child.lines.length > wanted), ended]);
          return JSON.parse(child.lines[wanted]!);
        };
        try {
          const back = await at.agreed(await turn(''));
          const { service_id: id, email: given } = await turn(back.search.slice(1));
          assert.match(id, /^\S{10,}$/);
          assert.equal(given, sampleEmail);
          assert.equal(await turn(back.search.slice(1)), 'this sign-in was not begun here');
          const state = new URL(await turn('')).searchParams.get('state');
          const from = `iss=${back.searchParams.get('iss')}`;
          assert.equal(await turn(`error=access_denied&${from}&state=${state}`), null);
          for (const iss of ['', '&iss=https://evil.example']) {
            const begun = new URL(await turn('')).searchParams.get('state');
            const answer = await turn(`code=x${iss}&state=${begun}`);
            assert.equal(answer, 'this sign-in was not begun here', iss);
          }
          await turn('');
          const stranger = await turn('code=x&state=%C3%A9%C2%A0%FF');
          assert.equal(stranger, 'this sign-in was not begun here', 'no ASCII');
          const later = new URL(await turn('')).searchParams.get('state');
          assert.equal(
            await turn(`code=unknown&${from}&state=${later}`),
            null,
            'a code that is none',
          );
        } finally {
          await ended(child.process);
          root.remove();
        }
      });
    });
  });

async function ended(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  return closed;
}

it('no sample is left without a test', () => {
  // test/system/oauth-libraries.test.ts runs those of its page.
  const left = [...php.left(), ...python.left(), ...go.left()];
  assert.deepEqual(
    left.filter((place) => !place.includes('oauth-libraries.md')),
    [],
  );
});
