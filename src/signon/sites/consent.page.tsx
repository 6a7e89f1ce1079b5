/**
 * The page that asks: who wants to know, where the answer goes, what would be shared, value by
 * value. A plain form: it works without a script. What it sends is the id of the request, which
 * lies on the server, and which switches are on; nothing in it names the site.
 */

import { domainToUnicode } from 'node:url';
import type { Language } from '../../core/language.ts';
import { domainOf } from '../../core/mail-address.ts';
import { Notice } from '../../web/components/card.tsx';
import { Button, Form, Hidden, LinkButton } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { Link } from '../../web/components/link.tsx';
import { classes, type Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import {
  FailureBody,
  failureEnd,
  type PageFrame,
  renderDocument,
} from '../../web/layout/layout.tsx';
import {
  type ProfileFieldName,
  type ProfileJson,
  profileFieldsOf,
} from '../people/profile/profile.ts';
import { SiteMark } from '../sessions/parts.page.tsx';
import type { AskedScope } from './authorization.ts';
import type { ErrorAnswer } from './authorize.ts';
import type { Client } from './client-id.ts';
import type { UnseenValue } from './consents.ts';
import type { Scope } from './scopes.ts';
import { type ConsentCatalogue, consentEn, consentFr } from './words.ts';

export interface ConsentPageData {
  readonly client: { readonly id: string; readonly registrable: string };
  /** The host, with its port if that is not the default. */
  readonly redirectHost: string;
  /** The name that the site gives itself; nobody has checked it. */
  readonly ownName?: string | undefined;
  readonly email: string;
  /** A name that the person knows and that the site's name only resembles. */
  readonly lookAlike?: string | undefined;
  readonly scopes: readonly AskedScope[];
  /** A fingerprint of the values that are shown. */
  readonly shown: string;
  /** The form was sent before, and its values have changed since it was shown. */
  readonly hasChanged?: boolean;
  /** The address to which the form is sent. */
  readonly action: string;
  /** The id of the request, which is kept on the server. */
  readonly id: string;
  /** Proof that the form is ours: the context's `csrf`. */
  readonly csrf: string;
}

const catalogues: Record<Language, ConsentCatalogue> = { en: consentEn, fr: consentFr };

function consentText(language: Language): ConsentCatalogue {
  return catalogues[language];
}

export function consentPage(frame: PageFrame, data: ConsentPageData): string {
  const text = consentText(frame.language);
  const { client, scopes } = data;
  return renderDocument(frame, {
    title: text.title(client.id),
    noindex: true,
    isBare: true,
    namesPerson: true,
    className: 'page-consent',
    body: (
      <div class="wrap consent">
        <header class="bare-head">
          <SiteMark site={client.id} />
          <h1>
            <HostName host={client.id} registrable={client.registrable} /> {text.heading}
          </h1>
          <p>{text.lede}</p>
          {data.ownName !== undefined && (
            <p class="consent-own-name">
              {text.callsItself} <bdi>{data.ownName}</bdi>. {text.unchecked}
            </p>
          )}
        </header>
        {parties(data, text)}
        {data.lookAlike !== undefined && (
          <Notice tone="warning">{text.looksLike(client.id, data.lookAlike)}</Notice>
        )}
        {data.hasChanged && (
          <Notice tone="warning" alert>
            {text.changedMeanwhile}
          </Notice>
        )}
        {askedAgain(scopes, text)}
        <Form action={data.action} csrf={data.csrf} className="consent-form">
          {formBody(data, frame.language, text)}
        </Form>
      </div>
    ),
  });
}

function formBody(
  { id, scopes, shown, email }: ConsentPageData,
  language: Language,
  text: ConsentCatalogue,
): Html {
  return (
    <>
      <Hidden name="id" value={id} isOfPage />
      <Hidden name="shown" value={shown} isOfPage />
      <fieldset class="consent-scopes">
        <legend>{text.scopesTitle}</legend>
        <ul>{scopes.map((asked) => scopeItem(asked, isNew(asked, scopes), language, text))}</ul>
      </fieldset>
      <div class="consent-answers">
        <Button label={text.refuse} name="decision" value="deny" kind="secondary" />
        <Button label={text.allow} name="decision" value="allow" icon="check" />
      </div>
      <p class="consent-after">{text.after}</p>
      {mailNote(email, text)}
      <p class="consent-account">
        <span>
          {text.signedInAs} <strong>{email}</strong>
        </span>
        <Button label={text.otherAccount} name="decision" value="switch" kind="quiet" />
      </p>
    </>
  );
}

function parties({ client, redirectHost }: ConsentPageData, text: ConsentCatalogue): Html {
  const differs = redirectHost !== client.id;
  const foreign = foreignForm(client.id);
  const foreignRedirect = differs ? foreignForm(redirectHost) : undefined;
  if (!differs && foreign === undefined) return null;
  return (
    <div class="consent-parties">
      <dl>
        {party(text.site, client.id, client, text)}
        {differs && party(text.answerGoesTo, redirectHost, client, text)}
      </dl>
      {(foreign ?? foreignRedirect) !== undefined && (
        <Notice tone="warning">{text.foreignLetters}</Notice>
      )}
    </div>
  );
}

/** The ASCII form, which sites get, comes first, as with names of sites. */
function mailNote(email: string, text: ConsentCatalogue): Html {
  const foreign = foreignForm(domainOf(email));
  if (foreign === undefined) return null;
  return (
    <p class="consent-mail">
      {text.mailDomain(domainOf(email))}
      {inItsLetters(foreign, text)}
    </p>
  );
}

/** The text is isolated, as letters that run from the right would else reorder the text next to them. */
function party(
  name: string,
  host: string,
  { registrable }: Pick<ConsentPageData['client'], 'registrable'>,
  text: ConsentCatalogue,
): Html {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <HostName host={host} registrable={registrable} />
        {inItsLetters(foreignForm(host), text)}
      </dd>
    </div>
  );
}

function inItsLetters(foreign: string | undefined, text: ConsentCatalogue): Html {
  return (
    foreign !== undefined && (
      <span class="host-foreign">
        {text.inItsLetters} <bdi>{foreign}</bdi>
      </span>
    )
  );
}

/** Returns whether a scope is marked as new: at the first consent none is, as all of them are new. */
function isNew(asked: AskedScope, scopes: readonly AskedScope[]): boolean {
  return asked.before === undefined && scopes.some(({ before }) => before !== undefined);
}

function askedAgain(scopes: readonly AskedScope[], text: ConsentCatalogue): Html {
  if (scopes.every(({ before }) => before === undefined)) return null;
  const added = scopes.filter((asked) => isNew(asked, scopes));
  const names = added.map(({ scope }) => text.scopes[scope].name);
  const unseen = scopes.flatMap((asked) => asked.unseen);
  const labelsOf = (kind: UnseenValue['kind']) =>
    unseen.filter((value) => value.kind === kind).map(({ field }) => text.fields[field]);
  const [filled, changed] = [labelsOf('new'), labelsOf('changed')];
  const news = [
    ...(names.length === 0 ? [] : [text.again.added(names)]),
    ...(filled.length === 0 ? [] : [text.again.filled(filled)]),
    ...(changed.length === 0 ? [] : [text.again.changed(changed)]),
  ];
  const body = news.length === 0 ? text.again.review : [...news, text.again.rest].join(' ');
  return <Notice title={text.again.title}>{body}</Notice>;
}

function scopeItem(
  asked: AskedScope,
  added: boolean,
  language: Language,
  text: ConsentCatalogue,
): Html {
  const { scope, isFixed, isOn } = asked;
  const id = `scope-${scope}`;
  const { name, hint } = text.scopes[scope];
  const values = sharedValues(scope, asked.values, language, text);
  return (
    <li class={classes('scope', added && 'is-new')}>
      <div class="scope-head">
        <label class="scope-name" for={id}>
          {name}
        </label>
        <span class="scope-state">{stateOf(asked, added, text)}</span>
        <input
          class="switch-box"
          type="checkbox"
          role="switch"
          id={id}
          name="scope"
          value={scope}
          checked={isOn}
          disabled={isFixed}
          aria-describedby={`${id}-values`}
        />
      </div>
      <div class="scope-values" id={`${id}-values`}>
        {hint !== '' && <p class="scope-hint">{hint}</p>}
        <dl>
          {values.map(({ field, label, value }) => (
            <div>
              <dt>{label}</dt>
              <dd class={value === undefined ? 'is-empty' : undefined}>
                {value ?? text.empty}
                {unseenTag(asked, field, text)}
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </li>
  );
}

/** The tag of a value that the person has not agreed to. */
function unseenTag({ unseen }: AskedScope, name: string, text: ConsentCatalogue): Html {
  const found = unseen.find(({ field }) => field === name);
  if (found === undefined) return null;
  return (
    <>
      {' '}
      <strong class="value-mark">{found.kind === 'new' ? text.isNew : text.isChanged}</strong>
    </>
  );
}

function stateOf({ isFixed, before }: AskedScope, added: boolean, text: ConsentCatalogue): Html {
  if (isFixed) {
    return (
      <>
        <Icon name="shield" />
        {text.always}
      </>
    );
  }
  if (added) return <strong>{text.isNew}</strong>;
  if (before === undefined) return null;
  return before === 'granted' ? text.granted : text.refused;
}

interface SharedValue {
  readonly field: ProfileFieldName;
  readonly label: string;
  /** Undefined: the field is empty, so not shared. */
  readonly value: string | undefined;
}

/**
 * Returns the values that a site would read of a scope, field by field, in words of the reader's language. A field
 * without a value is there too: nobody must wonder whether it was forgotten.
 */
function sharedValues(
  scope: Scope,
  values: ProfileJson,
  language: Language,
  text: ConsentCatalogue,
): SharedValue[] {
  return profileFieldsOf(scope).map((field) => ({
    field,
    label: text.fields[field],
    value: valueText(field, values, language, text),
  }));
}

function valueText(
  field: ProfileFieldName,
  values: ProfileJson,
  language: Language,
  text: ConsentCatalogue,
): string | undefined {
  const value = values[field];
  if (value === undefined) return undefined;
  switch (field) {
    case 'picture':
      return text.pictureAt(URL.canParse(String(value)) ? new URL(String(value)).host : '');
    case 'address':
      return values.address!.formatted.replaceAll('\n', ', ');
    case 'birthdate':
      return formatFor(language).day(Date.parse(`${String(value)}T00:00:00Z`));
    case 'age':
      return text.years(Number(value));
    case 'service_plan':
      return text.plans[String(value)] ?? String(value);
    default:
      return typeof value === 'boolean' ? (value ? text.yes : text.no) : String(value);
  }
}

// The pages that replace a consent. None of them links to an address that was refused.

interface Note {
  readonly title: string;
  readonly text: string;
  readonly rest?: Html;
  /** The way on stands in `rest`. */
  readonly leadsOn?: boolean;
}

function failedPage(frame: PageFrame, { title, text, rest, leadsOn }: Note): string {
  return renderDocument(frame, {
    title,
    noindex: true,
    isBare: true,
    className: 'page-error',
    body: (
      <FailureBody title={title} detail={text}>
        {rest}
        {!leadsOn && failureEnd(frame)}
      </FailureBody>
    ),
  });
}

/** The address back to the site carries the detail in English; the page says it in its own language. */
function forDevelopers(frame: PageFrame, detail: string): Html {
  if (detail === '') return null;
  const { forDevelopers: label, details } = consentText(frame.language);
  const own = details[detail];
  return (
    <details class="consent-detail">
      <summary>{label}</summary>
      <code lang={own === undefined ? 'en' : undefined}>{own ?? detail}</code>
    </details>
  );
}

/** Names neither the site nor the address: both may be made to look like anything. */
export function refusalPage(
  frame: PageFrame,
  { error, detail }: { readonly error: string; readonly detail: string },
): string {
  const { titles, texts, todo, todoBlocked } = consentText(frame.language).refusal;
  return failedPage(frame, {
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

/** The page for a person whom a site is not open to, who may have another account. */
export function notOpenPage(
  frame: PageFrame,
  { client, signInHref }: { readonly client: Client; readonly signInHref: string },
): string {
  const text = consentText(frame.language);
  return failedPage(frame, {
    title: text.notOpen.title,
    text: text.notOpen.text,
    rest: (
      <>
        <dl class="consent-parties">
          <div>
            <dt>{text.site}</dt>
            <dd>
              <HostName host={client.id} registrable={client.registrable} />
            </dd>
          </div>
        </dl>
        <p>{text.notOpen.todo}</p>
        <p>
          <Link class="button button-secondary" rel="nofollow" href={signInHref}>
            <span>{text.otherAccount}</span>
          </Link>
        </p>
      </>
    ),
  });
}

/** @param address carries the error; followed only by a click, for any domain can be a client */
export function nameTargetPage(frame: PageFrame, answer: ErrorAnswer, address: string): string {
  const text = consentText(frame.language);
  const { client, redirect } = answer.target;
  const foreign = foreignForm(redirect.host);
  return failedPage(frame, {
    title: text.named.title,
    text: text.named.texts[answer.error],
    leadsOn: true,
    rest: (
      <>
        <dl class="consent-parties">{party(text.site, redirect.host, client, text)}</dl>
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
  return renderDocument(frame, {
    title: text.title,
    noindex: true,
    isBare: true,
    className: 'page-consent',
    body: (
      <div class="wrap consent">
        <header class="bare-head">
          <h1>{text.title}</h1>
          <p>{text.text(data.email)}</p>
        </header>
        <div class="consent-answers">
          <LinkButton label={text.next} href={data.nextHref} />
          <LinkButton label={text.other} href={data.againHref} kind="secondary" />
        </div>
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
  if (nextHref === undefined) return failedPage(frame, text);
  const rest = (
    <p>
      <LinkButton label={text.next} href={nextHref} />
    </p>
  );
  return failedPage(frame, { title: text.title, text: text.textWithWay, rest });
}

// The name of a site's host, so that a person can tell who asks. The A-label form is always shown
// and comes first: of two names that look alike in their own letters, it differs. The part that
// somebody had to register stands out, since what stands before it is free to choose.

/** The form in the letters of its language; undefined when it has no other than the plain one. */
export function foreignForm(host: string): string | undefined {
  const [name = '', port] = host.split(':', 2);
  const unicode = name.includes('xn--') ? domainToUnicode(name) : name;
  if (unicode === '' || unicode === name) return undefined;
  return port === undefined ? unicode : `${unicode}:${port}`;
}

/** @param registrable what was registered; a host that doesn't end with it is shown plain */
function HostName({
  host,
  registrable,
}: {
  readonly host: string;
  readonly registrable: string;
}): Html {
  const at = host.lastIndexOf(registrable);
  if (at < 0) {
    return (
      <span class="host mono" dir="ltr">
        {host}
      </span>
    );
  }
  const end = at + registrable.length;
  return (
    <span class="host mono" dir="ltr">
      {host.slice(0, at)}
      <strong>{registrable}</strong>
      {host.slice(end)}
    </span>
  );
}
