/**
 * Forms: a POST that carries its token, a button that is one, and the controls besides text fields
 * (components/field.tsx). Everything works without a script.
 */

import { classes, type Html, safeHref } from '../html.ts';
import { Button, type ButtonKind } from './button.tsx';

export interface FormOptions {
  readonly action: string;
  /** `csrf` of the request context. */
  readonly csrf: string;
  readonly children: Html;
  /** For a form with a file in it. */
  readonly multipart?: boolean | undefined;
  readonly className?: string | undefined;
  /** Its answer is a file: the page stays, and the form may be sent again at once. */
  readonly isDownload?: boolean | undefined;
  /** For a script of the page. */
  readonly id?: string | undefined;
}

export function Form(options: FormOptions): Html {
  return (
    <form
      class={classes('form', options.className)}
      id={options.id}
      method="post"
      action={safeHref(options.action)}
      enctype={options.multipart ? 'multipart/form-data' : undefined}
      data-answer={options.isDownload ? 'file' : undefined}
    >
      <Hidden name="csrf" value={options.csrf} />
      {options.children}
    </form>
  );
}

export function Hidden({ name, value }: { readonly name: string; readonly value: string }): Html {
  return <input type="hidden" name={name} value={value} />;
}

export interface ActionOptions {
  readonly csrf: string;
  readonly action: string;
  /** Sent along unseen: what is done, and to what. */
  readonly fields: Readonly<Record<string, string>>;
  readonly label: string;
  readonly kind?: ButtonKind | undefined;
}

/** A button that does one thing to one thing. */
export function ActionButton(options: ActionOptions): Html {
  const { csrf, action, fields, label, kind = 'secondary' } = options;
  const values = Object.entries(fields).map(([name, value]) => (
    <Hidden name={name} value={value} />
  ));
  return (
    <Form csrf={csrf} action={action}>
      {values}
      <Button label={label} kind={kind} />
    </Form>
  );
}

export interface SwitchOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly name: string;
  /** The value that is sent when it is on; `on` by default. */
  readonly value?: string | undefined;
  readonly label: Html;
  readonly hint?: Html | undefined;
  readonly checked: boolean;
  /** Can't be changed: shown as it is, and never sent. */
  readonly fixed?: boolean | undefined;
}

/** A checkbox that looks like a switch: on or off. */
export function SwitchField(options: SwitchOptions): Html {
  const hintId = options.hint ? `${options.id}-hint` : undefined;
  return (
    <div class="switch">
      <input
        class="switch-box"
        type="checkbox"
        role="switch"
        id={options.id}
        name={options.name}
        value={options.value ?? 'on'}
        checked={options.checked}
        disabled={options.fixed}
        aria-describedby={hintId}
      />
      <label for={options.id}>{options.label}</label>
      {hintId && (
        <div class="switch-hint" id={hintId}>
          {options.hint}
        </div>
      )}
    </div>
  );
}

export interface SelectOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  /** HTML autofill name. */
  readonly autocomplete?: string | undefined;
}

export function SelectField(options: SelectOptions): Html {
  const hintId = options.hint && `${options.id}-hint`;
  const errorId = options.error && `${options.id}-error`;
  return (
    <div class={classes('field', options.error && 'has-error')}>
      <label for={options.id}>{options.label}</label>
      {hintId && (
        <p class="field-hint" id={hintId}>
          {options.hint}
        </p>
      )}
      <select
        class="input"
        id={options.id}
        name={options.name}
        autocomplete={options.autocomplete}
        aria-invalid={options.error ? 'true' : undefined}
        aria-describedby={classes(hintId, errorId) || undefined}
      >
        {options.options.map(({ value, label }) => (
          <option value={value} selected={value === (options.value ?? '')}>
            {label}
          </option>
        ))}
      </select>
      {errorId && (
        <p class="field-error" id={errorId}>
          {options.error}
        </p>
      )}
    </div>
  );
}
