/**
 * The review after a reset: one choice for each passkey, key, webhook and site, none of them made for the
 * person. Plain radio buttons in groups, so it works with a keyboard and without a script.
 */

import { Button } from '../../../web/components/button.tsx';
import { Form } from '../../../web/components/form.tsx';
import { Notice } from '../../../web/components/notice.tsx';
import { classes, type Html } from '../../../web/html.ts';
import { type Format, formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import {
  type Decide,
  decisions,
  type ReviewDecision,
  type Reviewed,
  reviewName,
} from '../../people/review.ts';
import { narrowPage } from '../../sessions/narrow.page.tsx';
import { type Onward, onwardFields, onwardHref } from '../../sessions/onward.page.tsx';
import { type Catalogue, frameText } from '../../words/words.ts';

export interface ReviewView extends Onward {
  readonly csrf: string;
  readonly reviewed: Reviewed;
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

function groupsOf(all: Catalogue, format: Format, reviewed: Reviewed): [string, Item[]][] {
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

function group(title: string, items: Item[], all: Catalogue, view: ReviewView): Html {
  return (
    <section class="review-group">
      <h2>{title}</h2>
      {items.map((item) => choice(item, all, view))}
    </section>
  );
}

function choice({ name, title, facts, isMono }: Item, all: Catalogue, view: ReviewView): Html {
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
