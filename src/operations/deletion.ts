/** Deletion and export as the commands do them: with the store alone, no server needed. */

import { erasedSealOf, type MasterKey } from '../access/keys/master-key.ts';
import type { OperationTools } from '../contracts/operation.ts';
import { reportPersonalData } from '../reputation/reports/store/account-reports.ts';
import { commandMailer, outboxOf } from '../signon/mail/command-mails.ts';
import { noDeletionNotice } from '../signon/mail/outbox.ts';
import { createDeletion, type Deletion, type DeletionNotice } from '../signon/people/deletion.ts';
import { signonPersonalData } from '../signon/people/personal-data.ts';
import { openErasedList } from '../storage/backup/erased.ts';

interface DeletionTools extends OperationTools {
  readonly masterKey: MasterKey;
  /** True in a server, where the process goes on afterwards. */
  readonly inServer: boolean;
}

/** Runs with the deletion and the mailer behind it. */
export async function withDeletion<T>(
  workspace: DeletionTools,
  run: (deletion: Deletion) => Promise<T>,
): Promise<T> {
  if (workspace.config.smtpUrl === undefined) return run(openDeletion(workspace, undefined));
  const mailer = commandMailer(workspace);
  try {
    return await run(
      openDeletion(workspace, (email, language) =>
        mailer.deliver(email, language, 'accountDeleted', {}),
      ),
    );
  } finally {
    await mailer.close();
  }
}

/** @param deletionNotice undefined: nobody is notified */
export function openDeletion(
  workspace: DeletionTools,
  deletionNotice: DeletionNotice | undefined,
): Deletion {
  const { store, log } = workspace;
  const data = [...signonPersonalData(workspace, outboxOf(workspace)), reportPersonalData(store)];
  const seal = erasedSealOf(workspace.masterKey);
  const erased = openErasedList({ ...workspace, seal, inChild: !workspace.inServer });
  return createDeletion({
    ...workspace,
    data,
    deletionNotice,
    erased,
    onNoticeDropped: noDeletionNotice(log),
  });
}
