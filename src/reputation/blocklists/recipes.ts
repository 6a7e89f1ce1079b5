/**
 * The recipes by which each firewall takes its feed: the texts of the screens of /connect, in one place, since
 * the system tests run these very texts with the tools of Debian. All are to be pasted by root.
 *
 * Each feed is fetched by one small script that asks with the date of what it has, puts a new list
 * in place whole, and runs the tool's command only then, or when the machine was started anew.
 */

export type RecipeName =
  | 'refresh'
  | 'ipset'
  | 'nftables'
  | 'haproxy'
  | 'nginx'
  | 'nginxGeo'
  | 'opnsense'
  | 'mikrotik'
  | 'firehol'
  | 'rbldnsd'
  | 'unbound';

/** The destination of a text: a shell of root, a field of a form, a router's console, a file of that path. */
export type SnippetDestination = 'shell' | 'address' | 'routeros' | { readonly file: string };

export interface Snippet {
  /** Unique among all recipes. */
  readonly id: string;
  readonly destination: SnippetDestination;
  readonly code: string;
}

export type FamilyChoice = '4' | '6';

export interface RecipeChoice {
  /** Absent: both families. */
  readonly family?: FamilyChoice | undefined;
  /** Least score; absent: that of every feed. */
  readonly score?: number | undefined;
  /** Mark of the screen of /connect that shows the text. */
  readonly mark?: string | undefined;
}

const script = '/usr/local/sbin/portcullis-feed';
const folder = '/var/lib/portcullis';

/** Not at a full minute of ten, when everybody else asks. */
function cron(name: string, feed: string, command: string): string {
  const line = `7-59/10 * * * * root ${script} ${feed} ${command}`.trimEnd();
  return `echo '${line}' > /etc/cron.d/portcullis-${name}`;
}

export const bothFamilies: readonly FamilyChoice[] = ['4', '6'];

/** With its question mark; empty for the whole list. */
function queryOf({ family, score, mark }: RecipeChoice, ...first: readonly string[]): string {
  const parts = [
    ...first,
    ...(family === undefined ? [] : [`ipVersion=${family}`]),
    ...(score === undefined ? [] : [`minimumScore=${score}`]),
    ...(mark === undefined ? [] : [`mark=${mark}`]),
  ];
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function refresher(feedsUrl: string, choice: RecipeChoice): string {
  return `#!/bin/sh
# portcullis-feed FEED [COMMAND ...]: fetches FEED if it has changed, then runs COMMAND.
set -eu
PATH=$PATH:/usr/sbin:/sbin
cd ${folder}
rm -f "$1.new"
curl -fsS --compressed --retry 3 \\
  --time-cond "$1" -R -o "$1.new" \\
  "${feedsUrl}/$1${queryOf(choice)}"
loaded=/run/portcullis-$1
[ -s "$1.new" ] && rm -f "$loaded" && mv "$1.new" "$1"
[ -e "$loaded" ] && exit 0
shift
"$@"
touch "$loaded"
`;
}

const loadIpset = (families: readonly FamilyChoice[]) => `#!/bin/sh
set -eu
ipset restore -f blocklist.ipset
for v in ${families.join(' ')}; do
  tables=ip\${v%4}tables
  rule="INPUT -m set --match-set portcullis$v src -j DROP"
  $tables -C $rule 2>/dev/null || $tables -I $rule
done
`;

const nftFamily: Readonly<Record<FamilyChoice, string>> = { '4': 'ip', '6': 'ip6' };

const nftRules = (families: readonly FamilyChoice[]) => `include "${folder}/blocklist.nft"
add chain inet portcullis input { type filter hook input priority -10; policy accept; }
flush chain inet portcullis input
${families.map((v) => `add rule inet portcullis input ${nftFamily[v]} saddr @blocklist${v} drop`).join('\n')}
`;

const fireholList = (feedsUrl: string, choice: RecipeChoice) => `update portcullis 10 0 ipv4 both \\
  "${feedsUrl}/blocklist.txt${queryOf({ ...choice, family: '4' })}" \\
  remove_comments \\
  "attacks" "Portcullis blocklist" "Portcullis" "${feedsUrl}"
`;

const fireholRules = `ipset4 create portcullis hash:net
ipset4 addfile portcullis ipsets/portcullis.netset
blacklist4 full ipset:portcullis
`;

function routerScript(feedsUrl: string, choice: RecipeChoice): string {
  const drops = (choice.family === undefined ? bothFamilies : [choice.family]).map(
    (v) =>
      `/${v === '4' ? 'ip' : 'ipv6'} firewall raw add chain=prerouting src-address-list=portcullis action=drop`,
  );
  const mode = feedsUrl.startsWith('https:') ? 'https check-certificate=yes' : 'http';
  return `/system script add name=portcullis source={
  /tool fetch mode=${mode} url="${feedsUrl}/blocklist.rsc${queryOf(choice, 'aggregate=1')}" dst-path=portcullis.rsc
  /import file-name=portcullis.rsc
}
/system scheduler add name=portcullis interval=1h on-event=portcullis
${drops.join('\n')}
`;
}

/**
 * @param feedsUrl without a slash at the end
 * @param choice for the tools that take it: `score` those that read blocklist.txt
 */
export function recipesFor(
  feedsUrl: string,
  choice: RecipeChoice = {},
): Readonly<Record<RecipeName, readonly Snippet[]>> {
  const families = choice.family === undefined ? bothFamilies : [choice.family];
  const file = (id: string, path: string, code: string) => ({
    id,
    destination: { file: path },
    code,
  });
  const shell = (id: string, ...lines: string[]): Snippet => ({
    id,
    destination: 'shell',
    code: `${lines.join('\n')}\n`,
  });
  return {
    refresh: [
      file('refresh-script', script, refresher(feedsUrl, choice)),
      shell(
        'refresh-run',
        `mkdir -p ${folder} && chmod 755 ${script}`,
        `${script} blocklist.txt`,
        cron('txt', 'blocklist.txt', ''),
      ),
    ],
    ipset: [
      file('ipset-load', '/usr/local/sbin/portcullis-ipset', loadIpset(families)),
      shell(
        'ipset-run',
        'chmod 755 /usr/local/sbin/portcullis-ipset',
        `${script} blocklist.ipset /usr/local/sbin/portcullis-ipset`,
        cron('ipset', 'blocklist.ipset', '/usr/local/sbin/portcullis-ipset'),
      ),
    ],
    nftables: [
      file('nftables-rules', '/etc/portcullis.nft', nftRules(families)),
      shell(
        'nftables-run',
        `${script} blocklist.nft nft -f /etc/portcullis.nft`,
        cron('nft', 'blocklist.nft', 'nft -f /etc/portcullis.nft'),
      ),
    ],
    haproxy: [
      shell('haproxy-fetch', `${script} blocklist.haproxy`),
      file(
        'haproxy-rules',
        '/etc/haproxy/haproxy.cfg',
        `  acl portcullis src -f ${folder}/blocklist.haproxy\n  http-request deny deny_status 403 if portcullis\n`,
      ),
      shell(
        'haproxy-run',
        'haproxy -c -f /etc/haproxy/haproxy.cfg && systemctl reload haproxy',
        cron('haproxy', 'blocklist.haproxy', 'systemctl reload haproxy'),
      ),
    ],
    nginx: [
      shell(
        'nginx-run',
        `${script} blocklist.nginx`,
        `echo 'include ${folder}/blocklist.nginx;' > /etc/nginx/conf.d/portcullis.conf`,
        'nginx -t && nginx -s reload',
        cron('nginx', 'blocklist.nginx', 'nginx -s reload'),
      ),
    ],
    nginxGeo: [
      file(
        'nginx-geo',
        '/etc/nginx/conf.d/portcullis-geo.conf',
        `geo $portcullis {\n  default 0;\n  include ${folder}/blocklist.geo;\n}\n`,
      ),
      shell(
        'nginx-geo-run',
        `${script} blocklist.geo`,
        'nginx -t && nginx -s reload',
        cron('nginx-geo', 'blocklist.geo', 'nginx -s reload'),
      ),
    ],
    opnsense: [
      {
        id: 'opnsense-url',
        destination: 'address',
        code: `${feedsUrl}/blocklist.txt${queryOf(choice, 'aggregate=1')}\n`,
      },
    ],
    mikrotik: [
      { id: 'mikrotik-run', destination: 'routeros', code: routerScript(feedsUrl, choice) },
    ],
    firehol: [
      file('firehol-list', '/etc/firehol/ipsets.d/portcullis.conf', fireholList(feedsUrl, choice)),
      shell('firehol-run', 'update-ipsets enable portcullis', 'update-ipsets'),
      file('firehol-rules', '/etc/firehol/firehol.conf', fireholRules),
    ],
    rbldnsd: [
      shell(
        'rbldnsd-run',
        ...['zone', 'zone6'].flatMap((feed) => [
          `${script} blocklist.${feed}`,
          cron(feed, `blocklist.${feed}`, ''),
        ]),
      ),
      file(
        'rbldnsd-options',
        '/etc/default/rbldnsd',
        `RBLDNSD="portcullis -b 127.0.0.1/5300 -w ${folder} bl.example.net:ip4trie:blocklist.zone bl.example.net:ip6trie:blocklist.zone6"\n`,
      ),
    ],
    unbound: [
      file(
        'unbound-zone',
        '/etc/unbound/unbound.conf.d/portcullis.conf',
        unboundZone(feedsUrl, choice),
      ),
      shell('unbound-run', 'unbound-checkconf && systemctl restart unbound'),
    ],
  };
}

/**
 * `respip` must come before the modules that resolve. unbound asks the DNS alone where a name leads, and the DNS
 * has no `localhost`.
 */
function unboundZone(feedsUrl: string, choice: RecipeChoice): string {
  const source = feedsUrl.replace(/^(https?:\/\/)localhost(?=[:/])/, '$1127.0.0.1');
  return [
    'server:',
    '  module-config: "respip validator iterator"',
    'rpz:',
    '  name: "portcullis.rpz"',
    `  url: "${source}/blocklist.rpz${queryOf(choice)}"`,
    '  zonefile: "/var/lib/unbound/portcullis.rpz"',
    '',
  ].join('\n');
}
