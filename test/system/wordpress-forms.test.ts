/**
 * The plugin's CAPTCHA on every form that has one, in a real WordPress: what passes, what happens
 * while the service is away or refuses the key, what the settings turn on, and whose address counts.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, it } from 'node:test';
import { openContext, withBrowser } from '../support/browser/browser.ts';
import { issue, openBeside } from '../support/captcha/beside.ts';
import { runCode } from '../support/docs/doc-samples.ts';
import {
  addressHeader,
  adminPassword,
  startWordPress,
  type WordPress,
} from '../support/docs/wordpress.ts';
import { hasTool, isInstalled } from '../support/house/tools.ts';
import { demoEmail, startTestServer, type TestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { startFakeProvider } from '../support/signon/fake-provider.ts';
import { createAgent } from '../support/signon/visitor.ts';

let server: TestServer;
let site: WordPress;
let siteKey = '';
const field = 'portcullis-receipt';
before(async () => {
  if (!isInstalled('php')) return;
  server = await startTestServer({ threads: 1, env: { CLIENT_LIMITS: 'off' } });
  siteKey = (
    await server.cliJson('sitekey', 'create', demoEmail, '--host', 'localhost', '--level', 'easy')
  ).id;
  site = await startWordPress();
  site.php(`require_once ABSPATH . 'wp-admin/includes/plugin.php';
    activate_plugin('portcullis-sign-in/portcullis-sign-in.php');
    update_option('users_can_register', 1);`);
  change({
    base_url: server.baseUrl,
    api_key: server.key,
    site_key: siteKey,
    captcha_login: true,
    captcha_register: true,
    captcha_lost_password: true,
  });
});
after(async () => {
  await site?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

function change(settings: Record<string, string | boolean>): void {
  site.php(`$new = json_decode('${JSON.stringify(settings)}', true);
    delete_transient('portcullis_sign_in_look');
    update_option('portcullis_sign_in_settings',
      array_merge((array) get_option('portcullis_sign_in_settings', array()), $new));`);
}

function withPhp(name: string, run: () => Promise<void>): void {
  it(name, { timeout: 600_000 }, async (context) => {
    if (hasTool(context, 'php')) await run();
  });
}

function post(path: string, form: Record<string, string>, address = '203.0.113.40') {
  const cookie = { Cookie: 'wordpress_test_cookie=WP%20Cookie%20check' };
  return createAgent(site).post(path, form, { ...cookie, [addressHeader]: address });
}
const logIn = (more: Record<string, string> = {}, pwd = adminPassword, address?: string) =>
  post('/wp-login.php', { log: 'admin', pwd, ...more }, address);

async function receipt(): Promise<string> {
  const beside = openBeside(server.dataDir);
  return issue(beside.receipts, siteKey, site.origin).finally(() => beside.store.close());
}

const refused = /solve the CAPTCHA/;

withPhp('no spelling of the sign-in page goes past the CAPTCHA', async () => {
  for (const path of ['/wp-login.php/x.php', '/wp-login.php/%0Ax.php', '/wp-login.php?x=/y.php']) {
    const answer = await post(path, { log: 'admin', pwd: adminPassword });
    assert.match(answer.body, refused, path);
  }
});

withPhp('registration and lost passwords pass with a receipt, once', async () => {
  for (const [action, form, done] of [
    ['register', { user_login: 'bob', user_email: 'bob@mail.example' }, /registered/],
    ['lostpassword', { user_login: 'admin' }, /confirm/],
  ] as const) {
    const path = `/wp-login.php?action=${action}`;
    const page = await site.fetch(path);
    assert.ok(page.body.includes(`data-sitekey="${siteKey}"`), action);
    assert.ok(page.body.includes('/captcha/widget.js'), action);
    const used = await receipt();
    assert.match((await post(path, form)).body, refused, action);
    assert.match((await post(path, { ...form, [field]: 'pcr2.x.y' })).body, refused, action);
    const passed = await post(path, { ...form, [field]: used });
    assert.equal(passed.status, 302, passed.body.slice(0, 3_000));
    assert.match(passed.headers.location!, done);
    assert.match((await post(path, { ...form, [field]: used })).body, refused, `${action}, again`);
  }
  // An administrator who sends a link from the list of users has no such form.
  assert.equal(site.php("return true === retrieve_password('admin');"), true);
  assert.deepEqual(site.complaints(), []);
});

withPhp('forms of themes and of WooCommerce have the widget, and are checked', async () => {
  const html = site.php("return wp_login_form(array('echo' => false));") as string;
  assert.ok(html.includes(`class="portcullis-captcha" data-sitekey="${siteKey}"`));
  for (const form of ['login', 'register', 'lostpassword']) {
    const shown = site.php(
      `ob_start(); do_action('woocommerce_${form}_form'); return ob_get_clean();`,
    ) as string;
    assert.ok(shown.includes(siteKey), form);
  }
  const outcome = (fields: Record<string, string>, code: string) =>
    site.php(`$_POST = json_decode('${JSON.stringify(fields)}', true); ${code}`);
  const register =
    "return apply_filters('woocommerce_process_registration_errors', new WP_Error())->get_error_codes();";
  assert.deepEqual(outcome({}, register), ['portcullis_sign_in_captcha']);
  assert.deepEqual(outcome({ [field]: await receipt() }, register), []);
  const levels = `$seen = array();
    add_filter('portcullis_sign_in_captcha_level', function ($enough, $level, $form) use (&$seen) {
      $seen[] = "$level $form"; return false; }, 10, 3);
    $codes = (function () { ${register} })(); return array($seen, $codes);`;
  assert.deepEqual(
    outcome({ [field]: await receipt() }, levels),
    [['easy register'], ['portcullis_sign_in_captcha']],
    'a site looks at the level, and may refuse it',
  );
  const lost =
    "$e = new WP_Error(); do_action('lostpassword_post', $e, false); return $e->get_error_codes();";
  const request = { wc_reset_password: 'true', user_login: 'admin' };
  assert.deepEqual(outcome(request, lost), ['portcullis_sign_in_captcha']);
  assert.deepEqual(outcome({ ...request, [field]: await receipt() }, lost), []);
  const login = `$u = apply_filters('authenticate', null, 'admin', '${adminPassword}');
    return is_wp_error($u) ? $u->get_error_code() : $u->user_login;`;
  const shop = { 'woocommerce-login-nonce': 'n', username: 'admin', password: 'p' };
  assert.equal(outcome(shop, login), 'portcullis_sign_in_captcha');
  assert.equal(outcome({ ...shop, [field]: await receipt() }, login), 'admin');
  assert.equal(outcome({}, login), 'admin', 'no form of a page');
  // Where else WooCommerce takes its nonce from.
  const sent = { login: 'Log in', username: 'admin', password: 'p' };
  const nonce = "$_REQUEST = $_POST + array('%s' => wp_create_nonce('woocommerce-login'));";
  for (const name of ['woocommerce-login-nonce', '_wpnonce']) {
    const elsewhere = nonce.replace('%s', name) + login;
    assert.equal(outcome(sent, elsewhere), 'portcullis_sign_in_captcha', name);
  }
  const foreign = `$_REQUEST = $_POST + array('_wpnonce' => wp_create_nonce('other')); ${login}`;
  assert.equal(outcome(sent, foreign), 'admin', 'a form of somebody else');
});

withPhp('wrong passwords are reported with the CAPTCHA unsolved, right ones never', async () => {
  change({ report_failures: true });
  const reports = async (address: string) => (await server.check(address)).totalReports;
  for (let i = 1; i <= 6; i++) await logIn({}, adminPassword, '203.0.113.51');
  assert.equal(await reports('203.0.113.51'), 0);
  for (let i = 1; i <= 4; i++) await logIn({}, `guess ${i}`, '203.0.113.52');
  assert.equal(await reports('203.0.113.52'), 0);
  for (let i = 5; i <= 6; i++) await logIn({}, `guess ${i}`, '203.0.113.52');
  assert.equal(await reports('203.0.113.52'), 1);
  change({ report_failures: false });
});

const registered = () =>
  post('/wp-login.php?action=register', { user_login: 'eve', user_email: 'eve@mail.example' });
const notice = () =>
  site.php(`wp_set_current_user(1); ob_start(); do_action('admin_notices');
    return ob_get_clean();`) as string;

/** Nobody is locked out, passwords are still checked, and the other forms stay shut. */
async function passesOnTheSignInFormAlone(name: string, words: RegExp): Promise<void> {
  site.php("delete_transient('portcullis_sign_in_passed');");
  for (const more of [{}, { [field]: 'pcr2.x.y' }]) {
    change({});
    assert.equal((await logIn(more)).status, 302, name);
    const wrong = await logIn(more, 'wrong');
    assert.equal(wrong.status, 200, name);
    assert.doesNotMatch(wrong.body, refused, name);
    assert.match(wrong.body, /password you entered/, name);
  }
  assert.match((await registered()).body, refused, name);
  assert.match(notice(), words, name);
  assert.match(notice(), /takes passwords without the CAPTCHA/, name);
}

withPhp('a service that is away, or a refused key, locks nobody out', async () => {
  assert.match((await logIn()).body, refused, 'while all is well nobody passes');
  try {
    change({ base_url: 'http://127.0.0.1:1' });
    await passesOnTheSignInFormAlone('no connection', /does not answer/);
    await using fake = await startFakeProvider();
    change({ base_url: fake.origin });
    for (const status of [500, 502, 503]) {
      fake.answer = { status, headers: {}, body: '' };
      await passesOnTheSignInFormAlone(String(status), /does not answer/);
    }
    fake.answer = { status: 401, headers: {}, body: '{"ok":false}' };
    await passesOnTheSignInFormAlone('401', /refuses the API key/);
    // With such a site key no visitor gets a receipt.
    change({ base_url: server.baseUrl, site_key: 'pcs_nothing' });
    assert.equal((await logIn()).status, 302, 'an unknown site key');
    assert.match(notice(), /site key is not one of the account/);
    assert.match((await logIn({ [field]: 'pcr2.x.y' })).body, refused, 'a bad receipt');
    change({ site_key: siteKey });
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await within(() => silent.listening, 'the silent server');
    change({ base_url: `http://127.0.0.1:${(silent.address() as { port: number }).port}` });
    assert.equal((await logIn()).status, 302, 'a timeout');
    silent.close();
    silent.closeAllConnections();

    change({ base_url: fake.origin });
    const closed = [
      { status: 200, headers: {}, body: '{"ok":false}' },
      { status: 429, headers: { 'Retry-After': '60' }, body: '{"ok":false}' },
      { status: 422, headers: {}, body: '{"ok":false}' },
    ];
    for (const answer of closed) {
      fake.answer = answer;
      change({});
      const forged = { [field]: 'pcr2.x.y' };
      assert.match((await logIn(forged)).body, refused, String(answer.status));
      if (answer.status !== 422) assert.match((await logIn()).body, refused, 'no receipt');
    }
  } finally {
    change({ base_url: server.baseUrl });
  }
  assert.equal((await logIn({ [field]: await receipt() })).status, 302);
  assert.equal(notice(), '', 'all is well again');
  assert.deepEqual(site.complaints(), []);
});

withPhp('the settings turn on nothing that does not work, and lose nothing', async () => {
  const save = (input: Record<string, string>, before: Record<string, string | boolean>) =>
    site.php(`require_once ABSPATH . 'wp-admin/includes/template.php';
      $former = get_option('portcullis_sign_in_settings');
      update_option('portcullis_sign_in_settings', json_decode('${JSON.stringify(before)}', true));
      $clean = PortcullisSignIn\\Settings_Page::sanitize(json_decode('${JSON.stringify(input)}', true));
      update_option('portcullis_sign_in_settings', $former);
      return array('clean' => $clean, 'told' => array_column(get_settings_errors(), 'message'));`);
  const good = { base_url: server.baseUrl, api_key: server.key, site_key: siteKey };
  const on = { captcha_login: '1', check_address: '1' };
  const first = save({ ...good, ...on }, {});
  assert.deepEqual(first.told, []);
  assert.deepEqual([first.clean.captcha_login, first.clean.check_address], [true, true]);

  const shop = ['--host', 'shop.example'];
  const otherHost = (await server.cliJson('sitekey', 'create', demoEmail, ...shop)).id;
  for (const [bad, words] of [
    [{ api_key: 'pcl_wrong' }, /refuses the API key.*Nothing was turned on/],
    [{ base_url: 'http://127.0.0.1:1' }, /does not answer.*Nothing was turned on/],
    [{ api_key: '' }, /are needed.*Nothing was turned on/],
    [{ site_key: 'pcs_nothing' }, /site key is not one of.*Nothing was turned on/],
    [{ site_key: otherHost }, /not for this site.*Nothing was turned on/],
  ] as const) {
    const { clean, told } = save({ ...good, ...on, ...bad }, {});
    assert.match(told.join(), words);
    assert.deepEqual([clean.captcha_login, clean.check_address], [false, false]);
  }
  const noSiteKey = save({ ...good, ...on, site_key: 'x' }, {});
  assert.match(noSiteKey.told.join(), /begins with pcs_/);
  assert.deepEqual([noSiteKey.clean.captcha_login, noSiteKey.clean.check_address], [false, true]);

  const running = { ...good, captcha_login: true };
  const worse = save({ ...good, ...on, api_key: 'pcl_wrong' }, running);
  assert.equal(worse.clean.api_key, server.key, 'the key that works stays');
  assert.deepEqual([worse.clean.captcha_login, worse.clean.check_address], [true, false]);
  const forgotten = save({ ...good, ...on, api_key: '', forget_api_key: '1' }, running);
  assert.deepEqual([forgotten.clean.api_key, forgotten.clean.captcha_login], ['', false]);

  const proxies = save({ ...good, proxies: '192.0.2.0/24, 2001:db8::1' }, {});
  assert.equal(proxies.clean.proxies, '192.0.2.0/24\n2001:db8::1');
  const wrong = save({ ...good, proxies: '192.0.2.0/33' }, { proxies: '192.0.2.1' });
  assert.match(wrong.told.join(), /192\.0\.2\.0\/24/);
  assert.equal(wrong.clean.proxies, '192.0.2.1', 'the former ones stay');
});

withPhp('behind a proxy that is named, and only there, its header has the address', async () => {
  const address = (remote: string, header: string, proxies: string, name = 'X-Forwarded-For') =>
    site.php(`$_SERVER['REMOTE_ADDR'] = '${remote}';
      $_SERVER['HTTP_${name.toUpperCase().replaceAll('-', '_')}'] = '${header}';
      add_filter('option_portcullis_sign_in_settings', fn($s) => array_merge($s,
        array('proxies' => '${proxies}', 'proxy_header' => '${name}')));
      return PortcullisSignIn\\Address_Gate::client_address();`);
  const proxies = '192.0.2.0/24 2001:db8:a::/48';
  assert.equal(address('203.0.113.1', '198.51.100.1', ''), '203.0.113.1', 'none is named');
  assert.equal(address('203.0.113.1', '198.51.100.1', proxies), '203.0.113.1', 'a stranger');
  assert.equal(address('192.0.2.7', '198.51.100.1', proxies), '198.51.100.1');
  assert.equal(address('192.0.2.7', '6.6.6.6, 198.51.100.1, 192.0.2.8', proxies), '198.51.100.1');
  assert.equal(address('2001:db8:a::1', '[2001:DB8::5]:4711', proxies), '2001:db8::5');
  assert.equal(address('192.0.2.7', '198.51.100.1:4711', proxies), '198.51.100.1');
  assert.equal(address('::ffff:192.0.2.7', '198.51.100.1', proxies), '198.51.100.1');
  assert.equal(address('192.0.2.7', '198.51.100.1', proxies, 'CF-Connecting-IP'), '198.51.100.1');
  for (const header of ['', 'unknown', '198.51.100.1, nonsense', '192.0.2.9', '<b>']) {
    assert.equal(address('192.0.2.7', header, proxies), '192.0.2.7', header);
  }
});

withPhp('deleting the plugin in a network forgets each site', async () => {
  const directory = makeTempDir('uninstall');
  const file = `${directory.path}/run.php`;
  const uninstall = `${site.folder}/wp-content/plugins/portcullis-sign-in/uninstall.php`;
  writeFileSync(
    file,
    `<?php define('WP_UNINSTALL_PLUGIN', 'x'); $at = 1; $log = array();
    function is_multisite() { return true; }
    function get_sites($query) { return 0 === $query['number'] ? range(1, 150) : range(1, 100); }
    function switch_to_blog($id) { global $at; $at = $id; }
    function restore_current_blog() { global $at; $at = 1; }
    function delete_option($name) { global $at, $log; $log[] = $at; }
    function delete_transient($name) {}
    function delete_metadata(...$of) { global $log; $log[] = $of[2]; }
    require '${uninstall}'; echo json_encode(array(count(array_unique($log)), end($log), $at));`,
  );
  const { output } = await runCode('php', [file]);
  directory.remove();
  assert.equal(output, '[153,"portcullis_sign_in_changed",1]');
});

withPhp('the picture on the sign-in page has two pixels for each dot, or more', async () => {
  await withBrowser(async (browser) => {
    for (const width of [1_200, 375]) {
      const context = await openContext(browser, {
        viewport: { width, height: 900 },
        reducedMotion: 'no-preference',
      });
      const page = await context.newPage();
      await page.goto(`${site.origin}/wp-login.php`);
      const shown = "document.querySelector('.portcullis-captcha img')";
      await within(
        async () => Boolean(await page.evaluate(`${shown}?.naturalWidth > 0`)),
        'the picture',
      );
      const ratio = `${shown}.getBoundingClientRect().width / ${shown}.naturalWidth`;
      assert.ok((await page.evaluate<number>(ratio)) >= 2, String(width));
      const room = "document.querySelector('.portcullis-captcha').clientWidth";
      if (width > 400)
        assert.ok((await page.evaluate<number>(room)) >= 300, 'all of it is in view');
      await page.screenshot({ path: `test-output/screenshots/wordpress-captcha-${width}.png` });
      await context.close();
    }
  });
});
