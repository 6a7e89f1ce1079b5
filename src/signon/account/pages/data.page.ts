/** Taking a copy of everything, and the end of the account. */

import { button } from '../../../web/components/button.ts';
import { card } from '../../../web/components/card.ts';
import { field } from '../../../web/components/field.ts';
import { form } from '../../../web/components/form.ts';
import { html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { narrowPage } from '../../sessions/narrow.page.ts';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage, freshWanted, sectionPaths } from './parts.page.ts';

export interface OwnDataView extends AccountView {
  readonly fresh: boolean;
  readonly typedWord?: string | undefined;
  readonly wordError: boolean;
}

export function dataPage(frame: PageFrame, view: OwnDataView): string {
  const account = frameText(frame).account;
  const text = account.data;
  const { csrf } = view;
  return accountPage(frame, view, {
    section: 'data',
    lede: text.lede,
    body: html`
      ${!view.fresh && freshWanted(account, sectionPaths.data)}
      ${card({
        title: text.exportTitle,
        icon: 'download',
        body: html`<p>${text.exportText}</p>
          ${
            view.fresh &&
            form({
              csrf,
              action: '/account/export',
              isDownload: true,
              body: html`<p>${button({ label: text.exportButton, kind: 'secondary' })}</p>`,
            })
          }`,
      })}
      ${card({
        title: text.deleteTitle,
        icon: 'alert',
        body: html`<p>${text.deleteText}</p>
          ${
            view.fresh &&
            form({
              csrf,
              action: '/account/delete',
              body: html`${field({
                id: 'confirm',
                name: 'confirm',
                label: text.deleteConfirm(text.deleteWord),
                autocomplete: 'off',
                required: true,
                value: view.typedWord ?? '',
                ...(view.wordError ? { error: text.deleteError(text.deleteWord) } : {}),
              })}<p>${button({ label: text.deleteButton, kind: 'danger' })}</p>`,
            })
          }`,
      })}`,
  });
}

/** The page after the deletion, for somebody without an account. */
export function deletedPage(frame: PageFrame): string {
  const text = frameText(frame).account.data;
  return narrowPage(frame, { title: text.deletedTitle, body: html`<p>${text.deletedText}</p>` });
}
