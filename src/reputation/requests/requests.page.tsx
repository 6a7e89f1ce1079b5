/** The form on which somebody asks to take back what is said of an address. */

import { Button } from '../../web/components/button.tsx';
import { Card } from '../../web/components/card.tsx';
import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Form, Hidden } from '../../web/components/form.tsx';
import { Notice } from '../../web/components/notice.tsx';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { frameText } from '../words.ts';
import { aboutAddress, textArea } from './about-address.page.tsx';
import { type Removal, reasonLengths } from './removals.ts';

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
      <Notice tone="success">{words.open(when)}</Notice>,
    );
  }
  if (data.isOver === true) {
    return aboutAddress(frame, address, words.title, <Notice tone="info">{words.nothing}</Notice>);
  }
  const body = (
    <Form action="/removal" csrf={data.csrf}>
      <Hidden name="address" value={address} />
      {wrong === 'full' && (
        <Notice tone="warning" alert>
          {words.full}
        </Notice>
      )}
      {textArea({
        name: 'reason',
        label: words.reason,
        hint: words.hint,
        value: data.reason,
        max: reasonLengths.max,
        required: true,
        error: wrong === 'reason' ? words.wrong(reasonLengths.min, reasonLengths.max) : undefined,
      })}
      {challenge !== 'signed-in' && (
        <ChallengeField
          frame={frame}
          challenge={challenge}
          error={wrong === 'challenge' ? words.challengeWrong : undefined}
        />
      )}
      <Button label={words.submit} />
    </Form>
  );
  return aboutAddress(
    frame,
    address,
    words.title,
    <Card title={words.lede} icon="shield">
      <p class="card-note">{words.note}</p>
      {body}
    </Card>,
  );
}
