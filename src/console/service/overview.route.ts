/** GET /admin: the console's first screen. */

import type { PlainRoute } from '../../http/router.ts';
import type { Language } from '../../web/language.ts';
import { type ConsoleParts, consoleScreen, viewOf } from '../operator-request.route.ts';
import { type EventNames, overviewPage, type ServiceFacts } from './overview.page.tsx';

export const overviewEndpoint = consoleScreen('/admin');

export function overviewScreen(
  parts: ConsoleParts,
  read: () => Promise<ServiceFacts>,
  eventNames: (language: Language) => EventNames,
): PlainRoute {
  const { pageBuilder } = parts;
  return pageBuilder.page(overviewEndpoint, async (context, query) => {
    const view = viewOf(parts, context, query);
    const said = { service: await read(), eventNames: eventNames(context.language) };
    return pageBuilder.show(context, (frame) => overviewPage(frame, { ...view, ...said }));
  });
}
