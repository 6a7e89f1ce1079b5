/** The form on which somebody asks to take back what is said of an address. */

import { button } from '../../web/components/button.ts';
import { card } from '../../web/components/card.ts';
import { type ChallengeView, challengeField } from '../../web/components/challenge.ts';
import { form, hidden } from '../../web/components/form.ts';
import { notice } from '../../web/components/notice.ts';
import { html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { frameText } from '../words.ts';
import { aboutAddress, textArea } from './about-address.page.ts';
import type { Removal } from './removals.ts';
import { reasonLengths } from './removals.ts';

export interface RemovalPageData {
  readonly address: string;
  readonly csrf: string;
  /** The request that is open. */
  readonly open?: Removal | undefined;
  /** Nothing is said of the address. */
  readonly isOver?: boolean;
  readonly reason: string;
  readonly wrong?: 'reason' | 'challenge' | 'full' | undefined;
  /** `signed-in` needs none; undefined: this client has asked for too many. */
  readonly challenge: ChallengeView | 'signed-in' | undefined;
}

export function removalPage(frame: PageFrame, data: RemovalPageData): string {
  const text = frameText(frame);
  const words = text.requests.removal;
  const { address, open, wrong, challenge } = data;
  if (open !== undefined) {
    const when = formatFor(frame.language).day(open.at);
    return aboutAddress(
      frame,
      address,
      words.title,
      notice({ tone: 'success', body: words.open(when) }),
    );
  }
  if (data.isOver === true) {
    return aboutAddress(frame, address, words.title, notice({ tone: 'info', body: words.nothing }));
  }
  const body = form({
    action: '/removal',
    csrf: data.csrf,
    body: html`${hidden('address', address)}
      ${wrong === 'full' && notice({ tone: 'warning', body: words.full, alert: true })}
      ${textArea({
        name: 'reason',
        label: words.reason,
        hint: words.hint,
        value: data.reason,
        max: reasonLengths.max,
        required: true,
        error: wrong === 'reason' ? words.wrong(reasonLengths.min, reasonLengths.max) : undefined,
      })}
      ${challenge !== 'signed-in' && challengeField(frame, challenge, wrong === 'challenge' ? words.challengeWrong : undefined)}
      ${button({ label: words.submit })}`,
  });
  return aboutAddress(
    frame,
    address,
    words.title,
    card({
      title: words.lede,
      icon: 'shield',
      body: html`<p class="card-note">${words.note}</p>${body}`,
    }),
  );
}
