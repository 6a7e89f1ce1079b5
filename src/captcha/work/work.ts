/**
 * Proof of work in the protocol of ALTCHA, version 2: the browser searches for the counter whose PBKDF2
 * begins as the challenge says. The challenge is signed and holds what it is for; nothing of it is kept
 * here. The server derives the one right key of each challenge, and signs it too, so that a solution
 * costs two HMACs to verify, and a forged one the first of them. Keys for a calm network are derived ahead, a few
 * at a time, since deriving one costs fifty times as much as the rest of a challenge: each is for one challenge.
 *
 * A solution is good once: verifying commits a row under its nonce that must not be there, as a receipt
 * does (receipts.ts). So of any number of requests, threads and nodes one succeeds, also after a restart.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';
import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { hourMs, isOfFuture } from '../../core/time.ts';
import type { Networks } from '../../ip/networks.ts';
import { usedReceiptKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import { baseTries } from './levels.ts';

/** Whoever composes the service derives both secrets for these purposes. */
export const workKeyPurposes = ['captcha work 1', 'captcha work answer 1'] as const;

/** Rounds of PBKDF2 for each try: long compared with the call that a browser makes for it. */
const roundsPerTry = 1_000;
const algorithm = 'PBKDF2/SHA-256';
const keyBytes = 32;
const search = { algorithm, cost: roundsPerTry, keyLength: keyBytes, keyPrefix: '' };
/** Keys derived at a time, on the threads that also read files; beyond it there is a picture. */
const makingMax = 32;
/** Keys derived ahead: so many that a burst of a thousand visitors finds its own. */
const stockMax = 1_024;
/** Between two keys derived ahead: a fortieth of one core at the most, until there are as many. */
const stockEveryMs = 10;
/** Longer than any solution of ours in base64. */
export const solutionCharactersMax = 2_048;
/** A used one is remembered for so long after its end: far longer than a clock is set back. */
const rememberMs = hourMs;

const hex = (bytes: number) => v.pipe(v.string(), v.regex(new RegExp(`^[0-9a-f]{${bytes * 2}}$`)));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

/** The reason and the page that a challenge was made for; signed with it. */
const Purpose = v.object({
  action: v.string(),
  /** A tag of the client's /24 or /48, which says nothing without the key. */
  network: v.string(),
  origin: v.string(),
  score: whole,
  /** Empty for forms of our own. */
  site: v.string(),
});
/** Stand in the order of their names, as ALTCHA signs them. */
const Parameters = v.object({
  algorithm: v.string(),
  cost: whole,
  data: Purpose,
  expiresAt: whole,
  keyLength: whole,
  keyPrefix: v.string(),
  keySignature: hex(32),
  nonce: hex(16),
  salt: hex(16),
});
export const WorkChallenge = v.object({ parameters: Parameters, signature: hex(32) });
const Solved = v.object({
  challenge: WorkChallenge,
  solution: v.object({ derivedKey: hex(keyBytes) }),
});

/** A search begins with these; the one key that it finds is signed. */
type SearchParameters = Pick<
  v.InferOutput<typeof Parameters>,
  'keyPrefix' | 'keySignature' | 'nonce' | 'salt'
>;

export type WorkChallenge = v.InferOutput<typeof WorkChallenge>;

export interface WorkRequest {
  /** Site key; empty for forms of our own. */
  readonly site: string;
  readonly networks: Networks;
  /** The page's origin, as its browser sent it; empty when it sent none. */
  readonly origin: string;
  readonly action: string;
  readonly score: number;
  /** The search ends after so many tries at the latest, and after half of them on average. */
  readonly triesMax: number;
}

/** A solution that is right, and what its challenge was made for. It may be used up or expired. */
export type SolvedWork = Readonly<v.InferOutput<typeof Purpose>> & {
  readonly nonce: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
};

/** The message at `derivedChannel` (node:diagnostics_channel), for tests within the process. */
export interface DerivedSolution {
  /** The challenge is known by it. */
  readonly nonce: string;
  readonly counter: number;
  readonly derivedKey: string;
}

export const derivedChannel = 'portcullis:captcha:derived';
const derived = channel(derivedChannel);

export function createWork(options: {
  readonly store: Pick<Store, 'commit'>;
  readonly clock: Clock;
  readonly random: Random;
  /** 32 secret bytes each, for `workKeyPurposes`. */
  readonly keys: readonly [Uint8Array, Uint8Array];
  readonly lifetimeMs: number;
}) {
  const { store, clock, random, lifetimeMs } = options;
  // ALTCHA takes texts.
  const [secret, answerSecret] = options.keys.map((key) => Buffer.from(key).toString('hex')) as [
    string,
    string,
  ];
  let making = 0;

  function macOf(key: string, signed: string | Uint8Array): Buffer {
    return createHmac('sha256', key).update(signed).digest();
  }

  const isMac = (given: string, right: Buffer) => timingSafeEqual(Buffer.from(given, 'hex'), right);

  function tagOf({ neighbourhood }: Networks): string {
    return macOf(secret, `network ${neighbourhood}`).subarray(0, 9).toString('base64url');
  }

  async function derive(triesMax: number): Promise<SearchParameters> {
    const nonce = random.bytes(16);
    const counter = Buffer.from(random.bytes(4)).readUInt32BE() % triesMax;
    const salt = random.bytes(16);
    const tried = Buffer.alloc(nonce.length + 4);
    tried.set(nonce);
    tried.writeUInt32BE(counter, nonce.length);
    const { derivedKey } = await deriveKey({ ...search, nonce: '', salt: '' }, salt, tried);
    const key = Buffer.from(derivedKey);
    const name = Buffer.from(nonce).toString('hex');
    if (derived.hasSubscribers) {
      derived.publish({ nonce: name, counter, derivedKey: key.toString('hex') });
    }
    return {
      keyPrefix: key.toString('hex', 0, keyBytes / 2),
      keySignature: macOf(answerSecret, key).toString('hex'),
      nonce: name,
      salt: Buffer.from(salt).toString('hex'),
    };
  }

  const stock: SearchParameters[] = [];
  let isFilling = false;

  /** Begins with the first challenge of a calm network: a server that is asked for none derives none. */
  function fillStock(): void {
    if (isFilling || stock.length >= stockMax) return;
    isFilling = true;
    setTimeout(() => {
      derive(baseTries).then(
        (key) => {
          stock.push(key);
          isFilling = false;
          fillStock();
        },
        // The next challenge derives its own, and says what is wrong.
        () => {
          isFilling = false;
        },
      );
    }, stockEveryMs).unref();
  }

  async function findPuzzle(triesMax: number): Promise<Result<SearchParameters>> {
    const isBaseLevel = triesMax === baseTries;
    const found = isBaseLevel ? stock.shift() : undefined;
    if (isBaseLevel) fillStock();
    if (found !== undefined) return ok(found);
    if (making >= makingMax) return fail('overloaded');
    making++;
    try {
      return ok(await derive(triesMax));
    } finally {
      making--;
    }
  }

  return {
    /** Fails with `overloaded`. */
    async make(request: WorkRequest): Promise<Result<WorkChallenge>> {
      const { site, origin, action, score, triesMax } = request;
      const made = await findPuzzle(triesMax);
      if (!made.ok) return made;
      const { keyPrefix, keySignature, nonce, salt } = made.value;
      // In the order of their names, as ALTCHA signs them.
      const parameters = {
        algorithm,
        cost: roundsPerTry,
        data: { action, network: tagOf(request.networks), origin, score, site },
        expiresAt: Math.floor((clock.now() + lifetimeMs) / 1_000),
        keyLength: keyBytes,
        keyPrefix,
        keySignature,
        nonce,
        salt,
      };
      const signature = macOf(secret, JSON.stringify(parameters)).toString('hex');
      return ok({ parameters, signature });
    },
    /**
     * Returns what a right solution is for, and undefined for anything else. The signature comes first.
     * @param text base64 of `{"challenge","solution"}`, as the widget of ALTCHA writes it
     * @param networks of the client that brings it; undefined when a site's server does
     */
    open(text: string, networks: Networks | undefined): SolvedWork | undefined {
      const solved = solutionIn(text);
      if (solved === undefined) return undefined;
      const { parameters, signature } = solved.challenge;
      if (!isMac(signature, macOf(secret, JSON.stringify(parameters)))) return undefined;
      const { data, nonce } = parameters;
      if (networks !== undefined && data.network !== tagOf(networks)) return undefined;
      const key = Buffer.from(solved.solution.derivedKey, 'hex');
      if (!isMac(parameters.keySignature, macOf(answerSecret, key))) return undefined;
      return { ...data, nonce, endsAt: parameters.expiresAt * 1_000 };
    },
    /**
     * Uses the solution up; durable when it resolves. False: expired or used before. Fails with
     * `store_unavailable`: then it may be used up or not.
     */
    async use({ nonce, endsAt }: SolvedWork): Promise<Result<boolean>> {
      const now = clock.now();
      if (endsAt <= now || isOfFuture(endsAt, now, lifetimeMs)) return ok(false);
      const used = usedReceiptKey(Buffer.from(nonce, 'hex'));
      const done = await store.commit({
        check: [{ key: used, version: null }],
        set: [{ key: used, value: new Uint8Array(), expiresAt: endsAt + rememberMs }],
      });
      if (done.ok) return ok(true);
      return done.error === 'check_failed' ? ok(false) : fail(done.error, done.detail);
    },
    table: { name: 'captcha_work_making', used: () => making, limit: makingMax },
    /** Keys derived ahead. */
    stock: () => stock.length,
  };
}

export type Work = ReturnType<typeof createWork>;

/** Reads no more than is bounded, and of that only the fields that are signed. */
function solutionIn(text: string): v.InferOutput<typeof Solved> | undefined {
  if (text.length > solutionCharactersMax || !/^[\w+/-]+=*$/.test(text)) return undefined;
  try {
    const read = v.safeParse(Solved, JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
    return read.success ? read.output : undefined;
  } catch {
    return undefined;
  }
}
