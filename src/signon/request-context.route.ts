/** The types of the page builder and the request context, with the session of sign-on in them. */

import type { AnyPageBuilder } from '../web/guard/page-builder.ts';
import type { AnyRequestContext } from '../web/guard/request-context.ts';
import type { Session } from './sessions/sessions.ts';

export type RequestContext = AnyRequestContext<Session>;
export type PageBuilder = AnyPageBuilder<Session>;
