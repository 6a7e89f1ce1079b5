/**
 * Forms: a POST that carries its token, a button that is one, and the controls besides text fields
 * (components/field.ts). Everything works without a script.
 */

import { classes, type Html, html, safeHref } from '../html.ts';
import { type ButtonKind, button } from './button.ts';

export interface FormOptions {
  readonly action: string;
  /** `csrf` of the request context. */
  readonly csrf: string;
  readonly body: Html;
  /** For a form with a file in it. */
  readonly multipart?: boolean;
  readonly className?: string;
  /** Its answer is a file: the page stays, and the form may be sent again at once. */
  readonly isDownload?: boolean;
  /** For a script of the page. */
  readonly id?: string;
}

export function form(options: FormOptions): Html {
  return html`<form class=${classes('form', options.className)} id=${options.id} method="post"
    action=${safeHref(options.action)} enctype=${options.multipart ? 'multipart/form-data' : undefined}
    data-answer=${options.isDownload ? 'file' : undefined}>
    ${hidden('csrf', options.csrf)}
    ${options.body}
  </form>`;
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name=${name} value=${value} />`;
}

export interface ActionOptions {
  readonly csrf: string;
  readonly action: string;
  /** Sent along unseen: what is done, and to what. */
  readonly fields: Readonly<Record<string, string>>;
  readonly label: string;
  readonly kind?: ButtonKind;
}

/** A button that does one thing to one thing. */
export function actionButton(options: ActionOptions): Html {
  const { csrf, action, fields, label, kind = 'secondary' } = options;
  const values = Object.entries(fields).map(([name, value]) => hidden(name, value));
  return form({ csrf, action, body: html`${values}${button({ label, kind })}` });
}

export interface SwitchOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly name: string;
  /** The value that is sent when it is on; `on` by default. */
  readonly value?: string;
  readonly label: Html;
  readonly hint?: Html;
  readonly checked: boolean;
  /** Can't be changed: shown as it is, and never sent. */
  readonly fixed?: boolean;
}

/** A checkbox that looks like a switch: on or off. */
export function switchField(options: SwitchOptions): Html {
  const hintId = options.hint ? `${options.id}-hint` : undefined;
  return html`<div class="switch">
    <input class="switch-box" type="checkbox" role="switch" id=${options.id} name=${options.name}
      value=${options.value ?? 'on'} checked=${options.checked} disabled=${options.fixed}
      aria-describedby=${hintId} />
    <label for=${options.id}>${options.label}</label>
    ${hintId && html`<div class="switch-hint" id=${hintId}>${options.hint}</div>`}
  </div>`;
}

export interface SelectOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly value?: string;
  readonly hint?: string;
  readonly error?: string;
  /** HTML autofill name. */
  readonly autocomplete?: string;
}

export function selectField(options: SelectOptions): Html {
  const hintId = options.hint && `${options.id}-hint`;
  const errorId = options.error && `${options.id}-error`;
  return html`<div class=${classes('field', options.error && 'has-error')}>
    <label for=${options.id}>${options.label}</label>
    ${hintId && html`<p class="field-hint" id=${hintId}>${options.hint}</p>`}
    <select class="input" id=${options.id} name=${options.name} autocomplete=${options.autocomplete}
      aria-invalid=${options.error ? 'true' : undefined}
      aria-describedby=${classes(hintId, errorId) || undefined}>
      ${options.options.map(
        ({ value, label }) =>
          html`<option value=${value} selected=${value === (options.value ?? '')}>${label}</option>`,
      )}
    </select>
    ${errorId && html`<p class="field-error" id=${errorId}>${options.error}</p>`}
  </div>`;
}
