/**
 * Keeps the input of a form that could not be accepted: its session had ended, its page was of a former session, or
 * the reader chose another language or theme without a script before sending it. The input is sealed for this browser
 * and carried in the address of the form's page (`unsaved`), so nothing is stored for visitors who are not signed in.
 * The page fills the form again, and the person sends it again. Passwords, other secrets, codes and files are not
 * kept, nor is input that is too long for an address: then the page says that nothing was saved.
 */

import { hourMs } from '../../../core/time.ts';
import type { Params } from '../../../http/request/query.ts';

export const unsavedName = 'unsaved';
/** Stands in place of the seal, where nothing is kept. */
const nothing = 'nothing';
/** A form with more bytes when packed is not kept: the address of a page holds 4,096 characters. */
export const unsavedBytesMax = 2_500;
export const unsavedLifeMs = hourMs;
/** A sealed value is another one in each page. */
const sealed = /^[\w-]{60,}$/;
/** Secrets (`header` and `user` open the server of a list), and what belongs to the page. */
const neverKept = /^(csrf|username|password|header|user|code|answer|confirm|captcha_\w+)$/;

export interface UnsavedSeals {
  /** Returns undefined for a text that is too long to be kept. */
  seal(text: string, holder: string): string | undefined;
  /** Returns undefined for what is not ours, another browser's, or too old. */
  open(text: string, holder: string): string | undefined;
}

export interface UnsavedForm {
  /** The form's action; empty when nothing was kept. */
  readonly action: string;
  /** Names and values, as they were sent. */
  readonly fields: readonly (readonly [string, string])[];
  /** Nothing failed: the page fills its form and says nothing. */
  readonly isQuiet?: boolean;
}

export interface SentForm {
  readonly action: string;
  readonly form: Params | undefined;
  readonly isQuiet?: boolean;
}

/** Returns the address of the page with what was sent to the form. */
export function withUnsaved(
  page: string,
  { action, form, isQuiet }: SentForm,
  keep: (text: string) => string | undefined,
): string {
  const fields = [...new Set(form?.names)]
    .filter((name) => !neverKept.test(name))
    .flatMap((name) => form!.all(name).map((value) => [name, value] as const));
  const text = JSON.stringify({ action, fields, isQuiet });
  const kept = fields.length > 0 ? keep(text) : undefined;
  const queryAt = page.indexOf('?');
  const path = queryAt < 0 ? page : page.slice(0, queryAt);
  const rest = (queryAt < 0 ? '' : page.slice(queryAt + 1))
    .split('&')
    .filter((pair) => pair !== '' && !pair.startsWith(`${unsavedName}=`));
  if (kept !== undefined || !isQuiet) rest.push(`${unsavedName}=${kept ?? nothing}`);
  return rest.length === 0 ? path : `${path}?${rest.join('&')}`;
}

/** Returns whether the page's address carries an unsaved form's contents; undefined without such a form. */
export function draftIn(page: string): 'kept' | 'nothing' | undefined {
  const value = new RegExp(`[?&]${unsavedName}=([\\w-]+)`).exec(page)?.[1];
  if (value === undefined) return undefined;
  return value === nothing ? 'nothing' : 'kept';
}

/** Returns the unsaved form of an address; undefined when it has none. */
export function readUnsaved(
  value: string | undefined,
  open: (text: string) => string | undefined,
): UnsavedForm | undefined {
  if (value === undefined) return undefined;
  const text = value === nothing ? undefined : open(value);
  // Written by `withUnsaved` alone: the seal vouches for its shape.
  return text === undefined ? { action: '', fields: [] } : (JSON.parse(text) as UnsavedForm);
}

/** Returns the finished page with the fields filled in, wherever it has that form. */
export function refillForm(markup: string, { action, fields }: UnsavedForm): string {
  if (action === '') return markup;
  const valuesOf = (name: string) => fields.filter(([n]) => n === name).map(([, value]) => value);
  const refilled = markup.replace(wholeForm, (form) => {
    if (attribute(form, 'action')?.split('?', 1)[0] !== action) return form;
    const inputs = form.match(tagsOf('input')) ?? [];
    const isOfOther = inputs.some((input) => {
      const name = attribute(input, 'name') ?? '';
      const value = attribute(input, 'value') ?? '';
      if (attribute(input, 'type') !== 'hidden' || neverKept.test(name)) return false;
      if (hasAttribute(input, 'data-of-page')) return false;
      return !sealed.test(value) && !valuesOf(name).includes(value);
    });
    return isOfOther ? form : filled(form, valuesOf);
  });
  return withOpenFolds(refilled);
}

/** Stands before each field that has another value than its page gave it; no page has this character. */
const changedFlag = '\0';

/** Opens the folds around fields that are marked, and takes the marks away. */
function withOpenFolds(markup: string): string {
  const pieces = markup.split(/(<details\b[^>]*>|<\/details>|\0)/);
  const around: number[] = [];
  pieces.forEach((piece, i) => {
    if (piece.startsWith('<details')) around.push(i);
    else if (piece === '</details>') around.pop();
    else if (piece === changedFlag) {
      pieces[i] = '';
      for (const one of around) {
        const fold = pieces[one]!;
        if (!/ open(?=[\s=>])/.test(fold)) pieces[one] = fold.replace('<details', '<details open');
      }
    }
  });
  return pieces.join('');
}

function filled(form: string, valuesOf: (name: string) => readonly string[]): string {
  return form
    .replace(tagsOf('input'), (input) => {
      const name = attribute(input, 'name') ?? '';
      const type = attribute(input, 'type') ?? 'text';
      const isOwn = ['hidden', 'password', 'file', 'submit'].includes(type);
      // A field that is disabled was not sent.
      if (neverKept.test(name) || isOwn || hasAttribute(input, 'disabled')) return input;
      const values = valuesOf(name);
      if (type === 'checkbox' || type === 'radio') {
        const bare = input.replace(/ checked(="[^"]*")?(?=[\s/>])/, '');
        const isOn = values.includes(attribute(input, 'value') ?? 'on');
        const now = isOn ? bare.replace('<input', '<input checked') : bare;
        return isOn === (bare !== input) ? now : changedFlag + now;
      }
      if (values[0] === undefined) return input;
      const bare = input.replace(/ value="[^"]*"/, '');
      const value = escaped(values[0]);
      const now = bare.replace('<input', () => `<input value="${value}"`);
      return value === (/ value="([^"]*)"/.exec(input)?.[1] ?? '') ? now : changedFlag + now;
    })
    .replace(
      /(<textarea\b[^>]*>)(.*?)(<\/textarea>)/gs,
      (all, start: string, text: string, end: string) => {
        const [value] = valuesOf(attribute(start, 'name') ?? '');
        if (value === undefined) return all;
        const now = `${start}\n${escaped(value)}${end}`;
        return escaped(value) === text.replace(/^\n/, '') ? now : changedFlag + now;
      },
    )
    .replace(/(<select\b[^>]*>)(.*?)(<\/select>)/gs, (all, start: string, options: string, end) => {
      const [value] = valuesOf(attribute(start, 'name') ?? '');
      if (value === undefined) return all;
      const wasChosen = options
        .match(tagsOf('option'))
        ?.findLast((option, i) => i === 0 || / selected(?=[\s=/>])/.test(option));
      const chosen = options.replace(tagsOf('option'), (option) => {
        const bare = option.replace(/ selected(="[^"]*")?(?=[\s/>])/, '');
        const isChosen = attribute(option, 'value') === value;
        return isChosen ? bare.replace('<option', '<option selected') : bare;
      });
      const isSame = attribute(wasChosen ?? '', 'value') === value;
      return `${isSame ? '' : changedFlag}${start}${chosen}${end}`;
    });
}

/** A page may have it in its header and in its footer. */
const appearanceForm = /<form class="site-looks".*?<\/form>/gs;
const typedInto = /^(?:text|email|tel|url|search|number|date|checkbox|radio)$/;

/**
 * Returns the page with the buttons for language and theme as buttons of its first form that people type into,
 * so that they send what was typed along. A script needs no such thing, and undoes it (app.js).
 */
export function withUnsavedButtons(markup: string): string {
  const forms = markup.match(wholeForm) ?? [];
  const main = forms.find((form) => attribute(form, 'method') === 'post' && isTypedInto(form));
  const [appearance] = markup.match(appearanceForm) ?? [];
  if (main === undefined || appearance === undefined) return markup;
  const id = attribute(main, 'id') ?? 'typed-form';
  const named =
    attribute(main, 'id') === undefined
      ? main.replace(firstTag, (tag) => `${tag.slice(0, -1)} id="${id}">`)
      : main;
  const back = appearance
    .match(tagsOf('input'))
    ?.find((input) => attribute(input, 'name') === 'back');
  const about = new URLSearchParams({ of: attribute(main, 'action')?.split('?', 1)[0] ?? '' });
  if (back !== undefined) about.set('back', attribute(back, 'value') ?? '');
  const carryingButton = (button: string) => {
    const query = new URLSearchParams(about);
    query.set(attribute(button, 'name') ?? '', attribute(button, 'value') ?? '');
    return button.replace(
      '<button',
      () =>
        `<button form="${id}" formaction="/looks?${escaped(`${query}`)}" formmethod="post" formenctype="application/x-www-form-urlencoded" formnovalidate`,
    );
  };
  return markup
    .replace(main, () => named)
    .replace(appearanceForm, (form) => form.replace(tagsOf('button'), carryingButton));
}

function isTypedInto(form: string): boolean {
  if (/<(?:textarea|select)\b/.test(form)) return true;
  const inputs = form.match(tagsOf('input')) ?? [];
  return inputs.some((input) => typedInto.test(attribute(input, 'type') ?? 'text'));
}

/** A value may hold a `>`. */
const insideTag = '(?:"[^"]*"|[^">])*';
const wholeForm = new RegExp(`<form\\b${insideTag}>.*?</form>`, 'gs');
const firstTag = new RegExp(`^<${insideTag}>`);

function tagsOf(name: string): RegExp {
  return new RegExp(`<${name}\\b${insideTag}>`, 'g');
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  quot: '"',
  lt: '<',
  gt: '>',
  '#39': "'",
};

function hasAttribute(tag: string, name: string): boolean {
  return new RegExp(` ${name}(?=[\\s=/>])`).test(tag);
}

function attribute(markup: string, name: string): string | undefined {
  const tag = firstTag.exec(markup)?.[0] ?? '';
  const found = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
  return found?.replace(/&(amp|quot|lt|gt|#39);/g, (_all, entity: string) => entities[entity]!);
}

function escaped(text: string): string {
  const known: Readonly<Record<string, string>> = { '&': '&amp;', '"': '&quot;', '<': '&lt;' };
  const printable = text.replace(
    /[\u0000-\u0008\u000b\u000e-\u001f\u007f\p{Surrogate}]/gu,
    '\ufffd',
  );
  return printable.replace(/[&"<]/g, (character) => known[character]!);
}

// A place to come back to after a sign-in: a path of this host and nothing else, so that no link
// to the sign-in page leads on to another site. `//host`, `/\host` and control characters, which
// browsers read as another host, are refused by form; the URL parser has the last word.

const lengthMax = 1_000;
/** The bound of a token with a form that was not saved. */
const unsavedLengthMax = 4_000;
const shape = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;
/** Coming back to these would lead nowhere. */
const noReturn = /^\/(signin|signout|register|recover|reset)(\/|$)/;

/** Returns undefined if it is none, or leads nowhere. */
export function localPath(text: string | undefined): string | undefined {
  const isUnsaved = text !== undefined && draftIn(text) !== undefined;
  const path = ownPath(text, isUnsaved ? unsavedLengthMax : lengthMax);
  return path === undefined || noReturn.test(path.split('?', 1)[0]!) ? undefined : path;
}

/** Any path of this host. Undefined if it is none. */
export function ownPath(text: string | undefined, charsMax = lengthMax): string | undefined {
  if (text === undefined || text.length > charsMax || !shape.test(text)) return undefined;
  const url = new URL(text, 'http://self.invalid');
  if (url.origin !== 'http://self.invalid' || url.pathname.startsWith('//')) return undefined;
  // The parser's spelling escapes more: it must fit where the text would have.
  const path = `${url.pathname}${url.search}`;
  return path.length > charsMax ? undefined : path;
}
