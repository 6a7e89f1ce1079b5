/** Setting up the second factor: the QR code with its secret, and the backup codes, shown once. */

import { button, linkButton } from '../../../web/components/button.ts';
import { card } from '../../../web/components/card.ts';
import { codeBlock } from '../../../web/components/code-block.ts';
import { field } from '../../../web/components/field.ts';
import { form, hidden } from '../../../web/components/form.ts';
import { notice } from '../../../web/components/notice.ts';
import { html } from '../../../web/html.ts';
import type { PageFrame } from '../../../web/layout/layout.ts';
import { onwardHref } from '../../sessions/onward.page.ts';
import { frameText } from '../../words/words.ts';
import { type AccountView, accountPage, sectionPaths } from './parts.page.ts';
import { qrCode } from './qr.page.ts';

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
    body: card({
      title: text.totpTitle,
      icon: 'shield',
      body: html`<p>${text.totpScan}</p>
        ${qrCode(view.uri, text.totpQr)}
        ${codeBlock({
          id: 'totp-secret',
          title: text.totpSecret,
          code: view.secret.replace(/.{4}(?=.)/g, '$& '),
          text: all,
        })}
        ${form({
          csrf: view.csrf,
          action: onwardHref('/account/security/totp/enable', { back: view.returnTo }),
          body: html`${view.returnTo && hidden('return', view.returnTo)}${field({
            id: 'code',
            name: 'code',
            label: text.totpCode,
            hint: text.totpCodeHint,
            autocomplete: 'one-time-code',
            inputMode: 'numeric',
            maxLength: 12,
            required: true,
            mono: true,
            ...(view.codeError ? { error: text.totpCodeError } : {}),
          })}<p>${button({ label: text.totpEnable })}</p>`,
        })}`,
    }),
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
    body: card({
      title: text.backupTitle,
      icon: 'key',
      body: html`${notice({ tone: 'warning', body: text.backupText })}
        ${codeBlock({
          id: 'backup-codes',
          title: text.backupTitle,
          code: view.codes.join('\n'),
          text: all,
        })}
        <p>${linkButton({ label: text.backupDone, href: view.returnTo ?? sectionPaths.security })}</p>`,
    }),
  });
}
