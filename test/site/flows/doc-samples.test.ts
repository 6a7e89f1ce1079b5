/**
 * The documentation's samples that need nothing but Node: JSON beside the answers that it stands
 * for, JavaScript run as it is printed there, with demo data and without. `test/system/doc-samples.test.ts` has the others.
 */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openSamples, publishedAt, runCode, samplesIn } from '../../support/docs/doc-samples.ts';
import { openSampleService, type SampleService } from '../../support/docs/sample-service.ts';
import { startCommand } from '../../support/server/child.ts';
import { freePort } from '../../support/server/free-port.ts';
import { within } from '../../support/server/server.ts';
import { startFakeProvider } from '../../support/signon/fake-provider.ts';
import { consentFormIn, createAgent, openPeople } from '../../support/signon/visitor.ts';

const scripts = openSamples(['js']);
const documents = openSamples(['json']);

/** Appends what prints the outcome, and runs all of it as a module. */
async function node(code: string, more: string, env: Record<string, string> = {}): Promise<string> {
  const args = ['--input-type=module', '-'];
  return (await runCode(process.execPath, args, { input: `${code}\n${more}`, env })).output;
}

it('a fence belongs to the heading above it, and a heading in code is none', () => {
  const text = '# A\n```sh\n# B\nls\n```\n## C\n\n```\nplain\n```\n```js\n1\n```\n';
  assert.deepEqual(samplesIn('x.md', text), [
    { place: 'x.md, A', language: 'sh', code: '# B\nls\n' },
    { place: 'x.md, C', language: '', code: 'plain\n' },
    { place: 'x.md, C', language: 'js', code: '1\n' },
  ]);
});

for (const demo of [true, false])
  describe(`${demo ? 'with' : 'without'} demo data`, () => {
    let at: SampleService;
    before(async () => {
      at = await openSampleService(demo);
    });
    after(() => at?.[Symbol.asyncDispose]());

    describe('JSON', () => {
      const sample = (place: string, containing = '') =>
        JSON.parse(documents.take(place, 'json', containing));
      const authorized = () => ({ headers: { Key: at.server.key } });
      const get = async (path: string) => (await at.server.fetch(path, authorized())).json();
      /** Names and types, of the first element where there are many. */
      function shapeOf(value: unknown): unknown {
        if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
        if (typeof value !== 'object' || value === null) return typeof value;
        return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]));
      }

      const checks = ['docs/API.md, GET check', 'docs/site/index.md, Try it in one line'];
      for (const place of checks) {
        const expected = sample(place);
        it(`${place}: the very answer of a server with the demo's data`, async () => {
          const { data } = (await get('/api/v2/check?ipAddress=198.51.100.7')) as typeof expected;
          if (!demo) {
            const nothing = { abuseConfidenceScore: 0, totalReports: 0, malicious: false };
            const unknown = { ...nothing, numDistinctUsers: 0, lastReportedAt: null };
            return assert.deepEqual(data, { ...expected.data, ...unknown });
          }
          // When the demo's list was loaded.
          assert.match(data.lastReportedAt, /^\d{4}-\d\d-\d\dT[\d:]{8}\+00:00$/);
          const { lastReportedAt } = expected.data;
          assert.deepEqual({ ...data, lastReportedAt }, expected.data);
        });
      }

      const error = sample('docs/API-RULES.md, Errors');
      it('an error', async () => {
        const answer = (await get('/api/v2/check?ipAddress=x')) as typeof error;
        answer.errors[0].detail = '…';
        assert.deepEqual(answer, error);
      });

      const blacklist = sample('docs/API.md, GET blacklist');
      it('the blacklist', async () => {
        const answer = (await get('/api/v2/blacklist?limit=1')) as typeof blacklist;
        if (!demo)
          return assert.deepEqual(
            [answer.data, shapeOf(answer.meta)],
            [[], shapeOf(blacklist.meta)],
          );
        assert.deepEqual(shapeOf(answer), shapeOf(blacklist));
        const [{ lastReportedAt }] = blacklist.data;
        // When the demo's list was loaded.
        assert.deepEqual([{ ...answer.data[0], lastReportedAt }], blacklist.data);
      });

      const figures = sample('docs/API.md, GET stats');
      it('the figures of the server', async () => {
        const { data } = (await get('/api/v2/stats')) as typeof figures;
        const namesIn = ({ entries, reports, last24Hours, ...others }: typeof data) =>
          [others, entries ?? figures.data.entries, reports, last24Hours].map(Object.keys);
        assert.deepEqual(namesIn(data), namesIn(figures.data));
      });

      const bulk = sample('docs/API.md, POST bulk-report');
      const csv = openSamples(['csv']).take('docs/API.md, POST bulk-report', 'csv');
      const block = sample('docs/API.md, GET check-block');
      it('reports in a file, and the addresses of a block that were reported', async () => {
        const now = `${new Date().toISOString().slice(0, 19)}+00:00`;
        const rows = csv.replaceAll(/\d{4}-\d\d-\d\dT[\d:]{8}\+00:00/g, now);
        assert.equal(rows.split(now).length, 3);
        const send = async () => {
          const body = new FormData();
          body.set('csv', new Blob([rows]), 'report.csv');
          const url = `${at.server.baseUrl}/api/v2/bulk-report`;
          return (await fetch(url, { method: 'POST', body, ...authorized() })).json();
        };
        if (!demo) {
          const { data } = (await send()) as typeof bulk;
          assert.equal(data.savedReports, 0);
          assert.deepEqual(shapeOf(data), shapeOf(bulk.data));
          const { data: found } = (await get(
            '/api/v2/check-block?network=203.0.113.0/24',
          )) as typeof block;
          return assert.deepEqual(found, { ...block.data, reportedAddress: [] });
        }
        assert.deepEqual(await send(), { data: { savedReports: 2, invalidReports: [] } });
        const again = (await send()) as typeof bulk;
        assert.deepEqual(again.data.invalidReports[0], bulk.data.invalidReports[0]);
        const answer = (await get('/api/v2/check-block?network=203.0.113.0/24')) as typeof block;
        assert.deepEqual(shapeOf(answer), shapeOf(block));
        const { reportedAddress, ...rest } = answer.data;
        const { reportedAddress: _, ...expected } = block.data;
        assert.deepEqual(rest, expected);
        assert.equal(reportedAddress[0].ipAddress, '203.0.113.7');
      });

      const receiptAnswer = sample('docs/CAPTCHA.md, 3. Your server');
      const siteverify = sample('docs/CAPTCHA.md, In place of reCAPTCHA, hCaptcha or Turnstile');
      it('what a redeemed receipt brings', async () => {
        const ask = async (path: string, fields: Record<string, string>) => {
          const body = new URLSearchParams(fields);
          return (
            await fetch(at.server.baseUrl + path, { method: 'POST', body, ...authorized() })
          ).json();
        };
        const [first, second] = [await at.newReceipt(), await at.newReceipt()];
        const redeemed = (await ask('/captcha/receipt', {
          receipt: first,
        })) as typeof receiptAnswer;
        assert.deepEqual(shapeOf(redeemed), shapeOf(receiptAnswer));
        assert.equal(redeemed.origin, receiptAnswer.origin);
        const fields = { secret: at.server.key, response: second };
        const verified = await ask('/captcha/siteverify', fields);
        assert.deepEqual(shapeOf(verified), shapeOf(siteverify));
      });

      const changes = sample('docs/FEEDS.md, Changes');
      it('what changed in the feeds', async () => {
        await within(async () => (await at.server.fetch('/feeds/blocklist.json')).status === 200);
        const feed = (await get('/feeds/blocklist.json')) as { meta: { version: number } };
        const answer = await get(`/feeds/changes.json?since=${feed.meta.version}`);
        assert.deepEqual(Object.keys(answer as object), Object.keys(changes));
      });

      const short = sample('docs/SIGNON.md, GET or POST /api.php');
      const profile = sample('docs/site/sign-in-button.md, By hand, with curl');
      it('a profile has no field that its scopes do not have', async () => {
        const { body } = await at.server.fetch('/manifest');
        const { scopes } = JSON.parse(body) as {
          scopes: { name: string; fields: { name: string }[] }[];
        };
        const fields = new Set(
          scopes
            .filter(({ name }) => ['openid', 'profile', 'email'].includes(name))
            .flatMap((scope) => scope.fields.map(({ name }) => name)),
        );
        for (const name of [...Object.keys(short), ...Object.keys(profile)]) {
          assert.ok(fields.has(name), name);
        }
        assert.equal(Object.keys(profile).length, fields.size);
      });
    });

    describe('HTML', () => {
      const pages = openSamples(['html']);
      const link = pages.take('docs/site/sign-in-button.md, The button', 'html', 'authorize.php');
      it('the link for trying by hand leads to the consent page', async () => {
        const href = /href="([^"]*)"/.exec(publishedAt(at.server.baseUrl, link))![1]!;
        const { pathname, search } = new URL(href.replaceAll('&amp;', '&'));
        await using people = openPeople(at.server);
        await people.add('eve@mail.example');
        const person = createAgent(at.server, await people.signIn('eve@mail.example'));
        assert.deepEqual(consentFormIn(await person.get(pathname + search)).scopes.toSorted(), [
          'email',
          'profile',
        ]);
      });

      const widget = pages.take('docs/CAPTCHA.md, 2. The form', 'html');
      it('the script of the widget is there', async () => {
        const src = /src="([^"]*)"/.exec(publishedAt('', widget))![1]!;
        const answer = await at.server.fetch(src);
        assert.equal(answer.status, 200);
        assert.match(answer.headers['content-type']!, /javascript/);
      });
    });

    describe('Node', () => {
      const redeem = scripts.take('docs/CAPTCHA.md, 3. Your server', 'js');
      it('a CAPTCHA receipt is redeemed once', async () => {
        const form = `const form = { 'portcullis-receipt': ${JSON.stringify(await at.newReceipt())} };`;
        const code = `${form}\n${publishedAt(at.server.baseUrl, redeem)}`;
        const env = { PORTCULLIS_KEY: at.server.key };
        assert.equal(await node(code, 'console.log(solved);', env), 'true');
        assert.equal(await node(code, 'console.log(solved);', env), 'false');
      });

      for (const [place, pattern] of [
        ['docs/API.md, GET check', new RegExp(`abuseConfidenceScore: ${demo ? 99 : 0},`)],
        ['docs/API.md, POST report', /abuseConfidenceScore: 0 /],
      ] as const) {
        const code = scripts.take(place, 'js');
        it(`${place} in Node`, async () => {
          const env = { KEY: at.server.key };
          assert.match(await node(publishedAt(at.server.baseUrl, code), '', env), pattern);
        });
      }
      const exchange = scripts.take('docs/SIGNON.md, GET or POST /api.php', 'js');
      it('a code is exchanged', async () => {
        const query = new URLSearchParams({
          client_id: 'example.com',
          redirect_uri: 'https://example.com/cb',
          response_type: 'code',
          scope: 'openid profile',
          state: 's',
        });
        const back = await at.agreed(`${at.server.baseUrl}/authorize.php?${query}`);
        const env = { CODE: back.searchParams.get('code')! };
        const code = publishedAt(at.server.baseUrl, exchange);
        assert.match(await node(code, '', env), /given_name: 'Ada'/);
      });

      const verdict = scripts.take('docs/site/ask-about-an-address.md, In a program', 'js');
      it('an address is asked about and reported', async () => {
        const code = publishedAt(at.server.baseUrl, verdict);
        const more = `console.log((await verdict('198.51.100.7')).malicious,
      (await verdict('198.51.100.1')).malicious,
      await report('127.0.0.1', [18, 22], 'brute force, 100 % "sure" & more'));`;
        const env = { PORTCULLIS_KEY: at.server.key };
        assert.equal(await node(code, more, env), `${demo} false 0`);
        assert.equal(await node(code, `console.log(await verdict('198.51.100.7'));`), 'undefined');
      });

      it('a 429 is waited for once, when it is not far off', async () => {
        await using fake = await startFakeProvider();
        const code = publishedAt(fake.origin, verdict);
        const more = `console.log(await verdict('198.51.100.7'));`;
        const waits = (seconds: string) => ({
          status: 429,
          headers: { 'Retry-After': seconds },
          body: '',
        });
        fake.answer = waits('1');
        assert.equal(await node(code, more, { PORTCULLIS_KEY: 'k' }), 'undefined');
        assert.equal(fake.asked.length, 2);
        fake.answer = waits('60');
        assert.equal(await node(code, more, { PORTCULLIS_KEY: 'k' }), 'undefined');
        assert.equal(fake.asked.length, 3);
      });

      const bytes = scripts.take('docs/site/high-rates.md, Many at once, as bytes', 'js');
      it('many addresses are asked about as bytes', async () => {
        const code = publishedAt(at.server.baseUrl, bytes);
        const more = `for (const one of await verdicts(['198.51.100.7', '127.0.0.1'])) {
          console.log(one.address, one.score, one.malicious);
        }`;
        const told = `198.51.100.7 ${demo ? '99 true' : '0 false'}\n127.0.0.1 0 false`;
        assert.equal(await node(code, more, { PORTCULLIS_KEY: at.server.key }), told);
      });

      const ahead = scripts.take('docs/site/high-rates.md, Questions ahead of their answers', 'js');
      it('questions are asked ahead of their answers', async () => {
        const more = `
          const checks = openChecks({ host: '127.0.0.1', port: ${at.server.port} }, process.env.KEY);
          const addresses = Array.from({ length: 500 }, (_, i) => '198.51.100.' + (i % 256));
          const found = await Promise.all(addresses.map((address) => checks.check(address)));
          const wrong = await checks.check('8.8.8.8\\r\\nX: 1').catch(({ status }) => status);
          checks.close();
          const isInOrder = found.every(({ ipAddress }, i) => ipAddress === addresses[i]);
          await new Promise((resolve) => setTimeout(resolve, 100));
          const late = await checks.check('8.8.8.8').catch(({ message }) => message);
          console.log(isInOrder, found[7].abuseConfidenceScore, wrong, late);`;
        const env = { KEY: at.server.key };
        const told = await node(ahead, more, env);
        assert.equal(told, `true ${demo ? 99 : 0} 422 the connection ended`);
      });

      const site = scripts.take('docs/site/sign-in-button.md, Node', 'js');
      it('the site with a sign-in button signs a visitor in, once', async () => {
        const port = await freePort();
        const origin = `http://127.0.0.1:${port}`;
        const code = publishedAt(at.server.baseUrl, site).replace(
          'listen(3000)',
          `listen(${port})`,
        );
        const child = startCommand(process.execPath, ['--input-type=module', '-'], { PATH: '' });
        child.process.stdin!.end(code);
        try {
          const visit = (path: string, headers: Record<string, string> = {}) =>
            fetch(origin + path, { redirect: 'manual', headers });
          const isUp = () =>
            visit('/').then(
              () => true,
              () => false,
            );
          await within(isUp, 'the site');
          const sent = await visit('/login');
          const cookie = sent.headers.get('set-cookie')!.split(';')[0]!;
          const back = await at.agreed(sent.headers.get('location')!);
          assert.equal(back.origin + back.pathname, 'https://example.com/callback');
          const path = back.pathname + back.search;
          assert.equal((await visit(path)).status, 400, 'another browser');
          const done = await visit(path, { Cookie: cookie });
          assert.equal(done.status, 200);
          assert.equal(await done.text(), 'Hello countess');
          assert.equal((await visit(path, { Cookie: cookie })).status, 400, 'the second time');
        } finally {
          child.process.kill('SIGKILL');
          await child.ended;
        }
      });

      it('the site lives on when a path is none, and when the service is away', async () => {
        const port = await freePort();
        const origin = `http://127.0.0.1:${port}`;
        const away = `http://127.0.0.1:${await freePort()}`;
        const code = publishedAt(away, site).replace('listen(3000)', `listen(${port})`);
        const child = startCommand(process.execPath, ['--input-type=module', '-'], { PATH: '' });
        child.process.stdin!.end(code);
        try {
          const visit = (path: string, headers: Record<string, string> = {}) =>
            fetch(origin + path, { redirect: 'manual', headers }).catch(() => undefined);
          await within(async () => (await visit('/')) !== undefined, 'the site');
          assert.equal((await visit('//'))?.status, 500);
          const sent = await visit('/login');
          const headers = { Cookie: sent!.headers.get('set-cookie')!.split(';')[0]! };
          const state = new URL(sent!.headers.get('location')!).searchParams.get('state');
          const back = `/callback?code=x&iss=${encodeURIComponent(away)}&state=${state}`;
          assert.equal((await visit(back, headers))?.status, 500);
          for (const iss of ['', `&iss=${encodeURIComponent(origin)}`]) {
            const next = await visit('/login');
            const cookie = { Cookie: next!.headers.get('set-cookie')!.split(';')[0]! };
            const own = new URL(next!.headers.get('location')!).searchParams.get('state');
            const mixedUp = await visit(`/callback?code=x${iss}&state=${own}`, cookie);
            assert.equal(mixedUp?.status, 400, iss);
          }
          assert.equal((await visit('/'))?.status, 404);
        } finally {
          child.process.kill('SIGKILL');
          await child.ended;
        }
      });

      // test/site/flows/readme-site.test.ts runs it.
      scripts.take('docs/SIGNON.md, Trying it', 'js');
      // test/signon/sites/notify-sites.test.ts runs it.
      scripts.take('docs/SIGNON.md, Notices to your site', 'js');
      // test/signon/flows/account-webhooks.test.ts works by both.
      scripts.take('docs/WEBHOOKS.md, Verify', 'js');
      documents.take('docs/WEBHOOKS.md, Webhooks', 'json');
    });
  });

it('no sample is left without a test', () => {
  assert.deepEqual([...scripts.left(), ...documents.left()], []);
});
