/** The DNS block list asked by Debian's own clients, with the configurations that its page shows. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawn, stopChild } from '../support/house/spawn.ts';
import { hasNetworkNamespace, hasTool } from '../support/house/tools.ts';
import { forFile } from '../support/server/for-file.ts';
import { freePort } from '../support/server/free-port.ts';
import { startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const zone = 'bl.example.org';
const directory = forFile(makeTempDir('dnsbl'));
const entry = fileURLToPath(new URL('../../../bin/portcullis.js', import.meta.url));

chmodSync(directory.path, 0o755);
const server = forFile(
  await startTestServer({
    threads: 1,
    env: { DNS_ZONE: zone, DNS_LISTEN: '127.0.0.1:0', DNS_NS: 'ns1.example.org' },
  }),
);
const line = await server.child.errorLine((text) => text.includes('"msg":"dns: listening"'));
const port = Number((JSON.parse(line) as { listen: string[] }).listen[0]!.split(':')[1]);
writeFileSync(`${directory.path}/list.txt`, '45.10.0.7\n2001:500:1::7\n2.0.0.1\n');
const seed = [`${directory.path}/list.txt`, '--format', 'plain', '--confidence', '90'];
await server.cliJson('seed', ...seed, '--source', 'integrations');

/** A client's configuration as the page shows it. */
function sample(language: string): string {
  const page = readFileSync('docs/DNSBL.md', 'utf8');
  const found = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page)?.[1];
  assert.ok(found, language);
  return found;
}

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout.trim();
}

it('dig and kdig read each zone, over UDP and TCP', async (context) => {
  if (!hasTool(context, 'dig') || !hasTool(context, 'kdig')) return;
  const at = ['-p', String(port), '@127.0.0.1'];
  const dig = (...words: string[]) => run('dig', ...at, '+short', ...words);
  await within(() => dig(`7.0.10.45.${zone}`) === '127.0.0.3', 'the row');
  assert.equal(dig('+tcp', `7.0.10.45.score.${zone}`), '127.0.1.90');
  assert.match(dig(`7.0.10.45.${zone}`, 'TXT'), /^"score 90 of 100, \S+\/ip\/45\.10\.0\.7"$/);
  assert.equal(dig(zone, 'NS'), 'ns1.example.org.');
  assert.match(run('dig', ...at, `1.0.0.127.${zone}`), /status: NXDOMAIN/);
  assert.doesNotMatch(run('dig', ...at, `1.0.0.127.${zone}`), /malformed|extra bytes/i);
  assert.match(run('kdig', ...at, '+tcp', `2.0.0.127.anon.${zone}`), /IN\s+A\s+127\.0\.0\.8/);
  assert.match(run('kdig', ...at, '+dnssec', zone, 'SOA'), /flags: do; .*size: 1232/i);
});

it('unbound finds both families while it asks step by step', async (context) => {
  if (!hasTool(context, 'unbound') || !hasTool(context, 'dig')) return;
  const ownPort = await freePort();
  const config = `${directory.path}/unbound.conf`;
  const text = sample('unbound').replaceAll('127.0.0.1@5300', `127.0.0.1@${port}`);
  const own = [
    ...['interface: 127.0.0.1', `port: ${ownPort}`, 'chroot: ""', 'username: ""', 'use-syslog: no'],
    ...['pidfile: ""', `directory: "${directory.path}"`, 'module-config: "iterator"'],
    ...['qname-minimisation: yes', 'qname-minimisation-strict: yes', 'do-daemonize: no'],
  ];
  writeFileSync(config, text.replace('server:\n', `server:\n    ${own.join('\n    ')}\n`));
  const child = spawn('unbound', ['-d', '-c', config], { stdio: 'ignore' });
  try {
    const lookUp = (name: string) =>
      spawnSync('dig', ['-p', String(ownPort), '@127.0.0.1', '+short', `${name}.${zone}`], {
        encoding: 'utf8',
      }).stdout.trim();
    const six = [...'20010500000100000000000000000007'].reverse().join('.');
    await within(() => lookUp('7.0.10.45') === '127.0.0.3', 'the row through unbound');
    // Its first four nibbles are 2.0.0.1, once as an address that is not listed.
    assert.equal(lookUp(six), '127.0.0.3');
    assert.equal(lookUp('8.0.10.45'), '');
    assert.equal(lookUp('0.0.0.127'), '');
    assert.equal(lookUp('2.0.0.127'), '127.0.0.2');
  } finally {
    await stopChild(child);
  }
});

it('HAProxy builds the name in hex and denies who is listed', async (context) => {
  if (!hasTool(context, 'haproxy')) return;
  const ownPort = await freePort();
  const config = `${directory.path}/haproxy.cfg`;
  const text = sample('haproxy')
    .replace('127.0.0.1:5300', `127.0.0.1:${port}`)
    .replace('bind 127.0.0.1:8000', `bind 127.0.0.1:${ownPort} accept-proxy`);
  const timeouts =
    'defaults\n    timeout client 60s\n    timeout server 60s\n    timeout connect 60s\n';
  writeFileSync(config, `${timeouts}${text}    http-request return status 200\n`);
  const child = spawn('haproxy', ['-db', '-f', config], { stdio: 'ignore' });
  try {
    const status = async (ip: string) => {
      const head = `PROXY TCP4 ${ip} 127.0.0.1 999 ${ownPort}\r\n`;
      const answer = await talk(ownPort, [`${head}GET / HTTP/1.0\r\n\r\n`]).catch(() => '');
      return answer.slice(9, 12);
    };
    await within(async () => (await status('45.10.0.7')) === '403', 'the refusal');
    assert.equal(await status('45.10.0.8'), '200');
  } finally {
    await stopChild(child);
  }
});

/** What comes back until the other side closes. */
function talk(target: number, lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(target, '127.0.0.1');
    socket.on('error', reject);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => resolve(Buffer.concat(chunks).toString()));
    socket.write(lines.join(''));
  });
}

/**
 * Postfix asks the system's name server, so it gets a network and files of its own. Its client says who it
 * is (XCLIENT), as a proxy in front would.
 */
const postfixScript = `
ip link set lo up
mkdir -p $DIR/conf $DIR/spool $DIR/lib $DIR/data
echo 'nameserver 127.0.0.1' > $DIR/resolv.conf
mount --bind $DIR/resolv.conf /etc/resolv.conf
mount --bind $DIR/spool /var/spool/postfix
cp /usr/share/postfix/master.cf.dist $DIR/conf/master.cf
sed -i 's/^smtp      inet  n       -       y/smtp inet n - n/; s/^\\([a-z].*\\)  y  /\\1  n  /' $DIR/conf/master.cf
cat > $DIR/conf/main.cf
chown -R postfix $DIR/lib
LOG_LEVEL=debug DATA_DIR=$DIR/data PORT=8080 DNS_ZONE=${zone} DNS_LISTEN=127.0.0.1:53 $NODE $ENTRY serve --demo 2> $DIR/server.log >&2 &
server=$!
until grep -q 'dns: listening' $DIR/server.log && grep -q 'Stop with Ctrl-C' $DIR/server.log; do sleep 0.2; kill -0 $server; done
postfix -c $DIR/conf start
trap 'postfix -c $DIR/conf abort; kill $server; wait $server' EXIT
for address in $ADDRESSES; do
  echo "== $address"
  ADDRESS=$address timeout 120 $NODE -e "$DIALOGUE"
done
`;

/** Sends the next line when the answer to the last one is there: XCLIENT must not be pipelined. */
const dialogue = `
const lines = ['EHLO test', 'XCLIENT ADDR=' + process.env.ADDRESS, 'EHLO test',
  'MAIL FROM:<a@example.org>', 'RCPT TO:<root@mail.test>', 'QUIT'];
const socket = require('node:net').connect(25, '127.0.0.1');
let said = '';
socket.on('data', (chunk) => {
  process.stdout.write(chunk);
  said += chunk;
  if (!/^\\d{3} .*\\r\\n$/m.test(said)) return;
  said = '';
  const line = lines.shift();
  if (line !== undefined) socket.write(line + '\\r\\n');
});
`;

it('Postfix rejects who is listed, with the reason', async (context) => {
  if (!hasTool(context, 'postfix') || !hasNetworkNamespace(context)) return;
  const own = `${directory.path}/postfix`;
  mkdirSync(own);
  const main = `compatibility_level = 3.6
queue_directory = /var/spool/postfix
data_directory = ${own}/lib
maillog_file = ${own}/mail.log
maillog_file_prefixes = /tmp
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.test
mydestination = mail.test
local_recipient_maps =
alias_maps =
smtpd_authorized_xclient_hosts = 127.0.0.1
smtpd_recipient_restrictions = reject_unauth_destination
${sample('postfix')}`;
  const env = {
    PATH: '/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin',
    DIR: own,
    NODE: process.execPath,
    ENTRY: entry,
    DIALOGUE: dialogue,
    ADDRESSES: '198.51.100.7 8.8.8.8',
  };
  const child = spawn('unshare', ['--net', '--mount', 'sh', '-e', '-c', postfixScript], { env });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    said += String(chunk);
  });
  child.stdin.end(main);
  await once(child, 'close');
  const [, listed = '', clean = ''] = said.split(/^== .*$/m);
  assert.match(
    listed,
    /^554 5\.7\.1 .*\[198\.51\.100\.7\] blocked using bl\.example\.org; score \d+ of 100, /m,
    said,
  );
  assert.match(clean, /^250 2\.1\.5 Ok/m, said);
});

/** A mail that came from that address. */
const mailFrom = (address: string) =>
  [
    `Received: from x (x [${address}]) by mail.test (Postfix) with ESMTP id 1; Sun, 22 Nov 2026 10:00:00 +0000`,
    ...['From: a@example.org', 'To: b@mail.test', 'Subject: hello', 'Message-ID: <1@example.org>'],
    ...['Date: Sun, 22 Nov 2026 10:00:00 +0000', '', 'hello', ''],
  ].join('\n');

it('SpamAssassin scores a mail by its last relay', async (context) => {
  if (!hasTool(context, 'spamassassin')) return;
  const own = `${directory.path}/spamassassin`;
  for (const folder of ['rules', 'site']) mkdirSync(`${own}/${folder}`, { recursive: true });
  const plugins = ['Check', 'DNSEval'].map(
    (name) => `loadplugin Mail::SpamAssassin::Plugin::${name}`,
  );
  writeFileSync(`${own}/rules/a.pre`, `${plugins.join('\n')}\n`);
  const text = sample('spamassassin').replace('[127.0.0.1]:5300', `[127.0.0.1]:${port}`);
  const shown = 'dns_available yes\nadd_header all Tests _TESTSSCORES_\n';
  writeFileSync(`${own}/rules/local.cf`, text + shown);
  writeFileSync(`${own}/prefs`, '');
  const args = ['-t', '-C', `${own}/rules`, `--siteconfigpath=${own}/site`, '-p', `${own}/prefs`];
  const tests = (address: string) => {
    const { stdout, stderr } = spawnSync('spamassassin', args, {
      input: mailFrom(address),
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: own },
    });
    return /^X-Spam-Tests: (.*)$/m.exec(stdout)?.[1] ?? stdout + stderr;
  };
  assert.equal(tests('45.10.0.7'), 'RCVD_IN_PORTCULLIS=4');
  assert.equal(tests('45.10.0.8'), 'none');
});

it('rspamd gives a mail its symbol', async (context) => {
  if (!hasTool(context, 'rspamd')) return;
  const own = `${directory.path}/rspamd`;
  mkdirSync(own);
  const ownPort = await freePort();
  writeFileSync(`${own}/tld`, 'com\norg\ntest\n');
  const config = `options {
  pidfile = "${own}/pid"; tempdir = "${own}"; url_tld = "${own}/tld"; filters = "";
  dns { nameserver = ["127.0.0.1:${port}"]; timeout = 30s; }
}
logging { type = "file"; filename = "${own}/log"; level = "notice"; }
worker "normal" { bind_socket = "127.0.0.1:${ownPort}"; count = 1; }
lua = "/usr/share/rspamd/rules/rspamd.lua";
modules { path = "/usr/share/rspamd/plugins/rbl.lua"; }
actions { reject = 15; }
rbl { ${sample('rspamd')} }
group "rbl" { symbols { RBL_PORTCULLIS { weight = 4.0; } } }
`;
  writeFileSync(`${own}/rspamd.conf`, config);
  const user = process.getuid?.() === 0 ? ['-i', '-u', 'root', '-g', 'root'] : [];
  const vars = ['--var', `DBDIR=${own}`, '--var', `RUNDIR=${own}`];
  const child = spawn('rspamd', ['-f', ...user, '-c', `${own}/rspamd.conf`, ...vars], {
    stdio: 'ignore',
  });
  try {
    const symbols = async (address: string) => {
      const answer = await fetch(`http://127.0.0.1:${ownPort}/checkv2`, {
        method: 'POST',
        headers: { IP: address },
        body: mailFrom(address),
      });
      return Object.keys(((await answer.json()) as { symbols: object }).symbols);
    };
    await within(() => symbols('45.10.0.8').then(Boolean, () => false), 'the start');
    assert.ok((await symbols('45.10.0.7')).includes('RBL_PORTCULLIS'));
    assert.ok(!(await symbols('45.10.0.8')).includes('RBL_PORTCULLIS'));
  } finally {
    await stopChild(child);
  }
});

it('rbldnsd over the same entries gives the same codes for whole addresses', async (context) => {
  if (!hasTool(context, 'rbldnsd')) return;
  const peerPort = await freePort();
  const test = '127.0.0.2';
  writeFileSync(`${directory.path}/four.zone`, `:127.0.0.3:\n${test}\n45.10.0.7\n2.0.0.1\n`);
  writeFileSync(`${directory.path}/six.zone`, ':127.0.0.3:\n::ffff:7f00:2\n2001:500:1::7\n');
  const zones = [`${zone}:ip4trie:four.zone`, `${zone}:ip6trie:six.zone`];
  const peer = spawn(
    '/usr/sbin/rbldnsd',
    ['-n', '-w', directory.path, '-b', `127.0.0.1/${peerPort}`, ...zones],
    { stdio: 'ignore' },
  );
  try {
    const codeOf = async (from: number, name: string, type: 'A' | 'TXT') => {
      const resolver = new Resolver({ timeout: 5_000, tries: 4 });
      resolver.setServers([`127.0.0.1:${from}`]);
      const asked = type === 'A' ? resolver.resolve4(name) : resolver.resolveTxt(name);
      return await asked.then(
        () => 'found',
        (error: NodeJS.ErrnoException) => error.code,
      );
    };
    const listed = `7.0.10.45.${zone}`;
    await within(async () => (await codeOf(peerPort, listed, 'A')) === 'found', 'the peer');
    await within(async () => (await codeOf(port, listed, 'A')) === 'found', 'the row');
    const six = (digits: string) => [...digits].reverse().join('.');
    const names = ['7.0.10.45', '8.0.10.45', '1.0.0.2', '2.0.0.127', '1.0.0.127', '0.0.0.127'];
    names.push(six('20010500000100000000000000000007'), six('20010500000100000000000000000008'));
    names.push(six('00000000000000000000ffff7f000002'), six('00000000000000000000ffff7f000001'));
    names.push('256.0.10.45', 'x.7.0.10.45', 'www', '10.8.8.8');
    for (let i = 0; i < 100; i++) names.push([i % 10, i % 7, i % 4, 4 + (i % 6)].join('.'));
    for (const name of names) {
      const whole = `${name}.${zone}`;
      const said = await codeOf(port, whole, 'A');
      assert.equal(said, await codeOf(peerPort, whole, 'A'), whole);
    }
  } finally {
    await stopChild(peer);
  }
});
