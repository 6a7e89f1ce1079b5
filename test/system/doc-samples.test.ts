/**
 * The documentation's samples for a shell, PHP and Python, run as they stand there against a
 * server; each must do what the text around it promises.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { issue, openBeside } from '../support/captcha/beside.ts';
import { openSamples, publishedAt, runCode } from '../support/docs/doc-samples.ts';
import { freePort } from '../support/docs/wordpress.ts';
import { hasTool } from '../support/house/tools.ts';
import { startCommand } from '../support/server/child.ts';
import { demoEmail, startTestServer, type TestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { allow, createAgent, openPeople, type People } from '../support/signon/visitor.ts';

const shell = openSamples(['sh']);
const php = openSamples(['php']);
const python = openSamples(['python']);

const email = 'ada@mail.example';
let server: TestServer;
let people: People;
let folder: ReturnType<typeof makeTempDir>;
let siteKey = '';
before(async () => {
  server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  people = openPeople(server);
  await people.add(email, { givenName: 'Ada', familyName: 'Lovelace', nickname: 'countess' });
  folder = makeTempDir('samples');
  siteKey = (await server.cliJson('sitekey', 'create', demoEmail, '--host', 'shop.example')).id;
});
after(async () => {
  await people?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  folder?.remove();
});

const published = (code: string) => publishedAt(server.baseUrl, code);

async function newReceipt(): Promise<string> {
  const beside = openBeside(server.dataDir);
  return issue(beside.receipts, siteKey).finally(() => beside.store.close());
}

/** The visitor agrees to what an address of /authorize.php asks for. @returns the way back */
async function agreed(address: string): Promise<URL> {
  const { pathname, search } = new URL(address);
  const person = createAgent(server, await people.signIn(email));
  return allow(person, `${pathname}${search}&prompt=consent`);
}

describe('shell', () => {
  /** Ends at the first command that fails or speaks of a variable that nothing set. */
  async function run(code: string, env: Record<string, string> = {}): Promise<string> {
    const { status, output } = await runCode('sh', ['-eu'], {
      input: published(code),
      env: { KEY: server.key, BASE: `${server.baseUrl}/api/v2`, ...env },
      cwd: folder.path,
    });
    assert.equal(status, 0, output);
    return output;
  }
  function sample(
    place: string,
    containing: string,
    check: (code: string) => Promise<void>,
    tools: readonly string[] = ['curl'],
  ): void {
    const code = shell.take(place, 'sh', containing);
    it(`${place} ${containing}`, async (context) => {
      if (tools.every((tool) => hasTool(context, tool))) await check(code);
    });
  }
  /** What prints this. */
  function prints(place: string, pattern: RegExp, containing = ''): void {
    sample(place, containing, async (code) => assert.match(await run(code), pattern));
  }

  const verdict =
    '\\{"data":\\{"ipAddress":"198\\.51\\.100\\.7","abuseConfidenceScore":99,[^{]*\\}\\}';
  prints('docs/site/index.md, One line', new RegExp(`^${verdict}$`));
  prints('docs/site/machines.md, For machines', /^\{\s*"\$schema"[\s\S]*"openid_connect":\s*false/);
  prints(
    'docs/site/ask-about-an-address.md, With curl',
    new RegExp(
      `^${verdict}\\{"data":\\{"ipAddress":"198\\.51\\.100\\.9","abuseConfidenceScore":\\d+\\}\\}$`,
    ),
  );
  const api = (heading: string) => `docs/API.md, ${heading}`;
  sample(api('IP API'), '', async (code) => {
    const address = '$BASE/check?ipAddress=198.51.100.7';
    const output = await run(`unset BASE\n${code}\ncurl -s -H "Key: $KEY" "${address}"`);
    assert.match(output, new RegExp(`^${verdict}$`));
  });
  prints(api('GET check'), new RegExp(`^${verdict}\\{"data":\\{.*"reports":\\[.*\\]\\}\\}$`));
  prints(
    api('POST check-bulk'),
    /^\{"ipAddress":"198\.51\.100\.7",.*\}\n\{"ipAddress":"8\.8\.8\.8",.*\}$/,
  );
  prints(api('GET reports'), /^\{"data":\{"total":\d+,"page":1,.*"perPage":10,.*\}\}$/);
  prints(api('GET blacklist'), /^\{"meta":.*"data":\[\{.*\}\]\}[\d.]+(\/\d+)?\n/);
  prints(api('GET check-block'), /"networkAddress":"203\.0\.113\.0"/);
  sample(api('POST bulk-report'), '', async (code) => {
    const csv = openSamples(['csv']).take(api('POST bulk-report'), 'csv');
    const now = `${new Date().toISOString().slice(0, 19)}+00:00`;
    writeFileSync(`${folder.path}/report.csv`, csv.replaceAll(/\d{4}-[-\dT:]{14}\+00:00/g, now));
    assert.match(await run(code), /\{"savedReports":2,"invalidReports":\[\]\}/);
    assert.match(await run(code), /\{"savedReports":0,"invalidReports":\[\{"error":"Duplicate IP/);
  });
  sample(api('DELETE clear-address'), '', async (code) => {
    const headers = { Key: server.key };
    const path = '/api/v2/report?ip=198.51.100.9&categories=18';
    // 429 when another sample reported it just now.
    const { status } = await server.fetch(path, { method: 'POST', headers });
    assert.ok([200, 429].includes(status), String(status));
    assert.match(await run(code), /^\{"data":\{"numReportsDeleted":1\}\}$/);
  });
  sample(api('POST report'), '', async (code) => {
    const other = code.replace('198.51.100.9', '198.51.100.90');
    assert.match(await run(other), /^\{"data":\{"ipAddress":"198\.51\.100\.90","abuse/);
    assert.match(await run(other), /once in 15 minutes/);
  });
  sample(api('Feeds'), '', async (code) => {
    await within(async () => (await server.fetch('/feeds/blocklist.json')).status === 200);
    assert.match(await run(code), /^\{"version":\d+,"since":\d+,"reload":false,"added":\[/);
  });
  sample('docs/FEEDS.md, Refreshing', '', async (code) => {
    await within(async () => (await server.fetch('/feeds/blocklist.txt')).status === 200);
    await run(code);
    const list = readFileSync(`${folder.path}/list.txt`);
    assert.match(String(list), /^# .*\n[\s\S]*\n198\.51\.100\.7\n/);
    await run(`${code.trimEnd()} -w '%{http_code}'`).then((said) => assert.equal(said, '304'));
    assert.deepEqual(readFileSync(`${folder.path}/list.txt`), list);
  });
  sample('docs/CAPTCHA.md, Calls', '', async (code) => {
    assert.equal(await run(code), '{"ok":false}');
    assert.equal(readFileSync(`${folder.path}/word.gif`).toString('latin1', 0, 6), 'GIF89a');
    assert.equal(readFileSync(`${folder.path}/digits.wav`).toString('latin1', 0, 4), 'RIFF');
  });
  sample('docs/CAPTCHA.md, 3. Your server', '', async (code) => {
    const env = { RECEIPT: await newReceipt() };
    assert.match(await run(code, env), /^\{"ok":true,"hostname":"shop\.example"/);
    assert.equal(await run(code, env), '{"ok":false}');
  });

  /** `portcullis` as it is found once it is installed. */
  function installed(): Record<string, string> {
    const bin = `${folder.path}/bin`;
    if (!existsSync(bin)) {
      mkdirSync(bin);
      symlinkSync(
        fileURLToPath(new URL('../../../bin/portcullis.js', import.meta.url)),
        `${bin}/portcullis`,
      );
      writeFileSync(`${bin}/npx`, '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
    }
    return { PATH: `${bin}:${process.env.PATH}`, DATA_DIR: server.dataDir };
  }
  sample(
    'docs/CAPTCHA.md, 1. A site key',
    '',
    async (code) => {
      assert.match(await run(code.replace('you@example.com', demoEmail), installed()), /^pcs_\S+/m);
    },
    [],
  );
  sample('README.md, Try it', 'account create', async (code) => {
    const output = await run(code, installed());
    assert.match(output, new RegExp(verdict));
    assert.match(
      output,
      /"ipAddress":"192\.0\.2\.61","abuseConfidenceScore":61,.*"malicious":false/,
    );
    assert.match(output, /"ipAddress":"2001:db8:bad::1".*"malicious":true/);
    assert.match(output, /"ipAddress":"8\.8\.4\.4","abuseConfidenceScore":80,/);
  });
  sample('README.md, Reports', '', async (code) => {
    const output = await run(code.replace('198.51.100.9', '198.51.100.91'));
    assert.match(output, /^\{"data":\{"ipAddress":"198\.51\.100\.91","abuse/);
  });
  // These are what .ci/run does.
  shell.take('README.md, Try it', 'sh', 'npm start');
  shell.take('README.md, Try it', 'sh', 'npm test');
  // Would install anew over the folder that is being tested.
  shell.take('README.md, Try it', 'sh', '--omit=dev');

  sample('docs/SIGNON.md, GET or POST /api.php', '', async (code) => {
    const query = new URLSearchParams({
      ...{ client_id: 'example.com', redirect_uri: 'https://example.com/cb' },
      ...{ response_type: 'code', scope: 'openid profile', state: 's' },
    });
    const back = await agreed(`${server.baseUrl}/authorize.php?${query}`);
    const env = { CODE: back.searchParams.get('code')! };
    assert.match(await run(code, env), /\{"service_id":"\S+","given_name":"Ada",/);
    assert.match(await run(code, env), /"invalid_grant"/);
  });
  sample(
    'docs/site/sign-in-button.md, By hand, with curl',
    '',
    async (code) => {
      const [outward = '', exchange = ''] = code.split(/^# Open it in a browser.*$/m);
      const output = await run(`${outward}\necho "$VERIFIER"`);
      const [address = '', verifier = ''] = output.split('\n');
      const back = await agreed(address);
      assert.equal(back.origin + back.pathname, 'https://example.com/callback');
      const env = { CODE: back.searchParams.get('code')!, VERIFIER: verifier };
      assert.match(await run(exchange, env), /^\{"service_id":.*"email":"ada@mail\.example"/);
    },
    ['curl', 'openssl'],
  );
});

describe('PHP', () => {
  async function run(code: string, first: string, last = '', env: Record<string, string> = {}) {
    const begun = code.startsWith('<?php') ? code.slice('<?php'.length) : `\n${code}`;
    const input = `<?php ${first}${published(begun)}${last}`;
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
    const form = `$_POST = ['portcullis-receipt' => ${JSON.stringify(await newReceipt())}];`;
    const ask = (first: string, key = server.key) =>
      run(code, first, `echo $solved ? 'yes' : 'no';`, { PORTCULLIS_KEY: key });
    assert.equal(await ask(form), 'yes');
    assert.equal(await ask(form), 'no');
    assert.equal(await ask(''), 'no');
    assert.equal(await ask(form, 'x'), 'no');
  });
  sample('docs/site/ask-about-an-address.md, In PHP', '', async (code) => {
    const visit = (address: string, key = server.key) =>
      run(
        code,
        `$_SERVER['REMOTE_ADDR'] = '${address}';
         register_shutdown_function(fn () => print('status ' . var_export(http_response_code(), true)));`,
        `echo 'in, ';`,
        { PORTCULLIS_KEY: key },
      );
    assert.equal(await visit('198.51.100.7'), 'status 403');
    assert.equal(await visit('198.51.100.1'), 'in, status false');
    assert.equal(await visit('2001:db8:bad::1'), 'status 403');
    assert.equal(await visit('198.51.100.7', 'x'), 'in, status false', 'no verdict, no refusal');
  });

  const login = php.take('docs/site/sign-in-button.md, PHP', 'php', "sso_verifier'] = $base64url");
  sample('docs/site/sign-in-button.md, PHP', 'hash_equals', async (callback) => {
    const root = makeTempDir('php-site');
    writeFileSync(`${root.path}/login.php`, published(login));
    writeFileSync(`${root.path}/callback.php`, published(callback));
    const port = await freePort();
    const child = spawn('php', ['-S', `127.0.0.1:${port}`, '-t', root.path], { stdio: 'ignore' });
    const visit = (path: string, cookie = '') =>
      fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', headers: { Cookie: cookie } });
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
      const back = await agreed(address);
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
      const refused = await visit(`/callback.php?error=%3Cb%3E&state=${state}`, other.cookie);
      assert.equal(await refused.text(), 'No sign-in: &lt;b&gt;');
    } finally {
      await ended(child);
      root.remove();
    }
  });
});

async function ended(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return undefined;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  return closed;
}

describe('Python', () => {
  function sample(place: string, check: (code: string) => Promise<void>) {
    const code = python.take(place, 'python');
    it(place, async (context) => {
      if (hasTool(context, 'python3')) await check(code);
    });
  }

  sample('docs/site/ask-about-an-address.md, In Python', async (code) => {
    const run = async (more: string, key = server.key) => {
      const env = { PORTCULLIS_KEY: key };
      const input = `${published(code)}\n${more}`;
      return (await runCode('python3', ['-W', 'error', '-'], { input, env })).output;
    };
    const questions = `print(is_malicious("198.51.100.7"), is_malicious("198.51.100.1"),
      report("198.51.100.92", [18, 22], "brute force, 100 % \\"sure\\" & more") > 0)`;
    assert.equal(await run(questions), 'True False True');
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
    writeFileSync(file, published(code) + turns);
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
      const back = await agreed(await turn(''));
      const { service_id: id, email: given } = await turn(back.search.slice(1));
      assert.match(id, /^\S{10,}$/);
      assert.equal(given, email);
      assert.equal(await turn(back.search.slice(1)), 'this sign-in was not begun here');
      const state = new URL(await turn('')).searchParams.get('state');
      assert.equal(await turn(`error=access_denied&state=${state}`), null);
      await turn('');
      const stranger = await turn('code=x&state=%C3%A9%C2%A0%FF');
      assert.equal(stranger, 'this sign-in was not begun here', 'no ASCII');
      const later = new URL(await turn('')).searchParams.get('state');
      assert.equal(await turn(`code=unknown&state=${later}`), null, 'a code that is none');
    } finally {
      await ended(child.process);
      root.remove();
    }
  });
});

it('no sample is left without a test', () => {
  assert.deepEqual([...shell.left(), ...php.left(), ...python.left()], []);
});
