/** Preloaded into a server or a command: a program to come, whose event version 3 brought the bans of agents. */

import { agentBanned } from '../../../src/integrations/crowdsec/events.ts';
import { eventVersions } from '../../../src/storage/journal/define-event.ts';

eventVersions.read = 3;
Object.assign(agentBanned.since, { 3: 3 });
