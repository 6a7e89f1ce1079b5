/** The audit log, newest first, with a search and its exports. */

import type { AuditEntry } from '../../access/audit-log.ts';
import { type ErrorCode, errors, sentenceFor } from '../../core/errors.ts';
import { LinkButton } from '../../web/components/form.tsx';
import { Icon } from '../../web/components/icon.tsx';
import { classes, type Html } from '../../web/html.ts';
import { formatFor, namesText } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import {
  type ConsoleView,
  consolePage,
  FindForm,
  Listing,
  translateSentence,
} from '../parts.page.tsx';
import { type ConsoleCatalogue, frameText } from '../words.ts';

interface AuditView extends ConsoleView {
  /** As it was typed; empty: all entries. */
  readonly part: string;
  readonly entries: readonly AuditEntry[];
  /** The next page has the entries before this time, in ms since 1970; undefined: there is none. */
  readonly next: number | undefined;
  /** Mail addresses of those who made changes, and of those whom a change names, by account id. */
  readonly accounts: ReadonlyMap<string, string>;
}

export function auditPage(frame: PageFrame, view: AuditView): string {
  const all = frameText(frame).console;
  const text = all.audit;
  const format = formatFor(frame.language);
  const { accounts, part, next } = view;
  const rows = view.entries.map((one) => [
    changeOf(frame, view, one),
    <>
      <span class="mail">{accounts.get(one.user.replace(/^account /, '')) ?? one.user}</span>{' '}
      <span class={classes('source-note near', one.address !== '' && 'mono')}>
        {one.address === '' ? text.shell : one.address}
      </span>
    </>,
    <span class="near">{format.shortMoment(one.at)}</span>,
  ]);
  return consolePage(frame, view, {
    section: 'audit',
    lede: text.lede,
    body: (
      <>
        <FindForm action="/admin/audit" label={text.part} submit={all.search} value={part} />
        <Listing
          icon="list"
          text={text}
          none={part === '' ? undefined : text.noneFound}
          columns={[text.change, text.who, text.at].map((title) => ({
            title,
            plain: true,
          }))}
          rows={rows}
        />
        <p class="acts">
          {next !== undefined && (
            <LinkButton label={text.older} href={`/admin/audit?before=${next}`} kind="secondary" />
          )}
          <LinkButton label={text.csv} href="/admin/audit.csv" kind="quiet" icon="download" />
          <LinkButton label={text.json} href="/admin/audit.jsonl" kind="quiet" icon="download" />
        </p>
      </>
    ),
  });
}

/**
 * Returns what a command did, or was to do, and to what, in words, and its parameters; the command itself where
 * no words are for it.
 */
export function changeIn(
  frame: PageFrame,
  { command, result }: Pick<AuditEntry, 'command' | 'result'>,
  emails: AuditView['accounts'],
  categoryNames: readonly string[],
): readonly [change: Html, rest: string] {
  const { changes, audit } = frameText(frame).console;
  const words: Readonly<Record<string, string | undefined>> = changes;
  const leftOut: Readonly<Record<string, string>> = audit.leftOut;
  const placeholder = Object.keys(leftOut).find((one) => `${command} `.includes(` ${one} `));
  const named = placeholder === undefined ? command : command.replace(` ${placeholder}`, '');
  const [first = '', second = '', third = '', ...others] = named.split(' ');
  // Some acts have a name of one word.
  const [name, target, rest] =
    words[first] === undefined
      ? [words[`${first} ${second}`], third, others]
      : [words[first], second, [third, ...others]];
  if (name === undefined) return [<code class="breaks">{command}</code>, ''];
  const about = target.replace(/^address=/, '');
  const email = emails.get(about);
  const said = about.includes('=') ? undefined : (email ?? about);
  const facts = said === undefined ? [about, ...rest] : rest;
  return [
    <span>
      {triedText(audit, name, result)}
      {said && (
        <>
          {' '}
          <span class={email ? 'mail' : 'breaks mono'}>{said}</span>
        </>
      )}
      {placeholder !== undefined && leftOut[placeholder] && ` ${leftOut[placeholder]}`}
    </span>,
    facts.flatMap((fact) => factIn(frame, fact, emails, categoryNames)).join(' · '),
  ];
}

/** Returns what was done, or that it was not. */
function triedText(
  { not, tried }: ConsoleCatalogue['audit'],
  name: string,
  result: AuditEntry['result'],
): string {
  const done = name.replace('{} ', '');
  if (result === 'done') return done;
  if (result === 'failed' && done !== name) return name.replace('{}', not);
  return `${tried[result]} ${done[0]!.toLowerCase()}${done.slice(1)}`;
}

/** Returns a parameter as it was typed, such as `score=90`, in words: none for a consent. */
function factIn(
  frame: PageFrame,
  typed: string,
  emails: AuditView['accounts'],
  categoryNames: readonly string[],
): string[] {
  if (typed === '' || typed === 'yes=true') return [];
  const words: Readonly<Record<string, string | undefined>> = frameText(frame).console.audit.facts;
  const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(typed) ?? [];
  const word = words[name];
  if (word === undefined) return [emails.get(typed) ?? translateSentence(frame, typed)];
  if (value === 'true') return [word];
  if (name === 'standing') {
    const { ranks } = frameText(frame).console.needs;
    const rank: string | undefined = (ranks as Readonly<Record<string, string>>)[value];
    return [`${word} ${(rank ?? translateSentence(frame, value)).toLowerCase()}`];
  }
  if (name === 'category' || name === 'categories') {
    return [`${word} ${namesText(value.split(',').map(Number), categoryNames)}`];
  }
  if (/^\d+(\.\d+)?$/.test(value)) {
    const shown = formatFor(frame.language).number(Number(value));
    return [word.includes('{}') ? word.replace('{}', shown) : `${word} ${shown}`];
  }
  // The log has `?` for a space. Of a key, its name and its number suffice.
  const shown = name === 'key' ? value.split('+', 2).join('+') : value.replaceAll(',?', ', ');
  return [`${word} ${emails.get(shown) ?? translateSentence(frame, shown)}`];
}

function changeOf(frame: PageFrame, view: AuditView, entry: AuditEntry): Html {
  const [change, rest] = changeIn(frame, entry, view.accounts, view.categoryNames);
  return (
    <span class={classes('change', entry.result !== 'done' && 'is-failed')}>
      {entry.result !== 'done' && <Icon name="alert" />}
      {change} {resultOf(frame, entry)}
      {rest !== '' && <span class="source-note fact-below breaks">{rest}</span>}
    </span>
  );
}

/** Outcomes that say no more than the change itself. */
const alreadySaid =
  /^(\S+ (set|removed|on|off|blocked|unblocked)|added|new|accepted|dropped|pinned|removed|made|revoked|rotated|withdrawn|refused|forgotten|waits again)$/;

/** Says how it ended, and what was before and after; of one that failed, why. */
function resultOf(frame: PageFrame, { command, before, after }: AuditEntry): Html {
  const facts = Object.hasOwn(errors, after)
    ? sentenceFor(after as ErrorCode, frame.language)
    : alreadySaid.test(after) || command.startsWith('feed add ')
      ? ''
      : [before, after]
          .flatMap((fact) => (fact === '' ? [] : [translateSentence(frame, fact)]))
          .join(' → ');
  return facts !== '' && <span class="source-note fact-below breaks">{facts}</span>;
}
