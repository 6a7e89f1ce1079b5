/** Deletion and export as the commands do them: with the store alone, no server needed. */

import { erasedSealOf, type MasterKey } from '../access/keys/master-key.ts';
import { createSiteKeys } from '../access/keys/site-keys.ts';
import type { OperationTools } from '../contracts/operation.ts';
import { reportPersonalData } from '../reputation/reports/store/account-reports.ts';
import { retryDelaysMs } from '../signon/mail/command-mails.ts';
import { mailSender } from '../signon/mail/letter.ts';
import { createMailer } from '../signon/mail/mailer.ts';
import { noDeletionNotice, openOutbox } from '../signon/mail/outbox.ts';
import { smtpTransport } from '../signon/mail/smtp.ts';
import { createDeletion, type Deletion, type DeletionNotice } from '../signon/people/deletion.ts';
import { ownPersonalData, profilePersonalData } from '../signon/people/personal-data.ts';
import type { Profiles } from '../signon/people/profile/profile-store.ts';
import { isErased, openPeople } from '../signon/people.ts';
import { factorStateOf } from '../signon/proofs/factor-rows.ts';
import { createSecurityLog } from '../signon/sessions/security-log.ts';
import { createSessions } from '../signon/sessions/sessions.ts';
import { signInLogData } from '../signon/sessions/sign-in-log.ts';
import { createConsents } from '../signon/sites/consents.ts';
import { openErasedList } from '../storage/backup/erased.ts';

export interface DeletionTools extends OperationTools {
  readonly masterKey: MasterKey;
  readonly profiles: Profiles;
  /** True in a server, where the process goes on afterwards. */
  readonly inServer: boolean;
}

/** Runs with the deletion and the mailer behind it. */
export async function withDeletion<T>(
  workspace: DeletionTools,
  run: (deletion: Deletion) => Promise<T>,
): Promise<T> {
  const { config, clock, log } = workspace;
  const { smtpUrl } = config;
  if (smtpUrl === undefined) return run(openDeletion(workspace, undefined));
  const sender = mailSender(config);
  const mailer = createMailer({
    transport: smtpTransport(smtpUrl, config.mailFrom, sender),
    sender,
    clock,
    log,
    limit: () => 0,
    retryDelaysMs,
  });
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
  const { config, store, clock, random, log } = workspace;
  const securityLog = createSecurityLog({ store, clock, random });
  const people = openPeople(store);
  const beside = profilePersonalData({
    profiles: workspace.profiles,
    consents: createConsents({ store, clock, random }),
    siteKeys: createSiteKeys({ store, clock, random }),
    store,
  });
  const own = ownPersonalData({
    store,
    securityLog,
    sessions: createSessions({ store, clock, random, people }),
    secondFactors: { state: (accountId) => factorStateOf(store, accountId) },
    outbox: openOutbox({
      folder: `${config.dataDir}/outbox`,
      from: config.mailFrom,
      clock,
      random,
      log,
      isErased: (accountId) => isErased(store, accountId),
    }),
  });
  const data = [...beside, ...own, reportPersonalData(store), signInLogData(store)];
  const seal = erasedSealOf(workspace.masterKey);
  const erased = openErasedList({ ...workspace, seal, inChild: !workspace.inServer });
  return createDeletion({
    store,
    clock,
    random,
    data,
    deletionNotice,
    erased,
    onNoticeDropped: noDeletionNotice(log),
  });
}
