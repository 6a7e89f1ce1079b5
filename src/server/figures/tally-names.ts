/** The names under which is counted what a server did. The console has words for each (console/service/deed-names.page.ts). */

import type { ErrorCode } from '../../core/errors.ts';
import type { SignOnEvent } from '../../signon/sessions/sign-in-log.ts';

export type TallyName =
  | `challenges:${'given' | 'solved' | 'failed'}`
  | `consents:${'allowed' | 'refused'}`
  | `sign_on:${SignOnEvent}`
  | `reports_refused:${ErrorCode}`;
