/**
 * The pages of a link that came by mail, and of an account that waits for its link to be opened; of a
 * forgotten password: asking for the link, and choosing a new one.
 */

import { Notice } from '../../web/components/card.tsx';
import { Button, Form, Hidden } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { narrowPage, type Onward, onwardFields, onwardHref } from '../sessions/parts.page.tsx';
import { frameText } from '../words.ts';
import { timeText } from './pacing.ts';
import {
  accountField,
  currentPasswordField,
  demoMails,
  emailField,
  newPasswordField,
  passkeyChoice,
  passkeyPress,
} from './register.page.tsx';
import type { LinkStep } from './registration.ts';

/** The page of a person who is signed in and not verified: it sends another link. */
export function unverifiedPage(
  frame: PageFrame,
  data: Onward & { csrf: string; email: string; sent: boolean; worksFrom: number },
): string {
  const { unverified: words, checkMail } = frameText(frame).signon;
  return narrowPage(frame, {
    title: words.title,
    body: (
      <>
        {data.sent && (
          <Notice tone="success" alert>
            {words.sentAgain}
          </Notice>
        )}
        {data.worksFrom > 0 && <p>{checkMail.worksFrom(timeText(data.worksFrom))}</p>}
        <p>{words.text(data.email)}</p>
        {demoMails(frame)}
        <Form action={onwardHref('/verify/resend', data)} csrf={data.csrf}>
          {onwardFields(data)}
          <Button label={words.resend} kind="secondary" />
        </Form>
      </>
    ),
  });
}

/** A page with one button: scanners of mail open links, and must not use them up. */
export function linkButtonPage(
  frame: PageFrame,
  data: LinkPageData & {
    asks: LinkStep;
    account: string;
    /** The time of `later`, ms since 1970. */
    worksFrom: number;
    error?: string | undefined;
  },
): string {
  const text = frameText(frame);
  const words = text.signon.verify;
  if (data.asks === 'nothing') return buttonPage(frame, data, words, words.text);
  if (data.asks === 'passkey') return proofPage(frame, data);
  if (data.asks === 'later') {
    const body = <Notice tone="info">{words.later(timeText(data.worksFrom))}</Notice>;
    return narrowPage(frame, { title: words.title, body });
  }
  if (data.asks === 'choose' || data.asks === 'invited') {
    const isInvited = data.asks === 'invited';
    const title = isInvited ? words.invitedTitle : words.title;
    return narrowPage(frame, {
      title,
      script: 'passkey-register.js',
      lede: isInvited ? words.invited(data.account) : words.choose,
      body: (
        <Form action={linkAction(data)} csrf={data.csrf}>
          <Hidden name="token" value={data.token} />
          {accountField(data.account)}
          {newPasswordField(frame, text.signon.newPassword, data.error)}
          <Button label={isInvited ? words.invitedSubmit : words.submit} />
          {passkeyChoice(frame)}
        </Form>
      ),
    });
  }
  const password = currentPasswordField(frame, data.error);
  const fields = (
    <>
      {accountField(data.account)}
      {password}
    </>
  );
  return buttonPage(frame, data, words, words.otherBrowser, fields);
}

/** The page of a link in another browser than the one where the passkey was made. */
function proofPage(
  frame: PageFrame,
  data: LinkPageData & { readonly error?: string | undefined },
): string {
  const { verify: words, passkeyProofErrors: causes } = frameText(frame).signon;
  const outcome = { failed: words.proveFailed, causes };
  return narrowPage(frame, {
    title: words.title,
    script: 'passkey-register.js',
    body: (
      <>
        {data.error && (
          <Notice tone="danger" alert>
            {data.error}
          </Notice>
        )}
        <p>{words.otherBrowserPasskey}</p>
        <Form action={linkAction(data)} csrf={data.csrf}>
          <Hidden name="token" value={data.token} />
          {passkeyPress('prove', words.proveSubmit, outcome, { token: data.token })}
        </Form>
      </>
    ),
  });
}

const linkAction = ({ action, token }: LinkPageData) =>
  `${action}?token=${encodeURIComponent(token)}`;

/** The page on which the browser makes the passkey of a link that asks for a choice. */
export function choosePasskeyPage(
  frame: PageFrame,
  data: { csrf: string; token: string; email: string; options: object },
): string {
  const text = frameText(frame);
  const words = text.signon.createPasskey;
  const outcome = { failed: words.failed, causes: text.account.security.passkeyErrors };
  const action = linkAction({ ...data, action: '/verify' });
  return narrowPage(frame, {
    title: words.title,
    lede: words.textByLink(data.email),
    script: 'passkey-register.js',
    body: (
      <>
        <p data-passkey-none>{words.noScript}</p>
        <Form action={action} csrf={data.csrf}>
          <Hidden name="token" value={data.token} />
          <Hidden name="with" value="passkey" />
          {passkeyPress('create', words.submit, outcome, {
            options: JSON.stringify(data.options),
          })}
        </Form>
      </>
    ),
    foot: (
      <p>
        <Link href={action}>{words.startAgain}</Link>
      </p>
    ),
  });
}

/** Names both addresses: nobody is to move an account to a mailbox without seeing it. */
export function confirmEmailPage(
  frame: PageFrame,
  data: LinkPageData & { from: string; to: string },
): string {
  const words = frameText(frame).signon.confirmEmail;
  return buttonPage(frame, data, words, words.text(data.from, data.to));
}

export interface LinkPageData {
  readonly csrf: string;
  readonly token: string;
  readonly action: string;
}

export function buttonPage(
  frame: PageFrame,
  data: LinkPageData,
  words: { title: string; submit: string },
  text: string,
  more?: Html,
): string {
  return narrowPage(frame, {
    title: words.title,
    body: (
      <>
        <p>{text}</p>
        <Form action={linkAction(data)} csrf={data.csrf}>
          <Hidden name="token" value={data.token} />
          {more}
          <Button label={words.submit} />
        </Form>
      </>
    ),
  });
}

export function recoverPage(
  frame: PageFrame,
  data: Onward & { csrf: string; email?: string; error?: string },
): string {
  const text = frameText(frame);
  const words = text.signon.recover;
  return narrowPage(
    { ...frame, back: onwardHref('/recover', data) },
    {
      title: words.title,
      lede: words.lede,
      body: (
        <Form action={onwardHref('/recover', data)} csrf={data.csrf}>
          {onwardFields(data)}
          {emailField(frame, {
            inputMode: 'email',
            value: data.email,
            error: data.error,
          })}
          <Button label={words.submit} />
        </Form>
      ),
      foot: (
        <p>
          <Link href={onwardHref('/signin', data)}>{text.links.signIn}</Link>
        </p>
      ),
    },
  );
}

export function resetPage(
  frame: PageFrame,
  data: { csrf: string; token: string; account: string; error?: string | undefined },
): string {
  const text = frameText(frame);
  const words = text.signon.reset;
  return narrowPage(frame, {
    title: words.title,
    lede: words.lede,
    body: (
      <Form action={`/reset?token=${encodeURIComponent(data.token)}`} csrf={data.csrf}>
        <Hidden name="token" value={data.token} />
        {accountField(data.account)}
        {newPasswordField(frame, text.signon.newPassword, data.error)}
        <Button label={words.submit} />
      </Form>
    ),
  });
}
