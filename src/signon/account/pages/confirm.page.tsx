/** The proof of identity once more: password (and code, with a second factor), or passkey. */

import { Button } from '../../../web/components/button.tsx';
import { Field } from '../../../web/components/field.tsx';
import { Form, Hidden } from '../../../web/components/form.tsx';
import { Notice } from '../../../web/components/notice.tsx';
import type { Html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { accountField, passkeyOutcome } from '../../people/pages/register.page.tsx';
import { narrowPage } from '../../sessions/narrow.page.tsx';
import { frameText } from '../../words/words.ts';

/** A code in groups is shorter. */
const codeCharsMax = 32;

export interface ConfirmView {
  readonly csrf: string;
  /** The account's mail address. */
  readonly account: string;
  /** A path of this host. */
  readonly returnTo: string;
  readonly hasPassword: boolean;
  /** A second factor is set up: its code is asked for too. */
  readonly wantsCode: boolean;
  /** A password is not enough for what comes next. */
  readonly needsPasskey: boolean;
  /** The error, in a sentence. */
  readonly failed?: string | undefined;
}

export function confirmPage(frame: PageFrame, view: ConfirmView): string {
  const all = frameText(frame);
  const text = all.account.confirm;
  const { csrf, returnTo } = view;
  return narrowPage(frame, {
    title: text.title,
    lede: text.text,
    script: 'account.js',
    body: (
      <>
        {view.needsPasskey ? (
          <Notice alert={view.failed !== undefined}>
            {text.passkeyNeeded} <a href="/recover">{text.passkeyLost}</a>
          </Notice>
        ) : (
          passwordForm(frame, view)
        )}
        <form
          class="form"
          method="post"
          data-passkey="confirm"
          data-csrf={csrf}
          data-next={returnTo}
          hidden
        >
          <p>
            <Button
              label={text.passkey}
              kind={view.needsPasskey ? 'primary' : 'secondary'}
              icon="key"
            />
          </p>
          {passkeyOutcome({ failed: text.wrong, causes: all.signon.passkeyProofErrors })}
        </form>
        {view.needsPasskey && (
          <p class="card-note" data-passkey-none>
            {all.account.security.passkeyNoScript}
          </p>
        )}
        {!view.needsPasskey && !view.hasPassword && (
          <p>
            <a href="/recover">{text.noPassword}</a>
          </p>
        )}
      </>
    ),
  });
}

function passwordForm(frame: PageFrame, view: ConfirmView): Html {
  const all = frameText(frame);
  const text = all.account.confirm;
  const { csrf, returnTo } = view;
  return (
    <Form csrf={csrf} action={`/account/confirm?return=${encodeURIComponent(returnTo)}`}>
      <Hidden name="return" value={returnTo} />
      {accountField(view.account)}
      {view.failed !== undefined && (
        <Notice tone="danger" alert>
          {view.failed}
        </Notice>
      )}
      <Field
        id="password"
        name="password"
        type="password"
        label={text.password}
        autocomplete="current-password"
        required
      />
      {view.wantsCode && (
        <Field
          id="code"
          name="code"
          label={text.code}
          hint={all.signon.secondFactor.hint}
          autocomplete="one-time-code"
          required
          maxLength={codeCharsMax}
          mono
        />
      )}
      <p>
        <Button label={text.submit} />
      </p>
    </Form>
  );
}
