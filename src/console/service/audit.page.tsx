/** The audit log, newest first, with its exports. */

import type { AuditEntry } from '../../access/audit-log.ts';
import { LinkButton } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import { Badge } from '../../web/components/table.tsx';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { type ConsoleView, consolePage, Listing } from '../parts.page.tsx';
import { frameText } from '../words.ts';

export interface AuditView extends ConsoleView {
  readonly entries: readonly AuditEntry[];
  /** The next page has the entries before this time, in ms since 1970; undefined: there is none. */
  readonly next: number | undefined;
  /** Mail addresses of those who made changes, and of those whom a change names, by account id. */
  readonly accounts: ReadonlyMap<string, string>;
}

export function auditPage(frame: PageFrame, view: AuditView): string {
  const text = frameText(frame).console.audit;
  const format = formatFor(frame.language);
  const rows = view.entries.map((one) => [
    <span class="moment">{format.time(one.at)}</span>,
    <>
      <span class="who breaks">
        {view.accounts.get(one.user.replace(/^account /, '')) ?? one.user}
      </span>
      <span class="source-note fact-below">
        {one.address === '' ? text.shell : <span class="mono">{one.address}</span>}
      </span>
    </>,
    <>
      <code class="breaks">{one.command}</code>
      {one.command
        .split(' ')
        .filter((word) => view.accounts.has(word))
        .map((id) => (
          <span class="source-note fact-below breaks">{view.accounts.get(id)}</span>
        ))}
    </>,
    <span class="breaks">{[one.before, one.after].filter((fact) => fact !== '').join(' → ')}</span>,
    <Badge label={text.results[one.result]} tone={one.result === 'done' ? 'accent' : 'neutral'} />,
  ]);
  const columns = [text.at, text.who, text.change, text.facts, text.result];
  return consolePage(frame, view, {
    section: 'audit',
    lede: text.lede,
    body: (
      <>
        <p class="acts">
          <LinkButton label={text.csv} href="/admin/audit.csv" kind="secondary" icon="download" />
          <LinkButton
            label={text.json}
            href="/admin/audit.jsonl"
            kind="secondary"
            icon="download"
          />
        </p>
        <Listing
          icon="list"
          none={text.none}
          caption={text.caption}
          columns={columns}
          rows={rows}
        />
        {view.next !== undefined && (
          <p>
            <Link href={`/admin/audit?before=${view.next}`}>{text.older}</Link>
          </p>
        )}
      </>
    ),
  });
}
