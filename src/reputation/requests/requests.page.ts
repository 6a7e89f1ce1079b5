/** Two forms about one address: a report of it, and a request to take back what is said of it. */

import type { Failure } from '../../core/result.ts';
import { button, linkButton } from '../../web/components/button.ts';
import { card } from '../../web/components/card.ts';
import { type ChallengeView, challengeField } from '../../web/components/challenge.ts';
import { form, hidden } from '../../web/components/form.ts';
import { notice } from '../../web/components/notice.ts';
import { errors } from '../../web/errors.ts';
import { type Html, html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.ts';
import { commentCharactersMax } from '../reports/report.ts';
import { frameText } from '../words.ts';
import type { Removal } from './removals.ts';
import { reasonLengths } from './removals.ts';

interface TextArea {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly max: number;
  readonly required: boolean;
  readonly error?: string | undefined;
}

function textArea({ name, label, hint, value, max, required, error }: TextArea): Html {
  return html`<div class=${error === undefined ? 'field' : 'field has-error'}>
    <label for=${name}>${label}</label>
    <p class="field-hint" id=${`${name}-hint`}>${hint}</p>
    <textarea class="input" id=${name} name=${name} rows="5" required=${required} maxlength=${max}
      aria-invalid=${error === undefined ? undefined : 'true'} aria-describedby=${`${name}-hint`}>${value}</textarea>
    ${error !== undefined && html`<p class="field-error">${error}</p>`}
  </div>`;
}

function page(frame: PageFrame, address: string, title: string, body: Html): string {
  return renderDocument(frame, {
    title: `${title}: ${address}`,
    noindex: true,
    className: 'page-request',
    body: html`<div class="wrap stack">
      <h1><span class="eyebrow">${title}</span> <a class="address mono" href=${`/ip/${address}`}>${address}</a></h1>
      ${body}
    </div>`,
  });
}

export interface RemovalPageData {
  readonly address: string;
  readonly csrf: string;
  /** The request that is open. */
  readonly open?: Removal | undefined;
  readonly reason: string;
  readonly wrong?: 'reason' | 'challenge' | 'full' | undefined;
  /** `signed-in` needs none; undefined: this client has asked for too many. */
  readonly challenge: ChallengeView | 'signed-in' | undefined;
}

export function removalPage(frame: PageFrame, data: RemovalPageData): string {
  const text = frameText(frame);
  const words = text.requests.removal;
  const { address, open, wrong, challenge } = data;
  if (open !== undefined) {
    const when = formatFor(frame.language).day(open.at);
    return page(frame, address, words.title, notice({ tone: 'success', body: words.open(when) }));
  }
  const body = form({
    action: '/removal',
    csrf: data.csrf,
    body: html`${hidden('address', address)}
      ${wrong === 'full' && notice({ tone: 'warning', body: words.full, alert: true })}
      ${textArea({
        ...{ name: 'reason', label: words.reason, hint: words.hint, value: data.reason },
        ...{ max: reasonLengths.max, required: true },
        error: wrong === 'reason' ? words.wrong(reasonLengths.min, reasonLengths.max) : undefined,
      })}
      ${challenge !== 'signed-in' && challengeField(frame, challenge, wrong === 'challenge' ? words.challengeWrong : undefined)}
      ${button({ label: words.submit })}`,
  });
  return page(
    frame,
    address,
    words.title,
    card({
      title: words.lede,
      icon: 'shield',
      body: html`<p class="card-note">${words.note}</p>${body}`,
    }),
  );
}

export interface ReportPageData {
  readonly address: string;
  readonly csrf: string;
  /** False: reports are counted by the key of an account, and this one has none. */
  readonly hasKey: boolean;
  /** Why the report was not taken. */
  readonly failure?: Failure | undefined;
  readonly comment: string;
}

export function reportPage(frame: PageFrame, data: ReportPageData): string {
  const text = frameText(frame);
  const words = text.requests.report;
  if (!data.hasKey) {
    const link = linkButton({ label: words.makeKey, href: '/account/keys' });
    return page(
      frame,
      data.address,
      words.title,
      html`${notice({ tone: 'info', body: words.noKey })}<p>${link}</p>`,
    );
  }
  const noCategory = data.failure?.parameter === 'categories';
  const body = form({
    action: '/report',
    csrf: data.csrf,
    body: html`${hidden('address', data.address)}
      ${data.failure !== undefined && !noCategory && notice({ tone: 'warning', body: errors[data.failure.error][frame.language], alert: true })}
      <fieldset class=${noCategory ? 'category-choice has-error' : 'category-choice'}>
        <legend>${words.categories}</legend>
        ${noCategory && html`<p class="field-error">${words.noCategory}</p>`}
        <div class="category-grid">${text.categories.map(
          (name, i) =>
            html`<label><input type="checkbox" name="categories" value=${String(i + 1)} /> <span>${name}</span></label>`,
        )}</div>
      </fieldset>
      ${textArea({
        ...{ name: 'comment', label: words.comment, hint: words.commentHint },
        ...{ value: data.comment, max: commentCharactersMax, required: false },
      })}
      ${button({ label: words.submit, icon: 'flag' })}`,
  });
  return page(frame, data.address, words.title, card({ title: words.lede, icon: 'flag', body }));
}
