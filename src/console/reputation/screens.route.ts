/**
 * The screens of what the service says of addresses: removals, anonymous reports, lists, feeds, peers, manual
 * entries and the allowlist, each with its acts.
 */

import { isAccountId } from '../../access/accounts/records.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { listNameOf, plainAddress, plainPasted } from '../../core/text.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { canonicalIp } from '../../ip/address.ts';
import { sessionForm } from '../../web/guard/endpoint.ts';
import type { AnyRequestContext } from '../../web/guard/request-context.ts';
import type { Html } from '../../web/html.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { type ConsoleInbox, withFacts } from '../inbox/inbox.route.ts';
import {
  anonymousReportActs,
  anonymousReportsPage,
  removalActs,
  removalsPage,
  type WaitingAnonymousReport,
  type WaitingRemoval,
} from '../inbox/inbox-cards.page.tsx';
import {
  type ConsoleNames,
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  emailsOf,
  failureSentence,
  type OperatorRequest,
  type OperatorSession,
  type PartsWithInbox,
  type PreparedChange,
  viewOf,
} from '../operator-request.route.ts';
import {
  type ConsoleSection,
  type ConsoleView,
  consolePaths,
  type SectionActs,
} from '../parts.page.tsx';
import { addressActs, addressActsPath, addressBar } from './address-bar.page.tsx';
import {
  type AllowedRange,
  allowActs,
  allowPage,
  entriesPage,
  entryActs,
  type ShownEntry,
} from './entries.page.tsx';
import { feedActs, feedsPage, type ShownFeed } from './feeds.page.tsx';
import {
  type FetchedList,
  type LoadedList,
  listActs,
  listsPage,
  type OfferedListFacts,
  type PreviewFacts,
  previewPath,
  type ShownPreview,
} from './lists.page.tsx';
import {
  type PeerPreview,
  type PeersView,
  peerActs,
  peerFields,
  peerPreviewPath,
  peersPage,
  type ShownPeer,
} from './peers.page.tsx';
import { type ReporterFacts, type ReportPage, reportActs, reportsPage } from './reports.page.tsx';

const endpointsOf = (section: ConsoleSection) => ({
  show: consoleScreen(consolePaths[section]),
  change: consoleChange(section),
});
const sectionEndpoints = {
  removals: endpointsOf('removals'),
  tips: endpointsOf('tips'),
  lists: endpointsOf('lists'),
  feeds: endpointsOf('feeds'),
  peers: endpointsOf('peers'),
  entries: endpointsOf('entries'),
  allow: endpointsOf('allow'),
};
/** A longer one is refused by the operation. */
const secretCharsMax = 2_001;
const formatCharsMax = 201;
const previewEndpoint = sessionForm(previewPath, 'confirmed operator', {
  limits: ['console'],
  backTo: consolePaths.lists,
  errors: ['invalid_parameter', 'overloaded'],
});
const peerPreviewEndpoint = sessionForm(peerPreviewPath, 'confirmed operator', {
  limits: ['console'],
  backTo: consolePaths.peers,
  errors: ['invalid_parameter', 'conflict', 'overloaded', 'store_unavailable'],
});
export const addressScreenEndpoints = [
  ...Object.values(sectionEndpoints).flatMap((one) => Object.values(one)),
  previewEndpoint,
  peerPreviewEndpoint,
];
export interface AddressReads {
  readonly inbox: ConsoleInbox;
  readonly removals: { list(): Promise<readonly WaitingRemoval[]> };
  /** Oldest first. */
  readonly anonymousReports: { list(): Promise<readonly WaitingAnonymousReport[]> };
  readonly lists: {
    list(): Promise<readonly FetchedList[]>;
    /** Returns the lists that no source fetches, the last loaded first. */
    loaded(): Promise<readonly LoadedList[]>;
    /** Counts the rows that block, by the name of a list of bad addresses. */
    blocking(): Promise<ReadonlyMap<string, number>>;
    readonly offers: readonly OfferedListFacts[];
  };
  readonly feeds: {
    list(): Promise<readonly ShownFeed[]>;
    readonly most: number;
    /** Returns the names of the lists that a feed may be of. */
    lists(): readonly string[];
  };
  readonly peers: {
    list(): Promise<readonly ShownPeer[]>;
    /** Counts those that are held; undefined where this server has no peer and publishes nothing. */
    waiting(): Promise<number | undefined>;
  };
  readonly entries: {
    /** @param part of the range or of the note, or an address in the range; empty: all */
    list(part: string): Promise<readonly ShownEntry[]>;
  };
  readonly allowlist: { list(): Promise<readonly AllowedRange[]> };
}

/** Cards of one page: each reads a few rows of the store. */
const cardsPerPage = 20;

function pageOf<T>(rows: readonly T[], query: Params) {
  const asked = Number(query.get('page') ?? '1');
  const isThere = Number.isInteger(asked) && asked > 0 && (asked - 1) * cardsPerPage < rows.length;
  const page = isThere ? asked : 1;
  return {
    rows: rows.slice((page - 1) * cardsPerPage, page * cardsPerPage),
    all: rows.length,
    next: page * cardsPerPage < rows.length ? page + 1 : undefined,
  };
}

export function addressScreens(parts: PartsWithInbox, reads: AddressReads): PlainRoute[] {
  const { pageBuilder } = parts;

  function screen<Shown extends object>(
    { show, change }: ReturnType<typeof endpointsOf>,
    acts: SectionActs,
    page: (frame: PageFrame, view: ConsoleView & Shown) => string,
    read: (query: Params) => Promise<Shown>,
    again?: (context: OperatorRequest, form: Params) => Promise<Reply>,
    prepare?: (form: Params, does: string) => PreparedChange,
  ): PlainRoute[] {
    async function shown(context: OperatorRequest, query: Params): Promise<Reply> {
      const view = { ...(await viewOf(parts, context, query)), ...(await read(query)) };
      return pageBuilder.show(context, (frame) => page(frame, view));
    }
    return [
      pageBuilder.page(show, shown),
      pageBuilder.form(
        change,
        changeForm(parts, acts, again ?? shown, async (_, form, does) =>
          ok(prepare?.(form, does) ?? {}),
        ),
      ),
    ];
  }

  async function readLists() {
    const [lists, loaded, blocking] = await Promise.all([
      reads.lists.list(),
      reads.lists.loaded(),
      reads.lists.blocking(),
    ]);
    return { lists, loaded, blocking, offers: reads.lists.offers };
  }

  /** POST /admin/lists/preview, and the same page once more where its list was refused. */
  async function preview(context: OperatorRequest, form: Params): Promise<Reply> {
    const url = plainPasted(form.get('url') ?? '').slice(0, 2_000);
    const asked = {
      user: `account ${context.session.accountId}`,
      address: context.request.clientIp,
    };
    const typedIn = (names: readonly string[], most: number) =>
      names.flatMap((name) => {
        const value = (form.get(name) ?? '').slice(0, most);
        return value === '' ? [] : [[name, value] as const];
      });
    const typed = typedIn(['header', 'user'], secretCharsMax);
    const how = Object.fromEntries(typedIn(['format', 'path'], formatCharsMax));
    const fields = { url, ...how, ...Object.fromEntries(typed) };
    const { format = '', path = '' } = how;
    const given = { url, format, path, asks: typed.length > 0 };
    const read = await parts.operations.ask({ act: 'source preview', fields, ...asked });
    const preview: ShownPreview = read.ok
      ? { ...given, found: { ...(read.value as PreviewFacts), source: listNameOf(url) } }
      : {
          ...given,
          failure: {
            sentence: failureSentence(read, context.language),
            field: (['format', 'path'] as const).find((one) => one === read.parameter) ?? 'url',
          },
        };
    const view = {
      ...(await viewOf(parts, context, form)),
      ...(await readLists()),
      preview,
    };
    const status = context.refused === undefined ? { status: read.ok ? 200 : 422 } : {};
    return pageBuilder.show(context, (frame) => listsPage(frame, view), status);
  }

  async function listsAgain(context: OperatorRequest, form: Params): Promise<Reply> {
    if (form.has('url')) return preview(context, form);
    const view = { ...(await viewOf(parts, context, form)), ...(await readLists()) };
    return pageBuilder.show(context, (frame) => listsPage(frame, view));
  }

  const peerIn = (query: Params) => plainPasted(query.get('peer') ?? '').slice(0, 260);

  async function readPeers(query: Params): Promise<Pick<PeersView, 'peers' | 'peer' | 'figures'>> {
    const peer = peerIn(query);
    const peers = await reads.peers.list();
    if (!peers.some(({ name }) => name === peer)) return { peers, peer };
    // The command shows the same.
    const shown = { act: 'peer show', fields: { peer }, user: '', address: '' };
    const read = await parts.operations.ask(shown);
    const { figures } = (read.ok ? read.value : {}) as { figures?: PeersView['figures'] | null };
    return { peers, peer, figures: figures ?? undefined };
  }

  /** POST /admin/peers/preview, and the same page once more where the peer was refused. */
  async function previewPeer(context: OperatorRequest, form: Params): Promise<Reply> {
    const typed = Object.fromEntries(
      Object.entries(peerFields).map(([name, most]) => [
        name,
        plainPasted(form.get(name) ?? '').slice(0, most),
      ]),
    ) as PeerPreview['typed'];
    const read = await parts.operations.ask({
      act: 'peer add',
      fields: typed,
      user: `account ${context.session.accountId}`,
      address: context.request.clientIp,
    });
    const preview: PeerPreview = read.ok
      ? { typed, found: read.value as NonNullable<PeerPreview['found']> }
      : {
          typed,
          failure: failureSentence(read, context.language),
          field:
            read.parameter !== undefined && read.parameter in peerFields ? read.parameter : 'url',
        };
    const view = {
      ...(await viewOf(parts, context, form)),
      peers: await reads.peers.list(),
      peer: '',
      preview,
    };
    const status = context.refused === undefined ? { status: read.ok ? 200 : 422 } : {};
    return pageBuilder.show(context, (frame) => peersPage(frame, view), status);
  }

  async function peersAgain(context: OperatorRequest, form: Params): Promise<Reply> {
    if (form.has('url')) return previewPeer(context, form);
    const view = { ...(await viewOf(parts, context, form)), ...(await readPeers(form)) };
    return pageBuilder.show(context, (frame) => peersPage(frame, view));
  }

  return [
    ...screen(sectionEndpoints.removals, removalActs, removalsPage, async (query) => {
      const { rows, ...shown } = pageOf(await reads.removals.list(), query);
      return { removals: await withFacts(reads.inbox, rows), ...shown };
    }),
    ...screen(sectionEndpoints.tips, anonymousReportActs, anonymousReportsPage, async (query) => {
      const { rows, ...shown } = pageOf(await reads.anonymousReports.list(), query);
      return { anonymousReports: await withFacts(reads.inbox, rows), ...shown };
    }),
    ...screen(sectionEndpoints.lists, listActs, listsPage, readLists, listsAgain),
    pageBuilder.form(previewEndpoint, preview),
    ...screen(sectionEndpoints.feeds, feedActs, feedsPage, async () => {
      const { most, lists } = reads.feeds;
      return { feeds: await reads.feeds.list(), most, lists: lists() };
    }),
    ...screen(sectionEndpoints.peers, peerActs, peersPage, readPeers, peersAgain, (form, does) => {
      if (does === 'remove') return {};
      // The key begins with the name, under which the page is and which the status line says.
      const name = does === 'add' ? (form.get('key') ?? '').split('+', 1)[0]!.trim() : peerIn(form);
      const back = `${consolePaths.peers}?peer=${encodeURIComponent(name.slice(0, 260))}`;
      if (does === 'add') return { fields: { name }, back };
      // The field begins with the owner that there is: who empties it means nobody.
      return does === 'set' && form.get('owner')?.trim() === ''
        ? { fields: { owner: '-' }, back }
        : { back };
    }),
    pageBuilder.form(peerPreviewEndpoint, previewPeer),
    ...screen(sectionEndpoints.entries, entryActs, entriesPage, async (query) => {
      const part = plainPasted(query.get('part') ?? '').slice(0, 200);
      return { part, entries: await reads.entries.list(part) };
    }),
    ...screen(sectionEndpoints.allow, allowActs, allowPage, async () => ({
      ranges: await reads.allowlist.list(),
    })),
  ];
}

// The operator's bar on the public page of an address, and POST /admin/ip/:address, which its buttons ask for.

export const addressBarEndpoint = consoleChange('inbox', {
  path: addressActsPath(':address'),
  backTo: '/ip/:address',
});

/** Shows the page of the address that the request names, with the bar. */
export type ShowAddress = (context: OperatorRequest, form: Params) => Promise<Reply>;

/** Returns the bar of an address for who may use it. */
export type OperatorBar = (
  context: AnyRequestContext<OperatorSession>,
  query: Params,
  address: string,
) => Promise<Html | undefined>;

export function openAddressBar(
  parts: ConsoleParts,
  { barOf }: Pick<ConsoleInbox, 'barOf'>,
  showAddress: ShowAddress,
): { readonly route: PlainRoute; readonly barOf: OperatorBar } {
  const { pageBuilder } = parts;

  const addressOf = ({ request }: OperatorRequest) => canonicalIp(request.param);

  const change = changeForm(parts, addressActs, showAddress, async (context) => {
    const address = addressOf(context);
    if (address === undefined) return fail('invalid_parameter');
    return ok({ fields: { prefix: address, address }, back: `/ip/${address}` });
  });
  return {
    route: pageBuilder.form(addressBarEndpoint, change),
    async barOf(context, query, address) {
      const { session } = context;
      const refusal = await pageBuilder.refusalOf(context, 'signed-in operator');
      if (session === undefined || refusal !== undefined) return undefined;
      const view = await viewOf(parts, { ...context, session }, query);
      return addressBar(context.frame, view, await barOf(address));
    },
  };
}

// GET /admin/reports and its change: reports of an address or of an account, and taking them back.

export const reportScreenEndpoints = {
  show: consoleScreen('/admin/reports'),
  change: consoleChange('reports'),
};

/** A page begins at a cursor that a page beside it gave; without one it is the first. */
interface ReportCursor {
  readonly after?: string | undefined;
  readonly newer?: string | undefined;
}

export interface ConsoleReports {
  /** Returns a page of all reports. `invalid_parameter` for a cursor that no page gave. */
  newest(at: ReportCursor, limit: number): Promise<Result<ReportPage>>;
  /** Does the same for an address; undefined for any other text. */
  ofAddress(text: string, at: ReportCursor, limit: number): Promise<Result<ReportPage> | undefined>;
  /**
   * Does the same for an account. `unknown_account`
   * @param name mail address or id
   */
  ofReporter(
    name: string,
    after: string | undefined,
  ): Promise<Result<ReportPage & { readonly by: ReporterFacts }>>;
}

const reportsPerPage = 15;

export function reportScreens(
  parts: ConsoleParts,
  { reports, names }: { readonly reports: ConsoleReports; readonly names: ConsoleNames },
): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = reportScreenEndpoints;

  function read(
    find: string,
    cursor: ReportCursor,
  ): Promise<Result<ReportPage & { readonly by?: ReporterFacts }> | undefined> {
    return find === ''
      ? reports.newest(cursor, reportsPerPage)
      : reports.ofAddress(find, cursor, reportsPerPage);
  }

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const find = plainAddress(query.get('find') ?? '').slice(0, 320);
    const cursor = { after: query.get('after'), newer: query.get('newer') };
    const page = (await read(find, cursor)) ?? (await reports.ofReporter(find, cursor.after));
    if (!page.ok && page.error !== 'unknown_account') return pageBuilder.problem(context, page);
    const shown = page.ok ? page.value : undefined;
    const view = {
      ...(await viewOf(parts, context, query)),
      find,
      page: shown,
      by: shown?.by,
      isLater: shown?.newer !== undefined || (shown?.by && cursor.after) !== undefined,
      emails: await emailsOf(names, shown?.reports.map(({ account }) => account) ?? []),
    };
    return pageBuilder.show(context, (frame) => reportsPage(frame, view));
  }

  const change = changeForm(parts, reportActs, show, async (_, form, does) => {
    const id = form.get('id') ?? '';
    if (does !== 'retract-all') return ok({});
    if (!isAccountId(id)) return fail('invalid_parameter');
    return ok({ back: `/admin/reports?find=${id}` });
  });

  return [pageBuilder.page(at.show, show), pageBuilder.form(at.change, change)];
}
