/** The page after a form that has a mail sent: the mailbox, what the mail is for, and "send again". */

import { button } from '../../../web/components/button.ts';
import { form } from '../../../web/components/form.ts';
import { notice } from '../../../web/components/notice.ts';
import { type Html, html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import { type Onward, onwardFields, onwardHref } from '../../sessions/onward.page.ts';
import { frameText } from '../../words/words.ts';
import { type PersonPace, timeText } from '../pacing.ts';

/** Returns a note on where to read the mails of a demo, which are not sent. */
export function demoMails(frame: PageFrame): Html {
  if (frame.hasOutbox !== true) return null;
  return html`<p>${frameText(frame).signon.checkMail.demo}</p>`;
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
    html`
      ${known && data.isAgain && notice({ tone: 'success', body: unverified.sentAgain, alert: true })}
      ${notice({ tone: 'info', body: known ? words.registeredAt(email) : words.registered })}
      ${pace.worksFrom > 0 && html`<p>${words.worksFrom(timeText(pace.worksFrom))}</p>`}
      ${pace.byMailOnly && html`<p>${words.choose}</p>`}
      <p>${known ? words.notArrivedAgain : otherwise}</p>
      ${
        known &&
        form({
          action: onwardHref('/register/again', data),
          csrf: data.csrf,
          body: html`${onwardFields(data)}${button({ label: unverified.resend, kind: 'secondary' })}`,
        })
      }
      ${known && html`<p><a href=${onwardHref('/register', data)}>${words.otherAddress}</a></p>`}`,
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
  const body = html`${notice({ tone: 'info', body: says })}<p>${words.notArrivedRecover}</p>`;
  return mailPage(frame, body, onward);
}

function mailPage(frame: PageFrame, body: Html, onward: Onward): string {
  const text = frameText(frame);
  return narrowPage(frame, {
    title: text.signon.checkMail.title,
    body: html`${body}${demoMails(frame)}`,
    foot: html`<p><a href=${onwardHref('/signin', onward)}>${text.links.signIn}</a></p>`,
  });
}
