/** The allowlist: what is on it and why, and a form for one more. */

import { Button } from '../../web/components/button.tsx';
import { Card } from '../../web/components/card.tsx';
import { Field } from '../../web/components/field.tsx';
import { ActionButton, Form, Hidden } from '../../web/components/form.tsx';
import { formatFor } from '../../web/layout/format.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { type ConsoleView, consolePage, Listing } from '../parts.page.tsx';
import { frameText } from '../words.ts';

export interface AllowedRange {
  readonly prefix: string;
  readonly reason: string;
  readonly addedAt: number;
}

const action = '/admin/allow/change';
/** Rows of one page; the command line shows all. */
const rowsMax = 500;

export function allowPage(
  frame: PageFrame,
  view: ConsoleView & { readonly ranges: readonly AllowedRange[] },
): string {
  const text = frameText(frame).console.allow;
  const format = formatFor(frame.language);
  const { csrf, ranges } = view;
  const rows = ranges
    .slice(0, rowsMax)
    .map(({ prefix, reason, addedAt }) => [
      <span class="mono breaks">{prefix}</span>,
      <span class="breaks">{reason}</span>,
      format.day(addedAt),
      <ActionButton
        csrf={csrf}
        action={action}
        fields={{ do: 'remove', prefix }}
        label={text.remove}
        kind="danger"
      />,
    ]);
  const columns = [text.prefix, text.reason, text.since, text.actions];
  const adding = (
    <Form csrf={csrf} action={action}>
      <Hidden name="do" value="add" />
      <Field id="prefix" name="prefix" label={text.prefix} mono required maxLength={60} />
      <Field id="reason" name="reason" label={text.reason} maxLength={200} />
      <p>
        <Button label={text.add} />
      </p>
    </Form>
  );
  return consolePage(frame, view, {
    section: 'allow',
    lede: text.lede,
    body: (
      <>
        <Card title={text.addTitle}>{adding}</Card>
        <Listing
          icon="shield"
          none={text.none}
          caption={text.caption}
          columns={columns}
          rows={rows}
        />
      </>
    ),
  });
}
