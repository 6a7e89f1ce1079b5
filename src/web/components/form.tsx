/**
 * Forms: a POST that carries its token, buttons, text fields and the other controls. Everything works without a
 * script.
 */

import { classes, type Html, safeHref } from '../html.ts';
import type { Translations } from '../language.ts';
import { Icon, type IconName } from './icon.tsx';
import { Link } from './link.tsx';

// Buttons and links that look like them. One primary action per view.

/** `danger` is an outline; solid red is `confirm`, for pages that ask once more. */
export type ButtonKind = 'primary' | 'secondary' | 'danger' | 'confirm' | 'quiet';

export interface ButtonOptions {
  readonly label: string;
  readonly kind?: ButtonKind | undefined;
  readonly type?: 'submit' | 'button' | undefined;
  /** Form field that this button sends. */
  readonly name?: string | undefined;
  readonly value?: string | undefined;
  readonly icon?: IconName | undefined;
  /** It sends the form as it is, whatever is left empty. */
  readonly asItIs?: boolean | undefined;
  /** The effect of a press behind the label, such as `99 → 0`. */
  readonly effect?: string | undefined;
}

export function Button(options: ButtonOptions): Html {
  return (
    <button
      class={`button button-${options.kind ?? 'primary'}`}
      type={options.type ?? 'submit'}
      name={options.name}
      value={options.value}
      formnovalidate={options.asItIs || undefined}
    >
      {options.icon && <Icon name={options.icon} />}
      <span>{options.label}</span>
      {options.effect && <span class="button-effect">{options.effect}</span>}
    </button>
  );
}

interface LinkButtonOptions {
  readonly label: string;
  readonly href: string;
  readonly kind?: ButtonKind | undefined;
  readonly icon?: IconName | undefined;
  readonly className?: string | undefined;
}

export function LinkButton(options: LinkButtonOptions): Html {
  return (
    <Link
      class={classes('button', `button-${options.kind ?? 'primary'}`, options.className)}
      href={options.href}
    >
      {options.icon && <Icon name={options.icon} />}
      <span>{options.label}</span>
    </Link>
  );
}

interface FormOptions {
  readonly action: string;
  /** `csrf` of the request context. */
  readonly csrf: string;
  readonly children: Html;
  readonly multipart?: boolean | undefined;
  readonly className?: string | undefined;
  /** Its answer is a file: the page stays, and the form may be sent again at once. */
  readonly isDownload?: boolean | undefined;
  /** A script of the page finds it by this. */
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

interface HiddenOptions {
  readonly name: string;
  readonly value: string;
  /** Each page has another value, whatever the form is about (intake/unsaved.ts). */
  readonly isOfPage?: boolean | undefined;
}

export function Hidden({ name, value, isOfPage }: HiddenOptions): Html {
  return <input type="hidden" name={name} value={value} data-of-page={isOfPage} />;
}

interface ActionOptions {
  readonly csrf: string;
  readonly action: string;
  /** Sent along unseen: what is done, and to what. */
  readonly fields: Readonly<Record<string, string>>;
  readonly label: string;
  readonly kind?: ButtonKind | undefined;
  readonly effect?: string | undefined;
}

export function ActionButton(options: ActionOptions): Html {
  const { csrf, action, fields, label, kind = 'secondary', effect } = options;
  const values = Object.entries(fields).map(([name, value]) => (
    <Hidden name={name} value={value} />
  ));
  return (
    <Form csrf={csrf} action={action}>
      {values}
      <Button label={label} kind={kind} effect={effect} />
    </Form>
  );
}

interface SwitchOptions {
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

interface SelectOptions {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
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

// A labelled form field with its hint and error tied to it for assistive technology.

export interface FieldOptions {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly type?:
    | 'text'
    | 'email'
    | 'password'
    | 'tel'
    | 'url'
    | 'date'
    | 'number'
    | 'search'
    | undefined;
  readonly value?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly hint?: string | undefined;
  /** The error of the value that was sent. */
  readonly error?: string | undefined;
  /** The value was refused together with others: one sentence says so elsewhere. */
  readonly isRefused?: boolean | undefined;
  readonly required?: boolean | undefined;
  /** In characters (code points), as the server counts. The browser's own bound counts UTF-16 units. */
  readonly maxLength?: number | undefined;
  /** A field of so many lines. */
  readonly rows?: number | undefined;
  /** HTML autofill name, e.g. `current-password`. */
  readonly autocomplete?: string | undefined;
  readonly inputMode?: 'text' | 'numeric' | 'email' | 'tel' | 'url' | undefined;
  /** Set in the fixed-width font: addresses, codes, keys. */
  readonly mono?: boolean | undefined;
  /** The page opens at this field: one alone of a page, since it is what is left to do. */
  readonly focused?: boolean | undefined;
  /** The page's script asks this path what is wrong with the value. */
  readonly judgedBy?: string | undefined;
}

export function Field(options: FieldOptions): Html {
  const hintId = options.hint ? `${options.id}-hint` : undefined;
  const errorId = options.error ? `${options.id}-error` : undefined;
  return (
    <div class={classes('field', (options.error || options.isRefused) && 'has-error')}>
      <label for={options.id}>{options.label}</label>
      {hintId && (
        <p class="field-hint" id={hintId}>
          {options.hint}
        </p>
      )}
      {options.rows === undefined
        ? inputOf(options, hintId, errorId)
        : textareaOf(options, hintId, errorId)}
      {errorId && (
        <p class="field-error" id={errorId}>
          {options.error}
        </p>
      )}
    </div>
  );
}

/** The field of a code that was sent, or that an authenticator shows. */
export function CodeField(
  options: Pick<FieldOptions, 'label' | 'hint' | 'error' | 'inputMode' | 'maxLength' | 'required'>,
): Html {
  return <Field {...options} id="code" name="code" autocomplete="one-time-code" mono />;
}

type OptionalText = string | undefined;

/**
 * Returns the browser's bound in UTF-16 units: a letter beyond the first plane has two units, an emoji may
 * have more, and a letter that is composed on the server comes in parts.
 */
export function unitsMax(characters: number | undefined): number | undefined {
  return characters === undefined ? undefined : 4 * characters;
}

function textareaOf(options: FieldOptions, hintId: OptionalText, errorId: OptionalText): Html {
  // The first line end of its content is none of the text.
  return (
    <textarea
      class={classes('input', options.mono && 'mono')}
      id={options.id}
      name={options.name}
      rows={options.rows}
      placeholder={options.placeholder}
      required={options.required}
      maxlength={unitsMax(options.maxLength)}
      autocomplete={options.autocomplete}
      aria-invalid={options.error ? 'true' : undefined}
      aria-describedby={classes(hintId, errorId) || undefined}
    >{`\n${options.value ?? ''}`}</textarea>
  );
}

function inputOf(options: FieldOptions, hintId: OptionalText, errorId: OptionalText): Html {
  // The attributes' types are one for each kind, and cannot be chosen by a value.
  const { type = 'text' } = options;
  return (
    <input
      class={classes('input', options.mono && 'mono')}
      id={options.id}
      name={options.name}
      type={type as 'text'}
      value={options.value}
      placeholder={options.placeholder}
      required={options.required}
      maxlength={unitsMax(options.maxLength)}
      autocomplete={options.autocomplete}
      inputmode={options.inputMode}
      autofocus={options.focused}
      data-judged-by={options.judgedBy}
      aria-invalid={options.error || options.isRefused ? 'true' : undefined}
      aria-describedby={classes(hintId, errorId) || undefined}
    />
  );
}

interface LookupInputOptions {
  readonly id: string;
  readonly placeholder: string;
  readonly value?: string | undefined;
}

/** For a line of a log or a whole one: the page behind finds the addresses in it. */
export function LookupInput({ id, placeholder, value }: LookupInputOptions): Html {
  return (
    <input
      class="input mono"
      id={id}
      name="address"
      type="text"
      value={value}
      placeholder={placeholder}
      required
      autocomplete="off"
      autocapitalize="none"
      spellcheck={false}
    />
  );
}

interface LookupOptions {
  readonly id: string;
  readonly action: string;
  readonly text: Translations;
  readonly value?: string | undefined;
}

/** The box to look an address up: a GET form, so it works without a script. */
export function LookupForm({ id, action, text, value }: LookupOptions): Html {
  return (
    <form class="lookup" action={safeHref(action)} method="get" role="search">
      <label for={id}>{text.lookup.label}</label>
      <div class="lookup-row">
        <LookupInput id={id} placeholder={text.lookup.placeholder} value={value} />
        <Button label={text.lookup.submit} icon="search" />
      </div>
    </form>
  );
}
