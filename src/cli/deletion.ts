/** Deletion and export as the commands do them: with the store alone, no server needed. */

import { createSiteKeys } from '../access/site-keys.ts';
import { createConsents } from '../signon/consents.ts';
import { createDeletion, type Deletion, type Farewell } from '../signon/deletion.ts';
import { isErased } from '../signon/erasure-mark.ts';
import { createMailer } from '../signon/mail/mailer.ts';
import { noFarewell, openOutbox } from '../signon/mail/outbox.ts';
import { smtpTransport } from '../signon/mail/smtp.ts';
import { openPeople } from '../signon/people.ts';
import { ownPersonalData } from '../signon/personal-data.ts';
import { profilePersonalData } from '../signon/profile-data.ts';
import { createSecondFactors } from '../signon/second-factors.ts';
import { createSecurityLog } from '../signon/security-log.ts';
import { createSessions } from '../signon/sessions.ts';
import { checkMasterKey, type Workspace } from './workspace.ts';

/** How long a command waits before it tries a mail once more. */
const retryDelaysMs = [2_000];

/** Runs with the deletion and the mailer behind it. */
export async function withDeletion<T>(
  workspace: Workspace,
  run: (deletion: Deletion) => Promise<T>,
): Promise<T> {
  const { config, clock, log } = workspace;
  const { smtpUrl } = config;
  if (smtpUrl === undefined) return run(openDeletion(workspace, undefined));
  const mailer = createMailer({
    transport: smtpTransport(smtpUrl, config.mailFrom),
    service: new URL(config.baseUrl).hostname,
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

function openDeletion(workspace: Workspace, farewell: Farewell | undefined): Deletion {
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
    secondFactors: createSecondFactors({
      store,
      clock,
      random,
      masterKey: checkMasterKey(config, random),
      service: new URL(config.baseUrl).hostname,
      securityLog,
    }),
    outbox: openOutbox({
      folder: `${config.dataDir}/outbox`,
      from: config.mailFrom,
      clock,
      random,
      log,
      isErased: (accountId) => isErased(store, accountId),
    }),
  });
  const data = [...beside, ...own];
  return createDeletion({ store, clock, random, data, farewell, untold: noFarewell(log) });
}
