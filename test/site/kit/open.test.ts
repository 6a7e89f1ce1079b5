/** The kit's bytes follow from its sources alone, and it holds what its documentation promises. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { unzipSync } from 'fflate';
import { parseClientId } from '../../../src/signon/sites/client-id.ts';
import { parseRedirectUri } from '../../../src/signon/sites/redirect-uri.ts';
import { openKit, zipKit } from '../../../src/site/kit/open-kit.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const source = 'data/kit';
const plugin = 'wordpress/portcullis-sign-in/';
const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes!).toString('utf8');

/** The sources with another README: nothing is built of them, so each look at them makes the kit. */
function changedSource(): string {
  const directory = makeTempDir('kit');
  after(directory.remove);
  cpSync(source, directory.path, { recursive: true });
  writeFileSync(join(directory.path, 'README.md'), 'changed');
  return directory.path;
}

test('the kit of a server names it, in the instructions and in the settings of the plugin', () => {
  const addresses = { baseUrl: 'https://id.example.com', secureUrl: 'https://api.example.com/' };
  const own = unzipSync(openKit(addresses).bytes);
  const plain = unzipSync(openKit().bytes);
  assert.deepEqual(Object.keys(own), Object.keys(plain));
  const changed = Object.keys(own).filter((name) => !Buffer.from(own[name]!).equals(plain[name]!));
  assert.deepEqual(changed, ['README.md', 'wordpress/portcullis-sign-in.zip']);
  const readme = text(own['README.md']);
  assert.doesNotMatch(readme, /portcullis\.example/);
  assert.match(readme, /new Client\('https:\/\/id\.example\.com'\)/);
  assert.match(readme, /new IpReputation\('https:\/\/api\.example\.com', /);
  const inside = unzipSync(own['wordpress/portcullis-sign-in.zip']!);
  const settings = text(inside['portcullis-sign-in/includes/class-settings.php']);
  assert.match(settings, /const SUGGESTED_URL = 'https:\/\/id\.example\.com';/);
});

test('two builds have the same bytes, whatever process, time zone, locale and umask', () => {
  const folder = changedSource();
  const { bytes, sha256 } = openKit(undefined, folder);
  assert.deepEqual(Buffer.from(openKit(undefined, folder).bytes), Buffer.from(bytes));
  const module = new URL('../../../src/site/kit/open-kit.js', import.meta.url).href;
  const script = `const { openKit } = await import(${JSON.stringify(module)});
    console.log(openKit(undefined, ${JSON.stringify(folder)}).sha256);`;
  const settings = [
    { TZ: 'UTC', LC_ALL: 'C' },
    { TZ: 'Pacific/Apia', LC_ALL: 'tr_TR.UTF-8' },
    { TZ: 'America/St_Johns', LANG: 'sv_SE.UTF-8' },
  ];
  for (const env of settings) {
    const args = [
      '-c',
      'umask 077; exec "$0" --input-type=module -e "$1"',
      process.execPath,
      script,
    ];
    const run = spawnSync('sh', args, { env: { PATH: process.env.PATH ?? '', ...env } });
    assert.equal(String(run.stdout).trim(), sha256, String(run.stderr));
  }
});

test('times and modes of the files do not matter, a changed byte does', () => {
  const [folder, other] = [changedSource(), changedSource()];
  for (const name of readdirSync(folder, { recursive: true }).map(String)) {
    const path = join(folder, name);
    utimesSync(path, 1_000_000_000, 1_111_111_111);
    chmodSync(path, 0o700);
  }
  assert.equal(openKit(undefined, folder).sha256, openKit(undefined, other).sha256);
  writeFileSync(join(folder, 'README.md'), 'changes');
  assert.notEqual(openKit(undefined, folder).sha256, openKit(undefined, other).sha256);
});

test('the order in which files are found does not matter', () => {
  const files = ['b', 'a/z', 'a', 'B', 'é', '10', '9'].map((name) => ({
    name,
    bytes: Buffer.from(`content of ${name}`),
  }));
  const forwards = Buffer.from(zipKit(files));
  assert.deepEqual(Buffer.from(zipKit([...files].reverse())), forwards);
  assert.throws(() => zipKit([...files, files[0]!]), /twice/);
});

test('every file arrives as it is', () => {
  const unpacked = unzipSync(openKit().bytes);
  const inside = unzipSync(unpacked[`${plugin.slice(0, -1)}.zip`]!);
  const names = readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(source.length + 1));
  assert.ok(names.length > 50);
  for (const name of names) {
    // Tests stay with the sources, and the plugin comes once.
    const isTest = name.startsWith('php-sdk/tests/');
    const isOfPlugin = name.startsWith(plugin);
    assert.equal(name in unpacked, !isTest && !isOfPlugin, name);
    if (isTest) continue;
    const found = isOfPlugin ? inside[name.slice('wordpress/'.length)] : unpacked[name];
    assert.ok(Buffer.from(found!).equals(readFileSync(join(source, name))), name);
  }
});

test('the plugin carries the SDK, without what sends requests past WordPress', () => {
  const unpacked = unzipSync(openKit().bytes);
  const inside = unzipSync(unpacked['wordpress/portcullis-sign-in.zip']!);
  const lib = `${plugin.slice('wordpress/'.length)}lib/Portcullis/`;
  assert.deepEqual(inside[`${lib}Client.php`], unpacked['php-sdk/src/Client.php']);
  assert.ok(inside[`${lib}Exception/InvalidGrant.php`]);
  const sent = Object.keys(inside).filter((name) =>
    /curl_init|fopen\(|file_get_contents/.test(text(inside[name])),
  );
  assert.deepEqual(sent, [`${lib}Http/Transports.php`], 'which only looks whether curl is there');
});

test('the plugin of a server differs from that of the kit by the address in its settings alone', () => {
  const ofServer = (baseUrl: string) => openKit({ baseUrl, secureUrl: baseUrl });
  const own = unzipSync(ofServer('https://id.example.com').plugin());
  const plain = unzipSync(unzipSync(openKit().bytes)['wordpress/portcullis-sign-in.zip']!);
  assert.deepEqual(Object.keys(own), Object.keys(plain));
  const changed = Object.keys(own).filter((name) => text(own[name]) !== text(plain[name]));
  assert.deepEqual(changed, ['portcullis-sign-in/includes/class-settings.php']);
  assert.match(text(own[changed[0]!]), /const SUGGESTED_URL = 'https:\/\/id\.example\.com';/);
  assert.throws(() => ofServer("'; evil();"), /Invalid URL/);
});

test('one version everywhere', () => {
  const { version, bytes } = openKit();
  const unpacked = unzipSync(bytes);
  const inside = unzipSync(unpacked['wordpress/portcullis-sign-in.zip']!);
  const found = {
    sdk: /TEXT = '([^']+)'/.exec(text(unpacked['php-sdk/src/Version.php']))?.[1],
    header: /^ \* Version: +(\S+)$/m.exec(
      text(inside['portcullis-sign-in/portcullis-sign-in.php']),
    )?.[1],
    constant: /const VERSION = '([^']+)'/.exec(
      text(inside['portcullis-sign-in/portcullis-sign-in.php']),
    )?.[1],
    readme: /^Stable tag: (\S+)$/m.exec(text(inside['portcullis-sign-in/readme.txt']))?.[1],
  };
  assert.deepEqual(found, { sdk: version, header: version, constant: version, readme: version });
});

test('every file of the plugin that runs by itself stops outside WordPress', () => {
  const kit = unzipSync(openKit().bytes);
  const unpacked = unzipSync(kit['wordpress/portcullis-sign-in.zip']!);
  const open = Object.keys(unpacked)
    .filter((name) => name.endsWith('.php') && !name.includes('/lib/'))
    .filter(
      (name) =>
        !/defined\( '(ABSPATH|WP_UNINSTALL_PLUGIN)' \) \|\| exit;/.test(text(unpacked[name])),
    );
  assert.deepEqual(open, []);
  const domains = Object.keys(unpacked)
    .filter((name) => name.endsWith('.php'))
    .flatMap((name) => [
      ...text(unpacked[name]).matchAll(/\b(?:__|_e|esc_(?:html|attr)_(?:_|e))\(.*?'([^']*)'\s*\)/g),
    ])
    .map((match) => match[1]);
  assert.ok(domains.length > 30, `${domains.length} texts`);
  assert.deepEqual([...new Set(domains)], ['portcullis-sign-in']);
});

test('the site in the samples may be a client, with the address that it gives', () => {
  const readme = text(unzipSync(openKit().bytes)['README.md']);
  const rules = { demo: false };
  const [, id = '', uri = ''] =
    /create\([^']*'[^']*',\s*'([^']*)',[^']*'([^']*)'/.exec(readme) ?? [];
  const client = parseClientId(id, rules);
  assert.ok(client.ok, id);
  assert.ok(parseRedirectUri(uri, client.value, rules).ok, uri);
});

test('a sample that reports an address for documentation says where that works', () => {
  const forDocumentation = /192\.0\.2\.|198\.51\.100\.|203\.0\.113\.|2001:db8:/;
  /** A call of the route, of the SDK, or a file of reports; none that only reads or quotes. */
  const reporting = /\/(bulk-)?report['"]|->report\(|\bip=[0-9a-f.:]+&categories/;
  const reporters = [];
  for (const file of [
    ...['README.md', 'docs/API.md', 'docs/site/ask-about-an-address.md', `${source}/README.md`],
  ]) {
    const text = readFileSync(file, 'utf8');
    const lines = text.split('\n').filter((line) => reporting.test(line));
    if (!lines.some((line) => forDocumentation.test(line))) continue;
    reporters.push(file);
    const said = text.replaceAll(/\s+/g, ' ');
    assert.match(said, /can be reported on a server with demo data alone/, file);
  }
  assert.deepEqual(reporters, [`${source}/README.md`], 'the others report what every server takes');
});

test('a kit that is too large, leads out of its folder or has no version is an error', () => {
  const directory = makeTempDir('kit');
  try {
    assert.throws(() => openKit(undefined, directory.path), /no php-sdk\/composer\.json/);
    mkdirSync(join(directory.path, 'php-sdk'));
    writeFileSync(join(directory.path, 'php-sdk/composer.json'), '{}');
    assert.throws(() => openKit(undefined, directory.path), /names no version/);
    writeFileSync(join(directory.path, 'php-sdk/composer.json'), '{"version":"2.0.0"}');
    assert.equal(openKit(undefined, directory.path).version, '2.0.0');
    symlinkSync('/etc/hostname', join(directory.path, 'link'));
    assert.throws(() => openKit(undefined, directory.path), /not a regular file: link/);
    const other = makeTempDir('kit');
    writeFileSync(join(other.path, 'large'), '');
    truncateSync(join(other.path, 'large'), 1_048_577);
    assert.throws(() => openKit(undefined, other.path), /over 1048576 bytes/);
    other.remove();
  } finally {
    directory.remove();
  }
});

test('a kit that was prepared in another thread has the same bytes, and the plugin with it', async () => {
  const folder = changedSource();
  const [ready, asked] = [openKit(undefined, folder), openKit(undefined, folder)];
  await ready.prepare();
  const plugin = ready.plugin();
  assert.equal(ready.plugin(), plugin, 'made once, with the kit');
  assert.ok(Buffer.from(plugin).equals(asked.plugin()));
  assert.ok(Buffer.from(ready.bytes).equals(asked.bytes));
  assert.equal(ready.sha256, asked.sha256);
});
