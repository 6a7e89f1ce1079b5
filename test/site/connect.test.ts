/** The screens of /connect: each target with each choice, from the samples that the docs have. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Voucher } from '../../src/access/quota/points.ts';
import { scoreTiers } from '../../src/reputation/blocklists/feed-definitions.ts';
import { bothFamilies } from '../../src/reputation/blocklists/recipes.ts';
import { connectPage } from '../../src/site/connect/connect.page.tsx';
import {
  choiceNames,
  filledIn,
  keyPlaceholder,
  openSamples,
  openTargets,
  popularNames,
  type SampleValues,
  shelves,
} from '../../src/site/connect/targets.ts';
import { docsFolder } from '../../src/site/docs/library.ts';
import { createPageTools, openAssets, siteLinks } from '../../src/web/page-tools.ts';

const facts = {
  baseUrl: 'https://rep.example',
  secureUrl: 'https://api.rep.example',
  proxied: '127.0.0.1:9090',
  trustsLoopback: false,
  dnsZone: 'dns.rep.example',
  spoe: '127.0.0.1:9911',
  dnsListen: ['127.0.0.1:5399'],
  sample: openSamples(docsFolder),
};
const targets = openTargets(facts);
const usual: SampleValues = { mark: undefined, score: 75, key: undefined };

function codeOf(name: string, sampleValues: Partial<SampleValues> = {}): string {
  const target = targets.find((one) => one.name === name);
  assert.ok(target, name);
  return target
    .steps({ ...usual, ...sampleValues })
    .map(({ code }) => code)
    .join('');
}

it('no step names a host, a zone or a blank of the docs', () => {
  for (const target of targets) {
    for (const family of [undefined, ...bothFamilies]) {
      for (const score of scoreTiers) {
        const steps = target.steps({
          family,
          score,
          mark: 'a'.repeat(40),
          key: 'pcl_own',
        });
        assert.ok(steps.length > 0, target.name);
        assert.equal(new Set(steps.map(({ id }) => id)).size, steps.length, target.name);
        for (const { code } of steps) {
          assert.doesNotMatch(
            code,
            /127\.0\.0\.1:(8080|9002)|127\.0\.0\.1[@:\]]+5300|bl\.example\.org|\{(base|secure)_url\}|pcl_own.*…/,
            target.name,
          );
        }
      }
    }
  }
  const names = targets.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
});

it('what is chosen changes the texts, and nothing else does', () => {
  for (const target of targets) {
    const plain = codeOf(target.name);
    const others = {
      domain: 'shop.example',
      app: 'http://127.0.0.1:8080',
      challenge: 40,
      block: 90,
      score: 95,
      family: '4',
    } as const;
    const changed = choiceNames.filter(
      (name) => codeOf(target.name, { [name]: others[name] }) !== plain,
    );
    assert.deepEqual(
      changed,
      choiceNames.filter((name) => target.choices.includes(name)),
      target.name,
    );
  }
  assert.doesNotMatch(codeOf('nftables', { family: '4' }), /@blocklist6/);
  assert.doesNotMatch(codeOf('nftables', { family: '6' }), /@blocklist4/);
  assert.match(codeOf('ipset', { family: '6' }), /for v in 6; do/);
  assert.doesNotMatch(codeOf('mikrotik', { family: '4' }), /\/ipv6 firewall/);
  assert.match(
    codeOf('opnsense', { family: '4', score: 95 }),
    /blocklist\.txt\?aggregate=1&ipVersion=4&minimumScore=95\n/,
  );
  for (const name of ['crowdsec-firewall', 'crowdsec-custom']) {
    const own = codeOf(name, { family: '6' });
    assert.match(own, /^scenarios_containing: \[portcullis-ipv6\]$/m);
    // As the manifest says it.
    assert.match(own, /https:\/\/api\.rep\.example\/$/m);
  }
  assert.match(codeOf('postfix', { score: 85 }), /dns\.rep\.example=127\.0\.0\.\[3\.\.4\]/);
  assert.match(codeOf('nginx', { block: 95 }), /challenge=50&block=95/);
  // The app has the very address that the sample gives this server.
  const app = 'http://127.0.0.1:8080';
  assert.match(
    codeOf('nginx', { app }),
    /server 127\.0\.0\.1:9090 max_fails[\s\S]*proxy_pass http:\/\/127\.0\.0\.1:8080;/,
  );
  assert.match(codeOf('caddy', { app }), /\treverse_proxy 127\.0\.0\.1:8080\n/);
  assert.match(codeOf('haproxy', { app }), /server app 127\.0\.0\.1:8080\n/);
  assert.match(codeOf('sign-in-php', { domain: 'shop.example' }), /'client_id' => 'shop\.example'/);
  assert.match(codeOf('php', { score: 95 }), /\['abuseConfidenceScore'\] \?\? 0\) >= 95\) \{/);
});

it('a site on the developer’s own machine has plain http, its port, and its name alone as client', () => {
  const node = codeOf('sign-in-node', { domain: 'localhost:4000' });
  assert.match(node, /redirectUri = 'http:\/\/localhost:4000\/callback'/);
  assert.match(node, /client_id: 'localhost',/);
  assert.match(node, /\.listen\(4000\);/);
  const php = codeOf('sign-in-php', { domain: '127.0.0.1' });
  assert.match(php, /'redirect_uri' => 'http:\/\/127\.0\.0\.1\/callback\.php'/);
  assert.match(php, /'client_id' => '127\.0\.0\.1'/);
  const site = codeOf('sign-in-node', { domain: 'shop.example' });
  assert.match(site, /'https:\/\/shop\.example\/callback'/);
  assert.match(site, /\.listen\(3000\);/);
});

it('PHP behind a web server has the key from its pool or its site, not from a terminal', () => {
  for (const name of ['php', 'captcha']) {
    const steps = targets.find((one) => one.name === name)!.steps({ ...usual, key: 'pcl_own' });
    const { code, others = [] } = steps.find(({ says }) => says === 'setKeyPhp')!;
    assert.deepEqual(
      [code, ...others.map((one) => one.code)],
      [
        'env[PORTCULLIS_KEY] = "pcl_own"\n',
        'SetEnv PORTCULLIS_KEY "pcl_own"\n',
        "export PORTCULLIS_KEY='pcl_own'\n",
      ],
    );
  }
});

it('the mark stands in the commands of each screen that uses no key, and nowhere else', () => {
  const mark = '0123456789'.repeat(4);
  for (const { name, integration } of targets) {
    const count = codeOf(name, { mark }).split(mark).length - 1;
    const hasNone = ['api', 'plugin', 'bouncer', 'policy', 'signOn', 'captcha'].includes(
      integration,
    );
    assert.equal(count, hasNone ? 0 : 1, name);
    assert.doesNotMatch(codeOf(name), /mark=/, name);
  }
});

it('the key of the reader stands in the commands', () => {
  assert.match(codeOf('fail2ban'), new RegExp(`abuseipdb_apikey="${keyPlaceholder}"`));
  for (const name of ['fail2ban', 'wordpress', 'php', 'node', 'python']) {
    assert.match(codeOf(name, { key: 'pcl_own' }), /pcl_own/, name);
  }
});

it('the widget of the CAPTCHA’s form sends the field that the server side reads, for the reader’s site key', () => {
  const target = targets.find(({ name }) => name === 'captcha')!;
  const codes = new Map(
    target.steps({ ...usual, siteKey: 'pcs_own' }).map(({ id, code }) => [id, code]),
  );
  const form = codes.get('captcha-form')!;
  assert.match(form, /<script src="https:\/\/api\.rep\.example\/captcha\/widget\.js"/);
  assert.match(form, /<div class="portcullis-captcha"\s+data-sitekey="pcs_own">/);
  const widget = readFileSync(join(docsFolder, '../data/widget/widget.js'), 'utf8');
  const field = /\$_POST\['([^']+)'\]/.exec(codes.get('captcha-verify')!)?.[1];
  const [, own] = /responseField \?\? '([^']+)'/.exec(widget) ?? [];
  assert.equal(field, own);
  assert.match(codes.get('captcha-verify')!, /'sitekey' => 'pcs_own'/);
});

it('each tile of the group with shelves stands on one of them, and what is popular is there', () => {
  const shelved = Object.values(shelves).flat();
  const named = targets.filter(({ group }) => group === 'block').map(({ name }) => name);
  assert.deepEqual(shelved.toSorted(), named.toSorted());
  for (const name of popularNames)
    assert.ok(
      targets.some((target) => target.name === name),
      name,
    );
});

it('a sample that is gone is an error', () => {
  assert.throws(() => facts.sample('GATE.md', 'nginx', 9), /GATE\.md: no sample 9 in nginx/);
  assert.throws(() => filledIn('a b', [['c', 'd']]), /no c/);
});

it('the screens of what may ask by HTTP/1.0 say what to set, in both languages', () => {
  const tools = createPageTools({ assets: openAssets(), links: siteLinks, https: false });
  for (const language of ['en', 'fr'] as const) {
    const saying = targets.filter((target) => {
      const page = connectPage(tools.frame(language), {
        target,
        sampleValues: usual,
        key: 'none',
        wrong: {},
        watch: undefined,
        isOpen: true,
        docs: '/docs',
        trustsLoopback: false,
        demo: false,
        isOperator: false,
        csrf: '',
        baseUrl: '',
        vouched: 'none',
      });
      return /proxy_http_version 1\.1[”\u{a0}\u{202f}]|ADMIN_LISTEN/u.test(page);
    });
    assert.deepEqual(
      saying.map(({ name }) => name),
      ['nginx', 'haproxy'],
      language,
    );
  }
});

/** Texts of this folder and of those in it. */
function textsUnder(folder: string): [string, string][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(md|conf|cfg|ya?ml|txt)$/.test(path))
    .map((path) => [path, readFileSync(join(folder, path), 'utf8')]);
}

it('each sample of nginx and HAProxy that asks this server does so by HTTP/1.1', () => {
  const root = join(docsFolder, '..');
  const readme = ['README.md', readFileSync(join(root, 'README.md'), 'utf8')] as const;
  const texts = [readme, ...textsUnder(docsFolder), ...textsUnder(join(root, 'data'))];
  let samples = 0;
  for (const [path, text] of texts) {
    for (const [block, to] of text.matchAll(/\{[^{}]*?\bproxy_pass\s+([^;{}]+);[^{}]*\}/g)) {
      // The site that is protected is not this server.
      if (to === 'http://127.0.0.1:3000') continue;
      samples++;
      assert.match(block, /^\s*proxy_http_version 1\.1;/m, `${path}: ${to}`);
    }
    for (const [block] of text.matchAll(/^```.*?^```$/gms)) {
      if (!/^\s*option httpchk/m.test(block)) continue;
      samples++;
      assert.match(
        block,
        /check port \d+|^\s*http-check send .*ver HTTP\/1\.1/m,
        `${path}: ${block}`,
      );
    }
  }
  assert.ok(samples >= 3, `${samples} samples`);
});

it('an operator is led to where accounts are vouched for, and a plugin’s page to its archive', () => {
  const tools = createPageTools({ assets: openAssets(), links: siteLinks, https: false });
  const pageOf = (name: string, isOperator: boolean, vouched: Voucher = 'none') =>
    connectPage(tools.frame('en'), {
      target: targets.find((one) => one.name === name)!,
      sampleValues: usual,
      key: 'none',
      wrong: {},
      watch: undefined,
      isOpen: true,
      docs: '/docs',
      trustsLoopback: false,
      demo: false,
      isOperator,
      vouched,
      csrf: 'x',
      baseUrl: 'https://rep.example',
    });
  assert.match(pageOf('fail2ban', true), /href="\/admin\/people"/);
  assert.doesNotMatch(pageOf('fail2ban', false), /\/admin\/people/);
  assert.doesNotMatch(pageOf('nginx', true), /\/admin\/people/);
  const advice = /Ask the operator to vouch/;
  assert.match(pageOf('fail2ban', false), advice);
  for (const [vouched, says] of [
    ['member', /Your account is trusted\./],
    ['staff', /Your account is staff\./],
  ] as const) {
    const page = pageOf('fail2ban', false, vouched);
    assert.match(page, says);
    assert.doesNotMatch(page, advice);
    assert.doesNotMatch(page, /A new account never blocks/);
    assert.doesNotMatch(page, /<p><\/p>|Why is the score low/);
    assert.match(page, /What your reports do/);
  }
  assert.match(pageOf('wordpress', false), /href="\/kit\/portcullis-sign-in\.zip"/);
});
