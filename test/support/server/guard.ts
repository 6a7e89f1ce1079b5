/** A guard for routes under test, over whatever gate and callers they have. */

import type { QuotaGuard } from '../../../src/access/quota/quota.ts';
import type { Callers } from '../../../src/web/guard/callers.ts';
import { createGuard, type Guard } from '../../../src/web/guard/guard.ts';

/** An error that its endpoint does not declare fails the test. */
export function guardOf(
  parts: { quotaGuard?: unknown; takeOrWait?: Callers['takeOrWait'] } = {},
): Guard {
  const { quotaGuard = { authenticate: () => -1 }, takeOrWait = () => 0 } = parts;
  const whole = Object.assign({ noteRefused() {} }, quotaGuard);
  return createGuard({
    quotaGuard: whole as unknown as QuotaGuard,
    callers: { takeOrWait },
    renderPage: (_status, detail) => ({ html: detail, headers: [] }),
    log: {
      error(facts: object, text?: string) {
        throw new Error(`${text}: ${JSON.stringify(facts)}`);
      },
    },
  });
}
