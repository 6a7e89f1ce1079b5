/** GET /admin, its change, and POST /admin/undo: the inbox of an operator. */

import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleNames,
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  emailsOf,
  type OperatorRequest,
  undoEndpoint,
  undoRoute,
  viewOf,
} from '../operator-request.route.ts';
import { consolePaths } from '../parts.page.tsx';
import type { BarFacts } from '../reputation/address-bar.page.tsx';
import { type FetchedList, needsDecision } from '../reputation/lists.page.tsx';
import type { ShownPeer } from '../reputation/peers.page.tsx';
import type { ConsoleChecklist } from '../service/service.route.ts';
import { type InboxView, inboxActs, inboxPage, type Span, spans } from './inbox.page.tsx';
import type { AddressFacts, WaitingAnonymousReport, WaitingRemoval } from './inbox-cards.page.tsx';

export const inboxEndpoints = {
  show: consoleScreen('/admin'),
  change: consoleChange('inbox'),
  undo: undoEndpoint,
};

export interface ConsoleInbox {
  /** Returns what is known of an address, with the score after each decision. */
  factsOf(address: string): Promise<AddressFacts>;
  /** Returns the same for the bar on the page of the address. */
  barOf(address: string): Promise<BarFacts>;
  /** False while no list of bad addresses is there, or on its way. */
  hasLists(): Promise<boolean>;
  budgets(): Promise<InboxView['budgets']>;
  tiles(span: Span): InboxView['tiles'];
}

interface InboxReads {
  readonly inbox: ConsoleInbox;
  readonly checklist: Pick<ConsoleChecklist, 'stepsOf'>;
  readonly removals: { list(): Promise<readonly WaitingRemoval[]> };
  readonly anonymousReports: { list(): Promise<readonly WaitingAnonymousReport[]> };
  readonly lists: { list(): Promise<readonly FetchedList[]> };
  readonly peers: { list(): Promise<readonly ShownPeer[]> };
  readonly names: ConsoleNames;
}

/** Cards of each queue: each reads a few rows of the store. */
const cardsMax = 8;
const recentMax = 3;

/** Adds what is known of the address to the first rows of a queue. */
export function withFacts<T extends { readonly address: string }>(
  { factsOf }: Pick<ConsoleInbox, 'factsOf'>,
  rows: readonly T[],
) {
  return Promise.all(rows.map(async (row) => ({ ...row, facts: await factsOf(row.address) })));
}

/** Returns what shows the inbox. */
export function inboxShow(parts: ConsoleParts, reads: InboxReads) {
  const { pageBuilder, audit } = parts;

  return async (context: OperatorRequest, query: Params): Promise<Reply> => {
    const [removals, anonymousReports, lists, allPeers, hasLists] = await Promise.all([
      reads.removals.list(),
      reads.anonymousReports.list(),
      reads.lists.list(),
      reads.peers.list(),
      reads.inbox.hasLists(),
    ]);
    const peers = allPeers.filter(({ held }) => held !== 'none');
    const waiting = { removals: removals.length, anonymousReports: anonymousReports.length };
    // A fresh server decides nothing yet: it needs a list.
    if (
      context.refused === undefined &&
      !hasLists &&
      removals.length + anonymousReports.length + peers.length === 0
    ) {
      return pageBuilder.go(context, consolePaths.lists);
    }
    const asked = spans.find((span) => span === query.get('span'));
    const span = asked ?? '24h';
    const recent = (await audit.page({ before: undefined, limit: recentMax })).entries;
    const words = recent.flatMap(({ command, user }) => `${command} ${user}`.split(' '));
    const view: InboxView = {
      ...(await viewOf(parts, context, query)),
      from: 'inbox',
      steps: await reads.checklist.stepsOf(context.session.accountId),
      removals: await withFacts(reads.inbox, removals.slice(0, cardsMax)),
      anonymousReports: await withFacts(reads.inbox, anonymousReports.slice(0, cardsMax)),
      waiting,
      lists: lists.filter(needsDecision),
      budgets: await reads.inbox.budgets(),
      peers,
      span,
      tiles: reads.inbox.tiles(span),
      reader: context.session.accountId,
      recent,
      recentEmails: await emailsOf(reads.names, words),
    };
    return pageBuilder.show(context, (frame) => inboxPage(frame, view));
  };
}

/** @param show of `inboxShow` */
export function inboxScreens(
  parts: ConsoleParts,
  show: ReturnType<typeof inboxShow>,
): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = inboxEndpoints;
  return [
    pageBuilder.page(at.show, show),
    pageBuilder.form(at.change, changeForm(parts, inboxActs, show)),
    undoRoute(parts),
  ];
}
