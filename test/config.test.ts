/** Every setting, good and bad: a bad one is one line which names it. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { it } from 'node:test';
import { isSupportedCountry } from 'libphonenumber-js/max';
import { settingsDocument } from '../src/commands/reference.ts';
import {
  entriesThatFit,
  fieldOf,
  frontEndsOf,
  misspeltSettings,
  readConfig,
  type SettingName,
} from '../src/config.ts';
import { readAccent } from '../src/core/accent.ts';
import { OperatorError } from '../src/core/errors.ts';
import { parseHostPort } from '../src/integrations/thread.ts';
import { parsePrefix } from '../src/ip/prefix.ts';
import { isPrefixTooWide } from '../src/reputation/lists/import/rows.ts';
import { suffixFault } from '../src/signon/sites/client-id.ts';

const isPrefix = (text: string) => parsePrefix(text).ok;
const isEndpoint = (text: string) => parseHostPort(text) !== undefined;
const isTooWide = (text: string) => {
  const prefix = parsePrefix(text);
  return prefix.ok && isPrefixTooWide(prefix.value);
};
const isPhoneCountry = isSupportedCountry;
const judges = { isPrefix, isTooWide, isPhoneCountry, suffixFault, isEndpoint };
const ageKey = 'age18q77hyk0ut0xqrpf7z9z6cscg9ujp7qdkdy8uq6ucgzc6v462ylswacmsz';
const read = (environment: Record<string, string | undefined>) => readConfig(environment, judges);

const settings: Record<SettingName, { good: [string, unknown][]; bad: string[] }> = {
  HOST: {
    good: [
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '::1'],
      [' localhost ', 'localhost'],
    ],
    bad: ['a b', 'a/b', 'a\nb', 'x'.repeat(254)],
  },
  PORT: {
    good: [
      ['0', 0],
      ['443', 443],
      ['65535', 65_535],
    ],
    bad: ['65536', '-1', '80a', '8e1', '1.5', '0x50', '9999999999'],
  },
  BASE_URL: {
    good: [
      ['https://id.example.org', 'https://id.example.org'],
      ['http://localhost:8080/', 'http://localhost:8080'],
    ],
    bad: ['id.example.org', 'ftp://a', 'https://a/path', 'https://u:p@a', 'https://a/?q', 'x\ny'],
  },
  SECURE_URL: {
    good: [['https://s.example.org:444', 'https://s.example.org:444']],
    bad: ['javascript:alert(1)', 'https://a/#f', 'https://'],
  },
  DATABASE_URL: {
    good: [
      ['postgres://p:w@db:5432/portcullis', 'postgres://p:w@db:5432/portcullis'],
      ['postgresql://p@one:5432,two:5432/p', 'postgresql://p@one:5432,two:5432/p'],
      ['postgres://p@/p?host=/run/postgresql', 'postgres://p@/p?host=/run/postgresql'],
      [
        'postgres://p@db/p?sslmode=verify-full&sslrootcert=/ca',
        'postgres://p@db/p?sslmode=verify-full&sslrootcert=/ca',
      ],
    ],
    bad: [
      ...[
        '?ssl_mode=require',
        '?sslMode=verify-full',
        '?tls=on',
        '?sslmode=verify_full',
        '?sslcrl=/x',
      ].map((query) => `postgres://p@db/p${query}`),
      ...['db', 'mysql://db/p', 'postgres://db', 'postgres://db/', 'postgres://d b/p', 'x\ny'],
    ],
  },
  DATABASE_REPLICA_URL: {
    good: [['postgres://p@near/p', 'postgres://p@near/p']],
    bad: ['near', 'mysql://near/p'],
  },
  DATA_DIR: { good: [['/srv/p', '/srv/p']], bad: ['/srv/\0'] },
  LISTEN_UNIX: {
    good: [
      ['/run/p.sock', ['/run/p.sock']],
      [' /run/a.sock , /run/x/../b.sock ', ['/run/a.sock', '/run/b.sock']],
      [`/${'x'.repeat(106)}`, [`/${'x'.repeat(106)}`]],
    ],
    bad: [
      ...['p.sock', './p.sock', '@p', '/run/a\0b', '/run/a.sock,/run/a.sock', '/a,/b/../a'],
      ...[`/${'x'.repeat(107)}`, `/${'é'.repeat(54)}`],
      Array.from({ length: 65 }, (_, i) => `/run/${i}`).join(','),
    ],
  },
  LISTEN_UNIX_MODE: {
    good: [
      ['600', 0o600],
      ['0666', 0o666],
    ],
    bad: ['66', '1660', '668', 'rw', '0o660'],
  },
  LISTEN_UNIX_GROUP: {
    good: [
      ['www-data', 'www-data'],
      ['33', '33'],
    ],
    bad: ['a b', 'a:b', '-1', 'x'.repeat(40)],
  },
  HTTP_THREADS: {
    good: [
      ['4', 4],
      ['auto', frontEndsOf(availableParallelism())],
    ],
    bad: ['0', '65', 'many'],
  },
  DRAIN_MS: { good: [['0', 0]], bad: ['-1', '60001', '1s'] },
  CAPTCHA_THREADS: { good: [['1', 1]], bad: ['0', '65', ' 1 2'] },
  FEED_INTERVAL_SECONDS: {
    good: [['5', 5]],
    bad: ['0', '3601', '1.5'],
  },
  FEED_LICENCE: {
    good: [['CC0 1.0', 'CC0 1.0']],
    bad: ['two\nlines', 'é', 'x'.repeat(301)],
  },
  FEDERATION_LEAST: { good: [['3', 3]], bad: ['0', '11', 'many'] },
  FEDERATION_ACCESS: {
    good: [['open', 'open']],
    bad: ['on', 'Peers'],
  },
  TRUSTED_PROXIES: {
    good: [
      ['10.0.0.0/8, ::1 ,', ['10.0.0.0/8', '::1']],
      ['unix,10.0.0.1', ['unix', '10.0.0.1']],
    ],
    bad: [
      '10.0.0.1/8',
      'proxy',
      'unix:',
      'UNIX',
      'a\nb',
      Array.from({ length: 257 }, () => '::1').join(','),
    ],
  },
  MASTER_KEY_FILE: { good: [['/k', '/k']], bad: ['\0'] },
  SMTP_URL: {
    good: [
      ['smtps://u:p@mail:465', 'smtps://u:p@mail:465'],
      ['smtp://mail?tls=optional', 'smtp://mail?tls=optional'],
      ['smtp://mail?name=a&tls.servername=b', 'smtp://mail?name=a&tls.servername=b'],
    ],
    bad: [
      ...['mail:25', 'http://mail', 'smtp', 'smtp://', 'smtps://mail?tls=optional'],
      ...['smtp://mail?tls=off', 'smtp://mail?tls', 'smtp://mail?tls=optional&tls=optional'],
      ...['requireTLS=false', 'ignoreTLS=true', 'opportunisticTLS=true', 'secure=true'].map(
        (parameter) => `smtp://mail?${parameter}`,
      ),
      ...['host=other', 'proxy=http://other', 'service=gmail', 'socket=x', 'TLS=optional'].map(
        (parameter) => `smtp://mail?${parameter}`,
      ),
    ],
  },
  MAIL_FROM: {
    good: [['p@example.org', 'p@example.org']],
    bad: [
      ...['p', 'P <p@example.org>', 'p@a\r\nBcc: b@c', 'a@b,c@d', 'a@b@c', 'p@example..org'],
      'p@[192.0.2.1]',
    ],
  },
  SITE_NAME: {
    good: [
      [' Wall & Gate ', 'Wall & Gate'],
      ['Cafe\u0301 ⚒', 'Cafe\u0301 ⚒'],
    ],
    bad: [
      ...['x'.repeat(61), 'a\r\nBcc: b@c', 'a\u202eb', '\ud800'],
      ...[
        '\u3164',
        '\u115f\u1160',
        '\uffa0',
        '\u2800',
        'a\u2800b',
        '\u0301',
        '\u200d',
        '\ufe0f',
        '\u{e0020}',
      ],
    ],
  },
  REGISTRATION_DOMAINS: {
    good: [
      ['Example.org, bücher.example', ['example.org', 'xn--bcher-kva.example']],
      ['example.org,example.org', ['example.org']],
    ],
    bad: [
      ...['example', '@example.org', '*.example.org', 'example.org;', 'a..b', '127.0.0.1x/'],
      // They would let nobody in, and everybody.
      ...['127.0.0.1', ',', ' , '],
    ],
  },
  SITE_CONTACT: {
    good: [
      ['help@example.org', 'help@example.org'],
      ['https://example.org/help', 'https://example.org/help'],
    ],
    bad: ['help', 'http://example.org', 'javascript:alert(1)', 'a@b c'],
  },
  SITE_LOGO: { good: [['/mark.png', '/mark.png']], bad: ['\0'] },
  SITE_ACCENT: {
    good: [
      ['#16416F', readAccent('#16416f')],
      ['#16416f, #93bfee', readAccent('#16416f,#93bfee')],
    ],
    bad: ['blue', '#fff', '#ffcc00', '#16416f,#16416f', '#16416f)}body{color:red'],
  },
  SMS_WEBHOOK_URL: {
    good: [['https://sms/x?k=1', 'https://sms/x?k=1']],
    bad: ['sms', 'ftp://sms'],
  },
  WEB_SERVER_SHA256: {
    good: [['0123456789abcdef'.repeat(4), '0123456789abcdef'.repeat(4)]],
    bad: ['0123456789abcdef'.repeat(3), 'ABCDEF0123456789'.repeat(4), 'any'],
  },
  PWNED_RANGE_URL: {
    good: [['https://ranges.example/range/', 'https://ranges.example/range/']],
    bad: ['ranges', 'ftp://ranges'],
  },
  SMS_COUNTRIES: {
    good: [
      ['FR, BE', ['FR', 'BE']],
      ['*', ['*']],
    ],
    bad: ['UK', 'FR,XX', 'fr', 'FRA', 'FR;BE', 'FR,*', 'FR,', 'all', 'FR\nBE'],
  },
  BACKUP_FOLDER: { good: [['/b', '/b']], bad: ['\0'] },
  BACKUP_EVERY: {
    good: [
      ['24h', 86_400_000],
      ['90m', 5_400_000],
      ['7d', 604_800_000],
      ['1s', 1_000],
    ],
    bad: ['24', 'h', '0h', '-1h', '1.5h', '24 h', '366d', '1w', 'daily'],
  },
  BACKUP_KEEP: { good: [['30', 30]], bad: ['0', '-1', '1.5', '10001', 'x'] },
  BACKUP_PASSPHRASE: {
    good: [['correct horse battery', 'correct horse battery']],
    bad: ['too short'],
  },
  BACKUP_PASSPHRASE_FILE: { good: [['/p', '/p']], bad: ['\0'] },
  BACKUP_RECIPIENTS: {
    good: [
      [ageKey, [ageKey]],
      [`${ageKey}, ${ageKey}`, [ageKey, ageKey]],
    ],
    bad: [
      'age1',
      'ssh-ed25519 AAAA',
      ageKey.slice(1),
      `AGE-SECRET-KEY-${ageKey}`,
      `${ageKey},x`,
      ',',
    ],
  },
  SMS_PER_DAY: { good: [['50', 50]], bad: ['0', '-1', '1.5', '70000', 'x'] },
  GEO_COUNTRY_MMDB: { good: [['/c.mmdb', '/c.mmdb']], bad: ['\0'] },
  GEO_ASN_MMDB: { good: [['/a.mmdb', '/a.mmdb']], bad: ['\0'] },
  ACCESS_LOG: {
    good: [
      ['off', undefined],
      ['stdout', 'stdout'],
      ['/var/log/a', '/var/log/a'],
    ],
    bad: ['\0'],
  },
  LOG_LEVEL: { good: [['warn', 'warn']], bad: ['loud', 'INFO\nx'] },
  METRICS_TOKEN: {
    good: [['0123456789abcdef', '0123456789abcdef']],
    bad: ['short', 'has a space in between', `${'é'.repeat(20)}`, 'x'.repeat(257)],
  },
  CLIENT_LIMITS: { good: [['off', false]], bad: ['no', 'ON', '0'] },
  REGISTRATION: { good: [['closed', 'closed']], bad: ['no', 'OPEN'] },
  REQUIRE_SECOND_FACTOR: {
    good: [
      ['off', 'off'],
      ['operators', 'operators'],
      ['everybody', 'everybody'],
    ],
    bad: ['on', 'yes', 'EVERYBODY', 'all'],
  },
  CONSENT_SITE_NAMES: { good: [['on', true]], bad: ['yes', 'ON'] },
  TRUSTED_BROWSERS: { good: [['on', true]], bad: ['yes', 'ON', '30'] },
  REPUTATION: { good: [['private', 'private']], bad: ['no', 'PUBLIC'] },
  SOURCE_ALLOW_PRIVATE: { good: [['on', true]], bad: ['yes', '1'] },
  FEDERATION_AGREE: { good: [['8', 8]], bad: ['2', '9', 'all'] },
  FEDERATION_BLOCKS: { good: [['off', false]], bad: ['no', '1'] },
  REPUTATION_ANCHORED: { good: [['on', true]], bad: ['yes', '1'] },
  NETWORK_RISE: { good: [['on', true]], bad: ['yes', 'ON'] },
  DECISIONS_CAPTCHA_FROM: {
    good: [['50', 50]],
    bad: ['75', '-1', 'on'],
  },
  RDNS: {
    good: [
      ['pages', 'pages'],
      ['verbose', 'verbose'],
    ],
    bad: ['on', 'PAGES'],
  },
  RDNS_RESOLVER: {
    good: [
      ['192.0.2.53, [2001:db8::53]:5353', ['192.0.2.53', '[2001:db8::53]:5353']],
      ['2001:db8::53,192.0.2.53:53', ['2001:db8::53', '192.0.2.53:53']],
    ],
    bad: [
      ...['resolver', '192.0.2.53:0', '192.0.2.53:65536', '[192.0.2.53]:53', '192.0.2:53', 'a\nb'],
      '192.0.2.1,192.0.2.2,192.0.2.3,192.0.2.4',
    ],
  },
  KNOWN_GOOD: {
    good: [['192.0.2.1, 2001:db8::/32', ['192.0.2.1', '2001:db8::/32']]],
    bad: ['10.0.0.1/8', 'resolver', 'a\nb', '0.0.0.0/0', '192.0.2.1,8.0.0.0/7', '2000::/3'],
  },
  DNS_ZONE: {
    good: [
      ['bl.example.org', 'bl.example.org'],
      ['BL.Example.org.', 'bl.example.org'],
      ['_bl.test', '_bl.test'],
    ],
    bad: ['.', '-a.test', 'a..b', 'bé.test', 'a b', 'x'.repeat(64), 'a\nb', `${'a.'.repeat(60)}b`],
  },
  INTERNAL_LISTEN: {
    good: [['192.0.2.1:8081', '192.0.2.1:8081']],
    bad: ['0.0.0.0:8081', '[::]:8081', '192.0.2.1', 'host:8081'],
  },
  DNS_LISTEN: {
    good: [['192.0.2.1:53, [2001:db8::1]:53', ['192.0.2.1:53', '[2001:db8::1]:53']]],
    bad: [
      ...['0.0.0.0:53', '[::]:53', '192.0.2.1', '192.0.2.1:65536', '2001:db8::1:53', 'host:53'],
      ...[
        '[192.0.2.1]:53',
        '[::ffff:192.0.2.1]:53',
        ':53',
        '192.0.2.1:',
        ',',
        '[2001:db8::1]',
        'a\nb',
      ],
    ],
  },
  DNS_ALLOW: {
    good: [['192.0.2.0/24', ['192.0.2.0/24']]],
    bad: ['10.0.0.1/8', 'all', 'a\nb', ','],
  },
  DNS_NS: {
    good: [['NS1.example.org., ns2.example.org', ['ns1.example.org', 'ns2.example.org']]],
    bad: ['a b', 'a,b,c,d,e', 'ns_1..x'],
  },
  RADAR: {
    good: [
      ['public', 'public'],
      ['off', 'off'],
    ],
    bad: ['on', 'OFF', 'everybody'],
  },
  ADMIN_LISTEN: {
    good: [
      ['9090', { host: '127.0.0.1', port: 9090 }],
      ['0.0.0.0:9090', { host: '0.0.0.0', port: 9090 }],
      ['[::1]:0', { host: '::1', port: 0 }],
    ],
    bad: ['65536', 'localhost:9090', '127.0.0.256:1', '::1:9', '[127.0.0.1', ':9090', '1.2.3.4'],
  },
  SPOE_LISTEN: {
    good: [
      ['127.0.0.1:9002', '127.0.0.1:9002'],
      ['[::1]:0', '[::1]:0'],
    ],
    bad: [
      ...['0.0.0.0:9002', '192.0.2.1:9002', '127.0.0.1', '127.0.0.1:65536', '127.0.0.256:1'],
      ...['127.0.0.01:1', 'localhost:9002', '[::]:9002', '127.0.0.1:9002,127.0.0.2:9002', 'a\nb'],
    ],
  },
  CLIENT_SUFFIXES: {
    good: [
      ['.internal, LAN ,home.arpa,', ['internal', 'lan', 'home.arpa']],
      ['local,test,corp.internal,.', ['local', 'test', 'corp.internal', '.']],
      ['xn--bro-hoa', ['xn--bro-hoa']],
    ],
    bad: [
      ...['com', 'internal,com', 'co.uk', 'github.io', 'ck', 'foo.ck', 'wiki', 'ai', 'arpa'],
      ...['example.com', 'corp.example.com', 'xn--p1ai', 'in-addr.arpa', 'onion'],
      ...['localhost', 'a.localhost', 'localhost.internal', 'localdomain'],
      ...['internal.', '..', '*.internal', '*', 'a b', 'a_b', 'büro', '-a', 'a\nb', 'xn--zz'],
      ...['127.0.0.1', '1', '0x7f', '::1', 'internal:8443', 'https://x.internal', 'x'.repeat(64)],
      Array.from({ length: 65 }, (_, n) => `a${n}.internal`).join(','),
    ],
  },
};

for (const [name, { good, bad }] of Object.entries(settings)) {
  const field = fieldOf(name as SettingName);
  it(`${name} takes what is good and names itself in one line about what is not`, () => {
    for (const [text, value] of good) assert.deepEqual(read({ [name]: text })[field], value);
    const absent = read({})[field];
    for (const empty of ['', '  ', undefined]) {
      assert.deepEqual(read({ [name]: empty })[field], absent, 'empty counts as absent');
    }
    for (const text of bad) {
      assert.throws(
        () => read({ [name]: text }),
        (error: unknown) => {
          assert.ok(error instanceof OperatorError, JSON.stringify(text));
          assert.ok(error.message.includes(name), error.message);
          assert.ok(!/\p{C}/u.test(error.message), JSON.stringify(error.message));
          assert.ok(error.message.length < 200, error.message);
          return true;
        },
        JSON.stringify(text.slice(0, 40)),
      );
    }
  });
}

it('a name that is a setting but for a slip is told, a name of another program is not', () => {
  const slips = ['REGISTRATON', 'TRUSTED_PROXY', 'DATADIR', 'base_url', 'SITE_NAMES', 'LOGLEVEL'];
  assert.deepEqual(
    misspeltSettings(slips).map((text) => text.replace(/.*you mean /, '')),
    ['REGISTRATION?', 'TRUSTED_PROXIES?', 'DATA_DIR?', 'BASE_URL?', 'SITE_NAME?', 'LOG_LEVEL?'],
  );
  const others = ['PATH', 'POST', 'HOSTNAME', 'NODE_ENV', 'PGPASSWORD', 'HTTP_PROXY', 'LOGNAME'];
  assert.deepEqual(misspeltSettings([...others, ...Object.keys(settings), 'TZ', '']), []);
});

it('backups have either public keys or a passphrase', () => {
  for (const name of ['BACKUP_PASSPHRASE', 'BACKUP_PASSPHRASE_FILE']) {
    const both = { BACKUP_RECIPIENTS: ageKey, [name]: 'correct horse battery' };
    assert.throws(
      () => read(both),
      /setting BACKUP_RECIPIENTS must not be set beside a passphrase/,
    );
  }
});

it('docs/SETTINGS.md is what the program makes of its settings, and says what holds without each', () => {
  const page = readFileSync('docs/SETTINGS.md', 'utf8');
  assert.equal(page, settingsDocument(), 'portcullis reference settings > docs/SETTINGS.md');
  assert.doesNotMatch(page, /undefined/);
});

it('an edge of before is refused in a line that says what it is now; a node of before is not', () => {
  for (const removed of [
    { ROLE: 'edge' },
    { ROLE: ' edge ', CORES: '10.0.0.1:7000' },
    { CORES: 'a:1' },
  ]) {
    const given = { ...removed, DATABASE_URL: 'postgres://p@db/p' };
    assert.throws(
      () => read(given),
      (error) =>
        error instanceof OperatorError &&
        /^ROLE=edge and CORES are no settings any more: .* DATABASE_URL .* DATABASE_REPLICA_URL /.test(
          error.message,
        ) &&
        !error.message.includes('\n'),
    );
  }
  assert.doesNotThrow(() => read({ ROLE: 'node', CORES: '' }));
});

it('the links follow the port when no address is given', () => {
  const { baseUrl, secureUrl } = read({ PORT: '9000' });
  assert.deepEqual([baseUrl, secureUrl], ['http://localhost:9000', 'http://localhost:9000']);
});

it('as many front ends as cores but one, one at least', () => {
  assert.deepEqual([1, 2, 8, 200].map(frontEndsOf), [1, 1, 7, 64]);
});

it('a machine has room for so many entries as its memory holds, within bounds', () => {
  const gibibyte = 2 ** 30;
  assert.deepEqual(
    [0, 1, 4].map((n) => entriesThatFit(n * gibibyte)),
    [8e6, 8e6, 12_689_676],
  );
  assert.equal(entriesThatFit(24 * gibibyte), 32_000_000);
  // Of a container without a bound the system says the largest number that it has.
  assert.equal(entriesThatFit(2 ** 64), 32_000_000);
});

it('the configuration is frozen, its lists too', () => {
  const config = read({ TRUSTED_PROXIES: '::1' });
  assert.ok(Object.isFrozen(config));
  assert.ok(Object.isFrozen(config.trustedProxies));
});

it('strange variables beside the settings are no error', () => {
  assert.doesNotThrow(() => read({ PATH: '/bin', PORTS: 'x', __proto__: 'y' } as never));
});
