/** What a new service still needs, each with the setting or the command that brings it. */

import { badge } from '../../web/components/badge.ts';
import { table } from '../../web/components/table.ts';
import { html } from '../../web/html.ts';
import type { PageFrame } from '../../web/layout/layout.ts';
import { type ConsoleView, consolePage } from '../parts.page.ts';
import type { ConsoleCatalogue } from '../words.en.ts';
import { frameText } from '../words.ts';

export type FirstStep = keyof ConsoleCatalogue['checklist']['steps'];
export type StepsDone = Readonly<Record<FirstStep, boolean>>;

/** Settings, commands and pages: the same in every language. */
const ways: Readonly<Record<FirstStep, string>> = {
  publicUrl: 'BASE_URL, SECURE_URL',
  tls: 'portcullis doctor',
  mail: 'SMTP_URL, MAIL_FROM; portcullis doctor',
  list: 'portcullis source add',
  backup: 'BACKUP_FOLDER',
  passkey: '/account/security',
};

export function checklistPage(
  frame: PageFrame,
  view: ConsoleView & { readonly steps: StepsDone },
): string {
  const text = frameText(frame).console.checklist;
  const rows = (Object.keys(ways) as FirstStep[]).map((step) => {
    const isDone = view.steps[step];
    return [
      text.steps[step],
      badge({
        label: isDone ? text.isDone : text.isOpen,
        tone: isDone ? 'clean' : 'suspect',
      }),
      html`<code class="breaks">${ways[step]}</code>`,
    ];
  });
  const columns = [text.step, text.state, text.how].map((title) => ({ title }));
  return consolePage(frame, view, {
    section: 'checklist',
    lede: text.lede,
    body: table({ caption: text.caption, columns, rows, stack: true }),
  });
}
