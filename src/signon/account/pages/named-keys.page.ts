/** The part of the page of keys with those that have a name: list, form, and the page that renames one. */

import type { KeyScope } from '../../../access/keys/key-scopes.ts';
import type { StrangeCharacter } from '../../../access/keys/named-keys.ts';
import { button, linkButton } from '../../../web/components/button.ts';
import { card } from '../../../web/components/card.ts';
import { field } from '../../../web/components/field.ts';
import { actionButton, form, hidden, switchField } from '../../../web/components/form.ts';
import { table } from '../../../web/components/table.ts';
import { type Html, html } from '../../../web/html.ts';
import { type Format, formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import { type Catalogue, frameText } from '../../words/words.ts';
import { freshWanted } from './parts.page.ts';

/** The scopes that the form offers; keys of agents are made by a command. */
export const offeredScopes = [
  'check',
  'report',
  'bouncer',
  'mail',
] as const satisfies readonly KeyScope[];

export interface NamedKeysView {
  readonly csrf: string;
  readonly fresh: boolean;
  /** Oldest first. */
  readonly named: readonly {
    readonly id: string;
    readonly name: string;
    readonly scopes: readonly KeyScope[];
    readonly createdAt: number;
    /** 0: never. */
    readonly lastUsedAt: number;
  }[];
  readonly isFull: boolean;
  /** The scope that the link to the page names, chosen beforehand. */
  readonly wantedScope?: string | undefined;
  /** The values of a form that was sent and has an error. */
  readonly typed?: {
    readonly name: string;
    readonly scopes: readonly string[];
    readonly fault: NamedKeyFault;
  };
}

/** `name` has a character that a name can't have; `taken` tells by which key. */
export type NamedKeyFault =
  | { readonly kind: 'name'; readonly at: StrangeCharacter | undefined }
  | { readonly kind: 'taken'; readonly by: TakenBy | undefined }
  | { readonly kind: 'scopes' };

type TakenBy = Pick<NamedKeysView['named'][number], 'id' | 'createdAt'>;

export function namedKeysCard(text: Catalogue, format: Format, view: NamedKeysView): Html {
  const words = text.automation.namedKeys;
  return card({
    title: words.title,
    icon: 'key',
    body: html`<p class="card-note">${words.text}</p>
      ${view.named.length === 0 ? html`<p>${words.none}</p>` : list(text, format, view)}
      ${
        view.isFull
          ? html`<p>${words.full}</p>`
          : view.fresh
            ? makeForm(text, format, view)
            : freshWanted(
                text.account,
                view.wantedScope === undefined
                  ? '/account/keys'
                  : `/account/keys?scope=${view.wantedScope}`,
              )
      }`,
  });
}

function list(text: Catalogue, format: Format, { csrf, fresh, named }: NamedKeysView): Html {
  const words = text.automation.namedKeys;
  const { columns } = words;
  return table({
    caption: words.title,
    stack: true,
    columns: [columns.name, columns.scopes, columns.created, columns.used, columns.actions].map(
      (title) => ({ title }),
    ),
    rows: named.map(({ id, name, scopes, createdAt, lastUsedAt }) => {
      const action = (what: 'rename' | 'remove', kind: 'secondary' | 'danger') =>
        actionButton({
          csrf,
          kind,
          label: words[what],
          action: `/account/keys/named/${what}`,
          fields: { id },
        });
      return [
        html`${name}<br /><span class="mono fact-note">${id}</span>`,
        scopes.map((scope) => words.scope[scope]).join('; '),
        format.day(createdAt),
        lastUsedAt === 0 ? words.neverUsed : format.moment(lastUsedAt),
        fresh
          ? html`<div class="row-actions">${action('rename', 'secondary')}${action('remove', 'danger')}</div>`
          : '–',
      ];
    }),
  });
}

function makeForm(
  text: Catalogue,
  format: Format,
  { csrf, typed, wantedScope }: NamedKeysView,
): Html {
  const words = text.automation.namedKeys;
  const chosen = typed?.scopes ?? [wantedScope ?? 'check'];
  return form({
    csrf,
    action: '/account/keys/named/create',
    body: html`${nameField(format, 'key-name', words.name, text, typed?.name ?? '', typed?.fault)}
      <fieldset class=${typed?.fault.kind === 'scopes' ? 'choices has-error' : 'choices'}>
        <legend>${words.scopes}</legend>
        ${typed?.fault.kind === 'scopes' && html`<p class="field-error">${words.scopesError}</p>`}
        ${offeredScopes.map((scope) =>
          switchField({
            id: `scope-${scope}`,
            name: scope,
            checked: chosen.includes(scope),
            label: html`${words.scope[scope]}`,
          }),
        )}
      </fieldset>
      <p>${button({ label: words.create, icon: 'key', kind: 'secondary' })}</p>`,
  });
}

function nameField(
  format: Format,
  id: string,
  label: string,
  { automation: { namedKeys: words } }: Catalogue,
  value: string,
  fault: NamedKeyFault | undefined,
): Html {
  const error =
    fault?.kind === 'name'
      ? [words.nameError, fault.at && words.nameStrange(fault.at)].filter(Boolean).join(' ')
      : fault?.kind === 'taken'
        ? words.nameTaken(fault.by && { ...fault.by, made: format.day(fault.by.createdAt) })
        : undefined;
  return field({
    id,
    label,
    value,
    name: 'name',
    hint: words.nameHint,
    maxLength: 64,
    required: true,
    mono: true,
    autocomplete: 'off',
    ...(error === undefined ? {} : { error }),
  });
}

export interface RenameView {
  readonly csrf: string;
  readonly id: string;
  readonly name: string;
  readonly typed: string;
  readonly fault?: NamedKeyFault;
}

export function renamePage(frame: PageFrame, view: RenameView): string {
  const text = frameText(frame);
  const words = text.automation.namedKeys;
  return narrowPage(frame, {
    title: words.renameTitle,
    body: html`<p>${words.renameText(view.name)}</p>
      ${form({
        action: '/account/keys/named/rename',
        csrf: view.csrf,
        body: html`${hidden('id', view.id)}
          ${nameField(formatFor(frame.language), 'new-name', words.newName, text, view.typed, view.fault)}
          <div class="form-actions">
            ${button({ label: words.rename })}
            ${linkButton({ label: text.account.keys.sure.keep, href: '/account/keys', kind: 'secondary' })}
          </div>`,
      })}`,
  });
}
