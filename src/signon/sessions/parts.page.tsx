/** The narrow page, and on it an expected failure in the reader's language. */

import type { Language } from '../../core/language.ts';
import type { Failure } from '../../core/result.ts';
import { Notice } from '../../web/components/card.tsx';
import { Hidden, LinkButton } from '../../web/components/form.tsx';
import type { FailureWords } from '../../web/guard/page-builder.ts';
import { type Html, renderHtml } from '../../web/html.ts';
import {
  errorPage,
  FailureBody,
  failureEnd,
  Logo,
  type PageFrame,
  renderDocument,
} from '../../web/layout/layout.tsx';
import { frameText, type Translations, translationsFor } from '../words.ts';

interface NarrowPageOptions {
  readonly title: string;
  /** The site that the person comes from: its letter stands above the title, else this server's mark. */
  readonly site?: string | undefined;
  readonly lede?: Html;
  /** The static file of a script for this page. */
  readonly script?: string;
  readonly body: Html;
  /** The links below the card. */
  readonly foot?: Html;
}

/** Renders the page of one form or one message: a title over a single column. */
export function narrowPage(frame: PageFrame, options: NarrowPageOptions): string {
  return renderDocument(frame, {
    title: options.title,
    noindex: true,
    isBare: true,
    className: 'page-narrow',
    script: options.script,
    body: (
      <div class="wrap narrow">
        <header class="bare-head">
          {options.site === undefined ? <Logo frame={frame} /> : <SiteMark site={options.site} />}
          <h1>{options.title}</h1>
          {options.lede && <p class="narrow-lede">{options.lede}</p>}
        </header>
        <div class="card narrow-card">{options.body}</div>
        {options.foot && <div class="narrow-foot">{options.foot}</div>}
      </div>
    ),
  });
}

/** A site is drawn by its first letter: pictures of its own could look like another's. */
export function SiteMark({ site }: { readonly site: string }): Html {
  return (
    <span class="mark" aria-hidden="true">
      {site.slice(0, 1).toUpperCase()}
    </span>
  );
}

/** Returns one sentence. A failure that no page expects is described as the service's. */
export function failureText(language: Language, failure: Failure): string {
  return sentenceOf(translationsFor(language), failure);
}

function sentenceOf(text: Translations, { error, retryAfterSeconds }: Failure): string {
  const says = text.signon.failures;
  if (error === 'too_many_attempts' && retryAfterSeconds !== undefined) {
    return says.waitFor(retryAfterSeconds);
  }
  const known: Readonly<Record<string, unknown>> = says;
  const sentence = Object.hasOwn(known, error) ? known[error] : says.other;
  return typeof sentence === 'string' ? sentence : says.other;
}

const titlesByError: Readonly<Record<string, keyof Translations['signon']['failureTitles']>> = {
  form_expired: 'expired',
  foreign_form: 'expired',
  unknown_transaction: 'expired',
  cookies_required: 'cookies',
  invalid_link: 'link',
};

function failurePage(frame: PageFrame, failure: Failure, path: string): string {
  if (failure.error === 'not_found') return errorPage(frame, { status: 404 });
  const text = frameText(frame);
  const { failureTitles: titles } = text.signon;
  const shownTitle = titles[titlesByError[failure.error] ?? 'other'];
  const isReset = path === '/reset';
  return renderDocument(frame, {
    title: shownTitle,
    noindex: true,
    isBare: true,
    className: 'page-error',
    body: (
      <FailureBody title={shownTitle} detail={sentenceOf(text, failure)}>
        {failure.error === 'factor_required' && (
          <p>
            <LinkButton
              label={text.account.security.passkeyAdd}
              href="/account/security"
              icon="key"
            />
          </p>
        )}
        {failure.error === 'invalid_link' && (
          <p class="failure-acts">
            {isReset && <LinkButton label={text.signon.reset.again} href="/recover" />}
            <LinkButton
              label={text.signon.signIn.title}
              href="/signin"
              kind={isReset ? 'secondary' : 'primary'}
              icon="key"
            />
          </p>
        )}
        {frame.here && leadsBack(failure) && (
          <p>
            <LinkButton label={text.signon.pageAgain} href={frame.here} />
          </p>
        )}
        {failureEnd(frame)}
      </FailureBody>
    ),
  });
}

/** Renders the answer to a form about what is gone, such as a key that was revoked in another tab. */
export function gonePage(frame: PageFrame, back: string): string {
  const text = frameText(frame);
  const { title, text: detail } = text.signon.gone;
  return renderDocument(frame, {
    title,
    noindex: true,
    isBare: true,
    className: 'page-error',
    body: (
      <FailureBody title={title} detail={detail}>
        <p>
          <LinkButton label={text.error.goBack} href={back} />
        </p>
        {failureEnd(frame)}
      </FailureBody>
    ),
  });
}

/** Renders the notice above a page whose form was not saved; `isKept`: it comes with what was typed. */
export function unsavedNotice(language: Language, isKept: boolean): string {
  const { kept, nothing } = translationsFor(language).signon.unsaved;
  return renderHtml(
    <div class="wrap">
      <Notice tone="warning" alert>
        {isKept ? kept : nothing}
      </Notice>
    </div>,
  );
}

function leadsBack({ error }: Failure): boolean {
  return !['not_found', 'invalid_link', 'registration_closed', 'forbidden'].includes(error);
}

/** The texts of failures for the guard, which has none of its own. */
export const failures: FailureWords = { sentence: failureText, page: failurePage };

// The place to which a person goes after signing in or registering, as it travels from page to page.

/** All values are checked. At most one of the first three is set. */
export interface Onward {
  /** A site's request before the sign-in: it is stored nowhere, so the pages carry it. */
  readonly request?: CarriedAlong | undefined;
  /** A request came with the form and can't be opened any more. */
  readonly requestEnded?: true | undefined;
  /** The id of a request that is kept. */
  readonly continueId?: string | undefined;
  /** A path of this host. */
  readonly back?: string | undefined;
}

interface CarriedAlong {
  /** The host that is the site's name, where a page tells it. */
  readonly site?: string | undefined;
  /** The query as the site wrote it, for links: they are never longer than the site's own. */
  readonly query: string;
  /** The sealed request, for the bodies of forms. */
  readonly seal: string;
}

/** Returns whether the person comes from a site. */
export function isForSite({ request, requestEnded, continueId }: Onward): boolean {
  return request !== undefined || requestEnded === true || continueId !== undefined;
}

/** Returns the value for forms and the page's script. Undefined: nothing is carried. */
export function sealOf({ request, requestEnded }: Onward): string | undefined {
  return requestEnded === true ? 'ended' : request?.seal;
}

/** Returns the hidden fields of a form that carry it on. */
export function onwardFields(onward: Onward): Html {
  const { continueId, back } = onward;
  const seal = sealOf(onward);
  return (
    <>
      {seal && <Hidden name="request" value={seal} />}
      {continueId && <Hidden name="continue" value={continueId} />}
      {back && <Hidden name="return" value={back} />}
    </>
  );
}

/**
 * Returns a path of ours that carries it on. A request goes as its own query, with nothing that would make it longer.
 * @param more further parameters; undefined ones are left out
 */
export function onwardHref(
  path: string,
  { request, continueId, back }: Onward,
  more: Readonly<Record<string, string | undefined>> = {},
): string {
  // A link with a backslash would lead nowhere (safeHref).
  if (request !== undefined) return `${path}?${request.query.replaceAll('\\', '%5C')}`;
  const query = Object.entries({ continue: continueId, return: back, ...more })
    .filter((pair): pair is [string, string] => pair[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return query === '' ? path : `${path}?${query}`;
}
