/** The pages of the console share these: the frame with its navigation, and forms that find. */

import type { FormField } from '../contracts/operation.ts';
import { sentenceFor } from '../core/errors.ts';
import type { Failure } from '../core/result.ts';
import { Card, EmptyState, Notice } from '../web/components/card.tsx';
import { Button, Field, LinkButton } from '../web/components/form.tsx';
import type { IconName } from '../web/components/icon.tsx';
import { type Column, Table, type TableOptions } from '../web/components/table.tsx';
import { type Html, safeHref } from '../web/html.ts';
import { type PageFrame, sectionPage } from '../web/layout/layout.tsx';
import { type ConsoleCatalogue, frameText } from './words.ts';

export type ConsoleSection = keyof ConsoleCatalogue['sections'];

export const consolePaths: Readonly<Record<ConsoleSection, string>> = {
  overview: '/admin',
  removals: '/admin/removals',
  tips: '/admin/tips',
  lists: '/admin/lists',
  reports: '/admin/reports',
  people: '/admin/people',
  sites: '/admin/sites',
  entries: '/admin/entries',
  allow: '/admin/allow',
  audit: '/admin/audit',
  checklist: '/admin/checklist',
};

export interface ConsoleView {
  readonly csrf: string;
  readonly now: number;
  /** A change was just made. */
  readonly done: boolean;
  /** The names of the categories of reports; category 1 has the first one. */
  readonly categoryNames: readonly string[];
  /** Describes the parameters of an act by their names. */
  formFields(act: string): Readonly<Record<string, FormField>>;
}

export interface ConsolePageOptions {
  readonly section: ConsoleSection;
  readonly title?: string | undefined;
  readonly lede: string;
  readonly body: Html;
}

export function consolePage(
  frame: PageFrame,
  { done }: Pick<ConsoleView, 'done'>,
  { section, title, lede, body }: ConsolePageOptions,
): string {
  const text = frameText(frame).console;
  return sectionPage(frame, {
    navigation: text.navigation,
    paths: consolePaths,
    names: text.sections,
    section,
    title: title ?? text.sections[section],
    titleClass: 'breaks',
    lede,
    className: 'page-account page-console',
    body: (
      <>
        {done && (
          <Notice tone="success" alert>
            {text.done}
          </Notice>
        )}
        {body}
      </>
    ),
  });
}

/** A change that was refused: why, and the way back. */
export function refusedPage(
  frame: PageFrame,
  section: ConsoleSection,
  back: string,
  { error, detail }: Failure,
): string {
  const text = frameText(frame).console;
  const sentence = sentenceFor(error, frame.language);
  return consolePage(
    frame,
    { done: false },
    {
      section,
      title: text.notDone,
      lede: sentence,
      body: (
        <>
          {detail && (
            <Notice tone="warning" alert>
              {detail}
            </Notice>
          )}
          <p>
            <LinkButton label={text.back} href={back} kind="secondary" icon="back" />
          </p>
        </>
      ),
    },
  );
}

export interface ListingOptions {
  /** The empty state shows it with `none`. */
  readonly icon: IconName;
  readonly none: string;
  readonly caption: string;
  readonly columns: readonly (string | Column)[];
  readonly rows: TableOptions['rows'];
}

/** Returns a table, or the empty state with `none` if there are no rows. */
export function Listing({ icon, none, caption, columns, rows }: ListingOptions): Html {
  if (rows.length === 0) return <EmptyState icon={icon} text={none} />;
  const titled = columns.map((one) => (typeof one === 'string' ? { title: one } : one));
  return <Table caption={caption} columns={titled} rows={rows} stack />;
}

export interface FindFormOptions {
  readonly id: string;
  readonly action: string;
  readonly name: string;
  readonly label: string;
  readonly submit: string;
  readonly value: string;
  readonly error?: string | undefined;
}

/** A GET form with one field. */
export function FindForm({ id, action, name, label, submit, value, error }: FindFormOptions): Html {
  return (
    <form class="form" method="get" action={safeHref(action)} role="search" aria-label={label}>
      <Field
        id={id}
        name={name}
        label={label}
        value={value}
        maxLength={320}
        autocomplete="off"
        error={error}
      />
      <p>
        <Button label={submit} icon="search" kind="secondary" />
      </p>
    </form>
  );
}

export function facts(rows: readonly (readonly [string, Html])[]): Html {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function factsCard(title: string, rows: readonly (readonly [string, Html])[]): Html {
  return <Card title={title}>{facts(rows)}</Card>;
}
