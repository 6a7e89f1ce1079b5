/** Preloaded into a server or a command: a program to come, whose new event version brought the bans of agents. */

import { agentBanned } from '../../../src/integrations/crowdsec/events.ts';
import { eventVersions } from '../../../src/storage/journal/define-event.ts';

eventVersions.read += 1;
Object.assign(agentBanned.since, { 3: eventVersions.read });
