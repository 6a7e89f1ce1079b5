/**
 * Environment to a frozen Config. The environment itself is read in config/place.ts.
 * A bad setting stops the start with one line that names it; an empty value counts as absent.
 */

import { isIP } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import * as v from 'valibot';
import { dataDirDefault } from './config/place.ts';
import { type Accent, readAccent } from './core/accent.ts';
import { OperatorError } from './core/errors.ts';
import { type LogLevel, logLevels } from './core/log.ts';
import { readDomain } from './core/mail-address.ts';
import { durationMs, durationRule } from './core/time.ts';

// Rules for the text of a setting, and the value that it stands for. The message of each rule ends a sentence that begins
// with the setting's name.

const integer = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, `must be a whole number from ${min} to ${max}`),
    v.transform(Number),
    v.minValue(min, `must be a whole number from ${min} to ${max}`),
    v.maxValue(max, `must be a whole number from ${min} to ${max}`),
  );

const duration = v.pipe(
  v.string(),
  v.check((text) => durationMs(text) !== undefined, durationRule),
  v.transform((text) => durationMs(text) ?? 0),
);

const urlOf = (...protocols: string[]) =>
  v.pipe(
    v.string(),
    v.check(
      (text) => {
        return URL.canParse(text) && protocols.includes(new URL(text).protocol);
      },
      `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    ),
  );

/** The parameters that a mail server's URL may have: none that turns TLS off by another name. */
const smtpParameters =
  /^(tls|name|pool|maxConnections|maxMessages|rateDelta|rateLimit|localAddress|authMethod|tls\.(rejectUnauthorized|servername|minVersion|ciphers))$/;

const smtpUrl = v.pipe(
  urlOf('smtp:', 'smtps:'),
  v.check((text) => !URL.canParse(text) || new URL(text).hostname !== '', 'must name a host'),
  v.check((text) => {
    const keys = URL.canParse(text) ? [...new URL(text).searchParams.keys()] : [];
    return keys.every((key, i) => smtpParameters.test(key) && keys.indexOf(key) === i);
  }, 'must have no parameters but tls=optional and those of docs/OPERATIONS.md, each once'),
  v.check((text) => {
    if (!URL.canParse(text)) return true;
    const { protocol, searchParams } = new URL(text);
    const tls = searchParams.get('tls');
    return tls === null || (tls === 'optional' && protocol === 'smtp:');
  }, 'must have tls=optional or no tls at all; with smtps:// none'),
);

/** Several hosts are no URL to a browser, so it is read by its parts alone. Nothing of it is quoted. */
const databaseUrl = v.pipe(
  v.string(),
  v.regex(
    /^postgres(ql)?:\/\/[^\s/?#]*\/[^\s/?#]+(\?\S*)?$/,
    'must be like postgres://user:password@host:5432/name',
  ),
);

/** Scheme, host and port alone: links are made by appending a path. */
const origin = v.pipe(
  urlOf('http:', 'https:'),
  v.check((text) => {
    // Every check runs: what is no URL at all has been told of above.
    if (!URL.canParse(text)) return true;
    const url = new URL(text);
    return url.pathname === '/' && !url.search && !url.hash && !url.username && !url.password;
  }, 'must be scheme, host and port alone, without a path'),
  v.transform((text) => new URL(text).origin),
);

const path = v.pipe(
  v.string(),
  v.check((text) => !text.includes('\0'), 'must not hold a NUL character'),
  v.transform((text) => resolve(text)),
);

/** Text that stands in headers and pages. */
function oneLine(max: number) {
  return v.pipe(
    v.string(),
    v.transform((text) => text.trim()),
    v.check(
      (text) => text !== '' && [...text].length <= max && !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text),
      `must be one line of 1 to ${max} characters`,
    ),
  );
}

/** The operator's mail address, or a page with the ways to reach them. */
const contact = v.pipe(
  v.string(),
  v.regex(
    /^([^\s<>"@]{1,64}@[^\s<>"@]{1,253}|https:\/\/[^\s<>"]{1,290})$/,
    'must be a mail address or an https address',
  ),
);

const accent = v.pipe(
  v.string(),
  v.rawTransform(({ dataset, addIssue, NEVER }): Accent => {
    const read = readAccent(dataset.value);
    if (typeof read !== 'string') return read;
    addIssue({ message: read });
    return NEVER;
  }),
);

const list = v.pipe(
  v.string(),
  v.transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  ),
  v.maxLength(256, 'must list at most 256 addresses or prefixes'),
);

/** Domains of mail addresses, each exactly as addresses have it: in lower case, letters beyond ASCII as A-labels. */
const mailDomains = v.pipe(
  list,
  v.maxLength(64, 'must list at most 64 domains'),
  v.check(
    (domains) => domains.every((one) => readDomain(one)?.includes('.')),
    'must list domains such as example.org',
  ),
  v.transform((domains) => [...new Set(domains.map((one) => readDomain(one)!))]),
);

/** A leading dot and capitals are how people write them: `.internal` is `internal`. */
const suffixList = v.pipe(
  v.string(),
  v.transform((text) =>
    text
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .map((part) => part.replace(/^\.(?=[^.])/, ''))
      .filter((part) => part !== ''),
  ),
  v.maxLength(64, 'must list at most 64 suffixes'),
);

/** Linux keeps 108 bytes for the path of a socket, the last of them a zero. */
const socketPathBytesMax = 107;

const socketPaths = v.pipe(
  list,
  v.maxLength(64, 'must list at most 64 paths'),
  v.check(
    (paths) => paths.every((one) => isAbsolute(one) && !/\p{Cc}/u.test(one)),
    'must list absolute paths, such as /run/portcullis/portcullis.sock',
  ),
  v.check(
    (paths) => paths.every((one) => Buffer.byteLength(one) <= socketPathBytesMax),
    `must list paths of at most ${socketPathBytesMax} bytes`,
  ),
  v.transform((paths) => paths.map((one) => resolve(one))),
  v.check((paths) => new Set(paths).size === paths.length, 'must list each path once'),
);

/** Public keys of age; whether one is right is seen where it is used. */
const recipientList = v.pipe(
  list,
  v.array(
    v.pipe(
      v.string(),
      v.regex(/^age1[02-9ac-hj-np-z]{50,4000}$/, 'must list public keys of age (age1…)'),
    ),
  ),
  v.maxLength(16, 'must list at most 16 public keys'),
);

const countryList = v.pipe(
  v.string(),
  v.regex(
    /^(\*|[A-Z]{2}(\s*,\s*[A-Z]{2}){0,249})$/,
    'must be * or codes of countries such as FR,BE (ISO 3166-1)',
  ),
  v.transform((text) => text.split(',').map((code) => code.trim())),
);

/** The listening address of a protocol without keys: it admits everybody on this machine. */
export const loopbackEndpoint = v.pipe(
  v.string(),
  v.regex(
    /^(127(\.(0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])){3}|\[::1\]):\d{1,5}$/,
    'must be a loopback address with a port, such as 127.0.0.1:9002',
  ),
  v.check(
    (text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535,
    'must end with a port',
  ),
);

/** A port, which is one of loopback then, or an address with one; brackets around IPv6. */
const listenPlace = v.pipe(
  v.string(),
  v.regex(
    /^(?:(?:\[([0-9a-fA-F:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3})):)?\d{1,5}$/,
    'must be a port, or an address with a port, such as 127.0.0.1:9090',
  ),
  v.transform((text) => {
    const colon = text.lastIndexOf(':');
    const host = colon < 0 ? '127.0.0.1' : text.slice(0, colon).replace(/^\[|\]$/g, '');
    return { host, port: Number(text.slice(colon + 1)) };
  }),
  v.check(({ host }) => isIP(host) !== 0, 'must have an address before its port'),
  v.check(({ port }) => port <= 65_535, 'must end with a port'),
);

/** Resolvers by address; a port stands behind a colon, and an IPv6 address with one in brackets. */
const resolverList = v.pipe(
  list,
  v.check(
    (servers) => servers.every(isResolver),
    'must list addresses such as 192.0.2.53 or 192.0.2.53:5353',
  ),
  v.maxLength(3, 'must list at most 3 addresses'),
);

function isResolver(text: string): boolean {
  if (isIP(text) !== 0) return true;
  const [, bracketed, plain, port] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/.exec(text) ?? [];
  const isAddress = isIP(bracketed ?? '') === 6 || isIP(plain ?? '') === 4;
  return isAddress && Number(port) > 0 && Number(port) <= 65_535;
}

const labelPattern = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Names of the DNS, of at most so many characters that every answer has room for some of them. */
const domainName = v.pipe(
  v.string(),
  v.transform((text) => text.toLowerCase().replace(/\.$/, '')),
  v.check(
    (text) => text.length <= 100 && text.split('.').every((label) => labelPattern.test(label)),
    'must be a name of the DNS of at most 100 characters',
  ),
);

const domainList = v.pipe(list, v.array(domainName), v.maxLength(4, 'must list at most 4 names'));

const entriesLeast = 8_000_000;
const entriesMost = 32_000_000;
/** The row of an entry, its share of the index, and one contribution. */
const bytesPerEntry = 110;
/** The rest of a full process: feeds of their most entries, code, heaps. */
const otherBytes = 1_536 * 1_048_576;
const shareOfMemory = 0.7;

/** Returns how many entries a machine has room for. What is not used yet costs address space alone. */
export function entriesThatFit(memoryBytes: number): number {
  const room = Math.floor((shareOfMemory * memoryBytes - otherBytes) / bytesPerEntry);
  return Math.min(entriesMost, Math.max(entriesLeast, room));
}

/** Returns the memory of the machine, or of the container if it may use less. */
export function usableMemory(): number {
  const allowed = process.constrainedMemory();
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}

/** Bounds of what the process holds in memory. Each one is where a clear refusal begins. */
export const capacities = {
  /** Addresses and prefixes in the index. */
  entries: entriesThatFit(usableMemory()),
  /** Entries of a store that several processes share: the least of their machines has room for them. */
  sharedEntries: entriesLeast,
  /** No store holds more. */
  entriesOfAnyMachine: entriesMost,
  /** An entry has at most so many on average: one of each list, rule and account that names it. */
  contributionsPerEntry: 3,
  accounts: 65_536,
  keys: 131_072,
  /** Third-party lists known at one time, vanished ones included until they end. */
  sources: 250,
  /** Feeds that the operator named. */
  namedFeeds: 32,
  /** Entries of the blocklist in feeds: beyond it the lowest scores are left out. */
  feedEntries: 2_000_000,
  /** Rules of the allowlist. */
  allowRules: 100_000,
  /** Entries that the operator sets by hand. */
  ownEntries: 10_000,
  /** Autonomous systems and countries among these entries, and as many among the rules. */
  networkGroups: 100,
} as const;

/** Bounds of the CAPTCHA, of time and memory; docs/CAPTCHA.md says what happens at each. */
export const captchaBounds = {
  lifetimeMs: 120_000,
  /** Images rendered ahead. */
  stockMax: 256,
  stockBytesMax: 8 * 1_048_576,
  /** Images and clips being waited for. */
  waitingMax: 500,
  /** From so many waiting on, smaller images. */
  economyFrom: 32,
  /** Tokens that were used for anything in their lifetime; never drawn again. */
  placesMax: 131_072,
  /** Challenges whose picture or sound was fetched and that have no answer yet. */
  openMax: 20_000,
  /** One IPv4 address or IPv6 /64 may have so many open challenges. */
  openPerNarrowMax: 1_200,
  /** From so many open ones of one address or /64 on, its words are long. */
  longWordFrom: 100,
  /** One IPv4 /24 or IPv6 /48 may have so many open challenges. */
  openPerWideMax: 4_800,
  /** Images and clips of open challenges; what is dropped can be made again. */
  heldBytesMax: 64 * 1_048_576,
} as const;

const factorDemands = ['off', 'operators', 'everybody'] as const;
export type FactorDemand = (typeof factorDemands)[number];

const rdnsModes = ['off', 'pages', 'verbose'] as const;
export type RdnsMode = (typeof rdnsModes)[number];

export interface Config {
  readonly host: string;
  readonly port: number;
  /** Paths of Unix-domain sockets that serve what the port serves. */
  readonly listenUnix: readonly string[];
  readonly listenUnixMode: number;
  /** Name or number; undefined: the group of the process. */
  readonly listenUnixGroup: string | undefined;
  readonly baseUrl: string;
  readonly secureUrl: string;
  readonly dataDir: string;
  /** Undefined: the embedded store. Holds a password: never logged. */
  readonly databaseUrl: string | undefined;
  /** The journal is read from this standby; undefined: from the primary. */
  readonly databaseReplicaUrl: string | undefined;
  /** Other nodes of the same database ask this one at this address and port. */
  readonly internalListen: string;
  /** Threads that listen; the main thread does not. */
  readonly httpThreads: number;
  readonly captchaThreads: number;
  /** The server serves on for so long, not ready, after the signal to stop. */
  readonly drainMs: number;
  /** Least time between two builds of the feeds. */
  readonly feedIntervalSeconds: number;
  /** Terms in the head of each feed and on their page. */
  readonly feedLicence: string;
  /** Addresses and prefixes whose `X-Forwarded-For` or `Forwarded` is believed; `unix`: the sockets of LISTEN_UNIX. */
  readonly trustedProxies: readonly string[];
  readonly masterKeyFile: string | undefined;
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  /** On pages and in mails. Undefined: the program's own, in mails the host of BASE_URL. */
  readonly siteName: string | undefined;
  /** A mail address or a page. */
  readonly siteContact: string | undefined;
  /** A PNG or SVG file. */
  readonly siteLogo: string | undefined;
  /** Undefined: the program's own colours. */
  readonly siteAccent: Accent | undefined;
  readonly smsWebhookUrl: string | undefined;
  /** Source of breached passwords, asked by the first five digits of a hash. */
  readonly pwnedRangeUrl: string | undefined;
  /** ISO 3166-1 codes of the countries that texts are sent to; `*`: all. */
  readonly smsCountries: readonly string[];
  /** Texts over all in a day. */
  readonly smsPerDay: number;
  readonly geoCountryMmdb: string | undefined;
  readonly geoAsnMmdb: string | undefined;
  readonly logLevel: LogLevel;
  /** A binary of the web server with this hash is loaded although this version does not know it. */
  readonly webServerSha256: string | undefined;
  /** A file, or `stdout`; undefined: none. */
  readonly accessLog: string | undefined;
  /** Without it, /metrics answers loopback peers only, and nobody behind a proxy. */
  readonly metricsToken: string | undefined;
  /** False lifts the limits per client IP (load tests), never the quotas. */
  readonly clientLimitsOn: boolean;
  /** False: accounts are made by an operator alone, or by whom one invites. */
  readonly registrationOpen: boolean;
  /** Domains whose addresses may register; none: all. */
  readonly registrationDomains: readonly string[];
  /** These accounts must have a second factor or a passkey. */
  readonly requireSecondFactor: FactorDemand;
  /** The consent page tells the names that sites give themselves, which are fetched from them. */
  readonly consentSiteNames: boolean;
  /** People may have a browser trusted in place of their second factor. */
  readonly trustedBrowsers: boolean;
  /** Private: reports come from the operator's own machines. */
  readonly reputation: 'private' | 'public';
  /** Earned votes alone are no quorum. */
  readonly reputationAnchored: boolean;
  /** Networks rise by their hosts. */
  readonly networkRise: boolean;
  /** Score from which look-ups of bouncers tell a captcha, below that of a ban; 0: never. */
  readonly decisionsCaptchaFrom: number;
  /** Host names by reverse DNS are told to nobody, to readers of pages, or to verbose checks too. */
  readonly rdns: RdnsMode;
  /** Addresses of the resolvers that are asked, with or without a port; empty: those of the system. */
  readonly rdnsResolvers: readonly string[];
  /** Groups of peers that must vote alike before peers alone block, 3 to 8. */
  readonly federationAgree: number;
  /** False: peers alone never block. */
  readonly federationBlocks: boolean;
  /** Addresses and prefixes of which reports have no effect, besides the bundled ones. */
  readonly knownGood: readonly string[];
  /** Accounts behind a row that is published to peers, at least. */
  readonly federationLeast: number;
  /** The readers of what is published to peers. */
  readonly federationAccess: 'peers' | 'open';
  /** Lists may be fetched from addresses that are not public. */
  readonly sourceAllowPrivate: boolean;
  /** Suffixes of an intranet under which there may be clients of sign-on; `.`: single labels. */
  readonly clientSuffixes: readonly string[];
  /** Undefined: the server makes no backups. */
  readonly backupFolder: string | undefined;
  readonly backupEveryMs: number;
  readonly backupKeep: number;
  /** Either makes all backups encrypted, and so do recipients. */
  readonly backupPassphrase: string | undefined;
  readonly backupPassphraseFile: string | undefined;
  /** Public keys of age; none beside a passphrase. */
  readonly backupRecipients: readonly string[];
  /** Zone of the DNS block list; undefined: there is none. */
  readonly dnsZone: string | undefined;
  /** The zone is asked at these addresses with ports. */
  readonly dnsListen: readonly string[];
  /** These addresses and prefixes may ask without a key. */
  readonly dnsAllow: readonly string[];
  /** Name servers that the zone is delegated to. */
  readonly dnsNameServers: readonly string[];
  /** HAProxy asks at this loopback address and port; undefined: it can't. */
  readonly spoeListen: string | undefined;
  /** Health and metrics on a port of their own; undefined: on the public one alone. */
  readonly adminListen: { readonly host: string; readonly port: number } | undefined;
  /** Undefined: operators may see the radar, and in the demo everybody may. */
  readonly radar: RadarMode | undefined;
}

export type RadarMode = 'operators' | 'public' | 'off';

/** The European Economic Area, the United Kingdom, Switzerland, the United States, Canada. */
const smsCountriesDefault =
  'AT,BE,BG,CA,CH,CY,CZ,DE,DK,EE,ES,FI,FR,GB,GR,HR,HU,IE,IS,IT,LI,LT,LU,LV,MT,NL,NO,PL,PT,RO,SE,SI,SK,US';

export const feedLicenceDefault =
  'Free to use for protecting networks and services, without warranty.';

/** One core is the main thread's. */
export const frontEndsOf = (cores: number) => Math.min(Math.max(1, cores - 1), 64);

const schema = v.object({
  HOST: v.optional(
    v.pipe(v.string(), v.regex(/^[0-9A-Za-z.:_-]{1,253}$/, 'must be an address or a host name')),
    '127.0.0.1',
  ),
  PORT: v.optional(integer(0, 65_535), '8080'),
  LISTEN_UNIX: v.optional(socketPaths, ''),
  LISTEN_UNIX_MODE: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^0?[0-7]{3}$/, 'must be three octal digits, such as 660'),
      v.transform((text) => Number.parseInt(text, 8)),
    ),
    '660',
  ),
  LISTEN_UNIX_GROUP: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^([A-Za-z_][\w.-]{0,31}\$?|\d{1,9})$/, 'must be the name or the number of a group'),
    ),
  ),
  BASE_URL: v.optional(origin),
  SECURE_URL: v.optional(origin),
  DATA_DIR: v.optional(path, dataDirDefault),
  DATABASE_URL: v.optional(databaseUrl),
  DATABASE_REPLICA_URL: v.optional(databaseUrl),
  INTERNAL_LISTEN: v.optional(v.string(), '127.0.0.1:0'),
  HTTP_THREADS: v.optional(
    v.union([v.literal('auto'), integer(1, 64)], 'must be auto or 1 to 64'),
    'auto',
  ),
  CAPTCHA_THREADS: v.optional(integer(1, 64), '2'),
  DRAIN_MS: v.optional(integer(0, 60_000), '500'),
  FEED_INTERVAL_SECONDS: v.optional(integer(1, 3_600), '60'),
  FEED_LICENCE: v.optional(
    // It stands in comments of eight formats.
    v.pipe(v.string(), v.regex(/^[\x20-\x7e]{1,300}$/, 'must be one line of ASCII, 1 to 300')),
    feedLicenceDefault,
  ),
  TRUSTED_PROXIES: v.optional(list, ''),
  MASTER_KEY_FILE: v.optional(path),
  SMTP_URL: v.optional(smtpUrl),
  MAIL_FROM: v.optional(
    v.pipe(v.string(), v.regex(/^[^\s<>"]{1,64}@[^\s<>"]{1,253}$/, 'must be a mail address')),
    'portcullis@localhost',
  ),
  SITE_NAME: v.optional(oneLine(60)),
  SITE_CONTACT: v.optional(contact),
  SITE_LOGO: v.optional(path),
  SITE_ACCENT: v.optional(accent),
  SMS_WEBHOOK_URL: v.optional(urlOf('http:', 'https:')),
  PWNED_RANGE_URL: v.optional(urlOf('http:', 'https:')),
  SMS_COUNTRIES: v.optional(countryList, smsCountriesDefault),
  SMS_PER_DAY: v.optional(integer(1, 65_535), '200'),
  GEO_COUNTRY_MMDB: v.optional(path),
  GEO_ASN_MMDB: v.optional(path),
  LOG_LEVEL: v.optional(v.picklist(logLevels, `must be one of ${logLevels.join(', ')}`), 'info'),
  WEB_SERVER_SHA256: v.optional(
    v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'must be 64 digits of 0-9 and a-f')),
  ),
  ACCESS_LOG: v.optional(
    v.union([v.picklist(['off', 'stdout']), path], 'must be off, stdout or a file'),
    'off',
  ),
  METRICS_TOKEN: v.optional(
    // An Authorization header can carry these (RFC 6750's b64token, and a little more).
    v.pipe(v.string(), v.regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 characters, no spaces')),
  ),
  CLIENT_LIMITS: v.optional(v.picklist(['on', 'off'], 'must be on or off'), 'on'),
  REGISTRATION: v.optional(v.picklist(['open', 'closed'], 'must be open or closed'), 'open'),
  REGISTRATION_DOMAINS: v.optional(mailDomains, ''),
  REQUIRE_SECOND_FACTOR: v.optional(
    v.picklist(factorDemands, `must be ${factorDemands.join(', ')}`),
    'off',
  ),
  CONSENT_SITE_NAMES: v.optional(v.picklist(['on', 'off'], 'must be on or off'), 'off'),
  TRUSTED_BROWSERS: v.optional(v.picklist(['on', 'off'], 'must be on or off'), 'off'),
  REPUTATION: v.optional(v.picklist(['private', 'public'], 'must be private or public')),
  FEDERATION_AGREE: v.optional(integer(3, 8), '3'),
  FEDERATION_BLOCKS: v.optional(v.picklist(['on', 'off'], 'must be on or off'), 'on'),
  REPUTATION_ANCHORED: v.optional(v.picklist(['on', 'off'], 'must be on or off'), 'off'),
  NETWORK_RISE: v.optional(v.picklist(['on', 'off'], 'must be on or off')),
  DECISIONS_CAPTCHA_FROM: v.optional(integer(0, 74), '0'),
  RDNS: v.optional(v.picklist(rdnsModes, `must be ${rdnsModes.join(', ')}`), 'off'),
  RDNS_RESOLVER: v.optional(resolverList, ''),
  KNOWN_GOOD: v.optional(list, ''),
  SOURCE_ALLOW_PRIVATE: v.optional(v.picklist(['on', 'off'], 'must be on or off'), 'off'),
  FEDERATION_LEAST: v.optional(integer(1, 10)),
  FEDERATION_ACCESS: v.optional(v.picklist(['peers', 'open'], 'must be peers or open'), 'peers'),
  CLIENT_SUFFIXES: v.optional(suffixList, ''),
  BACKUP_FOLDER: v.optional(path),
  BACKUP_EVERY: v.optional(duration, '24h'),
  BACKUP_KEEP: v.optional(integer(1, 10_000), '7'),
  BACKUP_PASSPHRASE: v.optional(
    v.pipe(v.string(), v.minLength(12, 'must have at least 12 characters')),
  ),
  BACKUP_PASSPHRASE_FILE: v.optional(path),
  BACKUP_RECIPIENTS: v.optional(recipientList, ''),
  DNS_ZONE: v.optional(domainName),
  DNS_LISTEN: v.optional(
    v.pipe(list, v.minLength(1, 'must list an address with its port')),
    '127.0.0.1:5300',
  ),
  DNS_ALLOW: v.optional(list, '127.0.0.0/8,::1'),
  DNS_NS: v.optional(domainList, ''),
  SPOE_LISTEN: v.optional(loopbackEndpoint),
  ADMIN_LISTEN: v.optional(listenPlace),
  RADAR: v.optional(v.picklist(['operators', 'public', 'off'], 'must be operators, public or off')),
});

export type SettingName = keyof typeof schema.entries;

/** Returns what stands for a setting that is absent; undefined where its schema has nothing. */
export function settingDefault(name: string): string | undefined {
  const found = Object.entries(schema.entries).find(([known]) => known === name)?.[1];
  return found && (v.getDefault(found as v.GenericSchema) as string | undefined);
}

/** The caller passes these in, because the meaning of the settings is known further up. */
export interface Judges {
  /** Tells an address or prefix from other text; TRUSTED_PROXIES must hold nothing else, but for `unix`. */
  readonly isPrefix: (text: string) => boolean;
  /** Returns the fault of a suffix of CLIENT_SUFFIXES, in words that follow it; undefined: none. */
  readonly suffixFault: (suffix: string) => string | undefined;
  /** Tells an address with its port that one can listen on from other text. */
  readonly isEndpoint: (text: string) => boolean;
}

/**
 * @throws OperatorError with one line that names the setting.
 */
export function readConfig(
  environment: Readonly<Record<string, string | undefined>>,
  { isPrefix, suffixFault, isEndpoint }: Judges,
): Config {
  refuseRemoved(environment);
  const given = Object.fromEntries(
    Object.keys(schema.entries)
      .map((name) => [name, environment[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = v.safeParse(schema, given);
  if (!parsed.success) {
    const issue = parsed.issues[0];
    throw settingError(String(issue.path?.[0]?.key ?? 'environment'), issue.message);
  }
  const s = parsed.output;
  for (const name of ['TRUSTED_PROXIES', 'KNOWN_GOOD', 'DNS_ALLOW'] as const) {
    const isWord = (text: string) => name === 'TRUSTED_PROXIES' && text === 'unix';
    const unexpected = s[name].find((text) => !isWord(text) && !isPrefix(text));
    if (unexpected === undefined) continue;
    throw settingError(name, `holds '${quoted(unexpected)}', not an address or prefix`);
  }
  for (const suffix of s.CLIENT_SUFFIXES) {
    const fault = suffixFault(suffix);
    if (fault !== undefined) {
      throw settingError('CLIENT_SUFFIXES', `holds '${quoted(suffix)}', ${fault}`);
    }
  }
  for (const name of ['DNS_LISTEN', 'INTERNAL_LISTEN'] as const) {
    const nowhere = [s[name]].flat().find((text) => !isEndpoint(text));
    if (nowhere === undefined) continue;
    const fault = 'not an address of this machine with a port, such as 192.0.2.1:53';
    throw settingError(name, `holds '${quoted(nowhere)}', ${fault}`);
  }
  if (s.BACKUP_RECIPIENTS.length > 0 && (s.BACKUP_PASSPHRASE ?? s.BACKUP_PASSPHRASE_FILE)) {
    throw settingError('BACKUP_RECIPIENTS', 'must not be set beside a passphrase of backups');
  }
  const local = `http://localhost:${s.PORT}`;
  const reputation = s.REPUTATION ?? (s.REGISTRATION === 'open' ? 'public' : 'private');
  return Object.freeze({
    host: s.HOST,
    port: s.PORT,
    listenUnix: Object.freeze(s.LISTEN_UNIX),
    listenUnixMode: s.LISTEN_UNIX_MODE,
    listenUnixGroup: s.LISTEN_UNIX_GROUP,
    baseUrl: s.BASE_URL ?? local,
    secureUrl: s.SECURE_URL ?? local,
    dataDir: s.DATA_DIR,
    databaseUrl: s.DATABASE_URL,
    databaseReplicaUrl: s.DATABASE_REPLICA_URL,
    internalListen: s.INTERNAL_LISTEN,
    httpThreads: s.HTTP_THREADS === 'auto' ? frontEndsOf(availableParallelism()) : s.HTTP_THREADS,
    captchaThreads: s.CAPTCHA_THREADS,
    drainMs: s.DRAIN_MS,
    feedIntervalSeconds: s.FEED_INTERVAL_SECONDS,
    feedLicence: s.FEED_LICENCE,
    trustedProxies: Object.freeze(s.TRUSTED_PROXIES),
    masterKeyFile: s.MASTER_KEY_FILE,
    smtpUrl: s.SMTP_URL,
    mailFrom: s.MAIL_FROM,
    siteName: s.SITE_NAME,
    siteContact: s.SITE_CONTACT,
    siteLogo: s.SITE_LOGO,
    siteAccent: s.SITE_ACCENT && Object.freeze(s.SITE_ACCENT),
    smsWebhookUrl: s.SMS_WEBHOOK_URL,
    pwnedRangeUrl: s.PWNED_RANGE_URL,
    smsCountries: Object.freeze(s.SMS_COUNTRIES),
    smsPerDay: s.SMS_PER_DAY,
    geoCountryMmdb: s.GEO_COUNTRY_MMDB,
    geoAsnMmdb: s.GEO_ASN_MMDB,
    logLevel: s.LOG_LEVEL,
    webServerSha256: s.WEB_SERVER_SHA256,
    accessLog: s.ACCESS_LOG === 'off' ? undefined : s.ACCESS_LOG,
    metricsToken: s.METRICS_TOKEN,
    clientLimitsOn: s.CLIENT_LIMITS === 'on',
    registrationOpen: s.REGISTRATION === 'open',
    registrationDomains: Object.freeze(s.REGISTRATION_DOMAINS),
    requireSecondFactor: s.REQUIRE_SECOND_FACTOR,
    consentSiteNames: s.CONSENT_SITE_NAMES === 'on',
    trustedBrowsers: s.TRUSTED_BROWSERS === 'on',
    reputation,
    networkRise: s.NETWORK_RISE === undefined ? reputation === 'private' : s.NETWORK_RISE === 'on',
    reputationAnchored: s.REPUTATION_ANCHORED === 'on',
    decisionsCaptchaFrom: s.DECISIONS_CAPTCHA_FROM,
    rdns: s.RDNS,
    rdnsResolvers: Object.freeze(s.RDNS_RESOLVER),
    federationAgree: s.FEDERATION_AGREE,
    federationBlocks: s.FEDERATION_BLOCKS === 'on',
    knownGood: Object.freeze(s.KNOWN_GOOD),
    federationLeast:
      s.FEDERATION_LEAST ??
      ((s.REPUTATION ?? (s.REGISTRATION === 'open' ? 'public' : 'private')) === 'public' ? 2 : 1),
    federationAccess: s.FEDERATION_ACCESS,
    sourceAllowPrivate: s.SOURCE_ALLOW_PRIVATE === 'on',
    clientSuffixes: Object.freeze(s.CLIENT_SUFFIXES),
    backupFolder: s.BACKUP_FOLDER,
    backupEveryMs: s.BACKUP_EVERY,
    backupKeep: s.BACKUP_KEEP,
    backupPassphrase: s.BACKUP_PASSPHRASE,
    backupPassphraseFile: s.BACKUP_PASSPHRASE_FILE,
    backupRecipients: Object.freeze(s.BACKUP_RECIPIENTS),
    dnsZone: s.DNS_ZONE,
    dnsListen: Object.freeze(s.DNS_LISTEN),
    dnsAllow: Object.freeze(s.DNS_ALLOW),
    dnsNameServers: Object.freeze(s.DNS_NS),
    spoeListen: s.SPOE_LISTEN,
    adminListen: s.ADMIN_LISTEN && Object.freeze(s.ADMIN_LISTEN),
    radar: s.RADAR,
  });
}

/** Edges of before must not come up as servers of their own. @throws OperatorError */
function refuseRemoved(environment: Readonly<Record<string, string | undefined>>): void {
  const [role, cores] = [environment.ROLE?.trim(), environment.CORES?.trim()];
  if (role !== 'edge' && !cores) return;
  throw new OperatorError(
    'ROLE=edge and CORES are no settings any more: remove them, set DATABASE_URL as its cores have it, and DATABASE_REPLICA_URL to a replica near this server (docs/CLUSTER.md)',
  );
}

function quoted(text: string): string {
  return text.slice(0, 60).replace(/\p{C}/gu, '?');
}

function settingError(name: string, reason: string): OperatorError {
  return new OperatorError(
    `setting ${name} ${reason.startsWith('must') || reason.startsWith('holds') ? reason : `is invalid: ${reason}`}`,
  );
}
