/**
 * Environment to a frozen Config. The environment itself is read in config/environment.ts.
 * A bad setting stops the start with one line that names it; an empty value counts as absent.
 */

import { isIP } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { distance } from 'fastest-levenshtein';
import * as v from 'valibot';
import { dataDirDefault } from './config/environment.ts';
import { type Accent, readAccent } from './core/accent.ts';
import { OperatorError } from './core/errors.ts';
import { logLevels } from './core/log.ts';
import { readDomain, readMailAddress } from './core/mail-address.ts';
import { durationMs, durationRule } from './core/time.ts';

// Rules for the text of a setting, and the value that it stands for. The message of each rule ends a sentence
// that begins with the setting's name.

const integer = (min: number, max: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, `must be a whole number from ${min} to ${max}`),
    v.transform(Number),
    v.minValue(min, `must be a whole number from ${min} to ${max}`),
    v.maxValue(max, `must be a whole number from ${min} to ${max}`),
  );

const onOff = v.pipe(
  v.picklist(['on', 'off'], 'must be on or off'),
  v.transform((text) => text === 'on'),
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

export const smtpUrl = v.pipe(
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

/** The library passes over others, so a slip in a name would send the password in clear. */
const databaseTls = new Set([
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'ssl',
]);
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

const parametersOf = (url: string) => [...new URLSearchParams(url.split('?')[1] ?? '')];

/** Several hosts are no URL to a browser, so it is read by its parts alone. Nothing of it is quoted. */
const databaseUrl = v.pipe(
  v.string(),
  v.regex(
    /^postgres(ql)?:\/\/[^\s/?#]*\/[^\s/?#]+(\?\S*)?$/,
    'must be like postgres://user:password@host:5432/name',
  ),
  v.check(
    (text) => {
      const names = parametersOf(text).map(([name]) => name);
      return names.every((name) => !/ssl|tls/i.test(name) || databaseTls.has(name));
    },
    `must have no parameters of TLS but ${[...databaseTls].join(', ')}: others do nothing`,
  ),
  v.check(
    (text) =>
      parametersOf(text).every(([name, value]) => name !== 'sslmode' || sslModes.includes(value)),
    `must have an sslmode of ${sslModes.join(', ')}`,
  ),
);

/** Scheme, host and port alone: links are made by appending a path. */
const origin = v.pipe(
  urlOf('http:', 'https:'),
  v.check((text) => {
    // All checks run; the check above has reported a text that is no URL.
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

/** The blanks of Hangul and Braille are letters and a sign by their class, and take no ink. */
const invisibleCharacter =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Text that stands in headers and pages. Marks alone have nothing to stand on. */
function oneLine(max: number) {
  return v.pipe(
    v.string(),
    v.transform((text) => text.trim()),
    v.check(
      (text) =>
        [...text].length <= max &&
        !invisibleCharacter.test(text) &&
        /[\p{L}\p{N}\p{P}\p{S}]/u.test(text),
      `must be one line of 1 to ${max} characters, each of them visible`,
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

/** Commas alone come of variables that are empty, and would switch off what the list is for. */
const list = v.pipe(
  v.string(),
  v.check((text) => text === '' || /[^\s,]/.test(text), 'must name something beside commas'),
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
    (domains) =>
      domains.every((one) => readDomain(one)?.includes('.') && readMailAddress(`x@${one}`)),
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
const listenAddress = v.pipe(
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

/** A DNS name. It is short enough that an answer has room for several names. */
const domainName = v.pipe(
  v.string(),
  v.transform((text) => text.toLowerCase().replace(/\.$/, '')),
  v.check(
    (text) => text.length <= 100 && text.split('.').every((label) => labelPattern.test(label)),
    'must be a name of the DNS of at most 100 characters',
  ),
);

const domainList = v.pipe(list, v.array(domainName), v.maxLength(4, 'must list at most 4 names'));

const entriesMin = 8_000_000;
const entriesMax = 32_000_000;
/** The row of an entry, its share of the index, and one contribution. */
const bytesPerEntry = 110;
/** The rest of a full process: feeds of their most entries, code, heaps. */
const otherBytes = 1_536 * 1_048_576;
const shareOfMemory = 0.7;

/** Returns how many entries fit into the memory of a machine. Unused ones only cost address space. */
export function entriesThatFit(memoryBytes: number): number {
  const room = Math.floor((shareOfMemory * memoryBytes - otherBytes) / bytesPerEntry);
  return Math.min(entriesMax, Math.max(entriesMin, room));
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
  /** The number of entries in a store that several nodes share: it fits the smallest allowed machine. */
  sharedEntries: entriesMin,
  /** No store holds more. */
  entriesOfAnyMachine: entriesMax,
  /** The average number of contributions to an entry at most: one for each list, rule and account. */
  contributionsPerEntry: 3,
  accounts: 65_536,
  keys: 131_072,
  /** Third-party lists known at one time, vanished ones included until they end. */
  sources: 250,
  namedFeeds: 32,
  /** Entries of the blocklist in feeds: beyond it the lowest scores are left out. */
  feedEntries: 2_000_000,
  allowRules: 100_000,
  /** Entries that the operator sets by hand. */
  manualEntries: 10_000,
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
  /** Images are smaller while at least this many requests wait. */
  economyFrom: 32,
  /** Tokens that were used for anything in their lifetime; never drawn again. */
  tokensMax: 131_072,
  /** Challenges whose picture or sound was fetched and that have no answer yet. */
  openMax: 20_000,
  /** Open challenges of one IPv4 address or IPv6 /64 at most. */
  openPerClientMax: 1_200,
  /** An address or /64 with this many open challenges gets long words. */
  longWordFrom: 100,
  /** Open challenges of one IPv4 /24 or IPv6 /48 at most. */
  openPerNeighbourhoodMax: 4_800,
  /** Images and clips of open challenges; what is dropped can be made again. */
  heldBytesMax: 64 * 1_048_576,
} as const;

const factorDemands = ['off', 'operators', 'everybody'] as const;
export type FactorDemand = (typeof factorDemands)[number];

const rdnsModes = ['off', 'pages', 'verbose'] as const;

const radarModes = ['operators', 'public', 'off'] as const;

/** The European Economic Area, the United Kingdom, Switzerland, the United States, Canada. */
const smsCountriesDefault =
  'AT,BE,BG,CA,CH,CY,CZ,DE,DK,EE,ES,FI,FR,GB,GR,HR,HU,IE,IS,IT,LI,LT,LU,LV,MT,NL,NO,PL,PT,RO,SE,SI,SK,US';

export const feedLicenceDefault =
  'Free to use for protecting networks and services, without warranty.';

/** One core is the main thread's. */
export const frontEndsOf = (cores: number) => Math.min(Math.max(1, cores - 1), 64);

/**
 * A setting: the rule that reads its text, with its default if it has one; what it is for, in docs/SETTINGS.md; and
 * what that page says of its absence where there is no default.
 */
interface Setting {
  readonly rule: v.GenericSchema<string | undefined, unknown>;
  readonly text: string;
  readonly unset?: string;
}
export type SettingGroup = Readonly<Record<string, Setting>>;

/** Every setting, in the groups and the order of docs/SETTINGS.md. */
export const settingGroups = {
  'Where it listens': {
    HOST: {
      rule: v.optional(
        v.pipe(
          v.string(),
          v.regex(/^[0-9A-Za-z.:_-]{1,253}$/, 'must be an address or a host name'),
        ),
        '127.0.0.1',
      ),
      text: 'address or host name to listen on',
    },
    PORT: { rule: v.optional(integer(0, 65_535), '8080'), text: 'port to listen on' },
    BASE_URL: {
      rule: v.optional(origin),
      text: 'what links begin with',
      unset: '`http://localhost:PORT`',
    },
    SECURE_URL: {
      rule: v.optional(origin),
      text: 'what the API’s addresses begin with',
      unset: 'as `BASE_URL`',
    },
    TRUSTED_PROXIES: {
      rule: v.optional(list, ''),
      text: 'whose `X-Forwarded-For` or `Forwarded` counts; `unix`: a socket’s',
      unset: 'nobody’s',
    },
    LISTEN_UNIX: {
      rule: v.optional(socketPaths, ''),
      text: 'Unix-domain sockets beside the port ([HTTP](HTTP.md))',
      unset: 'none',
    },
    LISTEN_UNIX_MODE: {
      rule: v.optional(
        v.pipe(
          v.string(),
          v.regex(/^0?[0-7]{3}$/, 'must be three octal digits, such as 660'),
          v.transform((text) => Number.parseInt(text, 8)),
        ),
        '660',
      ),
      text: 'mode of their files',
    },
    /** Name or number. */
    LISTEN_UNIX_GROUP: {
      rule: v.optional(
        v.pipe(
          v.string(),
          v.regex(
            /^([A-Za-z_][\w.-]{0,31}\$?|\d{1,9})$/,
            'must be the name or the number of a group',
          ),
        ),
      ),
      text: 'group of their files',
      unset: 'the server’s own',
    },
    ADMIN_LISTEN: {
      rule: v.optional(listenAddress),
      text: '`9090` or an address with a port: health and metrics ([HTTP](HTTP.md))',
      unset: 'none',
    },
    /** The main thread is not among them. */
    HTTP_THREADS: {
      rule: v.optional(
        v.pipe(
          v.union([v.literal('auto'), integer(1, 64)], 'must be auto or 1 to 64'),
          v.transform((threads) =>
            threads === 'auto' ? frontEndsOf(availableParallelism()) : threads,
          ),
        ),
        'auto',
      ),
      text: 'threads that listen, 1 to 64; `auto`: cores − 1',
    },
    CAPTCHA_THREADS: {
      rule: v.optional(integer(1, 64), '2'),
      text: 'threads that render challenges',
    },
    DRAIN_MS: {
      rule: v.optional(integer(0, 60_000), '500'),
      text: 'how long a server that stops serves on, not ready',
    },
  },
  Data: {
    DATA_DIR: { rule: v.optional(path, dataDirDefault), text: 'store, master key, snapshots' },
    MASTER_KEY_FILE: {
      rule: v.optional(path),
      text: '32 bytes that seal API keys; mode 600',
      unset: 'made in `DATA_DIR`',
    },
    /** Holds a password: never logged. */
    DATABASE_URL: {
      rule: v.optional(databaseUrl),
      text: 'PostgreSQL of several servers ([several machines](CLUSTER.md))',
      unset: 'embedded store',
    },
    DATABASE_REPLICA_URL: {
      rule: v.optional(databaseUrl),
      text: 'a standby of it, to read the journal from',
      unset: 'none',
    },
    INTERNAL_LISTEN: {
      rule: v.optional(v.string(), '127.0.0.1:0'),
      text: 'where other nodes ask this one ([several machines](CLUSTER.md))',
    },
    GEO_COUNTRY_MMDB: {
      rule: v.optional(path),
      text: 'countries in MaxMind format, fresher than the default',
      unset: 'npm package',
    },
    GEO_ASN_MMDB: {
      rule: v.optional(path),
      text: 'networks in the same format',
      unset: 'npm package',
    },
  },
  Backups: {
    BACKUP_FOLDER: {
      rule: v.optional(path),
      text: 'where the server puts backups that it makes itself',
      unset: 'none',
    },
    /** Milliseconds. */
    BACKUP_EVERY: { rule: v.optional(duration, '24h'), text: 'how often' },
    BACKUP_KEEP: { rule: v.optional(integer(1, 10_000), '7'), text: 'how many are kept' },
    BACKUP_RECIPIENTS: {
      rule: v.optional(recipientList, ''),
      text: 'public keys of `age` (`age1…`) to encrypt to',
      unset: 'none',
    },
    BACKUP_PASSPHRASE_FILE: {
      rule: v.optional(path),
      text: 'a passphrase to encrypt with instead',
      unset: 'none',
    },
    BACKUP_PASSPHRASE: {
      rule: v.optional(v.pipe(v.string(), v.minLength(12, 'must have at least 12 characters'))),
      text: 'the passphrase itself',
      unset: 'none',
    },
  },
  'Accounts and mail': {
    REGISTRATION: {
      rule: v.optional(v.picklist(['open', 'closed'], 'must be open or closed'), 'open'),
      text: '`closed`: operators make accounts, and invite',
    },
    REGISTRATION_DOMAINS: {
      rule: v.optional(mailDomains, ''),
      text: 'mail domains whose addresses may register, such as `example.org`',
      unset: 'all',
    },
    REQUIRE_SECOND_FACTOR: {
      rule: v.optional(v.picklist(factorDemands, `must be ${factorDemands.join(', ')}`), 'off'),
      text: '`operators` or `everybody` must have a second factor or a passkey',
    },
    CONSENT_SITE_NAMES: {
      rule: v.optional(onOff, 'off'),
      text: '`on`: a site’s own name stands at consent, fetched from its web manifest',
    },
    TRUSTED_BROWSERS: {
      rule: v.optional(onOff, 'off'),
      text: '`on`: people may trust a browser for 30 days in place of the second factor',
    },
    SMTP_URL: { rule: v.optional(smtpUrl), text: 'where mails go', unset: '`DATA_DIR/outbox`' },
    MAIL_FROM: {
      rule: v.optional(
        v.pipe(
          v.string(),
          v.check((text) => readMailAddress(text) !== undefined, 'must be a mail address'),
        ),
        'portcullis@localhost',
      ),
      text: 'who mails come from',
    },
    SITE_NAME: {
      rule: v.optional(oneLine(60)),
      text: 'your name on pages, in mails and for passkeys',
      unset: 'Portcullis; else the host',
    },
    SITE_CONTACT: {
      rule: v.optional(contact),
      text: 'contact in mails: an address or a page',
      unset: 'none',
    },
    SITE_LOGO: {
      rule: v.optional(path),
      text: 'your logo, a PNG or SVG of at most 64 KiB (mails: PNG)',
      unset: 'none',
    },
    SITE_ACCENT: {
      rule: v.optional(accent),
      text: 'your colour, `#16416f`; the dark theme’s after a comma',
      unset: 'the program’s',
    },
    /** Asked by the first five digits of a hash. */
    PWNED_RANGE_URL: {
      rule: v.optional(urlOf('http:', 'https:')),
      text: 'asked about new passwords besides ([operations](OPERATIONS.md))',
      unset: 'none',
    },
    SMS_WEBHOOK_URL: {
      rule: v.optional(urlOf('http:', 'https:')),
      text: 'gets texts as `{"to","text"}`',
      unset: '`DATA_DIR/outbox`',
    },
    /** ISO 3166-1 codes. */
    SMS_COUNTRIES: {
      rule: v.optional(countryList, smsCountriesDefault),
      text: 'countries that texts go to, such as `FR,BE`; `*`: all',
      unset: 'EEA, GB, CH, US, CA',
    },
    SMS_PER_DAY: { rule: v.optional(integer(1, 65_535), '200'), text: 'texts over all in a day' },
    CLIENT_SUFFIXES: {
      rule: v.optional(suffixList, ''),
      text: 'suffixes of your intranet whose names may be clients of sign-on',
      unset: 'none',
    },
  },
  Reputation: {
    REPUTATION: {
      rule: v.optional(v.picklist(['private', 'public'], 'must be private or public')),
      text: '`private` or `public`: whose sensors report ([scores](SCORING.md))',
      unset: 'by `REGISTRATION`',
    },
    FEDERATION_AGREE: {
      rule: v.optional(integer(3, 8), '3'),
      text: 'so many groups of peers must agree before peers alone block, 3 to 8',
    },
    FEDERATION_BLOCKS: { rule: v.optional(onOff, 'on'), text: '`off`: peers alone never block' },
    REPUTATION_ANCHORED: {
      rule: v.optional(onOff, 'off'),
      text: '`on`: earned votes alone never block',
    },
    NETWORK_RISE: {
      rule: v.optional(onOff),
      text: '`on`: many reported hosts lift their network ([scores](SCORING.md))',
      unset: '`on` where private',
    },
    DECISIONS_CAPTCHA_FROM: {
      rule: v.optional(integer(0, 74), '0'),
      text: 'bouncers get a captcha from this score on, 1 to 74; 0: never',
    },
    RDNS: {
      rule: v.optional(v.picklist(rdnsModes, `must be ${rdnsModes.join(', ')}`), 'off'),
      text: 'host names by reverse DNS: on `pages`, in `verbose` checks too ([check](API.md))',
    },
    RDNS_RESOLVER: {
      rule: v.optional(resolverList, ''),
      text: 'resolvers that are asked, such as `192.0.2.53`',
      unset: 'the system’s',
    },
    KNOWN_GOOD: {
      rule: v.optional(list, ''),
      text: 'more addresses and networks that reports don’t touch',
      unset: 'none',
    },
    SOURCE_ALLOW_PRIVATE: {
      rule: v.optional(onOff, 'off'),
      text: '`on`: lists may be fetched from your own network, webhooks and notices sent there',
    },
    FEDERATION_LEAST: {
      rule: v.optional(integer(1, 10)),
      text: 'accounts behind each row that [peers](FEDERATION.md) read; one of the staff is always enough',
      unset: '2 in public, 1 in private',
    },
    FEDERATION_ACCESS: {
      rule: v.optional(v.picklist(['peers', 'open'], 'must be peers or open'), 'peers'),
      text: '`peers` or `open`: who reads what is published to peers',
    },
    FEED_INTERVAL_SECONDS: {
      rule: v.optional(integer(1, 3_600), '60'),
      text: 'least time between two builds of the feeds',
    },
    FEED_LICENCE: {
      rule: v.optional(
        // It stands in comments of eight formats.
        v.pipe(v.string(), v.regex(/^[\x20-\x7e]{1,300}$/, 'must be one line of ASCII, 1 to 300')),
        feedLicenceDefault,
      ),
      text: 'terms of your blocklists, in their heads and on `/feeds`',
      unset: 'free for protection',
    },
    /** Without a value everybody may see it in the demo. */
    RADAR: {
      rule: v.optional(v.picklist(radarModes, 'must be operators, public or off')),
      text: 'who sees `/radar`: `operators`, `public` or nobody (`off`)',
      unset: '`operators`',
    },
    CLIENT_LIMITS: {
      rule: v.optional(onOff, 'on'),
      text: '`off` lifts the limits per client address, never the quotas',
    },
  },
  'Other programs': {
    DNS_ZONE: {
      rule: v.optional(domainName),
      text: 'a DNS block list ([DNS](DNSBL.md))',
      unset: 'none',
    },
    DNS_LISTEN: {
      rule: v.optional(
        v.pipe(list, v.minLength(1, 'must list an address with its port')),
        '127.0.0.1:5300',
      ),
      text: 'where it is asked',
    },
    DNS_ALLOW: { rule: v.optional(list, '127.0.0.0/8,::1'), text: 'who may ask it without a key' },
    /** The zone is delegated to them. */
    DNS_NS: { rule: v.optional(domainList, ''), text: 'its name servers', unset: 'none' },
    SPOE_LISTEN: {
      rule: v.optional(loopbackEndpoint),
      text: 'where HAProxy asks the gate ([gate](GATE.md))',
      unset: 'none',
    },
  },
  'Watching it': {
    LOG_LEVEL: {
      rule: v.optional(v.picklist(logLevels, `must be one of ${logLevels.join(', ')}`), 'info'),
      text: '`trace` … `fatal`, `silent`',
    },
    ACCESS_LOG: {
      rule: v.optional(
        v.pipe(
          v.union([v.picklist(['off', 'stdout']), path], 'must be off, stdout or a file'),
          v.transform((target) => (target === 'off' ? undefined : target)),
        ),
        'off',
      ),
      text: 'a file or `stdout`: a line for each answer',
    },
    METRICS_TOKEN: {
      rule: v.optional(
        // An Authorization header can carry these (RFC 6750's b64token, and a little more).
        v.pipe(
          v.string(),
          v.regex(/^[\x21-\x7e]{16,256}$/, 'must be 16 to 256 characters, no spaces'),
        ),
      ),
      text: 'bearer token of `/metrics`; needed behind a proxy',
      unset: 'loopback only',
    },
    WEB_SERVER_SHA256: {
      rule: v.optional(
        v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'must be 64 digits of 0-9 and a-f')),
      ),
      text: 'hash of a web server’s binary of your own that you trust',
      unset: 'none',
    },
  },
} satisfies Readonly<Record<string, SettingGroup>>;

const settings = {
  ...settingGroups['Where it listens'],
  ...settingGroups.Data,
  ...settingGroups.Backups,
  ...settingGroups['Accounts and mail'],
  ...settingGroups.Reputation,
  ...settingGroups['Other programs'],
  ...settingGroups['Watching it'],
};
type Settings = typeof settings;
export type SettingName = keyof Settings;
const settingNames = Object.keys(settings) as SettingName[];

/** `DNS_ZONE` is `dnsZone` in the config. */
type FieldOf<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${CamelCase<Rest>}`
  : Lowercase<Name>;
type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Capitalize<Lowercase<First>>}${CamelCase<Rest>}`
  : Capitalize<Lowercase<Name>>;

export function fieldOf<Name extends SettingName>(name: Name): FieldOf<Name> {
  return name
    .toLowerCase()
    .replace(/_(.)/g, (_, first: string) => first.toUpperCase()) as FieldOf<Name>;
}

type SettingValues = {
  readonly [Name in SettingName as FieldOf<Name>]: Readonly<v.InferOutput<Settings[Name]['rule']>>;
};

/** These follow from other settings where they are not set. */
interface DerivedSettings {
  readonly baseUrl: string;
  readonly secureUrl: string;
  /** Private: reports come from the operator's own machines. */
  readonly reputation: 'private' | 'public';
  /** Networks rise by their hosts. */
  readonly networkRise: boolean;
  /** Accounts behind a row that is published to peers, at least. */
  readonly federationLeast: number;
}

/** Each setting by its name in camel case, as its rule reads it. */
export type Config = Omit<SettingValues, keyof DerivedSettings> & DerivedSettings;

const schema = v.object(
  Object.fromEntries(settingNames.map((name) => [name, settings[name].rule])) as {
    [Name in SettingName]: Settings[Name]['rule'];
  },
);

/** The caller passes these in, because the meaning of the settings is known further up. */
interface SettingValidators {
  /** Tells an address or prefix from other text; TRUSTED_PROXIES must hold nothing else, but for `unix`. */
  readonly isPrefix: (text: string) => boolean;
  /** Tells a prefix that no list may name, because it covers too much. */
  readonly isTooWide: (prefix: string) => boolean;
  /** Tells a country that has telephone numbers from other two letters. */
  readonly isPhoneCountry: (code: string) => boolean;
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
  { isPrefix, isTooWide, isPhoneCountry, suffixFault, isEndpoint }: SettingValidators,
): Config {
  refuseRemoved(environment);
  const texts = Object.fromEntries(
    settingNames
      .map((name) => [name, environment[name]?.trim()] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = v.safeParse(schema, texts);
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
  const wide = s.KNOWN_GOOD.find(isTooWide);
  if (wide !== undefined) {
    throw settingError('KNOWN_GOOD', `holds '${quoted(wide)}', which covers too much`);
  }
  const strange = s.SMS_COUNTRIES.find((code) => code !== '*' && !isPhoneCountry(code));
  if (strange !== undefined) {
    throw settingError('SMS_COUNTRIES', `holds '${strange}', no country of ISO 3166-1`);
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
  const given = Object.fromEntries(
    settingNames.map((name) => [fieldOf(name), Object.freeze(s[name])]),
  );
  const derived: DerivedSettings = {
    baseUrl: s.BASE_URL ?? local,
    secureUrl: s.SECURE_URL ?? local,
    reputation,
    networkRise: s.NETWORK_RISE ?? reputation === 'private',
    federationLeast: s.FEDERATION_LEAST ?? (reputation === 'public' ? 2 : 1),
  };
  return Object.freeze({ ...(given as SettingValues), ...derived });
}

/** A slip of one letter in four is told; of shorter names other programs have too many that are alike. */
const lettersPerSlip = 4;
const misspeltLettersMin = 6;

/**
 * Returns what is wrong with names that are no settings and differ from one by slips, in words: nobody would
 * read them.
 */
export function misspeltSettings(names: readonly string[]): string[] {
  return names.flatMap((name) => {
    if (name in settings || name.length < misspeltLettersMin || name.length > 40) return [];
    const allowed = Math.floor(name.length / lettersPerSlip);
    const text = name.toUpperCase();
    const near = settingNames
      .map((meant) => ({ meant, slips: distance(text, meant) }))
      .filter(({ meant, slips }) => slips <= allowed && meant.length >= misspeltLettersMin)
      .sort((a, b) => a.slips - b.slips)[0];
    return near === undefined ? [] : [`${quoted(name)} is no setting: did you mean ${near.meant}?`];
  });
}

/** A former edge node must not start as a server of its own. @throws OperatorError */
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
