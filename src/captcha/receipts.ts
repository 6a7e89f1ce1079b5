/**
 * Receipts: what a visitor's browser carries from a solved challenge to the site, and the site's
 * server redeems, so that nobody has to trust the browser.
 *
 *   pcr2.<body>.<mac>    body and mac in base64url; mac = HMAC-SHA-256 over `pcr2.<body>`
 *
 * The prefix says the level that was passed: `pcp2` none, the address was clean; `pcs2` silent, by work;
 * `pcr2` an easy picture, `pch2` a hard one.
 *
 *   body: id 16 · site key id · page's origin · solved at f64 · ends at f64 · abuse score u8 · action   (codec.ts)
 *
 * The signature says that we gave it; the store says that nobody has used it yet: redeeming
 * commits a row under the receipt's id that must not be there. A receipt given is not stored.
 *
 * A solution of proof of work that a site's server brings as it is counts as a silent receipt.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { LeastLevel } from '../access/keys/site-keys.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { hourMs, isOfFuture, minuteMs } from '../core/time.ts';
import { usedReceiptKey } from '../storage/keys.ts';
import { bareRecord, type Decoded, fixed, text, time, u8 } from '../storage/record.ts';
import type { Store } from '../storage/store.ts';
import { isAtLeast, type Level } from './work/levels.ts';
import type { Work } from './work/work.ts';

/** The part of a site key that receipts depend on. */
export interface ReceiptSiteKey {
  readonly id: string;
  readonly account: string;
  /** Clean addresses pass without a puzzle: as it is stored now. */
  readonly passesClean: boolean;
  /** The level that it asks for at least. */
  readonly least: LeastLevel;
}

/** The level that a receipt stands for; `none`: nothing was asked of a clean address. */
type PassedLevel = Level | 'none';

export interface SolvedBy {
  readonly siteKey: string | undefined;
  /** The request's `Origin` header. */
  readonly origin: string | undefined;
  /** The abuse score of the visitor's address in the index, 0 to 100; 0 when left out. */
  readonly abuseScore?: number;
  /** The page's name for the action that it protects; a malformed one counts as none. */
  readonly action?: string;
}

interface RedeemedReceipt {
  readonly siteKey: string;
  /** The origin of the page as its browser sent it: `https://shop.example`. */
  readonly origin: string;
  readonly hostname: string;
  /** Milliseconds since 1970. */
  readonly solvedAt: number;
  /** The abuse score of the address that solved it, at that time: 0 to 100. */
  readonly abuseScore: number;
  /** The action that the page sent; empty when it sent none. */
  readonly action: string;
  readonly level: PassedLevel;
}

/**
 * `invalid`: forged, altered, unknown, of a revoked site key or of another account's; or without a puzzle
 * where one is wanted.
 */
type ReceiptFault = 'invalid' | 'wrong_site' | 'spent';

/** The reason why a page of a site gets no receipts: the account has no such site key, or it is not for that host. */
export const siteFaults = ['unknown', 'other_host'] as const;
type SiteFault = (typeof siteFaults)[number];

export interface Receipts {
  /**
   * Issues a receipt for a challenge that was just solved. Undefined when the request names no site key that is
   * alive, or comes from no web page, or from a host that the site key doesn't allow, or when the site key asks
   * for a higher level.
   */
  issue(by: SolvedBy & { readonly level: Level }): Promise<string | undefined>;
  /** Issues a receipt without a puzzle, for a clean address. Undefined too where the site key asks for one. */
  pass(by: SolvedBy): Promise<string | undefined>;
  /**
   * Uses the receipt up; durable when it resolves. `spent`: expired or used before. A fault other
   * than that uses nothing up. `expectedSite`: a site key id that it must have been given for.
   * `namedSite`: one that the site's server says is its own, without refusing others.
   * The result fails only with `store_unavailable`: then the receipt may be used up or not.
   */
  redeem(
    receipt: string,
    account: string,
    expectedSite?: string,
    namedSite?: string,
  ): Promise<Result<RedeemedReceipt | ReceiptFault>>;
  /** Returns the reason why pages on this host get no receipts for the site key; undefined when they do. */
  siteFault(
    siteKey: string,
    account: string,
    hostname: string | undefined,
  ): Promise<SiteFault | undefined>;
}

export const receiptLifeMs = 5 * minuteMs;
/**
 * A used receipt is remembered for this long after its end. Far longer than a request takes or a
 * clock is set back: else one that ends between two reads could be redeemed twice.
 */
const rememberMs = hourMs;
/** Whoever composes the service derives the signing key for this purpose. */
export const receiptKeyPurpose = 'captcha receipt 1';
const prefixes = { none: 'pcp2', silent: 'pcs2', easy: 'pcr2', hard: 'pch2' } as const;
const levelNames = Object.keys(prefixes) as PassedLevel[];
const idBytes = 16;
/** Longer than any receipt of ours; an origin has at most `originCharactersMax`. */
export const receiptCharactersMax = 1_024;
const originCharactersMax = 300;
const siteKeyCharactersMax = 64;
/** The form of actions is that of reCAPTCHA and Turnstile: letters, digits, `_`, `-` and `/`. */
const actionPattern = /^[\w/-]{1,100}$/;

/** Returns the action as the page sent it, and an empty text for one of another form. */
export function actionOf(text: string): string {
  return actionPattern.test(text) ? text : '';
}

type Body = Decoded<typeof bodies.decode>;

type OpenedReceipt = Body & { readonly level: PassedLevel };

const bodies = bareRecord({
  id: fixed(idBytes),
  siteKey: text,
  origin: text,
  solvedAt: time,
  endsAt: time,
  abuseScore: u8,
  action: text,
});

/** Returns whether a site key takes a receipt of this level, as it is set now. */
function accepts({ passesClean, least }: ReceiptSiteKey, level: PassedLevel): boolean {
  return level === 'none' ? passesClean : isAtLeast(level, least);
}

/** Host of a web page's origin in its one canonical form; undefined for anything else. */
function hostOf(origin: string): string | undefined {
  if (origin.length > originCharactersMax || !URL.canParse(origin)) return undefined;
  const url = new URL(origin);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.origin === origin ? url.hostname : undefined;
}

export function createReceipts<S extends ReceiptSiteKey>(options: {
  store: Pick<Store, 'commit'>;
  clock: Clock;
  random: Random;
  /** 32 secret bytes, for receipts alone. */
  signingKey: Uint8Array;
  site: (id: string) => Promise<S | undefined>;
  allows: (site: S, hostname: string) => boolean;
  sitesOf: (account: string) => Promise<readonly S[]>;
  work: Pick<Work, 'open'>;
}): Receipts {
  const { store, clock, random, signingKey } = options;

  function mac(signed: string): Buffer {
    return createHmac('sha256', signingKey).update(signed, 'latin1').digest();
  }

  function sign(level: PassedLevel, body: Body): string {
    const signed = `${prefixes[level]}.${Buffer.from(bodies.encode(body)).toString('base64url')}`;
    return `${signed}.${mac(signed).toString('base64url')}`;
  }

  /** Nothing of the body is looked at before the signature is found right. */
  function open(receipt: string): OpenedReceipt | undefined {
    if (receipt.length > receiptCharactersMax) return undefined;
    const parts = /^((pc[hprs]2)\.([\w-]+))\.([\w-]{43})$/.exec(receipt);
    if (parts === null) return undefined;
    const [, signed = '', prefix = '', text = '', given = ''] = parts;
    // The last of 43 characters has two bits to spare: one spelling alone is right.
    const right = Buffer.from(mac(signed).toString('base64url'), 'latin1');
    if (!timingSafeEqual(right, Buffer.from(given, 'latin1'))) return undefined;
    const body = bodies.decode(Buffer.from(text, 'base64url'));
    return body && { ...body, level: levelNames.find((name) => prefixes[name] === prefix)! };
  }

  function openWork(solution: string): OpenedReceipt | undefined {
    const solved = options.work.open(solution, undefined);
    if (solved === undefined) return undefined;
    const { site: siteKey, origin, action, score: abuseScore, endsAt } = solved;
    const id = Buffer.from(solved.nonce, 'hex');
    const solvedAt = Math.min(clock.now(), endsAt);
    return { id, siteKey, origin, action, abuseScore, solvedAt, endsAt, level: 'silent' };
  }

  async function give(level: PassedLevel, by: SolvedBy): Promise<string | undefined> {
    const { siteKey, origin, abuseScore = 0, action = '' } = by;
    if (siteKey === undefined || origin === undefined) return undefined;
    if (siteKey.length > siteKeyCharactersMax) return undefined;
    const hostname = hostOf(origin);
    const site = hostname === undefined ? undefined : await options.site(siteKey);
    if (site === undefined || !options.allows(site, hostname!)) return undefined;
    if (!accepts(site, level)) return undefined;
    const solvedAt = clock.now();
    const id = random.bytes(idBytes);
    return sign(level, {
      id,
      siteKey: site.id,
      origin,
      solvedAt,
      endsAt: solvedAt + receiptLifeMs,
      abuseScore,
      action: actionOf(action),
    });
  }

  /**
   * Returns whether the level is enough. A client that claims another page's origin may bring a receipt of
   * another site key of the account: unless the site's server names its own, it must be enough for all of them.
   */
  async function isEnough(site: S, level: PassedLevel, namedSite: string | undefined) {
    if (!accepts(site, level)) return false;
    if (namedSite === site.id) return true;
    return (await options.sitesOf(site.account)).every((one) => accepts(one, level));
  }

  return {
    issue: (by) => give(by.level, by),
    pass: (by) => give('none', by),

    async redeem(receipt, account, expectedSite, namedSite = expectedSite) {
      const body = open(receipt) ?? openWork(receipt);
      const site = body && (await options.site(body.siteKey));
      const hostname = body && hostOf(body.origin);
      if (!body || !hostname || site?.account !== account) return ok('invalid');
      if (!options.allows(site, hostname)) return ok('invalid');
      if (expectedSite !== undefined && expectedSite !== site.id) return ok('wrong_site');
      if (!(await isEnough(site, body.level, namedSite))) return ok('invalid');
      const now = clock.now();
      if (body.endsAt <= now || isOfFuture(body.endsAt, now, receiptLifeMs)) return ok('spent');
      const used = usedReceiptKey(body.id);
      const done = await store.commit({
        check: [{ key: used, version: null }],
        set: [{ key: used, value: new Uint8Array(), expiresAt: body.endsAt + rememberMs }],
      });
      if (done.ok) {
        const { siteKey, origin, solvedAt, abuseScore, action, level } = body;
        return ok({ siteKey, origin, hostname, solvedAt, abuseScore, action, level });
      }
      return done.error === 'check_failed' ? ok('spent') : fail(done.error, done.detail);
    },

    async siteFault(siteKey, account, given) {
      const isLong = siteKey.length > siteKeyCharactersMax;
      const site = isLong ? undefined : await options.site(siteKey);
      if (site?.account !== account) return 'unknown';
      if (given === undefined) return undefined;
      const origin = `https://${given}`;
      const hostname = URL.canParse(origin) ? hostOf(new URL(origin).origin) : undefined;
      return hostname !== undefined && options.allows(site, hostname) ? undefined : 'other_host';
    },
  };
}
