/** The form on which somebody reports an address by hand: as an account, or as a anonymous report for the operator. */

import { errors } from '../../core/errors.ts';
import type { Failure } from '../../core/result.ts';
import { Button, LinkButton } from '../../web/components/button.tsx';
import { Card } from '../../web/components/card.tsx';
import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Form, Hidden } from '../../web/components/form.tsx';
import { Notice } from '../../web/components/notice.tsx';
import type { Html } from '../../web/html.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { commentCharactersMax } from '../reports/report.ts';
import { frameText } from '../words.ts';
import { aboutAddress, textArea } from './about-address.page.tsx';

export interface ReportPageData {
  readonly address: string;
  readonly csrf: string;
  /** Without a key what is sent is a anonymous report. */
  readonly account: 'keyed' | 'keyless' | 'none';
  /** `signed-in` needs none; undefined: this client has asked for too many. */
  readonly challenge: ChallengeView | 'signed-in' | undefined;
  /** Numbers, as they were sent. */
  readonly categories?: readonly string[];
  readonly comment?: string;
  /** Why it was not taken. */
  readonly failure?: Failure;
  readonly isChallengeWrong?: boolean;
  /** The anonymous report was taken. */
  readonly isSent?: boolean;
}

/** Offers the way by which a report would count at once: a sign-in or a key. */
function wayToCount(frame: PageFrame, { account, address }: ReportPageData): Html {
  if (account === 'keyed') return false;
  const words = frameText(frame).requests.report;
  const link =
    account === 'keyless' ? (
      <LinkButton label={words.makeKey} href="/account/keys" />
    ) : (
      <LinkButton
        label={words.signIn}
        href={`/signin?return=${encodeURIComponent(`/report?address=${address}`)}`}
      />
    );
  return (
    <>
      <Notice tone="info">{account === 'keyless' ? words.noKey : words.noAccount}</Notice>
      <p>{link}</p>
    </>
  );
}

function categoryChoice(frame: PageFrame, chosen: readonly string[], isMissing: boolean): Html {
  const text = frameText(frame);
  const words = text.requests.report;
  return (
    <fieldset class={isMissing ? 'category-choice has-error' : 'category-choice'}>
      <legend>{words.categories}</legend>
      {isMissing && <p class="field-error">{words.noCategory}</p>}
      <div class="category-grid">
        {text.categories.map((name, i) => {
          const number = String(i + 1);
          return (
            <label>
              <input
                type="checkbox"
                name="categories"
                value={number}
                checked={chosen.includes(number)}
              />{' '}
              <span>{name}</span>
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}

export function reportPage(frame: PageFrame, data: ReportPageData): string {
  const words = frameText(frame).requests.report;
  const { address, account, failure, challenge, categories = [], comment = '' } = data;
  if (data.isSent === true) {
    const thanks = <Notice tone="success">{words.sent}</Notice>;
    return aboutAddress(frame, address, words.title, thanks);
  }
  const noCategory = failure?.parameter === 'categories';
  const isFull = account !== 'keyed' && failure?.error === 'capacity_exceeded';
  const said = failure && (isFull ? words.full : errors[failure.error][frame.language]);
  const body = (
    <Form action="/report" csrf={data.csrf}>
      <Hidden name="address" value={address} />
      {said !== undefined && !noCategory && (
        <Notice tone="warning" alert>
          {said}
        </Notice>
      )}
      {categoryChoice(frame, categories, noCategory)}
      {textArea({
        name: 'comment',
        label: words.comment,
        value: comment,
        hint: account === 'keyed' ? words.commentHint : words.tipHint,
        max: commentCharactersMax,
        required: false,
      })}
      {challenge !== 'signed-in' && (
        <ChallengeField
          frame={frame}
          challenge={challenge}
          error={data.isChallengeWrong ? words.challengeWrong : undefined}
        />
      )}
      <Button label={account === 'keyed' ? words.submit : words.submitTip} icon="flag" />
    </Form>
  );
  return aboutAddress(
    frame,
    address,
    words.title,
    <>
      {wayToCount(frame, data)}
      <Card title={words.lede} icon="flag">
        {body}
      </Card>
    </>,
  );
}
