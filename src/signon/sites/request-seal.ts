/**
 * A site's request before anybody has signed in. Nothing of it is stored: the pages carry it, sealed
 * (sealed-text.ts), in the body of their forms, so a million requests cost no byte of disk. A seal
 * opens for the browser that got it alone, for an hour. Who signs in with it uses it up
 * (authorization.ts).
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { hourMs } from '../../core/time.ts';
import { bareRecord, text, time } from '../../storage/record.ts';
import { createSealedTexts } from '../sealed-text.ts';

/** A page may stay open for so long before its form is sent. */
export const sealLifeMs = hourMs;
/** The characters of state and redirect_uri of full length, all of them escaped. */
export const requestQueryCharsMax = 12_288;
/** The bytes of the time and the length. */
const fieldBytes = 16;

/** The content of a seal. */
export interface CarriedRequest {
  /** The query as `requestQuery` gives it. */
  readonly query: string;
  /** The time at which the request was first seen, ms since 1970. */
  readonly askedAt: number;
}

export interface OpenedRequest extends CarriedRequest {
  /** The id of the seal. */
  readonly id: Uint8Array;
  /** The time from which nobody can open it, ms since 1970. */
  readonly endsAt: number;
}

const plains = bareRecord<{ readonly askedAt: number; readonly query: string }>({
  askedAt: time,
  query: text,
});

export function createRequestSeals(options: {
  masterKey: MasterKey;
  clock: Clock;
  random: Random;
}) {
  const { clock } = options;
  const texts = createSealedTexts({
    ...options,
    purpose: 'site request seal',
    plainBytesMax: requestQueryCharsMax + fieldBytes,
  });

  return {
    /**
     * Seals a request that is seen now.
     * @param query as `requestQuery` gives it
     * @param browserId the request's: no other browser can open it
     */
    seal(query: string, browserId: string): string {
      return texts.seal(plains.encode({ askedAt: clock.now(), query }), browserId);
    },
    /** Returns undefined alike when it was altered, is over, or is another browser's. */
    open(text: string, browserId: string): OpenedRequest | undefined {
      const opened = texts.open(text, browserId);
      const found = opened && plains.decode(opened.plain);
      if (!opened || !found) return undefined;
      const endsAt = found.askedAt + sealLifeMs;
      return clock.now() >= endsAt ? undefined : { ...found, id: opened.id, endsAt };
    },
  };
}

export type RequestSeals = ReturnType<typeof createRequestSeals>;
