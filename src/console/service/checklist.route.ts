/** GET /admin/checklist and its change: the first steps of a new service, and a mail that shows whether mails arrive. */

import { fail, ok } from '../../core/result.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  viewOf,
} from '../operator-request.route.ts';
import { checklistActs, checklistPage, type StepsDone } from './checklist.page.tsx';

export const checklistEndpoints = {
  show: consoleScreen('/admin/checklist'),
  change: consoleChange('checklist'),
};

export interface ConsoleChecklist {
  /** By the account of the operator who asks. */
  stepsOf(accountId: string): Promise<StepsDone>;
  /** Milliseconds since 1970; 0: there is none; undefined: the server makes none. */
  newestBackupAt(): number | undefined;
  /** Undefined when the account is gone. */
  addressOf(accountId: string): Promise<string | undefined>;
}

export function checklistScreens(parts: ConsoleParts, of: ConsoleChecklist): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = checklistEndpoints;
  return [
    pageBuilder.page(at.show, async (context, query) => {
      const { accountId } = context.session;
      const view = {
        ...viewOf(parts, context, query),
        steps: await of.stepsOf(accountId),
        newestBackupAt: of.newestBackupAt(),
        address: (await of.addressOf(accountId)) ?? '',
      };
      return pageBuilder.show(context, (frame) => checklistPage(frame, view));
    }),
    pageBuilder.form(
      at.change,
      changeForm(parts, checklistActs, async ({ session, language }) => {
        // To the operator alone: a form that mails any address could be used to flood a mailbox.
        const to = await of.addressOf(session.accountId);
        return to === undefined ? fail('unknown_account') : ok({ fields: { to, language } });
      }),
    ),
  ];
}
