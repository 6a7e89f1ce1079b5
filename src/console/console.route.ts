/** All screens of the operators' console in one table, each with the part of the service that it shows. */

import type { AuditLog } from '../access/audit-log.ts';
import type { Language } from '../core/language.ts';
import type { PlainRoute } from '../http/router.ts';
import { type ConsoleInbox, inboxEndpoints, inboxScreens, inboxShow } from './inbox/inbox.route.ts';
import type { ConsoleNames, ConsoleParts } from './operator-request.route.ts';
import type { ConsoleView } from './parts.page.tsx';
import {
  type ConsolePeople,
  type ConsoleSites,
  peopleScreenEndpoints,
  peopleScreens,
  siteScreenEndpoints,
  siteScreens,
} from './people/people.route.ts';
import { needsDecision } from './reputation/lists.page.tsx';
import {
  type AddressReads,
  addressBarEndpoint,
  addressScreenEndpoints,
  addressScreens,
  type ConsoleReports,
  type OperatorBar,
  openAddressBar,
  reportScreenEndpoints,
  reportScreens,
  type ShowAddress,
} from './reputation/screens.route.ts';
import {
  auditScreenEndpoints,
  auditScreens,
  type ConsoleChecklist,
  checklistEndpoints,
  checklistScreens,
  systemEndpoint,
  systemScreen,
} from './service/service.route.ts';
import type { EventNames, ServiceFacts } from './service/system.page.tsx';

export const consoleEndpoints = [
  ...Object.values(inboxEndpoints),
  systemEndpoint,
  ...Object.values(checklistEndpoints),
  ...Object.values(reportScreenEndpoints),
  ...Object.values(peopleScreenEndpoints),
  ...Object.values(siteScreenEndpoints),
  ...addressScreenEndpoints,
  addressBarEndpoint,
  ...Object.values(auditScreenEndpoints),
];

/** The screens read and change the service through these, which app/console.ts makes. */
export interface ConsoleReads extends AddressReads {
  readonly audit: AuditLog;
  readonly operations: ConsoleParts['operations'];
  readonly service: () => ServiceFacts;
  readonly inbox: ConsoleInbox;
  readonly checklist: ConsoleChecklist;
  readonly reports: ConsoleReports;
  readonly people: ConsolePeople;
  readonly sites: ConsoleSites;
  readonly names: ConsoleNames;
  readonly categoryNames: ConsoleParts['categoryNames'];
  /** Words for events of accounts, by name. */
  readonly eventNames: (language: Language) => EventNames;
}

export function consoleRoutes(
  given: Pick<ConsoleParts, 'pageBuilder' | 'clock' | 'catchUp'> & {
    readonly showAddress: ShowAddress;
  },
  reads: ConsoleReads,
): {
  readonly routes: readonly PlainRoute[];
  readonly operatorBar: OperatorBar;
  /** Counts what waits for a decision. */
  readonly waiting: () => Promise<number>;
} {
  const { pageBuilder, clock, catchUp } = given;
  const { audit, operations, categoryNames } = reads;

  async function waits(): Promise<ConsoleView['waits']> {
    const [removals, tips, lists, budgets, peers] = await Promise.all([
      reads.removals.list(),
      reads.anonymousReports.list(),
      reads.lists.list(),
      reads.inbox.budgets(),
      reads.peers.waiting(),
    ]);
    const failing = lists.filter(needsDecision).length;
    return {
      inbox: removals.length + tips.length + failing + budgets.length + (peers ?? 0),
      removals: removals.length,
      tips: tips.length,
      lists: failing,
      ...(peers === undefined ? {} : { peers }),
    };
  }

  const parts = { pageBuilder, clock, catchUp, audit, operations, categoryNames, waits };
  const showInbox = inboxShow(parts, reads);
  const bar = openAddressBar(parts, reads.inbox, given.showAddress);
  const routes = [
    ...inboxScreens(parts, showInbox),
    systemScreen(parts, reads.service, reads.eventNames),
    ...checklistScreens(parts, reads.checklist),
    ...reportScreens(parts, reads),
    ...peopleScreens(parts, reads.people),
    ...siteScreens(parts, reads.sites),
    ...addressScreens({ ...parts, showInbox }, reads),
    ...auditScreens(parts, reads.names),
    bar.route,
  ];
  return { routes, operatorBar: bar.barOf, waiting: async () => (await waits()).inbox ?? 0 };
}
