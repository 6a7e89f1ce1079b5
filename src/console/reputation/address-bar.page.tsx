/** The operator's bar on the page of an address: what can be decided about it, each button with its effect. */

import { scoreBand } from '../../contracts/reputation.ts';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { type AddressFacts, effectOn, Reporters } from '../inbox/inbox-cards.page.tsx';
import {
  ActButton,
  ActForm,
  type ConsoleView,
  RefusalNotice,
  StatusLine,
  sectionActs,
} from '../parts.page.tsx';
import { frameText } from '../words.ts';

export interface BarFacts extends AddressFacts {
  /** It may get a manual rule: a private address may not. */
  readonly canBlock: boolean;
  /** The score after its own manual rule went; undefined: it has none. */
  readonly unruled: number | undefined;
  /** The score after its own rule of the allowlist went; undefined: it has none. */
  readonly disallowed: number | undefined;
}

export const addressActs = sectionActs('inbox', {
  block: { act: 'entry add', about: ['prefix'], fixed: { score: '100' } },
  set: { act: 'entry add', asks: ['score'], about: ['prefix'], kind: 'secondary' },
  unset: { act: 'entry remove', about: ['prefix'] },
  allow: { act: 'allow add', about: ['prefix'] },
  disallow: { act: 'allow remove', about: ['prefix'] },
  retract: { act: 'report retract', about: ['prefix'], parameters: { prefix: 'address' } },
});

/** Reporters that stand on one line: a click would cost more than they do. */
const reportersInSight = 3;

/** @param address as its page names it */
export function addressActsPath(address: string): string {
  return `/admin/ip/${address}`;
}

export function addressBar(frame: PageFrame, view: ConsoleView, facts: BarFacts): Html {
  const all = frameText(frame).console;
  const text = all.bar;
  const { number } = formatFor(frame.language);
  const { address, score, after, unruled, disallowed, reports, lists } = facts;
  const action = addressActsPath(address);
  const act = (
    does: 'block' | 'unset' | 'allow' | 'disallow' | 'retract',
    label: string,
    next: number,
  ) => (
    <ActButton
      view={view}
      of={addressActs}
      action={action}
      does={does}
      about={{ prefix: address }}
      label={label}
      effect={effectOn(facts, next)}
    />
  );
  // A rule of its own has no effect below this.
  const floor = unruled ?? score;
  const holder = lists.find(({ kind, confidence }) => kind === 'bad' && confidence === floor);
  // The allowlist wins over any score.
  const canSet = facts.canBlock && !facts.isAllowed;
  const note = canSet && floor > 0 && (
    <span class="source-note">
      {holder === undefined ? text.floor(floor) : text.held(holder.name, floor)}
    </span>
  );
  const reporters = (of: NonNullable<BarFacts['reports']>) => {
    const all = <Reporters frame={frame} facts={facts} now={view.now} />;
    if (of.reporters <= reportersInSight) return all;
    return (
      <details class="need-drawer">
        <summary>{text.reporters(of.reporters, number(of.reporters))}</summary>
        {all}
      </details>
    );
  };
  return (
    <section class="operator-bar" aria-labelledby="operator-bar">
      {view.done && <StatusLine frame={frame} did={view.did} csrf={view.csrf} />}
      {view.refused && <RefusalNotice frame={frame} refused={view.refused} />}
      <div class="need-acts">
        <h2 id="operator-bar">{text.title}</h2>
        {facts.canBlock &&
          !facts.isAllowed &&
          scoreBand(score) !== 'malicious' &&
          act('block', all.needs.block, after.blocked)}
        {!facts.isAllowed &&
          act(
            'allow',
            after.allowed === after.retracted ? text.allow : all.needs.allow,
            after.allowed,
          )}
        {disallowed !== undefined && act('disallow', text.disallow, disallowed)}
        {reports !== undefined &&
          act('retract', all.needs.retract(reports.count, number(reports.count)), after.retracted)}
        {unruled !== undefined && act('unset', text.unset, unruled)}
        {canSet && (
          <ActForm
            view={view}
            of={addressActs}
            action={action}
            does="set"
            about={{ prefix: address }}
            text={{ score: text.score }}
            values={{ score: '' }}
            label={text.set}
          />
        )}
        {note}
      </div>
      {reports !== undefined && <div class="bar-foot">{reporters(reports)}</div>}
    </section>
  );
}
