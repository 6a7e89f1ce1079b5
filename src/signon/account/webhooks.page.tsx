/** The webhooks of an account: each with what it watches and its last delivery, and a form for one more. */

import { CodeBlock, Fold, Folds, Notice } from '../../web/components/card.tsx';
import { ActionButton, Field, Form } from '../../web/components/form.tsx';
import type { Html } from '../../web/html.ts';
import { type Format, formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { frameText, type Translations } from '../words.ts';
import {
  type AccountView,
  accountPage,
  Facts,
  recentProofNotice,
  Submit,
} from './account.page.tsx';

export interface WebhookLine {
  readonly id: string;
  readonly url: string;
  readonly threshold: number;
  readonly watches: readonly { readonly prefix: string; readonly state: string }[];
  readonly waiting: number;
  readonly failures: number;
  readonly nextTryAt: number;
  /** Ms since 1970; 0: nothing was tried yet. */
  readonly triedAt: number;
  /** The HTTP status, or one word for the failure. */
  readonly outcome: string;
  readonly delivered: number;
  readonly dropped: number;
}

export interface WebhooksView extends AccountView {
  readonly fresh: boolean;
  readonly hooks: readonly WebhookLine[];
  readonly isFull: boolean;
  /** The secret of the webhook that was just made, shown once. */
  readonly secret?: string;
  readonly typed?: {
    readonly url: string;
    readonly watches: string;
    readonly threshold: string;
    readonly fault: string | undefined;
  };
}

export function webhooksPage(frame: PageFrame, view: WebhooksView): string {
  const text = frameText(frame);
  const words = text.automation.webhooks;
  const format = formatFor(frame.language);
  return accountPage(frame, view, {
    section: 'webhooks',
    lede: words.lede,
    body: (
      <>
        {view.secret !== undefined && (
          <div class="shown-key">
            <Notice tone="warning">{words.secretShown}</Notice>
            <CodeBlock id="shown-secret" title={words.secretTitle} code={view.secret} text={text} />
          </div>
        )}
        <Folds>
          {view.hooks.map((hook) => hookFold(text, format, view, hook))}
          {makeFold(text, view)}
        </Folds>
      </>
    ),
  });
}

/** Paths of one host mostly differ at their end. */
const pathEndMax = 20;
const endOf = (path: string) =>
  path.length > pathEndMax ? `/…${path.slice(1 - pathEndMax)}` : path;

function hookFold(text: Translations, format: Format, view: WebhooksView, hook: WebhookLine): Html {
  const words = text.automation.webhooks;
  const { id } = hook;
  const { host, pathname } = new URL(hook.url);
  const isAlone = view.hooks.every((one) => one === hook || new URL(one.url).host !== host);
  const action = (what: 'test' | 'remove', kind: 'secondary' | 'danger') => (
    <ActionButton
      csrf={view.csrf}
      kind={kind}
      label={words[what]}
      fields={{ id }}
      action={`/account/webhooks/${what}`}
    />
  );
  const outcomes: Readonly<Record<string, string>> = words.outcomes;
  const outcome = outcomes[hook.outcome] ?? words.answered(hook.outcome);
  const last = hook.triedAt === 0 ? words.notTried : `${format.moment(hook.triedAt)}: ${outcome}`;
  const retry = hook.failures > 0 && words.retry(format.moment(hook.nextTryAt));
  const watches = hook.watches.map(({ prefix, state }) => (
    <>
      <span class="mono">{prefix}</span>
      {state === 'listed' && <> ({words.listed})</>}
      <br />
    </>
  ));
  const waiting = words.waiting(format.number(hook.waiting), format.number(hook.dropped));
  return (
    <Fold
      title={isAlone ? host : `${host}${endOf(pathname)}`}
      icon="arrow"
      aside={hook.triedAt === 0 ? words.notTried : outcome}
      open={view.hooks.length === 1}
    >
      <Facts
        facts={[
          { name: words.url, value: hook.url, isWide: true, className: 'mono own-comment' },
          { name: words.watches, value: watches, isWide: true },
          { name: words.threshold, value: format.number(hook.threshold) },
          { name: words.delivered, value: format.number(hook.delivered), note: waiting },
          { name: words.last, value: last, note: retry, isWide: true },
        ]}
      />
      <div class="row-actions">
        {action('test', 'secondary')}
        {action('remove', 'danger')}
      </div>
    </Fold>
  );
}

function makeFold(text: Translations, view: WebhooksView): Html {
  const words = text.automation.webhooks;
  const { csrf, typed, fresh, isFull } = view;
  const fault = (name: 'url' | 'watches' | 'threshold') =>
    typed?.fault === name ? { error: words.errors[name] } : {};
  const shown = (
    <Form csrf={csrf} action="/account/webhooks/create">
      <Field
        id="hook-url"
        name="url"
        label={words.url}
        hint={words.urlHint}
        type="url"
        required
        autocomplete="off"
        value={typed?.url ?? ''}
        {...fault('url')}
      />
      <Field
        id="hook-watches"
        name="watches"
        label={words.watches}
        hint={words.watchesHint}
        required
        mono
        autocomplete="off"
        value={typed?.watches ?? ''}
        {...fault('watches')}
      />
      <Field
        id="hook-threshold"
        name="threshold"
        label={words.threshold}
        type="text"
        hint={words.thresholdHint}
        inputMode="numeric"
        required
        autocomplete="off"
        value={typed?.threshold ?? '75'}
        {...fault('threshold')}
      />
      <Submit label={words.create} />
    </Form>
  );
  return (
    <Fold title={words.makeTitle} icon="plus" open={view.hooks.length === 0 || typed !== undefined}>
      <p class="card-note">
        {words.text} <a href="/docs/webhooks">{words.docs}</a>
      </p>
      {isFull ? (
        <p>{words.full}</p>
      ) : fresh ? (
        shown
      ) : (
        recentProofNotice(text.account, '/account/webhooks')
      )}
    </Fold>
  );
}
