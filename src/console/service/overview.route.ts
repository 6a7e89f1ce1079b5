/** GET /admin: the console's first screen. */

import type { PlainRoute } from '../../http/router.ts';
import type { Language } from '../../web/language.ts';
import { type ConsoleParts, consoleScreen, viewOf } from '../desk.route.ts';
import type { EventNames } from './deed-names.page.ts';
import { overviewPage, type ServiceFacts } from './overview.page.ts';

export const overviewEndpoint = consoleScreen('/admin');

export function overviewScreen(
  parts: ConsoleParts,
  read: () => Promise<ServiceFacts>,
  eventNames: (language: Language) => EventNames,
): PlainRoute {
  const { desk } = parts;
  return desk.page(overviewEndpoint, async (visit, query) => {
    const view = viewOf(parts, visit, query);
    const said = { service: await read(), eventNames: eventNames(visit.language) };
    return desk.show(visit, (frame) => overviewPage(frame, { ...view, ...said }));
  });
}
