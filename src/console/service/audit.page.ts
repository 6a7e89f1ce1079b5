/** The audit log, newest first, with its exports. */

import type { AuditEntry } from '../../access/audit-log.ts';
import { badge } from '../../web/components/badge.ts';
import { linkButton } from '../../web/components/button.ts';
import { html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage, listing } from '../parts.page.ts';
import { frameText } from '../words.ts';

export interface AuditView extends ConsoleView {
  readonly entries: readonly AuditEntry[];
  /** The next page has the entries before this time, in ms since 1970; undefined: there is none. */
  readonly next: number | undefined;
  /** Mail addresses of those who made changes here, by `user`. */
  readonly accounts: ReadonlyMap<string, string>;
}

export function auditPage(frame: PageFrame, view: AuditView): string {
  const text = frameText(frame).console.audit;
  const format = formatFor(frame.language);
  const rows = view.entries.map((one) => [
    html`<time>${format.moment(one.at)}</time>`,
    html`<span class="breaks">${view.accounts.get(one.user) ?? one.user}</span>`,
    html`<code class="breaks">${one.command}</code>`,
    html`<span class="breaks">${[one.before, one.after].filter((fact) => fact !== '').join(' → ')}</span>`,
    one.address === '' ? text.shell : html`<span class="mono">${one.address}</span>`,
    badge({ label: text.results[one.result], tone: one.result === 'done' ? 'accent' : 'neutral' }),
  ]);
  const columns = [text.at, text.who, text.change, text.facts, text.address, text.result];
  return consolePage(frame, view, {
    section: 'audit',
    lede: text.lede,
    body: html`<p class="acts">
        ${linkButton({ label: text.csv, href: '/admin/audit.csv', kind: 'secondary', icon: 'download' })}
        ${linkButton({ label: text.json, href: '/admin/audit.jsonl', kind: 'secondary', icon: 'download' })}
      </p>
      ${listing({ icon: 'list', none: text.none, caption: text.caption, columns, rows })}
      ${view.next !== undefined && html`<p><a href=${`/admin/audit?before=${view.next}`}>${text.older}</a></p>`}`,
  });
}
