/**
 * Links and tickets that work once: mail verification, password reset, change of address, and the
 * ticket between a right password and the second factor. The row is deleted in the very commit
 * that makes the change, with a check of its version, so of all who race for it one wins, in one
 * process or in several.
 */

import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { createWriter, decode, type Reader } from '../store/codec.ts';
import { type Key, signonLinkKey } from '../store/keys.ts';
import type { Check, SetRow, Store } from '../store/store.ts';
import { hashOfToken, newToken } from './tokens.ts';

export const linkLifeMs = {
  verify: 24 * 3_600_000,
  reset: 3_600_000,
  email: 24 * 3_600_000,
  secondFactor: 10 * 60_000,
} as const;

export type LinkPurpose = keyof typeof linkLifeMs;

export interface Link {
  /** Account id; empty: a decoy, made so that an unknown address takes the same work. */
  readonly account: string;
  /** What goes with it: a password hash, a new address. */
  readonly data: string;
  /** The credentials' epoch when it was made: any reset or password change ends it. */
  readonly epoch: number;
}

export interface FoundLink extends Link {
  readonly key: Key;
  readonly version: number;
}

export interface Links {
  /** The token for the link, and the row to set. */
  make(purpose: LinkPurpose, link: Link): { token: string; row: SetRow };
  /**
   * The row again with other data, for a commit with `unused`. It ends as late as a new one would;
   * bound how often.
   */
  changed(purpose: LinkPurpose, link: FoundLink, data: string): SetRow;
  /** Looks without using it up. */
  find(purpose: LinkPurpose, token: string): Promise<FoundLink | undefined>;
}

const layout = 1;
const purposes = Object.keys(linkLifeMs) as LinkPurpose[];

export function createLinks({
  store,
  clock,
  random,
}: {
  store: Store;
  clock: Clock;
  random: Random;
}): Links {
  function rowOf(purpose: LinkPurpose, key: Key, link: Link): SetRow {
    const value = createWriter(128).u8(layout).u8(purposes.indexOf(purpose)).text(link.account);
    return {
      key,
      value: value.text(link.data).varint(link.epoch).finish(),
      expiresAt: clock.now() + linkLifeMs[purpose],
    };
  }

  return {
    make(purpose, link) {
      const token = newToken(random);
      return { token: token.text, row: rowOf(purpose, signonLinkKey(token.hash), link) };
    },
    changed: (purpose, link, data) => rowOf(purpose, link.key, { ...link, data }),
    async find(purpose, token) {
      const hash = hashOfToken(token);
      const key = hash && signonLinkKey(hash);
      const row = key && (await store.get(key));
      const link =
        row &&
        decode(row.value, (input) => {
          if (input.u8() !== layout || input.u8() !== purposes.indexOf(purpose)) input.reject();
          return { account: input.text(), data: input.text(), epoch: input.varint() };
        });
      if (!key || !row || !link || link.account === '') return undefined;
      return { ...link, key, version: row.version };
    },
  };
}

/** Whose link a row is, whatever its purpose. */
export function linkAccountOf(input: Reader): string | undefined {
  const known = input.u8() === layout;
  input.u8();
  const account = input.text();
  return known && !input.failed() ? account : undefined;
}

/** For the commit that uses the link up: pair it with `del: [link.key]`. */
export function unused(link: FoundLink): Check {
  return { key: link.key, version: link.version };
}
