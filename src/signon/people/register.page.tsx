/**
 * The form of registration, the page on which the browser makes a passkey, and the page after a form
 * that has a mail sent: the mailbox, what the mail is for, and "send again".
 */

import { Notice } from '../../web/components/card.tsx';
import { ChallengeField, type ChallengeView } from '../../web/components/challenge.tsx';
import { Button, Field, type FieldOptions, Form, Hidden } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  isForSite,
  narrowPage,
  type Onward,
  onwardFields,
  onwardHref,
} from '../sessions/parts.page.tsx';
import { frameText } from '../words.ts';
import { type RegistrationTerms, timeText } from './pacing.ts';

/** The limits of bytes of an address (RFC 5321) and characters of a password. */
export const emailLengthMax = 254;
export const passwordLengthMax = 256;

export interface RegisterPageData extends Onward {
  readonly csrf: string;
  readonly email?: string | undefined;
  /** The form takes neither password nor passkey: the mail's link asks for one. */
  readonly byMailOnly: boolean;
  /** Some domains alone may register. */
  readonly hasDomains?: boolean;
  /** Undefined for a client that has asked for too many; `solved` if the earlier form solved it. */
  readonly challenge: ChallengeView | 'solved' | undefined;
  /** The sealed part of the earlier form (registration.ts). */
  readonly kept?: string | undefined;
  /** `kept` holds the password. */
  readonly hasPassword?: boolean;
  readonly errors?: {
    readonly email?: string;
    readonly password?: string;
    readonly answer?: string;
    /** Above the form. */
    readonly form?: string;
  };
}

/** The address that somebody signs in by. */
export function emailField(frame: PageFrame, more: Partial<FieldOptions>): Html {
  return (
    <Field
      id="email"
      name="email"
      label={frameText(frame).signon.email}
      required
      maxLength={emailLengthMax}
      autocomplete="username"
      {...more}
    />
  );
}

/** A field with the account's address, next to one for a password: password managers store the password under it. */
export function accountField(account: string): Html {
  return (
    <input
      class="visually-hidden"
      type="text"
      name="username"
      value={account}
      autocomplete="username"
      readonly
      tabindex={-1}
      aria-hidden="true"
    />
  );
}

export function currentPasswordField(frame: PageFrame, error?: string, isRefused?: boolean): Html {
  return (
    <Field
      id="password"
      name="password"
      type="password"
      label={frameText(frame).signon.password}
      required
      maxLength={passwordLengthMax}
      autocomplete="current-password"
      error={error}
      isRefused={isRefused}
    />
  );
}

export function registerPage(frame: PageFrame, data: RegisterPageData): string {
  const text = frameText(frame);
  const { register } = text.signon;
  const { errors = {} } = data;
  return narrowPage(
    { ...frame, current: 'register', back: onwardHref('/register', data) },
    {
      title: register.title,
      script: 'passkey-register.js',
      lede: isForSite(data) ? register.forSite : register.lede,
      body: (
        <>
          {data.hasDomains && <Notice tone="info">{register.domains}</Notice>}
          {data.byMailOnly && <Notice tone="info">{register.byMailOnly}</Notice>}
          {errors.form && (
            <Notice tone="warning" alert>
              {errors.form}
            </Notice>
          )}
          <Form action={onwardHref('/register', data)} csrf={data.csrf}>
            {onwardFields(data)}
            {emailField(frame, {
              type: 'email',
              hint: register.emailHint,
              value: data.email,
              error: errors.email,
            })}
            {data.kept && <Hidden name="kept" value={data.kept} />}
            {data.byMailOnly ? (
              <Hidden name="with" value="mail" />
            ) : (
              newPasswordField(frame, text.signon.password, errors.password, data.hasPassword, true)
            )}
            {data.challenge === 'solved' ? (
              <Notice tone="success">{register.challengeSolved}</Notice>
            ) : (
              <ChallengeField frame={frame} challenge={data.challenge} error={errors.answer} />
            )}
            {data.challenge && <Button label={register.submit} />}
            {data.challenge && !data.byMailOnly && passkeyChoice(frame)}
          </Form>
        </>
      ),
      foot: (
        <p>
          {register.haveAccount} <Link href={onwardHref('/signin', data)}>{text.links.signIn}</Link>
        </p>
      ),
    },
  );
}

/** Hidden until the page's script finds that the browser can do it. */
export function passkeyChoice(frame: PageFrame): Html {
  const { register, signIn } = frameText(frame).signon;
  return (
    <div class="passkey" data-passkey-choice hidden>
      <p class="passkey-or" aria-hidden="true">
        {signIn.or}
      </p>
      <Button label={register.passkey} kind="secondary" icon="key" name="with" value="passkey" />
      <p class="field-hint">{register.passkeyHint}</p>
    </div>
  );
}

interface CreatePasskeyData extends Onward {
  readonly csrf: string;
  readonly email: string;
  /** The options for `navigator.credentials.create`. */
  readonly options: object;
}

/** The answer to the challenge: the browser makes the passkey, and the form sends what it says. */
export function createPasskeyPage(frame: PageFrame, data: CreatePasskeyData): string {
  const text = frameText(frame);
  const words = text.signon.createPasskey;
  const outcome = { failed: words.failed, causes: text.account.security.passkeyErrors };
  return narrowPage(
    { ...frame, back: onwardHref('/register', data) },
    {
      title: words.title,
      lede: words.text(data.email),
      script: 'passkey-register.js',
      body: (
        <>
          <p data-passkey-none>{words.noScript}</p>
          <Form action={onwardHref('/register/passkey', data)} csrf={data.csrf}>
            {onwardFields(data)}
            <Hidden name="email" value={data.email} />
            {passkeyPress('create', words.submit, outcome, {
              options: JSON.stringify(data.options),
            })}
          </Form>
        </>
      ),
      foot: (
        <p>
          <Link href={onwardHref('/register', data)}>{words.startAgain}</Link>
        </p>
      ),
    },
  );
}

/**
 * A button that asks the browser for a passkey, and the field for what it says. Hidden until the
 * script finds that the browser can do it.
 */
export function passkeyPress(
  ceremony: 'create' | 'prove',
  submit: string,
  outcome: PasskeyOutcome,
  data: { readonly options?: string; readonly token?: string },
): Html {
  return (
    <div
      class="passkey"
      data-passkey-press={ceremony}
      data-options={data.options}
      data-token={data.token}
      hidden
    >
      <Hidden name="passkey" value="" />
      <Button label={submit} type="button" icon="key" />
      {passkeyOutcome(outcome)}
    </div>
  );
}

interface PasskeyOutcome {
  /** The sentence for all other causes. */
  readonly failed: string;
  readonly causes: Readonly<Partial<Record<PasskeyCause, string>>>;
}

/** The scripts know them by the names of WebAuthn's errors, and by our own answers. */
type PasskeyCause = 'known' | 'unfit' | 'denied' | 'address' | 'unreachable' | 'stale' | 'many';

/** The element in which a script shows why there is no passkey, with the sentence for each cause. */
export function passkeyOutcome({ failed, causes }: PasskeyOutcome): Html {
  return (
    <p
      class="field-error"
      role="alert"
      data-failed={failed}
      data-known={causes.known}
      data-unfit={causes.unfit}
      data-denied={causes.denied}
      data-address={causes.address}
      data-unreachable={causes.unreachable}
      data-stale={causes.stale}
      data-many={causes.many}
    />
  );
}

/**
 * The field of a new password, which is never sent back to the page.
 * @param isKept true: it may be left empty
 * @param isJudged the page's script asks what is wrong with it as soon as it is typed
 */
export function newPasswordField(
  frame: PageFrame,
  label: string,
  error?: string,
  isKept = false,
  isJudged = false,
) {
  const { passwordHint, register } = frameText(frame).signon;
  return (
    <Field
      id="new-password"
      name="password"
      type="password"
      label={label}
      hint={isKept ? register.passwordKept : passwordHint}
      required={!isKept}
      maxLength={passwordLengthMax}
      autocomplete="new-password"
      judgedBy={isJudged ? '/register/password' : undefined}
      error={error}
    />
  );
}

/** Returns a note on where to read the mails of a demo, which are not sent. */
export function demoMails(frame: PageFrame): Html {
  if (frame.hasOutbox !== true) return null;
  return <p>{frameText(frame).signon.checkMail.demo}</p>;
}

interface RegisteredData extends Onward {
  readonly csrf: string;
  /** Undefined in a browser that registered nothing lately. */
  readonly email: string | undefined;
  readonly terms: RegistrationTerms;
  /** The mail was sent again. */
  readonly isAgain: boolean;
}

/** Returns the sentence with the address in one piece: a line may not end at its hyphen. */
function unbroken(sentence: string, email: string): Html {
  const at = sentence.indexOf(email);
  return (
    <>
      {sentence.slice(0, at)}
      <span class="whole">{email}</span>
      {sentence.slice(at + email.length)}
    </>
  );
}

/** The same whether the address had an account or not. */
export function registeredPage(frame: PageFrame, data: RegisteredData): string {
  const { checkMail: words, unverified } = frameText(frame).signon;
  const { email, terms } = data;
  const known = email !== undefined;
  const otherwise = terms.byMailOnly ? words.notArrivedChoose : words.notArrivedRegister;
  return mailPage(
    frame,
    <>
      {known && data.isAgain && (
        <Notice tone="success" alert>
          {unverified.sentAgain}
        </Notice>
      )}
      <Notice tone="info">
        {known ? unbroken(words.registeredAt(email), email) : words.registered}
      </Notice>
      {terms.worksFrom > 0 && <p>{words.worksFrom(timeText(terms.worksFrom))}</p>}
      {terms.byMailOnly && <p>{words.choose}</p>}
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
