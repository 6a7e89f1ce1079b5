/** Taking a copy of everything, and the end of the account. */

import { Button } from '../../../web/components/button.tsx';
import { Card } from '../../../web/components/card.tsx';
import { Field } from '../../../web/components/field.tsx';
import { Form } from '../../../web/components/form.tsx';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { narrowPage } from '../../sessions/narrow.page.tsx';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage, freshWanted, sectionPaths } from './parts.page.tsx';

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
    body: (
      <>
        {!view.fresh && freshWanted(account, sectionPaths.data)}
        <Card title={text.exportTitle} icon="download">
          <p>{text.exportText}</p>
          {view.fresh && (
            <Form csrf={csrf} action="/account/export" isDownload>
              <p>
                <Button label={text.exportButton} kind="secondary" />
              </p>
            </Form>
          )}
        </Card>
        <Card title={text.deleteTitle} icon="alert">
          <p>{text.deleteText}</p>
          {view.fresh && (
            <Form csrf={csrf} action="/account/delete">
              <Field
                id="confirm"
                name="confirm"
                label={text.deleteConfirm(text.deleteWord)}
                autocomplete="off"
                required
                value={view.typedWord ?? ''}
                error={view.wordError ? text.deleteError(text.deleteWord) : undefined}
              />
              <p>
                <Button label={text.deleteButton} kind="danger" />
              </p>
            </Form>
          )}
        </Card>
      </>
    ),
  });
}

/** The page after the deletion, for somebody without an account. */
export function deletedPage(frame: PageFrame): string {
  const text = frameText(frame).account.data;
  return narrowPage(frame, { title: text.deletedTitle, body: <p>{text.deletedText}</p> });
}
