/**
 * Preloaded into a server (`node --import`): its index holds little more than the lists that every server has
 * from its start and what is kept free for reports under way, with one contribution an entry; its table of
 * accounts has 24 places. Commands beside it keep the usual bounds, and let in more.
 */

import { capacities } from '../../../src/config.ts';

/** What the server adds to the accounts (app/state.ts). */
const slotReserve = 1_024;

Object.assign(capacities, { entries: 4_700, contributionsPerEntry: 1, accounts: 24 - slotReserve });
