/** A labelled form field with its hint and error tied to it for assistive technology. */

import { classes, type Html, safeHref } from '../html.ts';
import type { Catalogue } from '../language.ts';
import { Button } from './button.tsx';

export interface FieldOptions {
  /** Unique on the page. */
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
}

export function Field(options: FieldOptions): Html {
  const hintId = options.hint ? `${options.id}-hint` : undefined;
  const errorId = options.error ? `${options.id}-error` : undefined;
  return (
    <div class={classes('field', options.error && 'has-error')}>
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

type Tied = string | undefined;

/**
 * Returns the browser's bound in UTF-16 units: a letter beyond the first plane has two units, an emoji may
 * have more, and a letter that is composed on the server comes in parts.
 */
export function unitsMax(characters: number | undefined): number | undefined {
  return characters === undefined ? undefined : 4 * characters;
}

function textareaOf(options: FieldOptions, hintId: Tied, errorId: Tied): Html {
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

function inputOf(options: FieldOptions, hintId: Tied, errorId: Tied): Html {
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
      aria-invalid={options.error ? 'true' : undefined}
      aria-describedby={classes(hintId, errorId) || undefined}
    />
  );
}

export interface LookupOptions {
  /** Unique on the page. */
  readonly id: string;
  readonly action: string;
  readonly text: Catalogue;
  readonly value?: string | undefined;
  /** Small and without a visible label, for the header of a page. */
  readonly compact?: boolean | undefined;
}

/** A line of a log, a URL: what people paste. The page behind finds the addresses in it. */
const pastedCharsMax = 1_000;

/** The box to look an address up: a GET form, so it works without a script. */
export function LookupForm({ id, action, text, value, compact }: LookupOptions): Html {
  return (
    <form
      class={classes('lookup', compact && 'is-compact')}
      action={safeHref(action)}
      method="get"
      role="search"
    >
      <label class={compact ? 'visually-hidden' : undefined} for={id}>
        {text.lookup.label}
      </label>
      <div class="lookup-row">
        <input
          class="input mono"
          id={id}
          name="address"
          type="text"
          value={value}
          placeholder={text.lookup.placeholder}
          required
          maxlength={pastedCharsMax}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
        />
        <Button label={text.lookup.submit} icon="search" iconOnly={compact === true} />
      </div>
    </form>
  );
}
