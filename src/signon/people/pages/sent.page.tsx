/** The page after a form that has a mail sent: the mailbox, what the mail is for, and "send again". */

import { Button } from '../../../web/components/button.tsx';
import { Form } from '../../../web/components/form.tsx';
import { Link } from '../../../web/components/link.tsx';
import { Notice } from '../../../web/components/notice.tsx';
import type { Html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { narrowPage } from '../../sessions/narrow.page.tsx';
import { type Onward, onwardFields, onwardHref } from '../../sessions/onward.page.tsx';
import { frameText } from '../../words.ts';
import { type PersonPace, timeText } from '../pacing.ts';

/** Returns a note on where to read the mails of a demo, which are not sent. */
export function demoMails(frame: PageFrame): Html {
  if (frame.hasOutbox !== true) return null;
  return <p>{frameText(frame).signon.checkMail.demo}</p>;
}

export interface RegisteredData extends Onward {
  readonly csrf: string;
  /** Undefined in a browser that registered nothing lately. */
  readonly email: string | undefined;
  readonly pace: PersonPace;
  /** The mail was sent again. */
  readonly isAgain: boolean;
}

/** The same whether the address had an account or not. */
export function registeredPage(frame: PageFrame, data: RegisteredData): string {
  const { checkMail: words, unverified } = frameText(frame).signon;
  const { email, pace } = data;
  const known = email !== undefined;
  const otherwise = pace.byMailOnly ? words.notArrivedChoose : words.notArrivedRegister;
  return mailPage(
    frame,
    <>
      {known && data.isAgain && (
        <Notice tone="success" alert>
          {unverified.sentAgain}
        </Notice>
      )}
      <Notice tone="info">{known ? words.registeredAt(email) : words.registered}</Notice>
      {pace.worksFrom > 0 && <p>{words.worksFrom(timeText(pace.worksFrom))}</p>}
      {pace.byMailOnly && <p>{words.choose}</p>}
      <p>{known ? words.notArrivedAgain : otherwise}</p>
      {known && (
        <Form action={onwardHref('/register/again', data)} csrf={data.csrf}>
          {onwardFields(data)}
          <Button label={unverified.resend} kind="secondary" />
        </Form>
      )}
      {known && (
        <p>
          <Link href={onwardHref('/register', data)}>{words.otherAddress}</Link>
        </p>
      )}
    </>,
    data,
  );
}

/** The same whether the address has an account or not. */
export function checkMailPage(
  frame: PageFrame,
  about: 'recover' | 'signIn',
  onward: Onward = {},
): string {
  const { checkMail: words } = frameText(frame).signon;
  const says = { recover: words.recovering, signIn: words.signingIn }[about];
  const body = (
    <>
      <Notice tone="info">{says}</Notice>
      <p>{words.notArrivedRecover}</p>
    </>
  );
  return mailPage(frame, body, onward);
}

function mailPage(frame: PageFrame, body: Html, onward: Onward): string {
  const text = frameText(frame);
  return narrowPage(frame, {
    title: text.signon.checkMail.title,
    body: (
      <>
        {body}
        {demoMails(frame)}
      </>
    ),
    foot: (
      <p>
        <Link href={onwardHref('/signin', onward)}>{text.links.signIn}</Link>
      </p>
    ),
  });
}
