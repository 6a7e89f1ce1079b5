/** The pages of the console share these: the frame with its navigation, and forms that find. */

import { isAccountId } from '../access/accounts/records.ts';
import type { FormField } from '../contracts/operation.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Failure } from '../core/result.ts';
import { Card, EmptyState, Fold, Folds, Notice } from '../web/components/card.tsx';
import {
  ActionButton,
  Button,
  type ButtonKind,
  Field,
  Form,
  Hidden,
  SelectField,
} from '../web/components/form.tsx';
import { Icon, type IconName } from '../web/components/icon.tsx';
import { Link } from '../web/components/link.tsx';
import { type Column, Table, type TableOptions } from '../web/components/table.tsx';
import { classes, type Html, safeHref } from '../web/html.ts';
import { type PageFrame, sectionPage } from '../web/layout/layout.tsx';
import { type ConsoleCatalogue, frameText } from './words.ts';

export type ConsoleSection = keyof ConsoleCatalogue['sections'];

export const consolePaths: Readonly<Record<ConsoleSection, string>> = {
  inbox: '/admin',
  removals: '/admin/removals',
  tips: '/admin/tips',
  lists: '/admin/lists',
  feeds: '/admin/feeds',
  peers: '/admin/peers',
  reports: '/admin/reports',
  entries: '/admin/entries',
  allow: '/admin/allow',
  people: '/admin/people',
  sites: '/admin/sites',
  audit: '/admin/audit',
  system: '/admin/system',
  checklist: '/admin/checklist',
};
const sectionIcons: Readonly<Record<ConsoleSection, IconName>> = {
  inbox: 'inbox',
  removals: 'shield',
  tips: 'mask',
  lists: 'list',
  feeds: 'download',
  peers: 'globe',
  reports: 'flag',
  entries: 'sliders',
  allow: 'check',
  people: 'person',
  sites: 'globe',
  audit: 'clock',
  system: 'chart',
  checklist: 'book',
};
export const undoPath = '/admin/undo';

/** An act of a moment ago, for the status line. */
interface ShownDone {
  /** Under which the server knows it. */
  readonly name: string;
  readonly act: string;
  readonly about: string;
  /** The scores before and after of the address that it was done to; undefined for anything else. */
  readonly scores: readonly [number, number] | undefined;
  readonly canUndo: boolean;
  readonly back: string;
}

/** A change that was refused: its page says so, and the form that asked for it has what was typed. */
interface ShownRefusal {
  /** The field `do` of the form. */
  readonly does: string;
  readonly sentence: string;
  /** The field at fault; undefined: it is none, or nobody knows which. */
  readonly field?: string | undefined;
}

/** The frame around a screen shows this. */
interface FramedView {
  readonly csrf: string;
  readonly refused?: ShownRefusal | undefined;
  readonly done: boolean;
  readonly did?: ShownDone | undefined;
  /**
   * The navigation shows how many things wait for a decision, by section; without that of peers it leaves them
   * out.
   */
  readonly waits: Readonly<Partial<Record<ConsoleSection, number>>>;
}

export interface ConsoleView extends FramedView {
  readonly now: number;
  /** The names of the categories of reports; category 1 has the first one. */
  readonly categoryNames: readonly string[];
  formFields(act: string): Readonly<Record<string, FormField>>;
  /** Buttons of another section lead back to this one. */
  readonly from?: ConsoleSection | undefined;
}

const patternsOf = new WeakMap<object, readonly (readonly [RegExp, string])[]>();

/**
 * Returns a sentence of the program in the words of the page, such as why a list was not read: part by part
 * what stands before a colon. What no words are for stays as it is.
 */
export function translateSentence(frame: Pick<PageFrame, 'language'>, sentence: string): string {
  const { said } = frameText(frame).console;
  let patterns = patternsOf.get(said);
  if (patterns === undefined) {
    patterns = Object.entries(said).map(([from, to]) => {
      const parts = from.split('{}').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
      return [new RegExp(`^${parts.join('(.+?)')}$`), to] as const;
    });
    patternsOf.set(said, patterns);
  }
  for (const [pattern, words] of patterns) {
    const found = pattern.exec(sentence);
    if (found === null) continue;
    let next = 1;
    return words.replace(/\{(\d?)\}/g, (_, at) => translateSentence(frame, found[at || next++]!));
  }
  // The words are those of a part of a sentence.
  if (/^.[^A-Z].*\.$/.test(sentence)) {
    const part = sentence[0]!.toLowerCase() + sentence.slice(1, -1);
    const words = translateSentence(frame, part);
    return words === part ? sentence : `${words[0]!.toUpperCase()}${words.slice(1)}.`;
  }
  const at = sentence.indexOf(': ');
  if (at === -1) return sentence;
  const colon = frame.language === 'fr' ? '\u00a0: ' : ': ';
  return (
    translateSentence(frame, sentence.slice(0, at)) +
    colon +
    translateSentence(frame, sentence.slice(at + 2))
  );
}

interface ConsolePageOptions {
  readonly section: ConsoleSection;
  readonly title?: string | undefined;
  readonly lede: string;
  readonly body: Html;
}

export function consolePage(
  frame: PageFrame,
  { done, did, csrf, waits, refused }: FramedView,
  { section, title, lede, body }: ConsolePageOptions,
): string {
  const text = frameText(frame).console;
  const { peers: _, ...mostPaths } = consolePaths;
  // Most servers have nothing to do with others.
  const hasPeers = waits.peers !== undefined || section === 'peers';
  return sectionPage<ConsoleSection>(frame, {
    navigation: text.navigation,
    paths: hasPeers ? consolePaths : mostPaths,
    names: text.sections,
    icons: sectionIcons,
    groups: text.groups,
    counts: waits,
    section,
    title: title ?? text.sections[section],
    titleClass: title === undefined ? undefined : 'breaks',
    lede,
    className: 'page-account page-console',
    body: (
      <>
        {done && <StatusLine frame={frame} did={did} csrf={csrf} />}
        {refused && <RefusalNotice frame={frame} refused={refused} />}
        {body}
      </>
    ),
  });
}

/** Says what was just done, with the button that takes it back. A script hides the button after ten seconds. */
export function StatusLine({
  frame,
  did,
  csrf,
}: {
  readonly frame: PageFrame;
  readonly did: ShownDone | undefined;
  readonly csrf: string;
}): Html {
  const text = frameText(frame).console;
  const words: Readonly<Record<string, ((about: string) => string) | undefined>> = text.did;
  const changes: Readonly<Record<string, string | undefined>> = text.changes;
  const change = did && changes[did.act]?.replace('{} ', '');
  // The page of a person names the account.
  const about = did === undefined || isAccountId(did.about) ? '' : did.about;
  const said = about === '' ? undefined : words[did!.act]?.(about);
  return (
    <div class="status-line" role="status">
      <Icon name="check" />
      <span class="breaks">
        {said ?? (change === undefined ? text.done : `${change}.`)}
        {/* An address that has no score, and gets none, has nothing to say of it. */}
        {did?.scores?.some((score) => score > 0) && ` ${text.scoreNow(...did.scores)}`}
      </span>
      {did?.canUndo && (
        <Form csrf={csrf} action={undoPath} className="status-undo">
          <Hidden name="name" value={did.name} />
          <Hidden name="back" value={did.back} />
          <Button label={text.undo} kind="quiet" icon="undo" />
        </Form>
      )}
    </div>
  );
}

export function RefusalNotice({
  frame,
  refused: { sentence, field },
}: {
  readonly frame: PageFrame;
  readonly refused: ShownRefusal;
}): Html {
  return (
    <Notice tone="danger" title={frameText(frame).console.notDone} alert>
      {field === undefined ? sentence : <Link href={`#${field}`}>{sentence}</Link>}
    </Notice>
  );
}

interface ListingOptions {
  /** The empty state shows it with `none`. */
  readonly icon: IconName;
  readonly text: { readonly caption: string; readonly none?: string };
  /** In place of that of `text`. */
  readonly none?: string | undefined;
  readonly columns: readonly (string | Column)[];
  readonly rows: TableOptions['rows'];
}

/** Returns a table, or the empty state with `none` if there are no rows. */
export function Listing({ icon, text, none, columns, rows }: ListingOptions): Html {
  if (rows.length === 0) return <EmptyState icon={icon} text={none ?? text.none ?? ''} />;
  const titled = columns.map((one) => (typeof one === 'string' ? { title: one } : one));
  return <Table caption={text.caption} columns={titled} rows={rows} stack />;
}

/** A form that adds something is folded where there is something already, unless it was just refused. */
export function isFormOpen(
  { refused }: Pick<ConsoleView, 'refused'>,
  does: string,
  isEmpty = false,
): boolean {
  return isEmpty || refused?.does === does;
}

interface AddFoldOptions {
  readonly view: Pick<ConsoleView, 'refused'>;
  readonly title: string;
  /** It is open though nothing was refused: there is nothing yet. */
  readonly isOpen: boolean;
  readonly children: Html;
}

export function AddFold({ view, title, isOpen, children }: AddFoldOptions): Html {
  return (
    <Folds>
      <Fold title={title} icon="plus" open={isFormOpen(view, 'add', isOpen)}>
        {children}
      </Fold>
    </Folds>
  );
}

interface NextPageLinkOptions {
  readonly href: string | undefined;
  readonly label: string;
}

/** The link to the next page of a table; none behind the last one. */
export function NextPageLink({ href, label }: NextPageLinkOptions): Html {
  return (
    href && (
      <p>
        <Link href={href}>{label}</Link>
      </p>
    )
  );
}

interface FindFormOptions {
  readonly action: string;
  /** The name of the field, and its id. Default: part. */
  readonly name?: string | undefined;
  readonly label: string;
  readonly submit: string;
  readonly value: string;
  readonly error?: string | undefined;
}

export function FindForm(options: FindFormOptions): Html {
  const { action, name = 'part', label, submit, value, error } = options;
  return (
    <form
      class="form form-find"
      method="get"
      action={safeHref(action)}
      role="search"
      aria-label={label}
    >
      <Field
        id={name}
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

/** `about`: what the value means, or what to do about it. */
export type Fact = readonly [name: string, value: Html, about?: Html];

export function facts(rows: readonly Fact[]): Html {
  const isExplained = rows.some(([, , about]) => about !== undefined);
  return (
    <dl class={classes('facts', isExplained && 'is-explained')}>
      {rows.map(([name, value, about]) => (
        <div>
          <dt>{name}</dt>
          <dd>
            {value}
            {about !== undefined && <small>{about}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function factsCard(title: string, rows: readonly Fact[]): Html {
  return <Card title={title}>{facts(rows)}</Card>;
}

// Acts of operators on the console. A section has a table of those that its forms and buttons ask for; the
// handler that answers them and the forms themselves derive from it. What a field is like, the act's own
// parameters say.

/** A row of a section's table. */
export interface ActRow {
  /** Such as `entry add`. */
  readonly act: string;
  /** Fields that the form shows, in their order; those of a list stand side by side. */
  readonly asks?: readonly (string | readonly string[])[];
  /** Fields that the page fills in unseen. */
  readonly about?: readonly string[];
  /** Parameters that always have this value here. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** The act whose sentence says what was done, where another one says it better. */
  readonly says?: string;
  /** The parameters of fields that are called otherwise. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** The look of the button; by default `primary` below fields, and `secondary` alone. */
  readonly kind?: ButtonKind;
}

export interface SectionActs<Rows extends ActRows = ActRows> {
  readonly section: ConsoleSection;
  /** By what the field `do` of a form says. */
  readonly acts: Rows;
}
type ActRows = Readonly<Record<string, ActRow>>;

export function sectionActs<const Rows extends ActRows>(
  section: ConsoleSection,
  acts: Rows,
): SectionActs<Rows> {
  return { section, acts };
}

type AskedBy<Row> = Row extends { readonly asks: readonly (infer One)[] }
  ? One extends readonly string[]
    ? One[number]
    : One & string
  : never;
type AboutOf<Row> = Row extends { readonly about: readonly (infer One)[] } ? One & string : never;

/** Fields that the section's handler reads itself. */
type MoreFields = Readonly<Record<string, string>>;

/** These codes name what is at fault by themselves. */
const parametersAtFault: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_prefix: 'prefix',
  prefix_host_bits: 'prefix',
  invalid_client_id: 'domain',
  unknown_account: 'email',
};

/** Returns the field at fault; undefined where the form shows none. */
export function fieldAtFault(
  { asks = [], parameters = {} }: ActRow,
  { error, parameter = parametersAtFault[error] }: Failure,
): string | undefined {
  return asks.flat().find((name) => (parameters[name] ?? name) === parameter);
}

/** Returns what was typed into a form, by the parameters of its act. */
export function typedFields(
  { asks = [], about = [], fixed, parameters = {} }: ActRow,
  form: { get(field: string): string | undefined },
): Readonly<Record<string, string | undefined>> {
  const names = [...asks.flat(), ...about];
  const typed = names.map((name) => [parameters[name] ?? name, form.get(name)]);
  return { ...Object.fromEntries(typed), ...fixed };
}

interface ActOptions<Rows extends ActRows, Does extends keyof Rows> {
  readonly view: Pick<ConsoleView, 'csrf' | 'formFields' | 'from' | 'refused'>;
  readonly of: SectionActs<Rows>;
  readonly does: Does & string;
  readonly label: string;
  /** The path that answers it, where that is not the section's own. */
  readonly action?: string;
}

function changePath({ section }: SectionActs<ActRows>): string {
  return `${consolePaths[section]}/change`;
}

/** A button that does one thing to one thing: all fields of the act are filled in. */
export function ActButton<Rows extends ActRows, Does extends keyof Rows>({
  view,
  of,
  does,
  label,
  action = changePath(of),
  about,
  effect,
  kind = of.acts[does]?.kind,
}: ActOptions<Rows, Does> & {
  /** The effect of a press, such as `99 → 0`. */
  readonly effect?: string | undefined;
  readonly kind?: ButtonKind | undefined;
  readonly about: Readonly<Record<AboutOf<Rows[Does]> | AskedBy<Rows[Does]>, string>> & MoreFields;
}): Html {
  const { csrf, from } = view;
  const fields = { do: does, ...about };
  return (
    <ActionButton
      csrf={csrf}
      action={action}
      fields={from === undefined ? fields : { ...fields, from }}
      label={label}
      kind={kind}
      effect={effect}
    />
  );
}

/** A button that opens another one, which does it: what can't be undone takes two presses. */
export function Confirmed({
  label,
  children,
}: {
  readonly label: string;
  readonly children: Html;
}): Html {
  return (
    <details class="confirmed">
      <summary class="button button-quiet">{label}</summary>
      {children}
    </details>
  );
}

interface ActFormOptions<Rows extends ActRows, Does extends keyof Rows>
  extends ActOptions<Rows, Does> {
  /** Labels by the names of the fields; the hint of `score` is `scoreHint`. */
  readonly text: Readonly<Record<AskedBy<Rows[Does]>, string>> &
    Readonly<Partial<Record<`${AskedBy<Rows[Does]>}Hint`, string>>>;
  readonly about?: Readonly<Record<AboutOf<Rows[Does]>, string>> & MoreFields;
  /** Names for the values of a field, in place of the values themselves. */
  readonly options?: Readonly<Partial<Record<AskedBy<Rows[Does]>, readonly Option[]>>>;
  /** Values that fields begin with, in place of those of the act. */
  readonly values?: Readonly<Partial<Record<AskedBy<Rows[Does]>, string>>>;
  readonly lead?: Html;
  readonly children?: Html;
}
type Option = { readonly value: string; readonly label: string };

export function ActForm<Rows extends ActRows, Does extends keyof Rows>({
  view,
  of,
  does,
  label,
  action = changePath(of),
  text,
  about,
  options,
  values,
  lead,
  children,
}: ActFormOptions<Rows, Does>): Html {
  const { act, asks = [], parameters = {}, kind }: ActRow = of.acts[does]!;
  const refused = view.refused?.does === does ? view.refused : undefined;
  const described = view.formFields(act);
  const words: Readonly<Record<string, string | undefined>> = text;
  const named: Readonly<Record<string, readonly Option[] | undefined>> = options ?? {};
  const first: Readonly<Record<string, string | undefined>> = values ?? {};

  function control(name: string): Html {
    const { isRequired, value, choices, ...field } = described[parameters[name] ?? name]!;
    const common = {
      id: name,
      name,
      label: words[name]!,
      hint: words[`${name}Hint`],
      value: first[name] ?? value,
      error: refused?.field === name ? refused.sentence : undefined,
    };
    const offered = named[name] ?? choices?.map((one) => ({ value: one, label: one }));
    if (offered !== undefined) return <SelectField {...common} options={offered} />;
    return <Field {...common} {...field} required={isRequired} />;
  }

  return (
    <Form csrf={view.csrf} action={action}>
      <Hidden name="do" value={does} />
      {Object.entries<string>(about ?? {}).map(([name, value]) => (
        <Hidden name={name} value={value} />
      ))}
      {lead}
      {asks.map((one) =>
        typeof one === 'string' ? control(one) : <div class="field-grid">{one.map(control)}</div>,
      )}
      <p>
        <Button label={label} kind={kind} />
      </p>
      {children}
    </Form>
  );
}
