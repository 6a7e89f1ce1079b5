/** Says of each setting what it is for: docs/SETTINGS.md is made of it, in this order. */

import type { SettingName } from '../config.ts';

/** A setting has one of these; `unset` says what holds without a value where the schema has no default. */
interface SettingText {
  readonly text: string;
  readonly unset?: string;
}

type Group = Partial<Readonly<Record<SettingName, SettingText>>>;

export const settingGroups: Readonly<Record<string, Group>> = {
  'Where it listens': {
    HOST: { text: 'address or host name to listen on' },
    PORT: { text: 'port to listen on' },
    BASE_URL: { text: 'what links begin with', unset: '`http://localhost:PORT`' },
    SECURE_URL: { text: 'what the API’s addresses begin with', unset: 'as `BASE_URL`' },
    TRUSTED_PROXIES: {
      text: 'whose `X-Forwarded-For` or `Forwarded` counts; `unix`: a socket’s',
      unset: 'nobody’s',
    },
    LISTEN_UNIX: { text: 'Unix-domain sockets beside the port ([HTTP](HTTP.md))', unset: 'none' },
    LISTEN_UNIX_MODE: { text: 'mode of their files' },
    LISTEN_UNIX_GROUP: { text: 'group of their files', unset: 'the server’s own' },
    ADMIN_LISTEN: {
      text: '`9090` or an address with a port: health and metrics ([HTTP](HTTP.md))',
      unset: 'none',
    },
    HTTP_THREADS: { text: 'threads that listen, 1 to 64; `auto`: cores − 1' },
    CAPTCHA_THREADS: { text: 'threads that render challenges' },
    DRAIN_MS: { text: 'how long a server that stops serves on, not ready' },
  },
  Data: {
    DATA_DIR: { text: 'store, master key, snapshots' },
    MASTER_KEY_FILE: { text: '32 bytes that seal API keys; mode 600', unset: 'made in `DATA_DIR`' },
    DATABASE_URL: {
      text: 'PostgreSQL of several servers ([several machines](CLUSTER.md))',
      unset: 'embedded store',
    },
    DATABASE_REPLICA_URL: { text: 'a standby of it, to read the journal from', unset: 'none' },
    INTERNAL_LISTEN: { text: 'where other nodes ask this one ([several machines](CLUSTER.md))' },
    GEO_COUNTRY_MMDB: {
      text: 'countries in MaxMind format, fresher than the default',
      unset: 'npm package',
    },
    GEO_ASN_MMDB: { text: 'networks in the same format', unset: 'npm package' },
  },
  Backups: {
    BACKUP_FOLDER: { text: 'where the server puts backups that it makes itself', unset: 'none' },
    BACKUP_EVERY: { text: 'how often' },
    BACKUP_KEEP: { text: 'how many are kept' },
    BACKUP_RECIPIENTS: { text: 'public keys of `age` (`age1…`) to encrypt to', unset: 'none' },
    BACKUP_PASSPHRASE_FILE: { text: 'a passphrase to encrypt with instead', unset: 'none' },
    BACKUP_PASSPHRASE: { text: 'the passphrase itself', unset: 'none' },
  },
  'Accounts and mail': {
    REGISTRATION: { text: '`closed`: operators make accounts, and invite' },
    REGISTRATION_DOMAINS: {
      text: 'mail domains whose addresses may register, such as `example.org`',
      unset: 'all',
    },
    REQUIRE_SECOND_FACTOR: {
      text: '`operators` or `everybody` must have a second factor or a passkey',
    },
    CONSENT_SITE_NAMES: {
      text: '`on`: a site’s own name stands at consent, fetched from its web manifest',
    },
    TRUSTED_BROWSERS: {
      text: '`on`: people may trust a browser for 30 days in place of the second factor',
    },
    SMTP_URL: { text: 'where mails go', unset: '`DATA_DIR/outbox`' },
    MAIL_FROM: { text: 'who mails come from' },
    SITE_NAME: { text: 'your name on pages and in mails', unset: 'Portcullis; in mails, the host' },
    SITE_CONTACT: { text: 'contact in mails: an address or a page', unset: 'none' },
    SITE_LOGO: { text: 'your logo, a PNG or SVG of at most 64 KiB (mails: PNG)', unset: 'none' },
    SITE_ACCENT: {
      text: 'your colour, `#16416f`; the dark theme’s after a comma',
      unset: 'the program’s',
    },
    PWNED_RANGE_URL: {
      text: 'asked about new passwords besides ([operations](OPERATIONS.md))',
      unset: 'none',
    },
    SMS_WEBHOOK_URL: { text: 'gets texts as `{"to","text"}`', unset: '`DATA_DIR/outbox`' },
    SMS_COUNTRIES: {
      text: 'countries that texts go to, such as `FR,BE`; `*`: all',
      unset: 'EEA, GB, CH, US, CA',
    },
    SMS_PER_DAY: { text: 'texts over all in a day' },
    CLIENT_SUFFIXES: {
      text: 'suffixes of your intranet whose names may be clients of sign-on',
      unset: 'none',
    },
  },
  Reputation: {
    REPUTATION: {
      text: '`private` or `public`: whose sensors report ([scores](SCORING.md))',
      unset: 'by `REGISTRATION`',
    },
    FEDERATION_AGREE: {
      text: 'so many groups of peers must agree before peers alone block, 3 to 8',
    },
    FEDERATION_BLOCKS: { text: '`off`: peers alone never block' },
    REPUTATION_ANCHORED: { text: '`on`: earned votes alone never block' },
    NETWORK_RISE: {
      text: '`on`: many reported hosts lift their network ([scores](SCORING.md))',
      unset: '`on` where private',
    },
    DECISIONS_CAPTCHA_FROM: {
      text: 'bouncers are told a captcha from this score on, 1 to 74; 0: never',
    },
    RDNS: {
      text: 'host names by reverse DNS: on `pages`, in `verbose` checks too ([check](API.md))',
    },
    RDNS_RESOLVER: {
      text: 'resolvers that are asked, such as `192.0.2.53`',
      unset: 'the system’s',
    },
    KNOWN_GOOD: { text: 'more addresses and networks that reports don’t touch', unset: 'none' },
    SOURCE_ALLOW_PRIVATE: {
      text: '`on`: lists may be fetched from your own network, webhooks and notices sent there',
    },
    FEDERATION_LEAST: {
      text: 'accounts behind each row that [peers](FEDERATION.md) read; one of the staff is always enough',
      unset: '2 in public, 1 in private',
    },
    FEDERATION_ACCESS: { text: '`peers` or `open`: who reads what is published to peers' },
    FEED_INTERVAL_SECONDS: { text: 'least time between two builds of the feeds' },
    FEED_LICENCE: {
      text: 'terms of your blocklists, in their heads and on `/feeds`',
      unset: 'free for protection',
    },
    RADAR: {
      text: 'who sees `/radar`: `operators`, `public` or nobody (`off`)',
      unset: '`operators`',
    },
    CLIENT_LIMITS: { text: '`off` lifts the limits per client address, never the quotas' },
  },
  'Other programs': {
    DNS_ZONE: { text: 'a DNS block list ([DNS](DNSBL.md))', unset: 'none' },
    DNS_LISTEN: { text: 'where it is asked' },
    DNS_ALLOW: { text: 'who may ask it without a key' },
    DNS_NS: { text: 'its name servers', unset: 'none' },
    SPOE_LISTEN: { text: 'where HAProxy asks the gate ([gate](GATE.md))', unset: 'none' },
  },
  'Watching it': {
    LOG_LEVEL: { text: '`trace` … `fatal`, `silent`' },
    ACCESS_LOG: { text: 'a file or `stdout`: a line for each answer' },
    METRICS_TOKEN: {
      text: 'bearer token of `/metrics`; needed behind a proxy',
      unset: 'loopback only',
    },
    WEB_SERVER_SHA256: {
      text: 'hash of a web server’s binary of your own that you trust',
      unset: 'none',
    },
  },
};
