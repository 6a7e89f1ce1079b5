/** GET /admin/checklist: the first steps of a new service, as its settings and its store show them. */

import type { PlainRoute } from '../../http/router.ts';
import { type ConsoleParts, consoleScreen, viewOf } from '../desk.route.ts';
import { checklistPage, type StepsDone } from './checklist.page.ts';

export const checklistEndpoint = consoleScreen('/admin/checklist');

/** @param stepsOf by the account of the operator who asks */
export function checklistScreen(
  parts: ConsoleParts,
  stepsOf: (accountId: string) => Promise<StepsDone>,
): PlainRoute {
  const { desk } = parts;
  return desk.page(checklistEndpoint, async (visit, query) => {
    const steps = await stepsOf(visit.session.accountId);
    const view = { ...viewOf(parts, visit, query), steps };
    return desk.show(visit, (frame) => checklistPage(frame, view));
  });
}
