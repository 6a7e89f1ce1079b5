/**
 * Lists what can be connected, and by which steps: the recipes of the feeds and the samples of the
 * documentation, filled in with what this server and its reader have. Nothing here is written
 * twice.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bandStarts } from '../../contracts/reputation.ts';
import { parseHostPort } from '../../integrations/thread.ts';
import type { ScoreTier } from '../../reputation/blocklists/feed-definitions.ts';
import {
  type FamilyChoice,
  type RecipeName,
  recipesFor,
  type SnippetDestination,
} from '../../reputation/blocklists/recipes.ts';

/** By what it asks, which is also what it needs. */
export type Integration =
  | 'feed'
  | 'gate'
  | 'spoe'
  | 'bouncer'
  | 'policy'
  | 'dns'
  | 'api'
  | 'plugin'
  | 'signOn'
  | 'captcha';

export const groupNames = ['block', 'report', 'signOn', 'captcha', 'mail'] as const;
type GroupName = (typeof groupNames)[number];

/** A group of many tiles stands in shelves, what most people run first. */
export const shelves = {
  proxies: [
    ...['nginx', 'nginx-list', 'nginx-geo', 'caddy', 'traefik', 'envoy'],
    ...['haproxy', 'haproxy-list'],
  ],
  firewalls: [
    ...['nftables', 'ipset', 'opnsense', 'mikrotik', 'crowdsec-firewall'],
    ...['crowdsec-custom', 'firehol'],
  ],
  sites: ['wordpress', 'php', 'node', 'python'],
  files: ['cron', 'unbound', 'rbldnsd'],
} as const;
export const shelfNames = Object.keys(shelves) as (keyof typeof shelves)[];
/** Most people look for these. */
export const popularNames = ['nginx', 'wordpress', 'fail2ban', 'sign-in-php'] as const;

/** A reader may choose these on a screen; the choices fill in the steps. */
export const choiceNames = ['domain', 'app', 'challenge', 'block', 'score', 'family'] as const;
export type ChoiceName = (typeof choiceNames)[number];

export interface SampleValues {
  /** The screen knows the first request by it; undefined: the steps carry none. */
  readonly mark: string | undefined;
  /** Both if undefined. */
  readonly family?: FamilyChoice | undefined;
  readonly score: ScoreTier;
  /** The reader's own, where it may be shown. */
  readonly key: string | undefined;
  /** The reader's newest one. */
  readonly siteKey?: string | undefined;
  /** The site that is protected, or that visitors sign in to. */
  readonly domain?: string | undefined;
  /** The address of the program behind the proxy. */
  readonly app?: string | undefined;
  /** Scores of the gate: from which there is a challenge, and from which nobody gets in. */
  readonly challenge?: number | undefined;
  readonly block?: number | undefined;
  /** Sets a chosen value apart in the code; without it the value stands there alone. */
  readonly placeholder?: ((name: ChoiceName, text: string) => string) | undefined;
}

/** The sample's own values. */
export const usualDomain = 'site.example';
const usualHost = '127.0.0.1:3000';
export const usualApp = `http://${usualHost}`;
export const usualChallenge = bandStarts.suspect;
export const usualBlock = bandStarts.malicious;

/** The code of a step goes there. */
type StepDestination = SnippetDestination | 'terminal' | 'settings' | 'baseUrl';

/** Says what is done at a step: its title and its sentence stand in the words. */
type StepName =
  | 'saveScript'
  | 'makeFolder'
  | 'saveRules'
  | 'saveServerBlock'
  | 'saveFile'
  | 'saveCode'
  | 'addLines'
  | 'load'
  | 'fetch'
  | 'trust'
  | 'reload'
  | 'openSite'
  | 'opnsense'
  | 'blockAlias'
  | 'mikrotik'
  | 'askDns'
  | 'saveZone'
  | 'restartResolver'
  | 'setKey'
  | 'setKeyPhp'
  | 'ask'
  | 'askCode'
  | 'report'
  | 'makeAction'
  | 'addJail'
  | 'restart'
  | 'changeUrl'
  | 'download'
  | 'upload'
  | 'fillIn'
  | 'addButton'
  | 'begin'
  | 'callback'
  | 'start'
  | 'siteKey'
  | 'addWidget'
  | 'verify'
  | 'tryForm'
  | 'formsOn'
  | 'guardOn';

export interface ConnectStep {
  readonly id: string;
  readonly says: StepName;
  readonly destination: StepDestination;
  /** Empty: the step has nothing to paste. */
  readonly code: string;
  /** Each does the same elsewhere: the reader takes one. */
  readonly others?: readonly Pick<ConnectStep, 'id' | 'destination' | 'code'>[];
}

interface Part {
  /** The name in the path of its page. */
  readonly name: string;
  /** As its makers write it; the same in all languages. */
  readonly title: string;
  /** One to three letters in place of a trademark. */
  readonly letters: string;
  /** It does nothing else with its key: no check of another tool is taken for it. */
  readonly reportsOnly?: boolean;
  readonly choices: readonly ChoiceName[];
  steps(sampleValues: SampleValues): readonly ConnectStep[];
}

export interface ConnectTarget extends Part {
  readonly group: GroupName;
  readonly integration: Integration;
}

export interface TargetFacts {
  readonly baseUrl: string;
  readonly secureUrl: string;
  /** Host and port that a proxy on the server's machine asks. */
  readonly proxied: string;
  /** TRUSTED_PROXIES holds 127.0.0.1, from where such a proxy asks. */
  readonly trustsLoopback: boolean;
  readonly dnsZone: string | undefined;
  /** Addresses and ports that answer DNS queries. */
  readonly dnsListen: readonly string[];
  /** Address and port that answer HAProxy. */
  readonly spoe: string | undefined;
  readonly sample: TakeSample;
}

/** Stands in place of a key that is not shown. */
export const keyPlaceholder = 'pcl_…';
export const sampleSiteKey = 'pcs_…';
const sampleHost = '127.0.0.1:8080';
const sampleZone = 'bl.example.org';
const sampleDns = '127.0.0.1:5300';
const feedFolder = '/var/lib/portcullis';
const feedScript = '/usr/local/sbin/portcullis-feed';
/** The samples in docs/ use this score, from which on a check calls an address malicious. */
const usualScore: ScoreTier = 75;

function file(says: StepName, id: string, path: string, code: string): ConnectStep {
  return { id, says, destination: { file: path }, code };
}

function shell(says: StepName, id: string, ...lines: string[]): ConnectStep {
  return { id, says, destination: 'shell', code: `${lines.join('\n')}\n` };
}

/** Says what the texts of a recipe are for, by their place in it. */
const recipeSays: Readonly<Record<string, StepName>> = {
  'refresh-script': 'saveScript',
  'ipset-run': 'load',
  'nftables-rules': 'saveRules',
  'nftables-run': 'load',
  'haproxy-fetch': 'fetch',
  'haproxy-rules': 'addLines',
  'haproxy-run': 'reload',
  'opnsense-url': 'opnsense',
  'mikrotik-run': 'mikrotik',
  'refresh-run': 'load',
  'nginx-run': 'load',
  'nginx-geo-run': 'load',
  'firehol-run': 'load',
  'firehol-rules': 'addLines',
  'rbldnsd-run': 'load',
  'unbound-run': 'restartResolver',
};

const blockAlias: ConnectStep = {
  id: 'opnsense-rule',
  says: 'blockAlias',
  destination: 'terminal',
  code: '',
};

function feedTargets({ secureUrl }: TargetFacts): Part[] {
  const of = (
    name: string,
    title: string,
    letters: string,
    recipe: RecipeName,
    /** True: the recipe works without `portcullis-feed`, or installs it itself. */
    isAlone = false,
    choices: readonly ('family' | 'score')[] = ['family', 'score'],
  ) => ({
    name,
    title,
    letters,
    choices,
    steps({ family, score, mark }: SampleValues) {
      const chosen = {
        mark,
        family: choices.includes('family') ? family : undefined,
        score: score === usualScore || !choices.includes('score') ? undefined : score,
      };
      const recipes = recipesFor(`${secureUrl}/feeds`, chosen);
      const steps = (isAlone ? recipes[recipe] : [recipes.refresh[0]!, ...recipes[recipe]]).map(
        (one): ConnectStep => ({ ...one, says: recipeSays[one.id] ?? 'saveFile' }),
      );
      const folder = shell(
        'makeFolder',
        'feed-folder',
        `mkdir -p ${feedFolder} && chmod 755 ${feedScript}`,
      );
      // An alias alone blocks nothing.
      if (recipe === 'opnsense') return [...steps, blockAlias];
      return isAlone ? steps : [steps[0]!, folder, ...steps.slice(1)];
    },
  });
  return [
    of('haproxy-list', 'HAProxy, list', 'HA', 'haproxy'),
    of('nftables', 'nftables', 'nft', 'nftables'),
    of('ipset', 'iptables + ipset', 'ipt', 'ipset'),
    of('opnsense', 'OPNsense, pfSense', 'OPN', 'opnsense', true),
    of('mikrotik', 'MikroTik RouterOS', 'MT', 'mikrotik', true),
    of('nginx-list', 'nginx, list', 'ng', 'nginx', false, ['family']),
    of('nginx-geo', 'nginx, geo', 'geo', 'nginxGeo', false, ['family']),
    of('firehol', 'FireHOL', 'FH', 'firehol', true, ['score']),
    of('rbldnsd', 'rbldnsd', 'rbl', 'rbldnsd', false, []),
    of('unbound', 'unbound', 'Un', 'unbound', true, ['family']),
    of('cron', 'cron + curl', '>_', 'refresh', true),
  ];
}

const plain = (_: ChoiceName, text: string) => text;

/** Returns the pairs that put the chosen policy of the gate into a sample. */
function policyPairs({
  challenge,
  block,
  mark,
  placeholder = plain,
}: SampleValues): [string, string][] {
  const from = placeholder('challenge', String(challenge ?? usualChallenge));
  const to = placeholder('block', String(block ?? usualBlock));
  const marked = mark === undefined ? '' : `&mark=${mark}`;
  return [
    [`challenge=${usualChallenge}&block=${usualBlock}`, `challenge=${from}&block=${to}${marked}`],
  ];
}

/** The setting that lets this server believe a proxy on its machine. */
function trust(id: string): ConnectStep {
  return { id, says: 'trust', destination: 'settings', code: 'TRUSTED_PROXIES=127.0.0.1\n' };
}

/** A step without a text: the page shows a button for the chosen domain. */
const openSite: ConnectStep = {
  id: 'open-site',
  says: 'openSite',
  destination: 'terminal',
  code: '',
};

function gateTargets({ proxied, sample }: TargetFacts): Part[] {
  const of = (
    name: string,
    title: string,
    letters: string,
    path: string,
    /** The command that checks and reloads the proxy; undefined: it watches its file. */
    reload: string | undefined,
    /** The proxy's file names the site, and the app as a URL or as host and port. */
    app: 'url' | 'host' | undefined,
    number = 0,
  ): Part => ({
    name,
    title,
    letters,
    choices: app === undefined ? ['challenge', 'block'] : ['domain', 'app', 'challenge', 'block'],
    steps(sampleValues) {
      const { domain = usualDomain, app: to = usualApp, placeholder = plain } = sampleValues;
      const shown = app === 'host' ? to.replace(/^http:\/\//, '') : to;
      const own: [string, string][] =
        app === undefined
          ? []
          : [
              [usualDomain, placeholder('domain', domain)],
              [app === 'host' ? usualHost : usualApp, placeholder('app', shown)],
            ];
      const pairs = [
        [sampleHost, proxied] as [string, string],
        ...own,
        ...policyPairs(sampleValues),
      ];
      return [
        file(
          'saveServerBlock',
          `${name}-gate`,
          path,
          filledIn(sample('GATE.md', name, number), pairs),
        ),
        trust(`${name}-trust`),
        ...(reload === undefined ? [] : [shell('reload', `${name}-reload`, reload)]),
        openSite,
      ];
    },
  });
  return [
    of(
      ...(['nginx', 'nginx', 'ng', '/etc/nginx/conf.d/site.conf'] as const),
      'nginx -t && systemctl reload nginx',
      'url',
      // The first one shows the question alone.
      1,
    ),
    of(
      ...(['caddy', 'Caddy', 'Ca', '/etc/caddy/Caddyfile'] as const),
      'caddy validate --config /etc/caddy/Caddyfile && systemctl reload caddy',
      'host',
    ),
    of(
      ...(['traefik', 'Traefik', 'Tr', '/etc/traefik/dynamic/portcullis.yaml'] as const),
      undefined,
      'url',
    ),
    of('envoy', 'Envoy', 'En', 'envoy.yaml', undefined, undefined),
  ];
}

function bouncerTargets({ secureUrl, sample }: TargetFacts): Part[] {
  const of = (
    name: string,
    title: string,
    letters: string,
    number: number,
    /** Checks the settings. */
    test = '',
  ): Part => ({
    name,
    title,
    letters,
    choices: ['family'],
    steps: ({ family }) => {
      const program = `${name}-bouncer`;
      const path = `/etc/crowdsec/bouncers/${program}.yaml`;
      const settings = filledIn(sample('BOUNCERS.md', 'yaml', number), [
        [`http://${sampleHost}/`, `${secureUrl}/`],
      ]);
      const chosen =
        family === undefined ? '' : `scenarios_containing: [portcullis-ipv${family}]\n`;
      return [
        file('saveFile', `${name}-settings`, path, `${settings}${chosen}`),
        shell('restart', `${name}-start`, `${test}systemctl restart ${program}`),
      ];
    },
  });
  return [
    of(
      ...(['crowdsec-firewall', 'CrowdSec firewall', 'CS', 0] as const),
      'crowdsec-firewall-bouncer -t -c /etc/crowdsec/bouncers/crowdsec-firewall-bouncer.yaml && ',
    ),
    of('crowdsec-custom', 'CrowdSec custom', 'Cc', 1),
  ];
}

const sampleSpoe = '127.0.0.1:9002';

function haproxy({ proxied, spoe = sampleSpoe, sample }: TargetFacts): Part {
  return {
    name: 'haproxy',
    title: 'HAProxy, live',
    letters: 'HA',
    choices: ['app', 'challenge', 'block'],
    steps(sampleValues) {
      const { app = usualApp, placeholder = plain } = sampleValues;
      return [
        file(
          ...(['saveFile', 'haproxy-spoe', '/etc/haproxy/portcullis.conf'] as const),
          filledIn(sample('GATE.md', 'spoe'), policyPairs(sampleValues)),
        ),
        file(
          ...(['saveServerBlock', 'haproxy-site', '/etc/haproxy/haproxy.cfg'] as const),
          filledIn(sample('GATE.md', 'haproxy'), [
            [sampleHost, proxied],
            [sampleSpoe, spoe],
            [usualHost, placeholder('app', app.replace(/^https?:\/\//, ''))],
          ]),
        ),
        trust('haproxy-trust'),
        shell(
          'reload',
          'haproxy-run',
          'haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl reload haproxy',
        ),
        openSite,
      ];
    },
  };
}

/** Each program writes the zone's answers from a score on in its own way. */
const dnsRanges: Readonly<Record<ScoreTier, { postfix: string; pattern: string; codes: string }>> =
  {
    75: { postfix: '[2..4]', pattern: '[2-4]', codes: '"127.0.0.2", "127.0.0.3", "127.0.0.4"' },
    85: { postfix: '[3..4]', pattern: '[3-4]', codes: '"127.0.0.3", "127.0.0.4"' },
    95: { postfix: '4', pattern: '4', codes: '"127.0.0.4"' },
  };

function dnsTargets({ dnsZone = sampleZone, dnsListen, sample }: TargetFacts): Part[] {
  const usual = dnsRanges[usualScore];
  const { address: host, port } = parseHostPort(dnsListen[0] ?? sampleDns)!;
  const resolver: readonly ConnectStep[] = [
    file(
      ...(['saveZone', 'unbound-zone'] as const),
      '/etc/unbound/unbound.conf.d/portcullis-dnsbl.conf',
      filledIn(sample('DNSBL.md', 'unbound'), [
        [sampleZone, dnsZone],
        [sampleDns.replace(':', '@'), `${host}@${port}`],
      ]),
    ),
    shell('restartResolver', 'unbound-run', 'unbound-checkconf && systemctl restart unbound'),
  ];
  const of = (
    name: string,
    title: string,
    letters: string,
    path: string,
    part: keyof typeof usual,
    run: string,
    /** It asks the server itself. */
    isDirect = false,
  ): Part => ({
    name,
    title,
    letters,
    choices: ['score'],
    steps: ({ score, mark }) => {
      const direct: [string, string][] = isDirect
        ? [[`[${sampleDns.replace(':', ']:')}`, `[${host}]:${port}`]]
        : [];
      const text = filledIn(sample('DNSBL.md', name), [
        [sampleZone, dnsZone],
        [usual[part], dnsRanges[score][part]],
        ...direct,
      ]);
      const at = isDirect ? `@${host} -p ${port} ` : '';
      const below = mark === undefined ? dnsZone : `${mark}.${dnsZone}`;
      const ask = `dig +short ${at}2.0.0.127.${below}\n`;
      return [
        ...(isDirect ? [] : resolver),
        file('addLines', `${name}-zone`, path, text),
        shell('reload', `${name}-run`, run),
        { id: `${name}-ask`, says: 'askDns', destination: 'terminal', code: ask },
      ];
    },
  });
  return [
    of(
      ...(['postfix', 'Postfix', 'Pf', '/etc/postfix/main.cf', 'postfix'] as const),
      'postfix check && systemctl reload postfix',
    ),
    of(
      ...(['rspamd', 'rspamd', 'rs', '/etc/rspamd/local.d/rbl.conf', 'codes'] as const),
      'rspamadm configtest && systemctl reload rspamd',
    ),
    of(
      ...(['spamassassin', 'SpamAssassin', 'SA', '/etc/spamassassin/local.cf', 'pattern'] as const),
      'spamassassin --lint && systemctl restart spamd',
      true,
    ),
  ];
}

/** Each version refuses the form of the other. */
function dovecotTargets({ secureUrl, sample }: TargetFacts): Part[] {
  const of = (name: string, title: string, language: string): Part => ({
    name,
    title,
    letters: 'Dov',
    choices: [],
    steps: () => [
      file(
        ...(['saveFile', `${name}-settings`, '/etc/dovecot/conf.d/95-portcullis.conf'] as const),
        filledIn(sample('DOVECOT.md', language), [[`http://${sampleHost}/`, `${secureUrl}/`]]),
      ),
      shell('reload', `${name}-run`, 'doveconf -n > /dev/null && systemctl reload dovecot'),
      {
        id: `${name}-ask`,
        says: 'ask',
        destination: 'terminal',
        code: filledIn(sample('DOVECOT.md', 'sh'), [
          ['{secure_url}', secureUrl],
          ['$KEY', keyPlaceholder],
        ]),
      },
    ],
  });
  return [of('dovecot', 'Dovecot 2.4', 'dovecot24'), of('dovecot-2-3', 'Dovecot 2.3', 'dovecot')];
}

/** The address is in a range for documentation, so it belongs to nobody. */
const asked = '192.0.2.1';

function setKey({ key = keyPlaceholder }: SampleValues): ConnectStep {
  return {
    id: 'key',
    says: 'setKey',
    destination: 'terminal',
    code: `export PORTCULLIS_KEY='${key}'\n`,
  };
}

/** PHP behind a web server has not the variables of a terminal. */
function setKeyPhp({ key = keyPlaceholder }: SampleValues): ConnectStep {
  return {
    id: 'key-fpm',
    says: 'setKeyPhp',
    destination: { file: 'php-fpm: pool.d/www.conf' },
    code: `env[PORTCULLIS_KEY] = "${key}"\n`,
    others: [
      {
        id: 'key-apache',
        destination: { file: 'Apache (mod_php): <VirtualHost>' },
        code: `SetEnv PORTCULLIS_KEY "${key}"\n`,
      },
      { id: 'key', destination: 'terminal', code: `export PORTCULLIS_KEY='${key}'\n` },
    ],
  };
}

function codeTargets({ secureUrl, sample }: TargetFacts): Part[] {
  const guide = 'site/ask-about-an-address.md';
  const of = (
    name: string,
    title: string,
    letters: string,
    path: string,
    language: string,
    /** Asks once. */
    run: string,
    /** The test of a verdict, and the same by score. */
    test?: readonly [string, (score: ScoreTier) => string],
  ): Part => ({
    name,
    title,
    letters,
    choices: test === undefined ? [] : ['score'],
    steps: (sampleValues) => {
      const byScore: [string, string][] =
        sampleValues.score === usualScore || test === undefined
          ? []
          : [[test[0], test[1](sampleValues.score)]];
      const code = filledIn(sample(guide, language), [['{secure_url}', secureUrl], ...byScore]);
      return [
        language === 'php' ? setKeyPhp(sampleValues) : setKey(sampleValues),
        file('saveCode', `${name}-code`, path, code),
        { id: `${name}-run`, says: 'askCode', destination: 'terminal', code: `${run}\n` },
      ];
    },
  });
  const php = "verdict($_SERVER['REMOTE_ADDR'])";
  return [
    of(
      ...(['php', 'PHP', 'PHP', 'portcullis.php', 'php'] as const),
      // The file's own test of the visitor lets this one in.
      `REMOTE_ADDR=${asked} php -r 'require "portcullis.php";
  var_dump($found = verdict("${asked}")); exit($found ? 0 : 1);'`,
      [
        `${php}['malicious'] ?? false`,
        (score) => `(${php}['abuseConfidenceScore'] ?? 0) >= ${score}`,
      ],
    ),
    of(
      ...(['node', 'Node.js', 'JS', 'portcullis.mjs', 'js'] as const),
      `echo "const found = await verdict('${asked}'); console.log(found); process.exitCode = found ? 0 : 1" | cat portcullis.mjs - | node --input-type=module`,
    ),
    of(
      ...(['python', 'Python', 'Py', 'portcullis.py', 'python'] as const),
      `python3 -c "import portcullis; print(portcullis.ask('check', ipAddress='${asked}'))"`,
      ['["malicious"]', (score) => `["abuseConfidenceScore"] >= ${score}`],
    ),
  ];
}

/** Each server takes this address and keeps nothing of it. */
const tried = '127.0.0.1';

function reportTargets({ secureUrl }: TargetFacts): Part[] {
  const actions = '/etc/fail2ban/action.d';
  return [
    // Debian's own action for AbuseIPDB, with this server in the place of that one.
    {
      name: 'fail2ban',
      title: 'fail2ban',
      letters: 'f2b',
      reportsOnly: true,
      choices: [],
      steps: ({ key = keyPlaceholder }) => [
        shell(
          ...(['makeAction', 'fail2ban-action'] as const),
          `sed 's#https://api.abuseipdb.com#${secureUrl}#' \\`,
          `  ${actions}/abuseipdb.conf \\`,
          `  > ${actions}/portcullis.conf`,
        ),
        file(
          ...(['addJail', 'fail2ban-jail', '/etc/fail2ban/jail.d/portcullis.local'] as const),
          `[sshd]
enabled = true
action = %(action_)s
         portcullis[abuseipdb_apikey="${key}", abuseipdb_category="18,22"]
`,
        ),
        shell('restart', 'fail2ban-run', 'fail2ban-client -t && systemctl restart fail2ban'),
      ],
    },
    {
      name: 'script',
      title: 'Any script',
      letters: '{ }',
      reportsOnly: true,
      choices: [],
      steps: (sampleValues) => [
        setKey(sampleValues),
        {
          id: 'script-report',
          says: 'report',
          destination: 'terminal',
          code: `curl -sS -H "Key: $PORTCULLIS_KEY" '${secureUrl}/api/v2/report' \\
  -d ip=${tried} -d categories=18,22 --data-urlencode comment='SSH brute force'
`,
        },
      ],
    },
    {
      name: 'abuseipdb',
      title: 'AbuseIPDB',
      letters: 'A→P',
      choices: [],
      steps: (sampleValues) => [
        setKey(sampleValues),
        {
          id: 'abuseipdb-url',
          says: 'changeUrl',
          destination: 'baseUrl',
          code: `${secureUrl}/api/v2\n`,
        },
        {
          id: 'abuseipdb-check',
          says: 'ask',
          destination: 'terminal',
          code: `curl -sS -G -H "Key: $PORTCULLIS_KEY" '${secureUrl}/api/v2/check' -d ipAddress=${asked}\n`,
        },
      ],
    },
  ];
}

/** The plugin: it signs visitors in, guards forms and reports. */
function wordpress(name: string, title: string, last: StepName): Part {
  const field = (id: string, says: StepName, code: string): ConnectStep => {
    return { id, says, destination: 'terminal', code };
  };
  return {
    name,
    title,
    letters: 'W',
    choices: [],
    steps: ({ key = keyPlaceholder }) => [
      field('wordpress-get', 'download', ''),
      field('wordpress-upload', 'upload', ''),
      field('wordpress-key', 'fillIn', `${key}\n`),
      field('wordpress-last', last, ''),
    ],
  };
}

/** A site that a sign-in can name: a name below `.example` is refused. */
export const sampleClient = 'example.com';
const samplePort = '3000';
/** A program on the developer's machine, by plain http: a server with demo data lets it be a site. */
const ownMachine = /^(localhost|127\.0\.0\.1)(?::([1-9][0-9]{0,4}))?$/;

/** Returns the name that a site on the developer's machine has as a client; undefined: it is no such site. */
export function ownMachineOf(domain: string): string | undefined {
  return ownMachine.exec(domain)?.[1];
}

function signOnTargets({ baseUrl, sample }: TargetFacts): Part[] {
  const guide = 'site/sign-in-button.md';
  const fill = ({ domain = sampleClient, placeholder = plain }: SampleValues, code: string) => {
    const [, own, port = samplePort] = ownMachine.exec(domain) ?? [];
    const address = `${own === undefined ? 'https' : 'http'}://${domain}`;
    const listens: [string, string][] = code.includes(`listen(${samplePort})`)
      ? [[`listen(${samplePort})`, `listen(${placeholder('domain', port)})`]]
      : [];
    return filledIn(code, [
      ['{base_url}', baseUrl],
      [`https://${sampleClient}`, placeholder('domain', address)],
      [sampleClient, placeholder('domain', own ?? domain)],
      ...listens,
    ]);
  };
  const button = (path: string): ConnectStep => ({
    id: 'button',
    says: 'addButton',
    destination: { file: 'HTML' },
    code: sample(guide, 'html').replace('"/login"', `"${path}"`),
  });
  return [
    {
      name: 'sign-in-node',
      title: 'Node.js',
      letters: 'JS',
      choices: ['domain'],
      steps: (sampleValues) => [
        file('begin', 'sign-in-code', 'sign-in.mjs', fill(sampleValues, sample(guide, 'js'))),
        button('/login'),
        { id: 'sign-in-run', says: 'start', destination: 'terminal', code: 'node sign-in.mjs\n' },
      ],
    },
    {
      name: 'sign-in-php',
      title: 'PHP',
      letters: 'PHP',
      choices: ['domain'],
      steps: (sampleValues) => [
        file('begin', 'sign-in-login', 'login.php', fill(sampleValues, sample(guide, 'php'))),
        file(
          'callback',
          'sign-in-callback',
          'callback.php',
          fill(sampleValues, sample(guide, 'php', 1)),
        ),
        button('/login.php'),
      ],
    },
  ];
}

function captchaTargets({ baseUrl, secureUrl, sample }: TargetFacts): Part[] {
  const fill = ({ siteKey = sampleSiteKey }: SampleValues, code: string) =>
    filledIn(code.replaceAll('{base_url}', baseUrl), [
      ['{secure_url}', secureUrl],
      [sampleSiteKey, siteKey],
    ]);
  return [
    {
      name: 'captcha',
      title: 'Any form',
      letters: '< >',
      choices: [],
      steps: (sampleValues) => [
        { id: 'captcha-key', says: 'siteKey', destination: 'terminal', code: '' },
        {
          id: 'captcha-form',
          says: 'addWidget',
          destination: { file: 'form.html' },
          code: fill(sampleValues, sample('CAPTCHA.md', 'html')).replace(
            '"/comment"',
            '"comment.php"',
          ),
        },
        setKeyPhp(sampleValues),
        {
          id: 'captcha-verify',
          says: 'verify',
          destination: { file: 'comment.php' },
          code: `<?php\n${fill(sampleValues, sample('CAPTCHA.md', 'php'))}echo $solved ? 'Solved.' : 'Not solved.', PHP_EOL;\n`,
        },
        {
          id: 'captcha-try',
          says: 'tryForm',
          destination: 'terminal',
          code: 'php -S 127.0.0.1:3000\n',
        },
      ],
    },
  ];
}

/** Each is made when it is first looked at; a sample that is gone is an error then. */
export function openTargets(facts: TargetFacts): readonly ConnectTarget[] {
  const as = (
    integration: Integration,
    group: GroupName,
    parts: readonly Part[],
  ): ConnectTarget[] => parts.map((part) => ({ ...part, integration, group }));
  return [
    ...as('gate', 'block', gateTargets(facts)),
    ...as('spoe', 'block', [haproxy(facts)]),
    ...as('feed', 'block', feedTargets(facts)),
    ...as('bouncer', 'block', bouncerTargets(facts)),
    ...as('plugin', 'block', [wordpress('wordpress', 'WordPress', 'guardOn')]),
    ...as('api', 'block', codeTargets(facts)),
    ...as('api', 'report', reportTargets(facts)),
    ...as('signOn', 'signOn', signOnTargets(facts)),
    ...as('captcha', 'captcha', captchaTargets(facts)),
    ...as('plugin', 'captcha', [wordpress('wordpress-forms', 'WordPress forms', 'formsOn')]),
    ...as('dns', 'mail', dnsTargets(facts)),
    ...as('policy', 'mail', dovecotTargets(facts)),
  ];
}

// Samples of the documentation, as they stand in docs/ and as the system tests run them.

/** The code of a fence. `number` is its place among those of its language, from 0. */
type TakeSample = (file: string, language: string, number?: number) => string;

/** @param folder docs/. Throws for a sample that is not there. */
export function openSamples(folder: string): TakeSample {
  const read = new Map<string, string>();
  return (file, language, number = 0) => {
    const text = read.get(file) ?? readFileSync(join(folder, file), 'utf8');
    read.set(file, text);
    const fences = [...text.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)];
    const found = fences.filter(([, name]) => name === language)[number]?.[2];
    if (found === undefined) throw new Error(`${file}: no sample ${number} in ${language}`);
    return found;
  };
}

/** `text` with each pair's first replaced by its second, all at once. Throws where one is not there. */
export function filledIn(text: string, pairs: readonly (readonly [string, string])[]): string {
  for (const [from] of pairs) {
    if (!text.includes(from)) throw new Error(`a sample has no ${from}`);
  }
  const values = new Map(pairs);
  const escaped = [...values.keys()]
    .sort((a, b) => b.length - a.length)
    .map((from) => from.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return text.replace(new RegExp(escaped.join('|'), 'g'), (from) => values.get(from) ?? from);
}
