/** Preloaded into a server: the program of before the bans of agents, which reads version 1 of the events. */

import { eventVersions } from '../../../src/store/nodes/events.ts';

delete eventVersions['agent.banned'];
