/**
 * Two forms about an address: on one somebody reports it by hand, as an account or anonymously, on the
 * other somebody asks to take back what is said of it.
 */

import { errors } from '../../core/errors.ts';
import type { Failure } from '../../core/result.ts';
import { Card, Notice } from '../../web/components/card.tsx';
import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Button, Form, Hidden, LinkButton, unitsMax } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { commentCharactersMax } from '../reports/report.ts';
import { frameText } from '../words.ts';
import { type Removal, reasonLengths } from './queue.ts';

interface TextArea {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly max: number;
  readonly required: boolean;
  readonly error?: string | undefined;
}

function textArea({ name, label, hint, value, max, required, error }: TextArea): Html {
  return (
    <div class={error === undefined ? 'field' : 'field has-error'}>
      <label for={name}>{label}</label>
      <p class="field-hint" id={`${name}-hint`}>
        {hint}
      </p>
      <textarea
        class="input"
        id={name}
        name={name}
        rows={5}
        required={required}
        maxlength={unitsMax(max)}
        aria-invalid={error === undefined ? undefined : 'true'}
        aria-describedby={`${name}-hint`}
      >
        {value}
      </textarea>
      {error !== undefined && <p class="field-error">{error}</p>}
    </div>
  );
}

function aboutAddress(frame: PageFrame, address: string, title: string, body: Html): string {
  return renderDocument(frame, {
    title: `${title}: ${address}`,
    noindex: true,
    className: 'page-request',
    body: (
      <div class="wrap stack">
        <h1>
          <span class="eyebrow">{title}</span>{' '}
          <Link class="address mono" href={`/ip/${address}`}>
            {address}
          </Link>
        </h1>
        {body}
      </div>
    ),
  });
}

/** Says how it ended, and leads on. */
function whatNext(frame: PageFrame, address: string, said: Html, more?: Html): Html {
  return (
    <>
      {said}
      <p class="form-actions">
        <LinkButton label={frameText(frame).requests.toAddress} href={`/ip/${address}`} />
        {more}
      </p>
    </>
  );
}

interface RemovalPageData {
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
      whatNext(frame, address, <Notice tone="success">{words.open(when)}</Notice>),
    );
  }
  if (data.isOver === true) {
    return aboutAddress(
      frame,
      address,
      words.title,
      whatNext(frame, address, <Notice tone="info">{words.nothing}</Notice>),
    );
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

interface ReportPageData {
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
      <Link href="/account/keys">{words.makeKey}</Link>
    ) : (
      <Link href={`/signin?return=${encodeURIComponent(`/report?address=${address}`)}`}>
        {words.signIn}
      </Link>
    );
  return (
    <Notice tone="info">
      {account === 'keyless' ? words.noKey : words.noAccount} {link}
    </Notice>
  );
}

/** Numbers of categories: what is told most comes first, and the rest by what was attacked. */
const categoryGroups = {
  usual: [22, 18, 14, 21, 19, 11],
  web: [16, 10, 12],
  mail: [7, 3, 8],
  network: [15, 4, 5, 17, 6, 1, 2],
  machine: [20, 23, 9, 13],
} as const;

function categoryChoice(frame: PageFrame, chosen: readonly string[], isMissing: boolean): Html {
  const text = frameText(frame);
  const words = text.requests.report;
  return (
    <fieldset class={isMissing ? 'category-choice has-error' : 'category-choice'}>
      <legend>{words.categories}</legend>
      {isMissing && <p class="field-error">{words.noCategory}</p>}
      {Object.entries(categoryGroups).map(([group, numbers]) => (
        <div class="category-group" role="group" aria-labelledby={`categories-${group}`}>
          <p id={`categories-${group}`}>{words.groups[group as keyof typeof categoryGroups]}</p>
          <div class="category-grid">
            {numbers.map((number) => (
              <label>
                <input
                  type="checkbox"
                  name="categories"
                  value={String(number)}
                  checked={chosen.includes(String(number))}
                />{' '}
                <span>{text.categories[number - 1]}</span>
              </label>
            ))}
          </div>
        </div>
      ))}
    </fieldset>
  );
}

export function reportPage(frame: PageFrame, data: ReportPageData): string {
  const words = frameText(frame).requests.report;
  const { address, account, failure, challenge, categories = [], comment = '' } = data;
  if (data.isSent === true) {
    const { connect } = frame.links;
    const automatic = connect && (
      <LinkButton
        label={frameText(frame).requests.automatic}
        href={`${connect}/fail2ban`}
        kind="secondary"
      />
    );
    const thanks = <Notice tone="success">{words.sent}</Notice>;
    return aboutAddress(frame, address, words.title, whatNext(frame, address, thanks, automatic));
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
        hint: account === 'keyed' ? words.commentHint : words.anonymousHint,
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
      <Button label={account === 'keyed' ? words.submit : words.submitAnonymous} icon="flag" />
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
