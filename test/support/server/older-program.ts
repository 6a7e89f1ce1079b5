/** Preloaded into a server: the program of before agents decided anything, which can't read their events. */

import { agentEvents } from '../../../src/integrations/crowdsec/events.ts';

agentEvents.length = 0;
