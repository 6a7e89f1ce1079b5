/**
 * The documentation's samples for a shell, run as they stand there against a server with demo data and
 * one without; each must do what the text around it promises. PHP and Python: doc-samples-code.test.ts.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { commandOf, tries } from '../../src/site/docs/markdown.tsx';
import { openSamples, runCode } from '../support/docs/doc-samples.ts';
import { openSampleService, type SampleService } from '../support/docs/sample-service.ts';
import { hasTool } from '../support/house/tools.ts';
import { demoEmail, within } from '../support/server/server.ts';

const shell = openSamples(['sh']);

for (const demo of [true, false])
  describe(`shell, ${demo ? 'with' : 'without'} demo data`, () => {
    let at: SampleService;
    before(async () => {
      at = await openSampleService(demo);
    });
    after(() => at?.[Symbol.asyncDispose]());

    /** Ends at the first command that fails or speaks of a variable that nothing set. */
    async function run(code: string, env: Record<string, string> = {}): Promise<string> {
      const { status, output } = await runCode('sh', ['-eu'], {
        input: at.published(code),
        env: { KEY: at.server.key, BASE: `${at.server.baseUrl}/api/v2`, ...env },
        cwd: at.folder,
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

    // Without demo data nothing is known of an address for documentation.
    const verdict = `\\{"data":\\{"ipAddress":"198\\.51\\.100\\.7","abuseConfidenceScore":${demo ? 99 : 0},[^{]*\\}\\}`;
    const tried = '\\{"data":\\{"ipAddress":"127\\.0\\.0\\.1","abuseConfidenceScore":0\\}\\}';
    prints('docs/site/index.md, Try it in one line', new RegExp(`^${verdict}$`));
    prints(
      'docs/site/machines.md, For machines',
      /^\{\s*"\$schema"[\s\S]*"openid_connect":\s*false/,
    );
    prints('docs/site/ask-about-an-address.md, In a program', new RegExp(`^${verdict}${tried}$`));
    const api = (heading: string) => `docs/API.md, ${heading}`;
    sample(api('IP API'), '', async (code) => {
      const output = await run(`unset BASE\n${code}`);
      assert.match(output, new RegExp(`^${verdict}${tried}$`));
    });
    prints(api('GET check'), new RegExp(`^${verdict}\\{"data":\\{.*"reports":\\[.*\\]\\}\\}$`));
    prints(
      api('POST check-bulk'),
      /^\{"ipAddress":"198\.51\.100\.7",.*\}\n\{"ipAddress":"8\.8\.8\.8",.*\}$/,
      "printf '198",
    );
    prints(
      api('POST check-bulk'),
      demo ? /^\s*99 +[1-7] +0 +\d+ +0 +\d +0 +0\s*$/ : /^\s*0 +0 +0 +0 +0 +\d +0 +0\s*$/,
      'family=4',
    );
    prints(api('GET reports'), /^\{"data":\{"total":\d+,"page":1,.*"perPage":10,.*\}\}$/);
    prints(
      api('GET blacklist'),
      demo ? /^\{"meta":.*"data":\[\{.*\}\]\}[\d.]+(\/\d+)?\n/ : /^\{"meta":.*"data":\[\]\}$/,
    );
    prints(api('GET check-block'), /"networkAddress":"203\.0\.113\.0"/);
    sample(api('POST bulk-report'), '', async (code) => {
      const csv = openSamples(['csv']).take(api('POST bulk-report'), 'csv');
      const now = `${new Date().toISOString().slice(0, 19)}+00:00`;
      writeFileSync(`${at.folder}/report.csv`, csv.replaceAll(/\d{4}-[-\dT:]{14}\+00:00/g, now));
      if (!demo) {
        const refused = /\{"savedReports":0,"invalidReports":\[\{"error":"Invalid IP.*"Invalid IP/;
        return assert.match(await run(code), refused);
      }
      assert.match(await run(code), /\{"savedReports":2,"invalidReports":\[\]\}/);
      assert.match(
        await run(code),
        /\{"savedReports":0,"invalidReports":\[\{"error":"Duplicate IP/,
      );
    });
    sample(api('DELETE clear-address'), '', async (code) => {
      const headers = { Key: at.server.key };
      const path = '/api/v2/report?ip=198.51.100.9&categories=18';
      const { status } = await at.server.fetch(path, { method: 'POST', headers });
      assert.equal(status, demo ? 200 : 422);
      const count = demo ? 1 : 0;
      assert.equal(await run(code), `{"data":{"numReportsDeleted":${count}}}`);
    });
    prints(api('POST report'), new RegExp(`^${tried}$`));
    for (const [page, requests] of Object.entries(tries)) {
      for (const [id, request] of Object.entries(requests)) {
        it(`the command that is to be tried on ${page}, ${id}`, async (context) => {
          if (!hasTool(context, 'curl')) return;
          const odd = { name: 'odd', value: "it's <b> & $HOME `x`" };
          const fields = [...request.fields, ...(request.method === 'GET' ? [] : [odd])];
          const command = commandOf({ ...request, fields }, at.server.baseUrl);
          assert.match(await run(command), /^\{"data":\{/);
        });
      }
    }
    sample(api('GET stats'), '', async (code) => {
      const output = await run(code);
      assert.match(output, /^\{"data":\{"generatedAt":.*"last90Days":\{.*\}\}$/);
    });
    sample(api('Feeds'), '', async (code) => {
      await within(async () => (await at.server.fetch('/feeds/blocklist.json')).status === 200);
      assert.match(await run(code), /^\{"version":\d+,"since":\d+,"reload":false,"added":\[/);
    });
    sample(
      'docs/FEEDS.md, Named feeds',
      '',
      async (code) => {
        assert.match(await run(code, installed()), /feeds\/ssh\.txt/);
        await within(async () => (await at.server.fetch('/feeds/ssh.txt')).status === 200);
      },
      [],
    );
    sample('docs/FEEDS.md, STIX over TAXII', '', async (code) => {
      await within(async () => (await run(code)).includes('"identity"'));
      const { objects } = JSON.parse(await run(code)) as { objects: { type: string }[] };
      assert.equal(
        objects.some(({ type }) => type === 'indicator'),
        demo,
      );
    });
    prints(
      'docs/GATE.md, An example',
      demo ? /^HTTP\/1\.1 403 [\s\S]*^x-portcullis-verdict: block/im : /^HTTP\/1\.1 200 /,
    );
    sample('docs/FEEDS.md, Refreshing', '', async (code) => {
      await within(async () => (await at.server.fetch('/feeds/blocklist.txt')).status === 200);
      await run(code);
      const list = readFileSync(`${at.folder}/list.txt`);
      assert.match(String(list), demo ? /^# .*\n[\s\S]*\n198\.51\.100\.7\n/ : /^(# .*\n)+$/);
      await run(`${code.trimEnd()} -w '%{http_code}'`).then((said) => assert.equal(said, '304'));
      assert.deepEqual(readFileSync(`${at.folder}/list.txt`), list);
    });
    sample('docs/CAPTCHA.md, Calls', '', async (code) => {
      const begin = (file: string) => readFileSync(`${at.folder}/${file}`).toString('latin1', 0, 4);
      // A machine with much other work may refuse one of them with 503.
      await within(async () => {
        assert.equal(await run(code), '{"ok":false}');
        return begin('word.gif') === 'GIF8' && begin('digits.wav') === 'RIFF';
      });
    });
    sample('docs/CAPTCHA.md, 3. Your server', '', async (code) => {
      const env = { RECEIPT: await at.newReceipt() };
      assert.match(await run(code, env), /^\{"ok":true,"hostname":"shop\.example"/);
      assert.equal(await run(code, env), '{"ok":false}');
    });

    /** `portcullis` as it is found once it is installed, and as it lies in the sources. */
    function installed(): Record<string, string> {
      const bin = `${at.folder}/bin`;
      if (!existsSync(bin)) {
        mkdirSync(bin);
        const own = fileURLToPath(new URL('../../../bin/portcullis.js', import.meta.url));
        for (const name of ['portcullis', 'portcullis.js']) symlinkSync(own, `${bin}/${name}`);
      }
      return { PATH: `${bin}:${process.env.PATH}`, DATA_DIR: at.server.dataDir };
    }
    sample(
      'docs/CAPTCHA.md, 1. A site key',
      '',
      async (code) => {
        assert.match(
          await run(code.replace('you@example.com', demoEmail), installed()),
          /^pcs_\S+/m,
        );
      },
      [],
    );
    sample(
      'docs/BOUNCERS.md, Make a key',
      '',
      async (code) => {
        const output = await run(code.replaceAll('you@example.com', demoEmail), installed());
        assert.match(output, /^\S{30,}$/m, 'the key');
        assert.match(output, /fw-1/, 'the list');
      },
      [],
    );
    sample(
      'docs/RULES.md, Manual rules',
      '',
      async (code) => {
        assert.match(await run(code, installed()), /198\.51\.100\.0\/24/);
        // Other samples ask about an address within.
        await run('portcullis entry remove 198.51.100.0/24', installed());
      },
      [],
    );
    sample('docs/DOVECOT.md, Try it', '', async (code) => {
      const name = demo ? 'dovecot-demo' : 'dovecot';
      const { text } = await at.server.cliJson('bouncer', 'add', demoEmail, name);
      const answer = demo
        ? '{"status":-1,"msg":"Access refused: this address has a bad name."}'
        : '{"status":0,"msg":""}';
      assert.equal(await run(code, { KEY: text }), answer);
    });
    sample(
      'docs/DNSBL.md, Start it',
      '',
      async (code) => {
        const output = await run(code.replace('you@example.com', demoEmail), installed());
        assert.match(output, /^\S{30,}$/m, 'the key');
      },
      [],
    );
    sample('README.md, Try it', 'KEY=', async (code) => {
      const output = await run(code.replace('KEY=pcl_…', `KEY=${at.server.key}`), installed());
      assert.match(output, new RegExp(verdict));
      assert.match(output, new RegExp(tried));
      assert.match(output, demo ? /198\.51\.100\.7: 99 of 100, malicious/ : /: 0 of 100, clean/);
    });
    // These are what .ci/run does.
    shell.take('README.md, Try it', 'sh', 'npm start');
    // test/system/packaging.test.ts carries out what needs no root of the machine.
    shell.take('README.md, Production in five minutes', 'sh', 'npm pack');
    shell.take('README.md, Production in five minutes', 'sh', 'caddy run');

    sample(
      'docs/OPERATIONS.md, Operations',
      'age -d',
      async (code) => {
        const [own, other] = ['identity.txt', 'other.txt'].map((name) => {
          const { stderr } = spawnSync('age-keygen', ['-o', name], {
            cwd: at.folder,
            encoding: 'utf8',
          });
          return /age1\w+/.exec(stderr)![0];
        });
        await at.server.cliJson('backup', `${at.folder}/store.backup`, '--recipient', own!);
        const output = await run(code, { OTHER_KEY: other! });
        assert.equal(output.trim(), 'portcullis backup 1');
        const again = ['--backup', `${at.folder}/other.backup`];
        const identity = ['--identity', `${at.folder}/other.txt`];
        assert.ok((await at.server.cliJson('verify', ...again, ...identity)).ok);
      },
      ['age'],
    );
    sample('docs/SIGNON.md, GET or POST /api.php', '', async (code) => {
      const query = new URLSearchParams({
        client_id: 'example.com',
        redirect_uri: 'https://example.com/cb',
        response_type: 'code',
        scope: 'openid profile',
        state: 's',
      });
      const back = await at.agreed(`${at.server.baseUrl}/authorize.php?${query}`);
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
        const back = await at.agreed(address);
        assert.equal(back.origin + back.pathname, 'https://example.com/callback');
        const env = { CODE: back.searchParams.get('code')!, VERIFIER: verifier };
        assert.match(await run(exchange, env), /^\{"service_id":.*"email":"ada@mail\.example"/);
      },
      ['curl', 'openssl'],
    );
  });

it('no sample is left without a test', () => {
  assert.deepEqual(shell.left(), []);
});
