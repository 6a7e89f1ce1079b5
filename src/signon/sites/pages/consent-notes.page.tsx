/**
 * The pages that replace a consent: a request that is not trusted with anything, an
 * error that is sent to a site only if the person wants it, an address that is not verified yet, a
 * form that is over. None of them links to an address that was refused.
 */

import { LinkButton } from '../../../web/components/button.tsx';
import { Link } from '../../../web/components/link.tsx';
import { Notice } from '../../../web/components/notice.tsx';
import type { Html } from '../../../web/html.ts';
import { foreignForm, HostName } from '../../../web/layout/host-name.tsx';
import { type PageFrame, renderDocument } from '../../../web/layout/layout.tsx';
import type { ErrorAnswer } from '../authorize-flow.ts';
import { consentText } from './consent.page.tsx';

interface Note {
  readonly title: string;
  readonly text: string;
  readonly rest?: Html;
}

function notePage(frame: PageFrame, { title, text, rest }: Note): string {
  return renderDocument(frame, {
    title,
    noindex: true,
    className: 'page-consent',
    stylesheet: 'consent.css',
    body: (
      <div class="wrap consent consent-note">
        <header class="consent-head">
          <h1>{title}</h1>
          <p class="lede">{text}</p>
        </header>
        {rest}
      </div>
    ),
  });
}

/** The text for developers is English whatever the page's language. */
function forDevelopers(frame: PageFrame, detail: string): Html {
  if (detail === '') return null;
  const label = consentText(frame.language).forDevelopers;
  return (
    <p class="consent-detail">
      {label}: <code lang="en">{detail}</code>
    </p>
  );
}

/** Names neither the site nor the address: both may be made to look like anything. */
export function refusalPage(
  frame: PageFrame,
  { error, detail }: { readonly error: string; readonly detail: string },
): string {
  const { titles, texts, todo, todoBlocked } = consentText(frame.language).refusal;
  return notePage(frame, {
    title: titles[error] ?? titles.invalid_request!,
    text: texts[error] ?? texts.invalid_request!,
    rest: (
      <>
        <p>{error === 'site_blocked' ? todoBlocked : todo}</p>
        {forDevelopers(frame, detail)}
      </>
    ),
  });
}

/** @param address carries the error; followed only by a click, for any domain can be a client */
export function nameTargetPage(frame: PageFrame, answer: ErrorAnswer, address: string): string {
  const text = consentText(frame.language);
  const { client, redirect } = answer.target;
  const foreign = foreignForm(redirect.host);
  return notePage(frame, {
    title: text.named.title,
    text: text.named.texts[answer.error],
    rest: (
      <>
        <dl class="consent-parties">
          <div>
            <dt>{text.site}</dt>
            <dd>
              <HostName host={redirect.host} registrable={client.registrable} />
              {foreign !== undefined && (
                <span class="host-foreign">
                  {text.inItsLetters} <bdi>{foreign}</bdi>
                </span>
              )}
            </dd>
          </div>
        </dl>
        {foreign !== undefined && <Notice tone="warning">{text.foreignLetters}</Notice>}
        <p>{text.named.warning}</p>
        <p>
          <Link class="button button-secondary" rel="noreferrer nofollow" href={address}>
            <span>{text.named.back(redirect.host)}</span>
          </Link>
        </p>
        {forDevelopers(frame, answer.detail)}
      </>
    ),
  });
}

export function verifyFirstPage(
  frame: PageFrame,
  data: { readonly email: string; readonly nextHref: string; readonly againHref: string },
): string {
  const text = consentText(frame.language).verify;
  return notePage(frame, {
    title: text.title,
    text: text.text(data.email),
    rest: (
      <div class="consent-answers">
        <LinkButton label={text.next} href={data.nextHref} />
        <LinkButton label={text.other} href={data.againHref} kind="secondary" />
      </div>
    ),
  });
}

/**
 * The page of a form that was answered already, is too old, or is somebody else's: all get the same
 * page.
 * @param nextHref the address where the same request begins anew, if that is known
 */
export function endedFormPage(frame: PageFrame, nextHref?: string): string {
  const text = consentText(frame.language).over;
  if (nextHref === undefined) return notePage(frame, text);
  const rest = (
    <p>
      <LinkButton label={text.next} href={nextHref} />
    </p>
  );
  return notePage(frame, { title: text.title, text: text.textWithWay, rest });
}
