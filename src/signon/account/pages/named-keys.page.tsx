/** The part of the page of keys with those that have a name: list, form, and the page that renames one. */

import type { StrangeCharacter } from '../../../access/keys/api-keys.ts';
import type { KeyScope } from '../../../access/keys/key-scopes.ts';
import { Button, LinkButton } from '../../../web/components/button.tsx';
import { Card } from '../../../web/components/card.tsx';
import { Field } from '../../../web/components/field.tsx';
import { ActionButton, Form, Hidden, SwitchField } from '../../../web/components/form.tsx';
import { Table } from '../../../web/components/table.tsx';
import type { Html } from '../../../web/html.ts';
import { type Format, formatFor } from '../../../web/layout/format.ts';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { narrowPage } from '../../sessions/narrow.page.tsx';
import { type Catalogue, frameText } from '../../words/words.ts';
import { freshWanted } from './parts.page.tsx';

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
  return (
    <Card title={words.title} icon="key">
      <p class="card-note">{words.text}</p>
      {view.named.length === 0 ? <p>{words.none}</p> : list(text, format, view)}
      {view.isFull ? (
        <p>{words.full}</p>
      ) : view.fresh ? (
        makeForm(text, format, view)
      ) : (
        freshWanted(
          text.account,
          view.wantedScope === undefined
            ? '/account/keys'
            : `/account/keys?scope=${view.wantedScope}`,
        )
      )}
    </Card>
  );
}

function list(text: Catalogue, format: Format, { csrf, fresh, named }: NamedKeysView): Html {
  const words = text.automation.namedKeys;
  const { columns } = words;
  return (
    <Table
      caption={words.title}
      stack
      columns={[columns.name, columns.scopes, columns.created, columns.used, columns.actions].map(
        (title) => ({ title }),
      )}
      rows={named.map(({ id, name, scopes, createdAt, lastUsedAt }) => {
        const action = (what: 'rename' | 'remove', kind: 'secondary' | 'danger') => (
          <ActionButton
            csrf={csrf}
            kind={kind}
            label={words[what]}
            action={`/account/keys/named/${what}`}
            fields={{ id }}
          />
        );
        return [
          <>
            {name}
            <br />
            <span class="mono fact-note">{id}</span>
          </>,
          scopes.map((scope) => words.scope[scope]).join('; '),
          format.day(createdAt),
          lastUsedAt === 0 ? words.neverUsed : format.moment(lastUsedAt),
          fresh ? (
            <div class="row-actions">
              {action('rename', 'secondary')}
              {action('remove', 'danger')}
            </div>
          ) : (
            '–'
          ),
        ];
      })}
    />
  );
}

function makeForm(
  text: Catalogue,
  format: Format,
  { csrf, typed, wantedScope }: NamedKeysView,
): Html {
  const words = text.automation.namedKeys;
  const chosen = typed?.scopes ?? [wantedScope ?? 'check'];
  return (
    <Form csrf={csrf} action="/account/keys/named/create">
      {nameField(format, 'key-name', words.name, text, typed?.name ?? '', typed?.fault)}
      <fieldset class={typed?.fault.kind === 'scopes' ? 'choices has-error' : 'choices'}>
        <legend>{words.scopes}</legend>
        {typed?.fault.kind === 'scopes' && <p class="field-error">{words.scopesError}</p>}
        {offeredScopes.map((scope) => (
          <SwitchField
            id={`scope-${scope}`}
            name={scope}
            checked={chosen.includes(scope)}
            label={words.scope[scope]}
          />
        ))}
      </fieldset>
      <p>
        <Button label={words.create} icon="key" kind="secondary" />
      </p>
    </Form>
  );
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
  return (
    <Field
      id={id}
      label={label}
      value={value}
      name="name"
      hint={words.nameHint}
      maxLength={64}
      required
      mono
      autocomplete="off"
      error={error}
    />
  );
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
    body: (
      <>
        <p>{words.renameText(view.name)}</p>
        <Form action="/account/keys/named/rename" csrf={view.csrf}>
          <Hidden name="id" value={view.id} />
          {nameField(
            formatFor(frame.language),
            'new-name',
            words.newName,
            text,
            view.typed,
            view.fault,
          )}
          <div class="form-actions">
            <Button label={words.rename} />
            <LinkButton label={text.account.keys.sure.keep} href="/account/keys" kind="secondary" />
          </div>
        </Form>
      </>
    ),
  });
}
