/** Sign-in by password or passkey, and the second step. Where to go afterwards travels along. */

import { Notice } from '../../web/components/card.tsx';
import {
  alternativeField,
  ChallengeField,
  type ChallengeView,
  WorkField,
  type WorkView,
} from '../../web/components/challenge.tsx';
import {
  Button,
  CodeField,
  Form,
  Hidden,
  LinkButton,
  SwitchField,
} from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { currentPasswordField, emailField, passkeyOutcome } from '../people/register.page.tsx';
import { buttonPage, type LinkPageData } from '../people/verify.page.tsx';
import { frameText } from '../words.ts';
import {
  isForSite,
  narrowPage,
  type Onward,
  onwardFields,
  onwardHref,
  sealOf,
} from './parts.page.tsx';

export interface SignInForm extends Onward {
  readonly email?: string;
  /** An address that a site suggested: fills the form of registration too. */
  readonly hint?: string | undefined;
  /** The act that was just done, shown above the form. */
  readonly done?: 'verified' | 'reset' | 'renewed' | 'unsaved' | 'undone' | undefined;
  readonly error?: string;
  /** Address and password don't fit together: nobody learns which of them is wrong. */
  readonly isRefused?: boolean;
  /** The challenge of a sign-in that is limited; `busy`: this client has asked for too many challenges. */
  readonly challenge?: ChallengeView | 'busy' | undefined;
  /** In its place for a known browser or a clean address: work, or a link by mail. */
  readonly work?: WorkView | undefined;
  readonly answerError?: string | undefined;
}

interface SignInPageData extends SignInForm {
  readonly csrf: string;
  /** Whoever has no account can make one. */
  readonly registrationOpen: boolean;
}

/** The longest backup code with all the spaces that people put in. */
const codeLengthMax = 40;

export function signInPage(frame: PageFrame, data: SignInPageData): string {
  const text = frameText(frame);
  const { signIn } = text.signon;
  const email = data.email ?? data.hint;
  const site = data.request?.site;
  return narrowPage(
    { ...frame, current: 'signIn', back: onwardHref('/signin', data) },
    {
      title: site === undefined ? signIn.title : signIn.titleFor(site),
      site,
      script: 'passkey-sign-in.js',
      ...(isForSite(data) ? { lede: signIn.forSite } : {}),
      body: (
        <>
          {data.done && (
            <Notice tone={data.done === 'verified' || data.done === 'reset' ? 'success' : 'info'}>
              {signIn.done[data.done]}
            </Notice>
          )}
          {(data.challenge || data.work) && (
            <Notice tone="warning" alert>
              {data.work ? signIn.limitedKnown : signIn.limited}
            </Notice>
          )}
          {data.error && (
            <Notice tone="danger" alert>
              {data.error}
            </Notice>
          )}
          <Form action={onwardHref('/signin', data)} csrf={data.csrf}>
            {onwardFields(data)}
            {emailField(frame, {
              inputMode: 'email',
              autocomplete: 'username webauthn',
              isRefused: data.isRefused,
              value: email,
            })}
            {currentPasswordField(frame, undefined, data.isRefused)}
            {challengePart(frame, data)}
            <Button label={signIn.submit} />
            {data.work && (
              <Button
                label={signIn.mailLink}
                kind="secondary"
                name={alternativeField}
                value="1"
                asItIs
              />
            )}
          </Form>
          {passkeyPart(frame, data)}
        </>
      ),
      foot: (
        <>
          <p>
            <Link href={onwardHref('/recover', data)}>{signIn.forgotten}</Link>
          </p>
          {data.registrationOpen && (
            <p>
              {signIn.noAccount}{' '}
              <Link href={onwardHref('/register', data, { hint: data.hint })}>
                {text.links.register}
              </Link>
            </p>
          )}
        </>
      ),
    },
  );
}

function challengePart(
  frame: PageFrame,
  { challenge, work, answerError }: SignInPageData,
): Html | false {
  if (work !== undefined) {
    const without = frameText(frame).signon.signIn.noScript;
    return <WorkField frame={frame} work={work} without={without} error={answerError} />;
  }
  if (challenge === undefined) return false;
  return (
    <ChallengeField
      frame={frame}
      challenge={challenge === 'busy' ? undefined : challenge}
      error={answerError}
    />
  );
}

/** Hidden until the page's script finds that the browser can do it. */
function passkeyPart(frame: PageFrame, data: SignInPageData): Html {
  const { signIn: words, passkeyProofErrors: causes } = frameText(frame).signon;
  return (
    <div
      class="passkey"
      id="passkey"
      hidden
      data-csrf={data.csrf}
      data-request={sealOf(data)}
      data-continue={data.continueId}
      data-return={data.back}
    >
      <p class="passkey-or" aria-hidden="true">
        {words.or}
      </p>
      <Button label={words.passkey} kind="secondary" type="button" icon="key" />
      {passkeyOutcome({ failed: words.passkeyFailed, causes })}
    </div>
  );
}

interface SecondFactorPageData extends Onward {
  readonly csrf: string;
  readonly ticket: string;
  readonly error?: string;
  readonly offersTrust: boolean;
  /** The person asked for it already, with a code that was wrong. */
  readonly trusts?: boolean;
}

export function secondFactorPage(frame: PageFrame, data: SecondFactorPageData): string {
  const words = frameText(frame).signon.secondFactor;
  return narrowPage(
    { ...frame, back: onwardHref('/signin/second-factor', data) },
    {
      title: words.title,
      body: (
        <>
          <Form action={onwardHref('/signin/second-factor', data)} csrf={data.csrf}>
            {onwardFields(data)}
            <Hidden name="ticket" value={data.ticket} />
            <CodeField
              label={words.code}
              hint={words.hint}
              required
              maxLength={codeLengthMax}
              error={data.error}
            />
            {data.offersTrust && (
              <SwitchField
                id="trust"
                name="trust"
                label={words.trust}
                hint={words.trustHint}
                checked={data.trusts === true}
              />
            )}
            <Button label={words.submit} />
          </Form>
        </>
      ),
      foot: (
        <p>
          <Link href={onwardHref('/signin', data)}>{words.startAgain}</Link>
        </p>
      ),
    },
  );
}

export function signInLinkPage(frame: PageFrame, data: LinkPageData): string {
  const words = frameText(frame).signon.signInLink;
  return buttonPage(frame, data, words, words.text);
}

/** The link is good, and this browser did not ask for it. */
export function otherBrowserPage(frame: PageFrame): string {
  const text = frameText(frame);
  const words = text.signon.signInLink;
  return narrowPage(frame, {
    title: words.otherTitle,
    body: (
      <>
        <p>{words.otherText}</p>
        <p>{words.otherPlain}</p>
        <p>
          <LinkButton label={text.links.signIn} href="/signin" kind="secondary" />
        </p>
      </>
    ),
  });
}
