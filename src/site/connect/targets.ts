/**
 * Lists what can be connected, and by which steps: the recipes of the feeds and the samples of the
 * documentation, filled in with what this server and its reader have. Nothing here is written
 * twice.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEndpoint } from '../../integrations/thread.ts';
import {
  type FamilyChoice,
  type RecipeName,
  recipesFor,
  type SnippetPlace,
} from '../../reputation/blocklists/recipes.ts';

/** By what it asks, which is also what it needs. */
export type Integration = 'feed' | 'gate' | 'spoe' | 'bouncer' | 'dns' | 'api' | 'plugin';

export const groupNames = ['firewalls', 'proxies', 'logs', 'mail', 'sites'] as const;
export type GroupName = (typeof groupNames)[number];

/** A reader may choose these on a screen; the choices fill in the steps. */
export type ChoiceName = 'family' | 'score';
export const families: readonly FamilyChoice[] = ['4', '6'];
export const scores = [75, 85, 95] as const;
export type Score = (typeof scores)[number];

export interface Filling {
  /** The screen knows the first request by it; undefined: the steps carry none. */
  readonly mark: string | undefined;
  /** Both if undefined. */
  readonly family?: FamilyChoice | undefined;
  readonly score: Score;
  /** The reader's own, where it may be shown. */
  readonly key: string | undefined;
}

/** The code of a step goes there; the place is also the title of the step. */
export type StepPlace = SnippetPlace | 'terminal' | 'wordpressAddress' | 'wordpressKey';

export interface ConnectStep {
  /** Unique on the page. */
  readonly id: string;
  readonly place: StepPlace;
  readonly code: string;
}

export interface ConnectTarget {
  /** In the path of its page. */
  readonly name: string;
  /** As its makers write it; the same in all languages. */
  readonly title: string;
  readonly group: GroupName;
  readonly integration: Integration;
  readonly choices: readonly ChoiceName[];
  steps(filling: Filling): readonly ConnectStep[];
}

export interface TargetFacts {
  readonly baseUrl: string;
  readonly secureUrl: string;
  /** Host and port that a proxy on the server's machine asks. */
  readonly proxied: string;
  readonly dnsZone: string | undefined;
  /** Addresses and ports that answer DNS queries. */
  readonly dnsListen: readonly string[];
  /** Address and port that answer HAProxy. */
  readonly spoe: string | undefined;
  readonly sample: TakeSample;
}

/** In place of a key that is not shown. */
export const keyPlaceholder = 'pcl_…';
const sampleHost = '127.0.0.1:8080';
const sampleZone = 'bl.example.org';
const sampleDns = '127.0.0.1:5300';
const feedFolder = '/var/lib/portcullis';
const feedScript = '/usr/local/sbin/portcullis-feed';
/** The samples in docs/ use this score, from which on a check calls an address malicious. */
const usualScore: Score = 75;

function file(id: string, path: string, code: string): ConnectStep {
  return { id, place: { file: path }, code };
}

function shell(id: string, ...lines: string[]): ConnectStep {
  return { id, place: 'shell', code: `${lines.join('\n')}\n` };
}

type Part = Pick<ConnectTarget, 'name' | 'title' | 'choices'> & Pick<ConnectTarget, 'steps'>;

function feedTargets({ secureUrl }: TargetFacts): (Part & { readonly group: GroupName })[] {
  const of = (
    name: string,
    title: string,
    recipe: RecipeName,
    more: { alone?: boolean; group?: GroupName } = {},
  ) => {
    const { alone = false, group = 'firewalls' } = more;
    return {
      name,
      title,
      group,
      choices: ['family', 'score'] as const,
      steps({ family, score, mark }: Filling) {
        const chosen = {
          family,
          mark,
          score: score === usualScore ? undefined : score,
        };
        const recipes = recipesFor(`${secureUrl}/feeds`, chosen);
        const [script] = recipes.refresh;
        const folder = shell('feed-folder', `mkdir -p ${feedFolder} && chmod 755 ${feedScript}`);
        return alone ? recipes[recipe] : [script!, folder, ...recipes[recipe]];
      },
    };
  };
  return [
    of('nftables', 'nftables', 'nftables'),
    of('ipset', 'iptables + ipset', 'ipset'),
    of('opnsense', 'OPNsense, pfSense', 'opnsense', { alone: true }),
    of('mikrotik', 'MikroTik RouterOS', 'mikrotik', { alone: true }),
    of('haproxy-list', 'HAProxy', 'haproxy', { group: 'proxies' }),
  ];
}

/** The end of a policy. */
function policy(score: Score, mark: string | undefined): string {
  return `block=${score}${mark === undefined ? '' : `&mark=${mark}`}`;
}

function gateTargets({ proxied, sample }: TargetFacts): Part[] {
  const of = (name: string, title: string, path: string) => ({
    name,
    title,
    choices: ['score'] as const,
    steps: ({ score, mark }: Filling) => [
      file(
        `${name}-gate`,
        path,
        filledIn(sample('GATE.md', name), [
          [sampleHost, proxied],
          ['block=75', policy(score, mark)],
        ]),
      ),
    ],
  });
  return [
    of('nginx', 'nginx', '/etc/nginx/conf.d/site.conf'),
    of('caddy', 'Caddy', '/etc/caddy/Caddyfile'),
    of('traefik', 'Traefik', '/etc/traefik/dynamic/portcullis.yaml'),
    of('envoy', 'Envoy', 'envoy.yaml'),
  ];
}

function bouncerTargets({ baseUrl, sample }: TargetFacts): Part[] {
  const of = (
    name: string,
    title: string,
    number: number,
    /** Checks the settings. */
    test = '',
  ) => ({
    name,
    title,
    choices: ['family'] as const,
    steps: ({ family }: Filling) => {
      const program = `${name}-bouncer`;
      const path = `/etc/crowdsec/bouncers/${program}.yaml`;
      const settings = filledIn(sample('BOUNCERS.md', 'yaml', number), [
        [`http://${sampleHost}/`, `${baseUrl}/`],
      ]);
      const chosen =
        family === undefined ? '' : `scenarios_containing: [portcullis-ipv${family}]\n`;
      return [
        file(`${name}-settings`, path, `${settings}${chosen}`),
        shell(`${name}-start`, `${test}systemctl restart ${program}`),
      ];
    },
  });
  return [
    of(
      ...(['crowdsec-firewall', 'CrowdSec firewall bouncer', 0] as const),
      'crowdsec-firewall-bouncer -t -c /etc/crowdsec/bouncers/crowdsec-firewall-bouncer.yaml && ',
    ),
    of('crowdsec-custom', 'CrowdSec custom bouncer', 1),
  ];
}

const sampleSpoe = '127.0.0.1:9002';

function haproxy({ proxied, spoe = sampleSpoe, sample }: TargetFacts): Part {
  return {
    name: 'haproxy',
    title: 'HAProxy',
    choices: ['score'],
    steps: ({ score, mark }) => [
      file(
        'haproxy-spoe',
        '/etc/haproxy/portcullis.conf',
        filledIn(sample('GATE.md', 'spoe'), [['block=75', policy(score, mark)]]),
      ),
      file(
        'haproxy-site',
        '/etc/haproxy/haproxy.cfg',
        filledIn(sample('GATE.md', 'haproxy'), [
          [sampleHost, proxied],
          [sampleSpoe, spoe],
        ]),
      ),
      shell('haproxy-run', 'haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl reload haproxy'),
    ],
  };
}

/** Each program writes the zone's answers from a score on in its own way. */
const dnsRanges: Readonly<Record<Score, { postfix: string; pattern: string; codes: string }>> = {
  75: { postfix: '[2..4]', pattern: '[2-4]', codes: '"127.0.0.2", "127.0.0.3", "127.0.0.4"' },
  85: { postfix: '[3..4]', pattern: '[3-4]', codes: '"127.0.0.3", "127.0.0.4"' },
  95: { postfix: '4', pattern: '4', codes: '"127.0.0.4"' },
};

function dnsTargets({ dnsZone = sampleZone, dnsListen, sample }: TargetFacts): Part[] {
  const usual = dnsRanges[usualScore];
  const { address: host, port } = readEndpoint(dnsListen[0] ?? sampleDns)!;
  const resolver: readonly ConnectStep[] = [
    file(
      'unbound-zone',
      '/etc/unbound/unbound.conf.d/portcullis-dnsbl.conf',
      filledIn(sample('DNSBL.md', 'unbound'), [
        [sampleZone, dnsZone],
        [sampleDns.replace(':', '@'), `${host}@${port}`],
      ]),
    ),
    shell('unbound-run', 'unbound-checkconf && systemctl restart unbound'),
  ];
  const of = (
    name: string,
    title: string,
    path: string,
    part: keyof typeof usual,
    run: string,
    /** It asks the server itself. */
    isDirect = false,
  ) => ({
    name,
    title,
    choices: ['score'] as const,
    steps: ({ score, mark }: Filling) => {
      const places: [string, string][] = isDirect
        ? [[`[${sampleDns.replace(':', ']:')}`, `[${host}]:${port}`]]
        : [];
      const text = filledIn(sample('DNSBL.md', name), [
        [sampleZone, dnsZone],
        [usual[part], dnsRanges[score][part]],
        ...places,
      ]);
      const at = isDirect ? `@${host} -p ${port} ` : '';
      const below = mark === undefined ? dnsZone : `${mark}.${dnsZone}`;
      return [
        ...(isDirect ? [] : resolver),
        file(`${name}-zone`, path, text),
        shell(`${name}-run`, run),
        {
          id: `${name}-ask`,
          place: 'terminal' as const,
          code: `dig +short ${at}2.0.0.127.${below}\n`,
        },
      ];
    },
  });
  return [
    of(
      ...(['postfix', 'Postfix', '/etc/postfix/main.cf', 'postfix'] as const),
      'postfix check && systemctl reload postfix',
    ),
    of(
      ...(['rspamd', 'rspamd', '/etc/rspamd/local.d/rbl.conf', 'codes'] as const),
      'rspamadm configtest && systemctl reload rspamd',
    ),
    of(
      ...(['spamassassin', 'SpamAssassin', '/etc/spamassassin/local.cf', 'pattern'] as const),
      'spamassassin --lint && systemctl restart spamd',
      true,
    ),
  ];
}

/** The address is in a range for documentation, so it belongs to nobody. */
const asked = '192.0.2.1';

function codeTargets({ secureUrl, sample }: TargetFacts): Part[] {
  const key = ({ key: own = keyPlaceholder }: Filling): ConnectStep => {
    return { id: 'key', place: 'terminal', code: `export PORTCULLIS_KEY='${own}'\n` };
  };
  const guide = 'site/ask-about-an-address.md';
  const of = (
    name: string,
    title: string,
    path: string,
    language: string,
    /** Asks once. */
    run: string,
    /** The test of a verdict, and the same by score. */
    test?: readonly [string, (score: Score) => string],
  ) => ({
    name,
    title,
    choices: test === undefined ? [] : (['score'] as const),
    steps: (filling: Filling) => {
      const byScore: [string, string][] =
        filling.score === usualScore || test === undefined
          ? []
          : [[test[0], test[1](filling.score)]];
      const code = filledIn(sample(guide, language), [['{secure_url}', secureUrl], ...byScore]);
      return [
        key(filling),
        file(`${name}-code`, path, code),
        { id: `${name}-run`, place: 'terminal' as const, code: `${run}\n` },
      ];
    },
  });
  const php = "verdict($_SERVER['REMOTE_ADDR'])";
  return [
    of('php', 'PHP', 'portcullis.php', 'php', `REMOTE_ADDR=${asked} php portcullis.php`, [
      `${php}['malicious'] ?? false`,
      (score) => `(${php}['abuseConfidenceScore'] ?? 0) >= ${score}`,
    ]),
    of(
      ...(['node', 'Node.js', 'portcullis.mjs', 'js'] as const),
      `echo "console.log(await verdict('${asked}'))" | cat portcullis.mjs - | node --input-type=module`,
    ),
    of(
      ...(['python', 'Python', 'portcullis.py', 'python'] as const),
      `python3 -c "import portcullis; print(portcullis.is_malicious('${asked}'))"`,
      ['["malicious"]', (score) => `["abuseConfidenceScore"] >= ${score}`],
    ),
  ];
}

/** Debian's own action for AbuseIPDB, with this server in the place of that one. */
function fail2ban({ secureUrl }: TargetFacts): Part {
  const actions = '/etc/fail2ban/action.d';
  return {
    name: 'fail2ban',
    title: 'fail2ban',
    choices: [],
    steps: ({ key = keyPlaceholder }) => [
      shell(
        'fail2ban-action',
        `sed 's#https://api.abuseipdb.com#${secureUrl}#' \\`,
        `  ${actions}/abuseipdb.conf > ${actions}/portcullis.conf`,
      ),
      file(
        'fail2ban-jail',
        '/etc/fail2ban/jail.d/portcullis.local',
        `[sshd]
enabled = true
action = %(action_)s
         portcullis[abuseipdb_apikey="${key}", abuseipdb_category="18,22"]
`,
      ),
      shell('fail2ban-run', 'fail2ban-client -t && systemctl restart fail2ban'),
    ],
  };
}

function wordpress({ baseUrl }: TargetFacts): Part {
  const archive = 'wordpress/portcullis-sign-in.zip';
  return {
    name: 'wordpress',
    title: 'WordPress',
    choices: [],
    steps: ({ key = keyPlaceholder }) => [
      shell('wordpress-get', `curl -fsSO ${baseUrl}/kit.zip`, `unzip -jo kit.zip ${archive}`),
      { id: 'wordpress-address', place: 'wordpressAddress', code: `${baseUrl}\n` },
      { id: 'wordpress-key', place: 'wordpressKey', code: `${key}\n` },
    ],
  };
}

/** Each is made when it is first looked at; a sample that is gone is an error then. */
export function openTargets(facts: TargetFacts): readonly ConnectTarget[] {
  const as = (
    integration: Integration,
    group: GroupName,
    parts: readonly Part[],
  ): ConnectTarget[] => parts.map((part) => ({ ...part, integration, group }));
  const feeds = feedTargets(facts).map((part) => ({ ...part, integration: 'feed' as const }));
  return [
    ...feeds.filter(({ group }) => group === 'firewalls'),
    ...as('bouncer', 'firewalls', bouncerTargets(facts)),
    ...as('gate', 'proxies', gateTargets(facts)),
    ...as('spoe', 'proxies', [haproxy(facts)]),
    ...feeds.filter(({ group }) => group === 'proxies'),
    ...as('api', 'logs', [fail2ban(facts)]),
    ...as('dns', 'mail', dnsTargets(facts)),
    ...as('plugin', 'sites', [wordpress(facts)]),
    ...as('api', 'sites', codeTargets(facts)),
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

/** `text` with each pair's first replaced by its second. Throws where one is not there. */
export function filledIn(text: string, pairs: readonly (readonly [string, string])[]): string {
  let filled = text;
  for (const [from, to] of pairs) {
    if (!filled.includes(from)) throw new Error(`a sample has no ${from}`);
    filled = filled.replaceAll(from, to);
  }
  return filled;
}
