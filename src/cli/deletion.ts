/** Deletion and export as the commands do them: with the store alone, no server needed. */

import { createSiteKeys } from '../access/site-keys.ts';
import { createConsents } from '../signon/consents.ts';
import { createDeletion, type Deletion } from '../signon/deletion.ts';
import { openOutbox } from '../signon/mail/outbox.ts';
import { openPeople } from '../signon/people.ts';
import { ownPersonalData } from '../signon/personal-data.ts';
import { profilePersonalData } from '../signon/profile-data.ts';
import { createSecondFactors } from '../signon/second-factors.ts';
import { createSecurityLog } from '../signon/security-log.ts';
import { createSessions } from '../signon/sessions.ts';
import { checkMasterKey, type Workspace } from './workspace.ts';

export function openDeletion(workspace: Workspace): Deletion {
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
    }),
  });
  return createDeletion({ store, clock, random, data: [...beside, ...own] });
}
