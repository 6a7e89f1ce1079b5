/** Accounts found by a part of their address. */

import type { ListedAccount } from '../../access/accounts/directory.ts';
import { html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage, findForm, listing } from '../parts.page.ts';
import { frameText } from '../words.ts';

export interface PeopleView extends ConsoleView {
  readonly part: string;
  readonly accounts: readonly ListedAccount[];
  readonly next: string | undefined;
}

export function peoplePage(frame: PageFrame, view: PeopleView): string {
  const all = frameText(frame).console;
  const text = all.people;
  const format = formatFor(frame.language);
  const { accounts, part, next } = view;
  const rows = accounts.map((one) => [
    html`<a class="breaks" href=${`/admin/people/${one.id}`}>${one.email}</a>`,
    text.states[one.state],
    text.roles[one.role],
    format.number(one.keys),
    format.day(one.createdAt),
  ]);
  const columns = [
    ...[text.email, text.state, text.role],
    { title: text.keys, numeric: true },
    text.since,
  ];
  const more = next && `/admin/people?${new URLSearchParams({ part, after: next })}`;
  return consolePage(frame, view, {
    section: 'people',
    lede: text.lede,
    body: html`${findForm({
      id: 'part',
      action: '/admin/people',
      name: 'part',
      label: text.part,
      submit: all.search,
      value: part,
    })}
      ${listing({ icon: 'person', none: text.none, caption: text.caption, columns, rows })}
      ${more && html`<p><a href=${more}>${all.more}</a></p>`}`,
  });
}
