/** Setting up the second factor: the QR code with its secret, and the backup codes, shown once. */

import { Button, LinkButton } from '../../../web/components/button.tsx';
import { Card } from '../../../web/components/card.tsx';
import { CodeBlock } from '../../../web/components/code-block.tsx';
import { Field } from '../../../web/components/field.tsx';
import { Form, Hidden } from '../../../web/components/form.tsx';
import { Notice } from '../../../web/components/notice.tsx';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { onwardHref } from '../../sessions/onward.page.tsx';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage, sectionPaths } from './parts.page.tsx';
import { qrCode } from './qr.page.tsx';

export interface EnrolmentView extends AccountView {
  /** The secret in base32. */
  readonly secret: string;
  readonly uri: string;
  readonly codeError: boolean;
  /** The path to which the person goes afterwards; undefined: /account/security. */
  readonly returnTo: string | undefined;
}

export function enrolmentPage(frame: PageFrame, view: EnrolmentView): string {
  const all = frameText(frame);
  const text = all.account.security;
  return accountPage(frame, view, {
    section: 'security',
    lede: text.totpTitle,
    body: (
      <Card title={text.totpTitle} icon="shield">
        <p>{text.totpScan}</p>
        {qrCode(view.uri, text.totpQr)}
        <CodeBlock
          id="totp-secret"
          title={text.totpSecret}
          code={view.secret.replace(/.{4}(?=.)/g, '$& ')}
          text={all}
        />
        <Form
          csrf={view.csrf}
          action={onwardHref('/account/security/totp/enable', { back: view.returnTo })}
        >
          {view.returnTo && <Hidden name="return" value={view.returnTo} />}
          <Field
            id="code"
            name="code"
            label={text.totpCode}
            hint={text.totpCodeHint}
            autocomplete="one-time-code"
            inputMode="numeric"
            maxLength={12}
            required
            mono
            error={view.codeError ? text.totpCodeError : undefined}
          />
          <p>
            <Button label={text.totpEnable} />
          </p>
        </Form>
      </Card>
    ),
  });
}

export interface BackupCodesView extends AccountView {
  readonly codes: readonly string[];
  readonly returnTo?: string | undefined;
}

export function backupCodesPage(frame: PageFrame, view: BackupCodesView): string {
  const all = frameText(frame);
  const text = all.account.security;
  return accountPage(frame, view, {
    section: 'security',
    lede: text.totpTitle,
    body: (
      <Card title={text.backupTitle} icon="key">
        <Notice tone="warning">{text.backupText}</Notice>
        <CodeBlock
          id="backup-codes"
          title={text.backupTitle}
          code={view.codes.join('\n')}
          text={all}
        />
        <p>
          <LinkButton label={text.backupDone} href={view.returnTo ?? sectionPaths.security} />
        </p>
      </Card>
    ),
  });
}
