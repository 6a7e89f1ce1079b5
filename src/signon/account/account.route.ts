/**
 * The account pages' common part: their dependencies, the visitor's profile, and the replies that
 * show a page or lead back to it; and the routes of three small ones: reports, connected sites, the
 * person's data. Every route here is for verified accounts; the page builder redirects others.
 */

import type { ApiKeys } from '../../access/keys/api-keys.ts';
import type { SiteKeys } from '../../access/keys/site-keys.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { Usage } from '../../access/quota/usage.ts';
import type { Clock } from '../../core/clock.ts';
import { statusOf } from '../../core/errors.ts';
import type { Language } from '../../core/language.ts';
import { type Failure, fail, type Result } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { CommitAddition } from '../../storage/change.ts';
import type { SetRow } from '../../storage/store.ts';
import type { Callers } from '../../web/guard/callers.ts';
import { sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import type { ShowOptions } from '../../web/guard/page-builder.ts';
import type { PageFrame } from '../../web/layout/layout.tsx';
import { doneIn, doneTag } from '../../web/page-tools.ts';
import { jsonReply } from '../../web/shape.ts';
import type { Signon } from '../open-signon.ts';
import type { Avatars } from '../people/profile/avatars.ts';
import type { Profiles } from '../people/profile/profile-store.ts';
import type { Review } from '../people/review.ts';
import type { Onwards, PageBuilder, RequestContext } from '../sessions/onward.route.ts';
import { failureText, gonePage } from '../sessions/parts.page.tsx';
import type { ChangeEvent } from '../sessions/security-log.ts';
import type { Renewal, Session } from '../sessions/sessions.ts';
import type { Consents } from '../sites/consents.ts';
import { frameText } from '../words.ts';
import {
  type AccountReportLine,
  type AccountSection,
  type AccountView,
  confirmActionPage,
  type DoneName,
  dataPage,
  deletedPage,
  isDoneName,
  reportsPage,
  sectionPaths,
  sitesPage,
} from './account.page.tsx';
import type { WebhookLine } from './webhooks.page.tsx';

/** The account's reports, which reputation keeps, as /account/reports shows and retracts them. */
interface AccountAreaReports {
  categoryNames(language: Language): readonly string[];
  /** Returns a page, newest first. @param after `next` of the page before */
  page(
    account: { readonly id: string; readonly createdAt: number },
    after?: string,
  ): Promise<
    Result<{ readonly reports: readonly AccountReportLine[]; readonly next: string | undefined }>
  >;
  /** Returns the address of the account's report; `undefined` also for a report of another account. */
  addressOf(account: string, id: string): Promise<string | undefined>;
  /**
   * Retracts all that the account reported of the report's address; it costs one write and no trust. Once it
   * resolves, the score of a check is without it. `not_found`, `quota_exceeded`.
   */
  retract(account: string, id: string): Promise<Result<void>>;
}

/** The account's webhooks, which reputation keeps, as /account/webhooks shows and changes them. */
interface AccountAreaWebhooks {
  list(account: string): Promise<readonly WebhookLine[]>;
  /**
   * Creates a webhook and returns its secret, the only time. `invalid_parameter` names the field: url,
   * threshold or watches.
   */
  create(
    account: string,
    wanted: {
      readonly url: string;
      readonly threshold: number;
      readonly watches: readonly string[];
    },
    also: CommitAddition,
  ): Promise<Result<{ readonly id: string; readonly secret: string }>>;
  remove(account: string, id: string, also: readonly SetRow[]): Promise<Result<void>>;
  /** Sends an event that only says that it is a test. */
  test(account: string, id: string): Promise<Result<void>>;
  readonly perAccountMax: number;
}

/** An account's slot and trust, from the journal. */
interface AccountStanding {
  readonly slot: number;
  /** 0 to 100. */
  readonly trust: number;
  /** The operator vouches for it. */
  readonly vouched: boolean;
}

/** Sign-on opens these itself. */
export interface AccountAreaParts {
  readonly signon: Signon;
  readonly profiles: Profiles;
  readonly avatars: Avatars;
  readonly consents: Consents;
  readonly apiKeys: ApiKeys;
  readonly siteKeys: SiteKeys;
  readonly review: Review;
}

/** These are opened after sign-on. */
export interface AccountAreaNeeds {
  readonly pageBuilder: PageBuilder;
  /** Resolves when the last uses of keys are known as they are, or were a few seconds ago. */
  readonly noteKeyUses: () => Promise<void>;
  readonly accountAreaReports: AccountAreaReports;
  readonly webhooks: AccountAreaWebhooks;
  readonly callers: Pick<Callers, 'takeOrWaitFor'>;
  readonly usage: Usage;
  readonly quotaGuard: QuotaGuard;
  /** Returns undefined until the journal's event of the account is applied. */
  readonly standingOf: (accountId: string) => AccountStanding | undefined;
  /** Resolves when what was committed before is in memory: a revoked key is refused from then on. */
  readonly catchUp: () => Promise<void>;
}

interface AccountAreaOptions extends AccountAreaParts, AccountAreaNeeds {
  readonly clock: Clock;
  readonly onwards: Onwards;
}

export type AccountRequest = RequestContext & { readonly session: Session };

export interface ViewChange {
  /** 200 when left out. */
  readonly status?: number;
  readonly query?: Params;
  readonly failure?: Failure;
  /** A sentence that replaces the failure's own. */
  readonly failed?: string;
}

/** Returns the path of the page that asks for a fresh proof of identity and then leads back to the section. */
export function confirmPath(section: AccountSection): string {
  return `/account/confirm?return=${encodeURIComponent(sectionPaths[section])}`;
}

export function createAccountArea(options: AccountAreaOptions) {
  const { pageBuilder, clock, profiles, signon } = options;

  /** Returns the profile; an account from before there were profiles gets one now. */
  async function profileOf({ accountId, email, verified }: Session) {
    const profile = await profiles.load(accountId);
    if (profile !== undefined) return profile;
    const made = await profiles.ensure(accountId, email, verified);
    return made.ok ? made.value : undefined;
  }

  async function viewOf(context: AccountRequest, change: ViewChange = {}): Promise<AccountView> {
    const text = frameText(context.frame).account;
    const now = clock.now();
    const done = doneIn(context.csrf, now, change.query?.get('done'));
    const { failure } = change;
    return {
      csrf: context.csrf,
      now,
      done: isDoneName(text, done) ? done : undefined,
      failed: change.failed ?? (failure && failureText(context.language, failure)),
    };
  }

  /**
   * Shows a page of the account.
   * @param own the values of the page besides those that every one has
   */
  async function show<V extends AccountView>(
    context: AccountRequest,
    change: ViewChange,
    page: (frame: PageFrame, view: V) => string,
    own: Omit<V, keyof AccountView>,
    needs: ShowOptions['needs'] = {},
  ): Promise<Reply> {
    const view = { ...(await viewOf(context, change)), ...own } as V;
    const { status = 200 } = change;
    return pageBuilder.show(context, (frame) => page(frame, view), { status, needs });
  }

  /** Answers a failure that concerns no field; a missing fresh proof leads to the page that asks for it. */
  function refuse(context: AccountRequest, section: AccountSection, failure: Failure): Reply {
    if (failure.error === 'reauthentication_required')
      return pageBuilder.go(context, confirmPath(section));
    const status = statusOf(failure.error);
    if (status !== 404) return pageBuilder.problem(context, failure);
    const render = (frame: PageFrame) => gonePage(frame, sectionPaths[section]);
    return pageBuilder.show(context, render, { status, failure });
  }

  /** Asks before what one press must not end. */
  function ask(
    context: AccountRequest,
    section: AccountSection,
    action: string,
    id: string,
    words: { title: string; text: string; submit: string; keep: string },
  ): Reply {
    const data = { csrf: context.csrf, section, action, id, ...words };
    return pageBuilder.show(context, (frame) => confirmActionPage(frame, data));
  }

  /**
   * Leads back to the page after a change; the page names the change.
   * @param renewed the session's new cookie, if the change brought one
   */
  async function back(
    context: AccountRequest,
    section: AccountSection,
    done: DoneName,
    renewed?: Renewal,
  ): Promise<Reply> {
    if (renewed === undefined) return pageBuilder.go(context, donePath(context, section, done));
    const { token, browser } = renewed;
    const known = browser === undefined ? [] : [pageBuilder.browserCookie(browser)];
    const after = await pageBuilder.renewed(context, token);
    return pageBuilder.go(after, donePath(after, section, done), known);
  }

  /** @param context the one after the change: the tag is valid in its session alone */
  function donePath(context: AccountRequest, section: AccountSection, done: DoneName): string {
    return `${sectionPaths[section]}?done=${doneTag(context.csrf, done, clock.now())}`;
  }

  /**
   * Returns the rows of the mails about a change that is made elsewhere than by `changes.make`: they go into the
   * commit of the change, and `done` is called after it.
   */
  async function change({ session, visitor }: AccountRequest, what: ChangeEvent) {
    // The account is read again for its addresses as they are now.
    const person = (await signon.people.byId(session.accountId)) ?? session.person;
    const { set, send } = signon.notices.about(person, what, visitor);
    return {
      set,
      send,
      async done() {
        send();
        await signon.securityLog.add(session.accountId, what, visitor);
      },
    };
  }

  return { ...options, profileOf, show, refuse, ask, back, donePath, change };
}

export type AccountArea = ReturnType<typeof createAccountArea>;

/** The longest domain name. */
const clientCharsMax = 253;

export const siteEndpoints = {
  show: sessionPage('/account/sites', 'verified', { errors: ['store_unavailable'] }),
  revoke: sessionForm('/account/sites/revoke', 'verified', { errors: ['not_found'] }),
};

export function siteRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, consents } = area;

  async function show(context: AccountRequest, query: Params): Promise<Reply> {
    const sites = await consents.list(context.session.accountId);
    return area.show(context, { query }, sitesPage, { sites });
  }

  async function revoke(context: AccountRequest, form: Params): Promise<Reply> {
    const client = form.get('client_id') ?? '';
    // Without a name the consents to all sites would be revoked.
    const named = client !== '' && client.length <= clientCharsMax;
    const done = named
      ? await consents.revoke(context.session.accountId, client)
      : fail('not_found');
    if (!done.ok) return area.refuse(context, 'sites', done);
    if (done.value === 0) return area.refuse(context, 'sites', fail('not_found'));
    return area.back(context, 'sites', 'site_revoked');
  }

  return [
    pageBuilder.page(siteEndpoints.show, show),
    pageBuilder.form(siteEndpoints.revoke, revoke),
  ];
}

const wordCharsMax = 40;

const backTo = '/account/data';

export const dataEndpoints = {
  show: sessionPage('/account/data', 'verified', { errors: ['store_unavailable'] }),
  download: sessionForm('/account/export', 'confirmed', { backTo, errors: ['unknown_account'] }),
  remove: sessionForm('/account/delete', 'confirmed', {
    backTo,
    errors: ['invalid_parameter', 'unknown_account', 'conflict'],
  }),
  gone: sessionPage('/goodbye', 'anyone'),
};

export function dataRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, signon } = area;

  async function show(
    context: AccountRequest,
    change: ViewChange,
    typed: { readonly typedWord?: string; readonly wordError?: boolean } = {},
  ): Promise<Reply> {
    return area.show(context, change, dataPage, { fresh: context.session.fresh, ...typed });
  }

  async function download(context: AccountRequest): Promise<Reply> {
    const copy = await signon.deletion.exportOf(context.session.accountId);
    if (!copy.ok) return area.refuse(context, 'data', copy);
    return jsonReply(`${JSON.stringify(copy.value, null, 2)}\n`, [
      ['Content-Disposition', 'attachment; filename="account.json"'],
      ['X-Content-Type-Options', 'nosniff'],
      ['Content-Security-Policy', "default-src 'none'; sandbox"],
    ]);
  }

  async function remove(context: AccountRequest, form: Params): Promise<Reply> {
    const { session } = context;
    const text = frameText(context.frame).account;
    const typedWord = (form.get('confirm') ?? '').slice(0, wordCharsMax);
    if (typedWord.trim().toLowerCase() !== text.data.deleteWord) {
      const shown = { typedWord, wordError: true };
      return show(context, { status: 422, failed: text.failed.form }, shown);
    }
    const gone = await signon.erasures.begin(session.accountId, { keepsOne: true });
    if (!gone.ok && gone.error === 'conflict') {
      return show(context, { status: 409, failed: text.data.lastOperator }, { typedWord });
    }
    if (!gone.ok) return area.refuse(context, 'data', gone);
    await area.catchUp();
    return pageBuilder.signedOut(context, '/goodbye');
  }

  return [
    pageBuilder.page(dataEndpoints.show, (context, query) => show(context, { query })),
    pageBuilder.form(dataEndpoints.download, download),
    pageBuilder.form(dataEndpoints.remove, remove),
    pageBuilder.page(dataEndpoints.gone, (context) => pageBuilder.show(context, deletedPage)),
  ];
}

export const reportsEndpoints = {
  show: sessionPage('/account/reports', 'verified', {
    errors: ['invalid_parameter', 'overloaded', 'store_unavailable'],
  }),
  takeBack: sessionForm('/account/reports/take-back', 'verified', {
    errors: ['not_found', 'quota_exceeded', 'overloaded'],
  }),
};

export function reportsRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, accountAreaReports } = area;

  async function show(context: AccountRequest, query: Params): Promise<Reply> {
    const { accountId, person } = context.session;
    const after = query.get('after');
    const { createdAt } = person.account;
    const found = await accountAreaReports.page({ id: accountId, createdAt }, after);
    if (!found.ok) return area.refuse(context, 'reports', found);
    const isFirst = after === undefined;
    const categoryNames = accountAreaReports.categoryNames(context.language);
    const own = { ...found.value, categoryNames, isFirst };
    return area.show(context, { query }, reportsPage, own);
  }

  async function takeBack(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const address = await accountAreaReports.addressOf(accountId, id);
    if (address === undefined) return area.refuse(context, 'reports', fail('not_found'));
    if (form.get('sure') !== 'yes') {
      const { sureTitle, sureText, takeBack, keep } = frameText(context.frame).automation.reports;
      const words = { title: sureTitle, text: sureText(address), submit: takeBack, keep };
      return area.ask(context, 'reports', '/account/reports/take-back', id, words);
    }
    const done = await accountAreaReports.retract(accountId, id);
    if (!done.ok) return area.refuse(context, 'reports', done);
    return area.back(context, 'reports', 'report_taken_back');
  }

  return [
    pageBuilder.page(reportsEndpoints.show, show),
    pageBuilder.form(reportsEndpoints.takeBack, takeBack),
  ];
}
