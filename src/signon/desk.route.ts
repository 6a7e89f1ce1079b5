/** The guard's desk and visit, with the session of sign-on in them. */

import type { AnyDesk } from '../web/guard/desk.ts';
import type { AnyVisit } from '../web/guard/visit.ts';
import type { Session } from './sessions/sessions.ts';

export type Visit = AnyVisit<Session>;
export type Desk = AnyDesk<Session>;
