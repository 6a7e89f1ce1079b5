/**
 * The proof of identity once more: password (and code, with a second factor), or passkey; and the review after
 * a reset.
 */

import { Notice } from '../../web/components/card.tsx';
import { Button, CodeField, Field, Form, Hidden } from '../../web/components/form.tsx';
import { classes, type Html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { accountField, passkeyOutcome } from '../people/register.page.tsx';
import {
  type Decide,
  decisions,
  type ReviewDecision,
  type ReviewFacts,
  reviewName,
} from '../people/review.ts';
import { narrowPage, type Onward, onwardFields, onwardHref } from '../sessions/parts.page.tsx';
import { frameText, type Translations } from '../words.ts';

/** A code in groups is shorter. */
const codeCharsMax = 32;

interface ConfirmView {
  readonly csrf: string;
  readonly account: string;
  /** A path of this host. */
  readonly returnTo: string;
  readonly hasPassword: boolean;
  /** A second factor is set up: its code is asked for too. */
  readonly wantsCode: boolean;
  /** A password is not enough for what comes next. */
  readonly needsPasskey: boolean;
  /** The error, in a sentence. */
  readonly failed?: string | undefined;
}

export function confirmPage(frame: PageFrame, view: ConfirmView): string {
  const all = frameText(frame);
  const text = all.account.confirm;
  const { csrf, returnTo } = view;
  return narrowPage(frame, {
    title: text.title,
    lede: text.text,
    script: 'account.js',
    body: (
      <>
        {view.needsPasskey ? (
          <Notice alert={view.failed !== undefined}>
            {text.passkeyNeeded} <a href="/recover">{text.passkeyLost}</a>
          </Notice>
        ) : (
          passwordForm(frame, view)
        )}
        <form
          class="form passkey"
          method="post"
          data-passkey="confirm"
          data-csrf={csrf}
          data-next={returnTo}
          hidden
        >
          {!view.needsPasskey && (
            <p class="passkey-or" aria-hidden="true">
              {all.signon.signIn.or}
            </p>
          )}
          <Button
            label={text.passkey}
            kind={view.needsPasskey ? 'primary' : 'secondary'}
            icon="key"
          />
          {passkeyOutcome({ failed: text.wrong, causes: all.signon.passkeyProofErrors })}
        </form>
        {view.needsPasskey && (
          <p class="card-note" data-passkey-none>
            {all.account.security.passkeyNoScript}
          </p>
        )}
        {!view.needsPasskey && !view.hasPassword && (
          <p>
            <a href="/recover">{text.noPassword}</a>
          </p>
        )}
      </>
    ),
  });
}

function passwordForm(frame: PageFrame, view: ConfirmView): Html {
  const all = frameText(frame);
  const text = all.account.confirm;
  const { csrf, returnTo } = view;
  return (
    <Form csrf={csrf} action={`/account/confirm?return=${encodeURIComponent(returnTo)}`}>
      <Hidden name="return" value={returnTo} />
      {accountField(view.account)}
      {view.failed !== undefined && (
        <Notice tone="danger" alert>
          {view.failed}
        </Notice>
      )}
      <Field
        id="password"
        name="password"
        type="password"
        label={text.password}
        autocomplete="current-password"
        required
      />
      {view.wantsCode && (
        <CodeField
          label={text.code}
          hint={all.signon.secondFactor.hint}
          required
          maxLength={codeCharsMax}
        />
      )}
      <Button label={text.submit} />
    </Form>
  );
}

// The review has one choice for each passkey, key, webhook and site, none of them made for the person. They are
// plain radio buttons in groups, so it works with a keyboard and without a script.

interface ReviewView extends Onward {
  readonly csrf: string;
  readonly reviewed: ReviewFacts;
  readonly hasFactor: boolean;
  /** The choices made so far. */
  readonly decide: Decide;
  /** The form was sent with a choice missing. */
  readonly isIncomplete: boolean;
}

interface Item {
  readonly name: string;
  readonly title: string;
  readonly facts?: string;
  readonly isMono?: boolean;
}

export function reviewPage(frame: PageFrame, view: ReviewView): string {
  const all = frameText(frame);
  const text = all.review;
  const groups = groupsOf(all, formatFor(frame.language), view.reviewed);
  return narrowPage(frame, {
    title: text.title,
    lede: text.lede,
    body: (
      <Form csrf={view.csrf} action={onwardHref('/account/review', view)}>
        {onwardFields(view)}
        {view.isIncomplete && (
          <Notice tone="danger" alert>
            {text.failed}
          </Notice>
        )}
        {groups.map(([title, items]) => items.length > 0 && group(title, items, all, view))}
        <p class="card-note">{text.hint}</p>
        {view.hasFactor && <p class="card-note">{text.factor}</p>}
        <Button label={text.submit} />
      </Form>
    ),
  });
}

function groupsOf(all: Translations, format: Format, reviewed: ReviewFacts): [string, Item[]][] {
  const text = all.review;
  const reads = all.account.sites.scopes;
  const passkeys = reviewed.passkeys.map(({ id, name, createdAt, lastUsedAt }) => ({
    name: reviewName.passkey(id),
    title: name === '' ? text.passkeyUnnamed : name,
    facts: text.passkeyFacts(format.moment(createdAt), format.moment(lastUsedAt)),
  }));
  const keys = reviewed.keys.map(({ id, name, createdAt }) => ({
    name: reviewName.key(id),
    title: name === '' ? id : `${name} · ${id}`,
    isMono: true,
    facts: text.keyFacts(format.moment(createdAt)),
  }));
  const siteKeys = reviewed.siteKeys.map(({ id, createdAt, hosts }) => ({
    name: reviewName.siteKey(id),
    title: id,
    isMono: true,
    facts: text.siteKeyFacts(format.moment(createdAt), hosts.join(', ') || text.siteKeyAnyHost),
  }));
  const webhooks = reviewed.webhooks.map(({ id, url, createdAt, watches }) => ({
    name: reviewName.webhook(id),
    title: url,
    isMono: true,
    facts: text.webhookFacts(
      format.moment(createdAt),
      watches.map(({ prefix }) => prefix).join(', '),
    ),
  }));
  const sites = reviewed.sites.map(({ clientId, grantedAt, granted }) => ({
    name: reviewName.site(clientId),
    title: clientId,
    facts: text.siteFacts(
      format.day(grantedAt),
      granted.map((scope) => reads[scope]).join(', ') || text.siteReadsNothing,
    ),
  }));
  const { length: more } = reviewed.otherSites;
  const others = { name: reviewName.otherSites, title: text.otherSites(format.number(more)) };
  return [
    [text.passkeys, passkeys],
    [text.keys, keys],
    [text.siteKeys, siteKeys],
    [text.webhooks, webhooks],
    [text.sites, more === 0 ? sites : [...sites, others]],
  ];
}

function group(title: string, items: Item[], all: Translations, view: ReviewView): Html {
  return (
    <section class="review-group">
      <h2>{title}</h2>
      {items.map((item) => choice(item, all, view))}
    </section>
  );
}

function choice({ name, title, facts, isMono }: Item, all: Translations, view: ReviewView): Html {
  const text = all.review;
  const chosen = view.decide(name);
  const isMissing = view.isIncomplete && chosen === undefined;
  const [factsId, errorId] = [`${name}-facts`, `${name}-error`];
  const described = classes(facts && factsId, isMissing && errorId) || undefined;
  const option = (decision: ReviewDecision) => (
    <label class="review-option">
      <input type="radio" name={name} value={decision} required checked={chosen === decision} />
      <span>{text[decision]}</span>
    </label>
  );
  return (
    <fieldset class={classes('review-item', isMissing && 'has-error')} aria-describedby={described}>
      <legend class={classes(isMono && 'mono')}>{title}</legend>
      {facts && (
        <p class="field-hint" id={factsId}>
          {facts}
        </p>
      )}
      <div class="review-options">{decisions.map(option)}</div>
      {isMissing && (
        <p class="field-error" id={errorId}>
          {text.undecided}
        </p>
      )}
    </fieldset>
  );
}
