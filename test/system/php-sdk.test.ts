/**
 * The PHP SDK out of the kit: its own tests, and each of its calls against a running server, with
 * curl and with PHP's streams.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { issue, openBeside } from '../support/captcha/beside.ts';
import { unpackKit } from '../support/docs/unpacked-kit.ts';
import { spawn } from '../support/house/spawn.ts';
import { hasTool, isInstalled } from '../support/house/tools.ts';
import { startTestServer, type TestServer, within } from '../support/server/server.ts';
import { startFakeProvider } from '../support/signon/fake-provider.ts';
import { allow, createAgent, openPeople, type People } from '../support/signon/visitor.ts';

const email = 'ada@mail.example';

let kit: ReturnType<typeof unpackKit>;
before(() => {
  kit = unpackKit();
});
after(() => kit.remove());

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

function php(args: readonly string[], input = ''): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn('php', args, { env: { PATH: process.env.PATH ?? '', LC_ALL: 'C' } });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += String(chunk);
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output: output.trim() }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** What the code returns, or `{thrown, message, …}` of an exception. */
// biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at below
async function sdk(code: string): Promise<any> {
  const { output } = await php(
    ['-d', 'error_reporting=-1', '-d', 'display_errors=1'],
    `<?php require '${kit.path}/php-sdk/autoload.php';
     use Portcullis\\{AuthorizationRequest, Captcha, Client, IpReputation};
     use Portcullis\\Http\\{CurlTransport, StreamTransport};
     try { $value = (function () { ${code} })(); }
     catch (Portcullis\\Exception\\PortcullisException $e) {
       $value = ['thrown' => (new ReflectionClass($e))->getShortName(), ...get_object_vars($e)];
     }
     echo json_encode($value, JSON_THROW_ON_ERROR);`,
  );
  try {
    return JSON.parse(output);
  } catch {
    throw new Error(`not JSON: ${output}`);
  }
}

/** Also those that no visitor gets: the tests of the kit. */
function phpFiles(): string[] {
  return readdirSync('data/kit', { recursive: true })
    .map((name) => `data/kit/${name}`)
    .filter((name) => name.endsWith('.php'));
}

function withPhp(name: string, run: () => Promise<void>): void {
  it(name, async (context) => {
    if (hasTool(context, 'php')) await run();
  });
}

withPhp('PHP can read every file of the kit', async () => {
  const files = phpFiles();
  assert.ok(files.length > 50, `${files.length} files`);
  const unread = [...files];
  async function readNext(): Promise<void> {
    for (let file = unread.pop(); file !== undefined; file = unread.pop()) {
      const { code, output } = await php(['-l', file]);
      assert.equal(code, 0, output);
    }
  }
  await Promise.all([readNext(), readNext(), readNext(), readNext()]);
});

/**
 * The machine's PHP is newer than the oldest that the kit promises to work with. What 8.2 to 8.4
 * added, as one line would show it, with such a line.
 */
const laterThan81: readonly (readonly [RegExp, string])[] = [
  [/\breadonly (?:final |abstract )?class\b|\bfinal readonly\b/, 'final readonly class A'],
  [/\): \??(?:[\w\\]+\|)*true\b/, 'function link(): true|WP_Error {'],
  [/\): \??(?:false|null)\b(?!\|)/, 'function none(): null {'],
  [
    /(?:[(,]\s*|\b(?:public|protected|private|readonly) )(?:[\w\\]+\|)*(?:true|(?<!\|)null|(?<!\|)false) \$\w/,
    'function a(true $b)',
  ],
  [/\([\w\\]+&[\w\\]+\)\|/, 'function a((A&B)|null $c)'],
  [/\bconst \??[\w\\|]+ [A-Z_]+ =/, 'const string NAME = 1'],
  [/::\{\$/, 'A::{$name}'],
  [/\b(?:public|protected|private)\(set\)/, 'public private(set) string $a'],
  [/\{ *(?:get|set) *(?:=>|\{|;)/, 'public string $a { get => 1; }'],
  [/\bRandom\\|#\[\\(?:Override|Deprecated)\]/, 'new Random\\Randomizer()'],
  [
    /\b(?:json_validate|mb_trim|mb_ucfirst|mb_lcfirst|mb_str_pad|array_find|array_find_key|array_any|array_all|ini_parse_quantity|curl_upkeep|memory_reset_peak_usage|openssl_cipher_key_length|str_increment|http_get_last_response_headers|request_parse_body)\(/,
    'json_validate($a)',
  ],
];

it('no file uses what PHP 8.1 does not know', () => {
  const newer = (line: string) => laterThan81.some(([pattern]) => pattern.test(line));
  for (const [pattern, sample] of laterThan81) assert.match(sample, pattern);
  for (const known of [
    'function a(): ?string {',
    'fn(A|null $a): int|false => 1',
    'const A = 1;',
  ]) {
    assert.equal(newer(known), false, known);
  }
  for (const file of phpFiles()) {
    const lines = readFileSync(file, 'utf8').split('\n');
    assert.deepEqual(lines.filter(newer), [], file);
  }
});

withPhp('PHP can read the examples of the README', async () => {
  const readme = readFileSync(`${kit.path}/README.md`, 'utf8');
  const examples = [...readme.matchAll(/```php\n([\s\S]*?)```/g)].map(([, code]) => code!);
  assert.ok(examples.length >= 4);
  for (const example of examples) {
    writeFileSync(`${kit.path}/example.php`, `<?php\n${example}`);
    const { code, output } = await php(['-l', `${kit.path}/example.php`]);
    assert.equal(code, 0, output);
  }
});

withPhp("the SDK's own tests", async () => {
  const { code, output } = await php(['data/kit/php-sdk/tests/run.php']);
  assert.equal(code, 0, output);
  assert.match(output, /^\d\d passed, 0 failed$/m);
});

for (const transport of ['CurlTransport', 'StreamTransport'])
  describe(`PHP SDK, ${transport}`, () => {
    let server: TestServer;
    let people: People;
    before(async () => {
      if (!isInstalled('php')) return;
      server = await startTestServer({ threads: 2, env: { CLIENT_LIMITS: 'off' } });
      people = openPeople(server);
      await people.add(email, { givenName: 'Ada', nickname: 'Countess' });
    });
    after(async () => {
      await people?.[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
    });

    const begin = (client = 'example.com') =>
      sdk(`$r = AuthorizationRequest::create('${server.baseUrl}', '${client}',
        'https://${client}/cb?x=1', ['openid', 'profile', 'email']);
        return ['url' => $r->url(), 'kept' => $r->toArray()];`);

    /** As far as the redirect back to the site. */
    async function consented(started: { url: string }): Promise<string> {
      const person = createAgent(server, await people.signIn(email));
      const url = new URL(started.url);
      const path = `${url.pathname}${url.search}&prompt=consent`;
      return (await allow(person, path)).search.slice(1);
    }

    const finish = (kept: unknown, query: string) =>
      sdk(`parse_str('${query}', $query);
        $r = AuthorizationRequest::fromArray(json_decode('${JSON.stringify(kept)}', true));
        $client = new Client('${server.baseUrl}', new ${transport}());
        return $client->exchange($r->verify($query), $r);`);

    const api = (key = server.key) =>
      `(new IpReputation('${server.baseUrl}', '${key}', new ${transport}(), 0))`;

    withPhp('a visitor signs in: out, consent, back, profile, once', async () => {
      const started = await begin();
      const query = await consented(started);
      const profile = await finish(started.kept, query);
      assert.match(profile.serviceId, /^[\w-]{22}$/);
      assert.equal(profile.email, email);
      assert.equal(profile.emailVerified, true);
      assert.equal(profile.nickname, 'Countess');
      assert.equal(profile.phoneNumber, null);
      assert.equal((await finish(started.kept, query)).thrown, 'InvalidGrant');
    });

    withPhp("another visitor's or another site's code gives nothing", async () => {
      const started = await begin();
      const other = await begin();
      const code = new URLSearchParams(await consented(other)).get('code');
      const from = `iss=${encodeURIComponent(server.baseUrl)}`;
      const injected = `code=${code}&${from}&state=${started.kept.state}`;
      assert.equal((await finish(started.kept, injected)).thrown, 'InvalidGrant');
      const elsewhere = await begin('other.example.org');
      const foreign = new URLSearchParams(await consented(elsewhere)).get('code');
      const substituted = `code=${foreign}&${from}&state=${started.kept.state}`;
      assert.equal((await finish(started.kept, substituted)).thrown, 'InvalidGrant');
      assert.equal((await finish(started.kept, `code=x&state=y`)).thrown, 'StateMismatch');
      for (const iss of ['', '&iss=https%3A%2F%2Fevil.example']) {
        const mixedUp = `code=x&state=${started.kept.state}${iss}`;
        assert.equal((await finish(started.kept, mixedUp)).thrown, 'InvalidCallback');
      }
    });

    withPhp('check and report', async () => {
      const check = await sdk(`return ${api()}->check('198.51.100.7');`);
      const wide = await server.check('198.51.100.7');
      for (const name of Object.keys(check) as (keyof typeof wide)[]) {
        assert.deepEqual(check[name], wide[name], name);
      }
      assert.equal(Object.keys(check).length, 12);
      const quota = await sdk(`$api = ${api()}; $api->check('8.8.8.8'); return $api->quota();`);
      assert.ok(quota.remaining < quota.limit && quota.resetAt > 1_700_000_000);
      const address = transport === 'CurlTransport' ? '203.0.113.71' : '203.0.113.72';
      const report = `return ${api()}->report('${address}', [18, 21], 'a & b = é');`;
      const reported = await sdk(report);
      assert.equal(reported.ipAddress, address);
      assert.ok(reported.abuseConfidenceScore > 0);
      assert.equal((await server.check(address)).totalReports, 1);
      assert.equal((await sdk(report)).thrown, 'DuplicateReport');
    });

    withPhp('blacklist, reports, check-block and bulk', async () => {
      const list = await sdk(`return ${api()}->blacklist(onlyCountries: ['ZZ'], ipVersion: 4);`);
      assert.equal(list.confidenceMinimum, 75);
      assert.equal(list.entries[0].ipAddress, '192.0.2.100');
      const own = transport === 'CurlTransport' ? '203.0.113.81' : '203.0.113.82';
      const csv = `implode(PHP_EOL, ['${own},"18,22",,é', 'nonsense,18,,'])`;
      const done = await sdk(`return ${api()}->bulkReport(${csv});`);
      assert.equal(done.savedReports, 1, JSON.stringify(done));
      assert.equal(done.invalidReports[0].rowNumber, 2);
      const page = await sdk(`return ${api()}->reports('${own}', 30);`);
      assert.deepEqual([page.total, page.results[0].categories], [1, [18, 22]]);
      const block = await sdk(`return ${api()}->checkBlock('${own}/32');`);
      assert.equal(block.reportedAddresses[0].ipAddress, own);
      const [bad, none] = await sdk(`return ${api()}->checkBulk(['198.51.100.7', 'x']);`);
      assert.deepEqual([bad.malicious, none.isAddress], [true, false]);
    });

    withPhp('refusals have their exceptions', async () => {
      const refused = await sdk(`return ${api('pcl_wrong')}->check('8.8.8.8');`);
      assert.deepEqual([refused.thrown, refused.status], ['AuthenticationFailed', 401]);
      const invalid = await sdk(`return ${api()}->check('010.1.1.1');`);
      assert.deepEqual([invalid.thrown, invalid.parameter], ['InvalidRequest', 'ipAddress']);
      const category = await sdk(`return ${api()}->report('203.0.113.73', [99]);`);
      assert.deepEqual([category.thrown, category.parameter], ['InvalidRequest', 'categories']);
    });

    withPhp('a spent quota is told with the time to wait', async () => {
      const poor = `poor-${transport.toLowerCase()}@mail.example`;
      await server.cliJson('account', 'create', poor);
      const made = await server.cliJson('key', 'create', poor, '--read-per-minute', '1');
      const key = made.text as string;
      const ask = { headers: { Key: key } };
      // The running server hears of a new key within a moment.
      await within(async () => {
        return (await server.fetch('/api/v2/check?ipAddress=8.8.8.8', ask)).status === 200;
      });
      const spent = await sdk(`return ${api(key)}->check('8.8.8.8');`);
      assert.equal(spent.thrown, 'QuotaExceeded');
      // A minute is counted in whole buckets and rounded up: a little more than 60.
      const waitSeconds = spent.retryAfterSeconds;
      assert.ok(waitSeconds >= 1 && waitSeconds <= 65, `${waitSeconds}`);
    });

    withPhp('a receipt is good once', async () => {
      const host = ['--host', 'shop.example'];
      const site = await server.cliJson('sitekey', 'create', 'demo@portcullis.example', ...host);
      const beside = openBeside(server.dataDir);
      const receipt = await issue(beside.receipts, site.id).finally(() => beside.store.close());
      const verify = `$c = new Captcha('${server.baseUrl}', '${server.key}', new ${transport}());
        return $c->verify('${receipt}');`;
      const solved = await sdk(verify);
      assert.equal(solved.ok, true);
      assert.equal(solved.hostname, 'shop.example');
      assert.equal(solved.siteKey, site.id);
      assert.ok(solved.solvedAt.date);
      assert.equal((await sdk(verify)).ok, false);
    });

    withPhp('redirects are not followed', async () => {
      await using fake = await startFakeProvider();
      fake.answer = { status: 302, headers: { Location: `${fake.origin}/trap` }, body: '' };
      const url = `${fake.origin}/api/v2/check`;
      const answer = await sdk(
        `return (new ${transport}())->send('GET', '${url}', ['Key' => 'k']);`,
      );
      assert.equal(answer.status, 302);
      assert.deepEqual(fake.asked, ['GET /api/v2/check']);
    });

    withPhp('an answer that breaks off, is endless or never comes is no answer', async () => {
      const behaviours = ['silent', 'short', 'endless'] as const;
      for (const behaviour of behaviours) {
        const peer = createServer((socket) => {
          socket.on('error', () => {});
          if (behaviour === 'silent') return;
          socket.write(
            `HTTP/1.1 200 OK\r\nContent-Length: ${behaviour === 'short' ? 50 : 1e9}\r\n\r\n`,
          );
          if (behaviour === 'short') socket.end('{"ok":true}');
          else for (let i = 0; i < 160; i++) socket.write(Buffer.alloc(65_536, 32));
        });
        await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
        const { port } = peer.address() as { port: number };
        const sent = await sdk(
          `return (new ${transport}(1.0))->send('GET', 'http://127.0.0.1:${port}/');`,
        );
        peer.close();
        assert.equal(sent.thrown, 'TransportException', behaviour);
      }
    });
  });
