/**
 * That a browser asked for a mailed link to sign in, told by a cookie of that browser: sealed
 * (sealed-text.ts), for this browser and this name alone, as long as the link lives. Nothing is
 * stored and no list can be full, so no stranger's ask costs anybody theirs.
 */

import type { MasterKey } from '../../../access/keys/master-key.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { bareRecord, text, time } from '../../../store/record.ts';
import { linkLifeMs } from '../../people/links/links.ts';
import { createSealedTexts } from '../../sealed-text.ts';
import type { Visitor } from '../../visitor.ts';

/** A longer way on is left out: a cookie goes with every request. */
const onwardCharsMax = 1_024;
/** Of the time and the length. */
const fieldBytes = 16;

export interface AskSeals {
  /**
   * The cookie's value.
   * @param name whom it is asked for: as attempts are counted
   * @param onward comes back when the link is used
   */
  seal(name: string, visitor: Visitor, onward: string): string;
  /** The way on. Undefined when this browser did not ask for this name, or too long ago. */
  open(name: string, visitor: Visitor): string | undefined;
}

const plains = bareRecord<{ readonly askedAt: number; readonly onward: string }>({
  askedAt: time,
  onward: text,
});

export function createAskSeals(options: {
  masterKey: MasterKey;
  clock: Clock;
  random: Random;
}): AskSeals {
  const { clock } = options;
  const texts = createSealedTexts({
    ...options,
    purpose: 'asked for a sign-in link',
    plainBytesMax: onwardCharsMax + fieldBytes,
  });

  return {
    seal(name, visitor, onward) {
      const kept = onward.length > onwardCharsMax ? '' : onward;
      const plain = plains.encode({ askedAt: clock.now(), onward: kept });
      return texts.seal(plain, holderOf(name, visitor));
    },
    open(name, visitor) {
      const opened = texts.open(visitor.asked ?? '', holderOf(name, visitor));
      const found = opened && plains.decode(opened.plain);
      if (!found || clock.now() >= found.askedAt + linkLifeMs.signIn) return undefined;
      return found.onward;
    },
  };
}

/** A browser's id has no space, so the name can't run into it. */
function holderOf(name: string, { browserId }: Visitor): string {
  return `${browserId ?? ''} ${name}`;
}
