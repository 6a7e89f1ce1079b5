/** Limits per client: one table for the whole service. */

import { hourMs, minuteMs } from '../core/time.ts';

/** At most `max` requests of one client IP, 1 to 65,535, in any `windowMs`. */
export interface ClientLimit {
  readonly max: number;
  readonly windowMs: number;
}

/** Limits per client IP: one table for the whole service. */
export const clientLimits = {
  /**
   * All that has neither a good key nor a place on the hot lane: also what no other limit holds, such
   * as pages that nobody has. Counted by the transport, before any work.
   */
  answers: { max: 4_000, windowMs: 10_000 },
  /** The answers to an IPv4 /24 or IPv6 /48. */
  answersNear: { max: 12_000, windowMs: 10_000 },
  /** Health checks, counted apart so that a flood of pages doesn't hide them. */
  probes: { max: 3_000, windowMs: 10_000 },
  ipPage: { max: 60, windowMs: minuteMs },
  /** Pages of autonomous systems, of an IPv4 /24 or IPv6 /48: each looks at thousands of ranges. */
  systemNear: { max: 120, windowMs: minuteMs },
  feeds: { max: 60, windowMs: minuteMs },
  /** Heads, segments and snapshots that peers read. */
  federation: { max: 30, windowMs: minuteMs },
  // Bouncers are counted by key and address, their look-ups by key alone.
  /** Beyond it an address counts as unknown: no limit bans anybody. */
  decisions: { max: 20_000, windowMs: 10_000 },
  decisionsWhole: { max: 60, windowMs: minuteMs },
  decisionsStream: { max: 1_200, windowMs: minuteMs },
  /** Log-ins of agents with a wrong password; a right one is never held up by them. */
  agentLogin: { max: 10, windowMs: minuteMs },
  /** Log-ins and heartbeats with a good key, by key and address. */
  agentCalls: { max: 600, windowMs: minuteMs },
  /** Exchanges of codes for profiles: whole sites ask from one address. */
  exchange: { max: 600, windowMs: minuteMs },
  signIn: { max: 10, windowMs: minuteMs },
  /** Sign-ins by password of an IPv4 /24 or IPv6 /48, without those of browsers that the account knows. */
  signInNear: { max: 60, windowMs: minuteMs },
  /** Sign-ins by password to an account on a browser that it knows, wherever that is. */
  signInOwner: { max: 10, windowMs: minuteMs },
  /**
   * Steps of a sign-in by passkey, of which each has two: its own, since no guess gets anywhere, and so
   * many that a stranger in an office keeps nobody out by them in passing.
   */
  passkey: { max: 1_200, windowMs: minuteMs },
  /** Steps of registering with a passkey. */
  passkeyRegister: { max: 60, windowMs: minuteMs },
  /** Passwords that are judged before anything is proved. */
  newPassword: { max: 30, windowMs: minuteMs },
  /** Requests for a link to a new password, whosever address is typed. */
  recover: { max: 10, windowMs: minuteMs },
  /** Uses of mailed links that do not work: nobody who has one that does is held up by them. */
  deadLink: { max: 10, windowMs: minuteMs },
  /** Uses of one mailed link that works, wherever it is opened. */
  mailedLink: { max: 10, windowMs: minuteMs },
  /** Mails that an account asks for to confirm its address, or a new one. */
  ownMail: { max: 10, windowMs: minuteMs },
  register: { max: 5, windowMs: hourMs },
  /** Pages and changes of the operators' console. */
  console: { max: 300, windowMs: minuteMs },
  removal: { max: 5, windowMs: hourMs },
  tip: { max: 5, windowMs: hourMs },
  /** Each picture is decoded and encoded again. */
  avatar: { max: 20, windowMs: minuteMs },
  /** Pages that lead to a site's consent: whole offices come from one address, and nothing is stored. */
  authorize: { max: 300, windowMs: minuteMs },
  /** The steps behind them: the return from a sign-in, and the answers to the form. */
  consent: { max: 600, windowMs: minuteMs },
  // Whole offices come from one address. `captchaBrowserLimits` has a browser's own share.
  captchaNew: { max: 300, windowMs: minuteMs },
  captchaVerify: { max: 900, windowMs: minuteMs },
  /** A challenge's picture may be fetched again, by a page that is shown again say. */
  captchaImage: { max: 1_200, windowMs: minuteMs },
  /** Each is one more guess for a program that listens: few. */
  captchaAudio: { max: 60, windowMs: minuteMs },
  /** All four together, by browsers within their own share. */
  captchaFree: { max: 4_000, windowMs: minuteMs },
} as const satisfies Record<string, ClientLimit>;

export type ClientLimitName = keyof typeof clientLimits;

/** The own share of a browser with our cookie; beyond it, it counts with its network. */
export const captchaBrowserLimits = {
  captchaNew: { max: 30, windowMs: minuteMs },
  captchaVerify: { max: 60, windowMs: minuteMs },
  captchaImage: { max: 120, windowMs: minuteMs },
  captchaAudio: { max: 10, windowMs: minuteMs },
} as const satisfies Partial<Record<ClientLimitName, ClientLimit>>;

export type CaptchaLimitName = keyof typeof captchaBrowserLimits;
