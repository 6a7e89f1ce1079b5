/** Accounts found by a part of their address. */

import type { ListedAccount } from '../../access/accounts/accounts.ts';
import { Link } from '../../web/components/link.tsx';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { type ConsoleView, consolePage, FindForm, Listing } from '../parts.page.tsx';
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
    <Link class="breaks" href={`/admin/people/${one.id}`}>
      {one.email}
    </Link>,
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
    body: (
      <>
        <FindForm
          id="part"
          action="/admin/people"
          name="part"
          label={text.part}
          submit={all.search}
          value={part}
        />
        <Listing
          icon="person"
          none={text.none}
          caption={text.caption}
          columns={columns}
          rows={rows}
        />
        {more && (
          <p>
            <Link href={more}>{all.more}</Link>
          </p>
        )}
      </>
    ),
  });
}
