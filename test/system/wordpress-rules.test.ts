/**
 * The plugin in a real WordPress against a service that lies: whom it lets in, whom it makes an
 * account for, and everything that it must refuse.
 */

import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, beforeEach, describe, it } from 'node:test';
import { startWordPress, type WordPress } from '../support/docs/wordpress.ts';
import { hasTool, isInstalled } from '../support/house/tools.ts';
import type { Answer } from '../support/server/server.ts';
import {
  type FakeProvider,
  profileAnswer,
  startFakeProvider,
} from '../support/signon/fake-provider.ts';
import { type Agent, createAgent } from '../support/signon/visitor.ts';

const start = '/wp-admin/admin-post.php?action=portcullis_sign_in_start';
const callback = '/wp-admin/admin-post.php?action=portcullis_sign_in_callback';
const ada = {
  service_id: 'ada-1',
  nickname: 'Ada',
  email: 'ada@mail.example',
  email_verified: true,
};

const refusal = '{"error":"invalid_grant","error_description":"x"}';
const refusedAnswer: FakeProvider['answer'] = { status: 400, headers: {}, body: refusal };

describe('WordPress: whom the plugin lets in', () => {
  let site: WordPress;
  let provider: FakeProvider;
  before(async () => {
    if (!isInstalled('php')) return;
    provider = await startFakeProvider();
    site = await startWordPress();
    site.php(`require_once ABSPATH . 'wp-admin/includes/plugin.php';
      activate_plugin('portcullis-sign-in/portcullis-sign-in.php');
      update_option('portcullis_sign_in_settings', array('base_url' => '${provider.origin}'));`);
  });
  after(async () => {
    await site?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    if (!isInstalled('php')) return;
    site.php(`require_once ABSPATH . 'wp-admin/includes/user.php';
      foreach (get_users(array('exclude' => array(1))) as $user) wp_delete_user($user->ID);
      delete_metadata('user', 0, 'portcullis_sign_in_id', '', true);
      update_option('users_can_register', 1);
      update_option('default_role', 'subscriber');
      update_option('portcullis_sign_in_settings', array('base_url' => '${provider.origin}'));`);
    provider.answer = profileAnswer('localhost', ada);
  });

  /** A missing PHP fails each of them, or skips it where that is allowed. */
  function withPhp(name: string, run: () => Promise<void>): void {
    it(name, async (context) => {
      if (hasTool(context, 'php')) await run();
    });
  }

  /** Leaves for the service. @returns what was sent along */
  async function leave(visitor: Agent, path = start): Promise<URLSearchParams> {
    const answer = await visitor.get(path);
    assert.equal(answer.status, 303, answer.body.slice(0, 500));
    const target = new URL(answer.headers.location!);
    assert.equal(target.origin + target.pathname, `${provider.origin}/authorize.php`);
    return target.searchParams;
  }

  const comeBack = (
    visitor: Agent,
    state: string,
    more = '&code=c0de',
    iss = `&iss=${encodeURIComponent(provider.origin)}`,
  ) => visitor.get(`${callback}&state=${state}${iss}${more}`);

  async function signIn(visitor: Agent = createAgent(site)): Promise<Answer> {
    return comeBack(visitor, (await leave(visitor)).get('state')!);
  }

  /** A state of the browser with this secret. */
  const sealed = (secret: string, until: string, more = ''): string =>
    site.php(`$seal = new ReflectionMethod('PortcullisSignIn\\Attempts', 'seal');
      $seal->setAccessible(true);
      return $seal->invoke(null, '${secret}', ${until}, array('intent' => 'sign_in'${more}));`);

  const isSignedIn = (visitor: Agent) =>
    [...visitor.cookies.keys()].some((name) => name.startsWith('wordpress_logged_in_'));

  function assertRefused(answer: Answer, status: number, sentence: RegExp): void {
    assert.equal(answer.status, status, answer.body.slice(0, 500));
    assert.match(answer.body, sentence);
    const cookies = (answer.headers['set-cookie'] ?? []).join('\n');
    assert.doesNotMatch(cookies, /wordpress_logged_in_/);
  }

  const userCount = () => site.php('return count(get_users());') as number;

  withPhp('a new person gets an account with the default role and comes back to it', async () => {
    const visitor = createAgent(site);
    const sent = await leave(
      visitor,
      `${start}&redirect_to=${encodeURIComponent(`${site.origin}/?p=1`)}`,
    );
    assert.equal(sent.get('client_id'), 'localhost');
    assert.equal(sent.get('redirect_uri'), `${site.origin}${callback}`);
    assert.equal(sent.get('code_challenge_method'), 'S256');
    const answer = await comeBack(visitor, sent.get('state')!);
    assert.equal(answer.status, 302, answer.body.slice(0, 500));
    assert.equal(answer.headers.location, `${site.origin}/?p=1`);
    assert.ok(isSignedIn(visitor));
    const exchange = provider.exchanges.at(-1)!;
    assert.equal(exchange.get('code'), 'c0de');
    assert.equal(exchange.get('client_id'), 'localhost');
    assert.equal(exchange.get('redirect_uri'), `${site.origin}${callback}`);
    assert.match(exchange.get('code_verifier')!, /^[\w-]{43}$/);
    const user = "$user = get_user_by('email', 'ada@mail.example');";
    assert.deepEqual(site.php(`${user} return array($user->user_login, $user->roles);`), [
      'Ada',
      ['subscriber'],
    ]);
    // Known by the id from now on, whatever the email is.
    provider.answer = profileAnswer('localhost', { ...ada, email: 'other@mail.example' });
    assert.equal((await signIn()).status, 302);
    assert.equal(userCount(), 2);
  });

  withPhp('the way back is bound to the browser, the state, and one use', async () => {
    const visitor = createAgent(site);
    const state = (await leave(visitor)).get('state')!;
    const cookie = [...visitor.cookies.keys()];
    assert.deepEqual(cookie, ['portcullis_sign_in']);
    const before = provider.exchanges.length;
    assertRefused(await comeBack(visitor, 'x'.repeat(43)), 400, /not begun in this browser/);
    assertRefused(await comeBack(visitor, ''), 400, /not begun/);
    assertRefused(await visitor.get(`${callback}&state[]=${state}&code=c`), 400, /not begun/);
    assertRefused(await comeBack(createAgent(site), state), 400, /not begun/);
    assert.equal(provider.exchanges.length, before, 'nothing was exchanged');
    assert.equal((await comeBack(visitor, state)).status, 302);
    assertRefused(await comeBack(visitor, state), 400, /used already/);
    assert.equal(provider.exchanges.length, before + 1);
  });

  withPhp('a stranger who goes and comes back leaves no row, whatever comes back', async () => {
    const rows = (): string[] =>
      site.php("global $wpdb; return $wpdb->get_col('SELECT option_name FROM ' . $wpdb->options);");
    provider.answer = refusedAnswer;
    await signIn();
    const before = rows();
    for (let i = 0; i < 6; i++) {
      await leave(createAgent(site));
      const visitor = createAgent(site);
      const state = (await leave(visitor)).get('state')!;
      assertRefused(await comeBack(visitor, state), 400, /does not know the code/);
      await comeBack(visitor, state, '&error=access_denied');
    }
    const added = rows().filter((name) => !before.includes(name));
    assert.deepEqual(added, []);
  });

  withPhp('a state is sealed: it says nothing, can be no other, and ends', async () => {
    const visitor = createAgent(site);
    const path = `/?p=${'7'.repeat(300)}`;
    const to = (place: string) => `${start}&redirect_to=${encodeURIComponent(site.origin + place)}`;
    const state = (await leave(visitor, to(path))).get('state')!;
    assert.doesNotMatch(Buffer.from(state, 'base64url').toString('latin1'), /sign_in|777|http/);
    const altered = `${state.slice(0, 40)}${state.at(40) === 'A' ? 'B' : 'A'}${state.slice(41)}`;
    for (const wrong of [altered, `${state}A`, `${state}=`, state.slice(0, -4)]) {
      assertRefused(await comeBack(visitor, wrong), 400, /not begun/);
    }
    const secret = visitor.cookies.get('portcullis_sign_in')!;
    assert.equal((await comeBack(visitor, sealed(secret, 'time() + 600'))).status, 302, 'in time');
    assert.equal((await comeBack(visitor, state)).headers.location, site.origin + path);
    const long = (await leave(visitor, to(`/?p=${'7'.repeat(1_900)}`))).get('state')!;
    assert.ok(long.length <= 2_048, `${long.length}`);
    assert.equal((await comeBack(visitor, long)).status, 302);
  });

  withPhp('who comes back when the state is over is sent out again by itself, once', async () => {
    const visitor = createAgent(site);
    await leave(visitor);
    const secret = visitor.cookies.get('portcullis_sign_in')!;
    const place = `${site.origin}/?p=1`;
    const more = `, 'redirect_to' => '${place}'`;
    const over = sealed(secret, 'time()', more);
    const before = provider.exchanges.length;
    const anew = await comeBack(visitor, over);
    assert.equal(anew.status, 303, anew.body.slice(0, 500));
    assert.ok(!isSignedIn(visitor), 'an old state leads nobody in');
    assert.equal(provider.exchanges.length, before, 'and spends no code');
    const target = new URL(anew.headers.location!);
    assert.equal(target.origin, provider.origin);
    const state = target.searchParams.get('state')!;
    assert.notEqual(state, over);
    assertRefused(await comeBack(createAgent(site), over), 400, /not begun/);
    const twice = sealed(secret, 'time() - 600', `${more}, 'again' => 1`);
    assertRefused(await comeBack(visitor, twice), 400, /took too long/);
    const denied = await comeBack(visitor, over, '&error=access_denied');
    assert.match(denied.headers.location!, /wp-login\.php/);
    assert.equal((await comeBack(visitor, state)).headers.location, place);
    assert.ok(isSignedIn(visitor));
  });

  withPhp('two tabs may be on the way at once', async () => {
    const visitor = createAgent(site);
    const first = (await leave(visitor)).get('state')!;
    const second = (await leave(visitor)).get('state')!;
    assert.equal((await comeBack(visitor, first)).status, 302);
    assert.equal((await comeBack(visitor, second)).status, 302);
  });

  withPhp('the cookie is out of reach of scripts and other sites', async () => {
    const answer = await site.fetch(start);
    const line = answer.headers['set-cookie']!.find((text) =>
      text.startsWith('portcullis_sign_in='),
    )!;
    assert.match(line, /; HttpOnly/i);
    assert.match(line, /; SameSite=Lax/i);
    assert.match(line, /; path=\/(;|$)/i);
  });

  withPhp(
    'a code for another site is refused, and so is every other answer that is no profile',
    async () => {
      provider.answer = profileAnswer('evil.example', ada);
      assertRefused(await signIn(), 400, /another site/);
      const { 'X-SSO-Client': _, ...unnamed } = profileAnswer('localhost', ada).headers as Record<
        string,
        string
      >;
      provider.answer = { status: 200, headers: unnamed, body: JSON.stringify(ada) };
      assertRefused(await signIn(), 400, /another site/);
      provider.answer = refusedAnswer;
      assertRefused(await signIn(), 400, /does not know the code/);
      provider.answer = {
        status: 302,
        headers: { Location: `${provider.origin}/elsewhere` },
        body: '',
      };
      assertRefused(await signIn(), 502, /did not answer/);
      assert.ok(
        !provider.asked.some((line) => line.includes('elsewhere')),
        'no redirect is followed',
      );
      const wrong = ['', '[]', '"x"', '<html>', '{"service_id":7}', '{"service_id":""}', '{}'];
      for (const body of wrong) {
        provider.answer = { ...profileAnswer('localhost', {}), body };
        assertRefused(await signIn(), 502, /did not answer/);
      }
      assert.equal(userCount(), 1);
    },
  );

  withPhp('somebody who said no is told so on the sign-in page', async () => {
    const visitor = createAgent(site);
    const state = (await leave(visitor)).get('state')!;
    const answer = await comeBack(visitor, state, '&error=access_denied');
    assert.equal(answer.status, 302);
    const page = await visitor.get(
      new URL(answer.headers.location!).pathname + new URL(answer.headers.location!).search,
    );
    assert.match(page.body, /You did not agree/);
  });

  withPhp('a site that takes no registrations makes no account', async () => {
    site.php("update_option('users_can_register', 0);");
    assertRefused(await signIn(), 403, /does not take new ones/);
    assert.equal(userCount(), 1);
  });

  withPhp('no account is made with the rights of an administrator', async () => {
    site.php("update_option('default_role', 'administrator');");
    assertRefused(await signIn(), 403, /rights of an administrator/);
    site.php(
      "add_role('boss', 'Boss', array('read' => true, 'edit_users' => true)); update_option('default_role', 'boss');",
    );
    assertRefused(await signIn(), 403, /rights of an administrator/);
    assert.equal(userCount(), 1);
  });

  const linkByEmail =
    "update_option('portcullis_sign_in_settings', array_merge(get_option('portcullis_sign_in_settings'), array('link_by_email' => true)));";

  withPhp('without the owner of the site turning it on, no address opens an account', async () => {
    site.php(
      "wp_insert_user(array('user_login' => 'old', 'user_pass' => 'p', 'user_email' => 'ada@mail.example', 'role' => 'subscriber'));",
    );
    assertRefused(await signIn(), 403, /has your email address already/);
    site.php(linkByEmail);
    assert.equal((await signIn()).status, 302);
  });

  withPhp('a table that takes letters with accents for plain ones opens nobody else', async () => {
    site.php(
      `${linkByEmail} wp_insert_user(array('user_login' => 'old', 'user_pass' => 'p', 'user_email' => 'Ada@Mail.example', 'role' => 'subscriber'));`,
    );
    // WordPress looks into its cache before its table: this finds what such a collation finds.
    const folder = `${site.folder}/wp-content/mu-plugins`;
    const plugin = `${folder}/loose-collation.php`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      plugin,
      `<?php add_action('init', function () {
        $user = get_user_by('login', 'old');
        if ($user) foreach (array('adá@mail.example', 'ada@mäil.example', 'ada@xn--mil-pla.example') as $text) wp_cache_set($text, $user->ID, 'useremail');
      });`,
    );
    try {
      for (const email of [
        'ad\u00e1@mail.example',
        'ada@m\u00e4il.example',
        'ada@xn--mil-pla.example',
      ]) {
        provider.answer = profileAnswer('localhost', { ...ada, service_id: 'eve-1', email });
        assertRefused(await signIn(), 403, /has your email address already/);
      }
      provider.answer = profileAnswer('localhost', ada);
      assert.equal((await signIn()).status, 302, 'capitals are the same mailbox');
    } finally {
      rmSync(plugin);
    }
  });

  withPhp('an email address counts only when it is verified', async () => {
    site.php(linkByEmail);
    site.php(
      "wp_insert_user(array('user_login' => 'old', 'user_pass' => 'p', 'user_email' => 'ada@mail.example', 'role' => 'subscriber'));",
    );
    for (const email_verified of [false, undefined, 'true', 1]) {
      provider.answer = profileAnswer('localhost', { ...ada, email_verified });
      assertRefused(await signIn(), 403, /verified email address/);
    }
    provider.answer = profileAnswer('localhost', { service_id: 'ada-1' });
    assertRefused(await signIn(), 403, /verified email address/);
    assert.equal(userCount(), 2);
    provider.answer = profileAnswer('localhost', ada);
    assert.equal((await signIn()).status, 302);
    assert.equal(userCount(), 2);
    // The account belongs to that person now: another one with the same address is refused.
    provider.answer = profileAnswer('localhost', { ...ada, service_id: 'eve-1' });
    assertRefused(await signIn(), 403, /has your email address already/);
  });

  withPhp(
    'an address never opens an account that may do harm, until its owner links it',
    async () => {
      const root = { ...ada, email: 'admin@gazette.example' };
      provider.answer = profileAnswer('localhost', root);
      assertRefused(await signIn(), 403, /link it on your profile page/);
      site.php(
        "wp_insert_user(array('user_login' => 'ed', 'user_pass' => 'p', 'user_email' => 'ada@mail.example', 'role' => 'editor'));",
      );
      provider.answer = profileAnswer('localhost', ada);
      assertRefused(await signIn(), 403, /link it on your profile page/);
      const admin = createAgent(site);
      await linkAsAdmin(admin);
      const again = createAgent(site);
      assert.equal((await signIn(again)).status, 302);
      const profile = await again.get('/wp-admin/profile.php');
      assert.match(profile.body, /admin@gazette\.example/);
    },
  );

  withPhp('linking needs a nonce, and the person who asked for it', async () => {
    const admin = createAgent(site);
    await logIn(admin);
    const bare = await admin.get('/wp-admin/admin-post.php?action=portcullis_sign_in_link');
    assert.equal(bare.status, 403);
    const link = await linkAddress(admin);
    const state = (await leave(admin, link)).get('state')!;
    for (const name of [...admin.cookies.keys()]) {
      if (name.startsWith('wordpress')) admin.cookies.delete(name);
    }
    assertRefused(await comeBack(admin, state), 403, /not signed in as the person/);
  });

  withPhp('the settings page shows the client id and never the key', async () => {
    site.php(
      "update_option('portcullis_sign_in_settings', array_merge(get_option('portcullis_sign_in_settings'), array('api_key' => 'pcl_secret_text')));",
    );
    const admin = createAgent(site);
    await logIn(admin);
    const page = await admin.get('/wp-admin/options-general.php?page=portcullis-sign-in');
    assert.match(page.body, /<code>localhost<\/code>/);
    assert.match(page.body, /name="_wpnonce"/);
    assert.doesNotMatch(page.body, /pcl_secret_text/);
    const visitor = createAgent(site);
    await signIn(visitor);
    const refused = await visitor.get('/wp-admin/options-general.php?page=portcullis-sign-in');
    assert.equal(refused.status, 403);
  });

  withPhp('uninstalling leaves nothing, and no PHP notice was caused on the way', async () => {
    await signIn();
    const left =
      site.php(`define('WP_UNINSTALL_PLUGIN', 'portcullis-sign-in/portcullis-sign-in.php');
      require WP_PLUGIN_DIR . '/portcullis-sign-in/uninstall.php';
      return array(get_option('portcullis_sign_in_settings'),
        count(get_users(array('meta_key' => 'portcullis_sign_in_id'))));`);
    assert.deepEqual(left, [false, 0]);
    assert.deepEqual(site.complaints(), []);
  });

  async function logIn(visitor: Agent): Promise<void> {
    visitor.cookies.set('wordpress_test_cookie', 'WP%20Cookie%20check');
    const form = { log: 'admin', pwd: 'gate-keeper-of-the-site' };
    const answer = await visitor.post('/wp-login.php', form);
    assert.equal(answer.status, 302, answer.body.slice(0, 500));
  }

  async function linkAddress(visitor: Agent): Promise<string> {
    const page = await visitor.get('/wp-admin/profile.php');
    const href = /href="([^"]*action=portcullis_sign_in_link[^"]*)"/.exec(page.body)?.[1];
    assert.ok(href !== undefined, page.body.slice(0, 500));
    const url = new URL(href.replaceAll('&#038;', '&').replaceAll('&amp;', '&'));
    return url.pathname + url.search;
  }

  async function linkAsAdmin(admin: Agent): Promise<void> {
    await logIn(admin);
    const state = (await leave(admin, await linkAddress(admin))).get('state')!;
    const answer = await comeBack(admin, state);
    assert.equal(answer.status, 302, answer.body.slice(0, 500));
    assert.match(answer.headers.location!, /profile\.php/);
  }
});
