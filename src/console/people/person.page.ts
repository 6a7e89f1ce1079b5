/** One account: its facts, and what may be changed of it. No password and no text of a key is here. */

import type { ListedAccount } from '../../access/accounts/directory.ts';
import { button } from '../../web/components/button.ts';
import { card } from '../../web/components/card.ts';
import { field } from '../../web/components/field.ts';
import { actionButton, form, hidden, selectField } from '../../web/components/form.ts';
import { table } from '../../web/components/table.ts';
import { type Html, html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage, factsCard } from '../parts.page.ts';
import { frameText } from '../words.ts';

export interface PersonFacts extends Omit<ListedAccount, 'keys'> {
  /** 0 to 100; undefined before its first key. */
  readonly trust: number | undefined;
  readonly plan: string;
  readonly plans: readonly string[];
  readonly sessions: number;
  /** In force; undefined while it has neither a key nor a quota that an operator set. */
  readonly quotas:
    | Readonly<Record<'reads' | 'writes', { readonly perMinute: number; readonly isSet: boolean }>>
    | undefined;
  /** Those that work. */
  readonly keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly createdAt: number;
  }[];
}

const action = '/admin/people/change';

export function personPage(
  frame: PageFrame,
  view: ConsoleView & { readonly person: PersonFacts },
): string {
  const { console: all } = frameText(frame);
  const { person: text, people } = all;
  const format = formatFor(frame.language);
  const { person, csrf } = view;
  const { id, trust, quotas } = person;
  const quota = (kind: 'reads' | 'writes') => {
    if (quotas === undefined) return text.quotaLater;
    const { perMinute, isSet } = quotas[kind];
    const shown = format.number(perMinute);
    return isSet ? text.quotaSet(shown) : text.quotaByTrust(shown);
  };
  const does = (what: string, label: string, kind: 'secondary' | 'danger' = 'secondary') =>
    actionButton({ csrf, action, fields: { id, do: what }, label, kind });
  const asks = (what: string, fields: Html, label: string) =>
    form({
      ...{ csrf, action },
      body: html`${hidden('id', id)}${hidden('do', what)}${fields}
        <p>${button({ label, kind: 'secondary' })}</p>`,
    });
  const keys = person.keys.map((key) => [
    html`<code class="breaks">${key.id}</code> ${key.name}`,
    format.day(key.createdAt),
    actionButton({
      ...{ csrf, action, fields: { id, do: 'revoke', key: key.id } },
      ...{ label: text.revoke, kind: 'danger' },
    }),
  ]);
  const keyColumns = [text.key, text.made, all.lists.actions].map((title) => ({ title }));
  const quotaFields = html`<p class="card-note">${text.quotaHint}</p><div class="field-grid">
    ${field({ id: 'reads', name: 'reads', label: text.reads, inputMode: 'numeric', maxLength: 9 })}
    ${field({ id: 'writes', name: 'writes', label: text.writes, inputMode: 'numeric', maxLength: 9 })}
  </div>`;
  const plans = selectField({
    ...{ id: 'plan', name: 'plan', label: text.plan, value: person.plan, hint: text.planHint },
    options: person.plans.map((plan) => ({ value: plan, label: plan })),
  });
  return consolePage(frame, view, {
    section: 'people',
    title: person.email,
    lede: text.lede,
    body: html`${factsCard(text.facts, [
      [people.state, people.states[person.state]],
      [people.role, people.roles[person.role]],
      [text.standing, people.standings[person.standing]],
      [text.trust, trust === undefined ? all.none : format.number(trust)],
      [text.reads, quota('reads')],
      [text.writes, quota('writes')],
      [text.plan, person.plan],
      [text.sessions, format.number(person.sessions)],
      [people.since, format.day(person.createdAt)],
      [text.id, html`<code class="breaks">${id}</code>`],
      [text.reports, html`<a href=${`/admin/reports?reporter=${id}`}>${all.sections.reports}</a>`],
    ])}
    ${card({
      title: text.access,
      body: html`<p class="card-note">${text.disableHint}</p><div class="acts">
        ${person.state === 'disabled' ? does('enable', text.enable) : does('disable', text.disable, 'danger')}
        ${does('end-sessions', text.endSessions)}
        ${person.role === 'operator' ? does('member', text.makeMember, 'danger') : does('operator', text.makeOperator)}
      </div>`,
    })}
    ${card({
      title: text.keysTitle,
      body:
        keys.length === 0
          ? html`<p>${text.noKeys}</p>`
          : table({ caption: text.keysCaption, columns: keyColumns, rows: keys, stack: true }),
    })}
    ${card({ title: text.quotas, body: asks('quotas', quotaFields, text.setQuotas) })}
    ${card({ title: text.planTitle, body: asks('plan', plans, text.setPlan) })}`,
  });
}
