/** All routes of a person's account pages, and those of three small ones: reports, connected sites, the person's data. */

import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import type { PageTools } from '../../web/page-tools.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { frameText } from '../words.ts';
import {
  type AccountArea,
  type AccountAreaOptions,
  type AccountRequest,
  createAccountArea,
  type ViewChange,
} from './account-area.route.ts';
import { confirmRoutes, reviewRoutes } from './confirm.route.ts';
import { keyRoutes } from './keys.route.ts';
import { avatarRoutes, profileRoutes } from './profile.route.ts';
import { reportsPage, takeBackPage } from './reports.page.tsx';
import { securityRoutes } from './security.route.ts';
import { dataPage, deletedPage, type OwnDataView, sitesPage } from './sites.page.tsx';
import { webhookRoutes } from './webhooks.route.ts';

export type AccountRoutesOptions = AccountAreaOptions & { readonly tools: PageTools };

export function accountRoutes(options: AccountRoutesOptions): PlainRoute[] {
  const area = createAccountArea(options);
  return [
    ...profileRoutes(area),
    ...avatarRoutes(area, options.tools),
    ...keyRoutes(area),
    ...reportsRoutes(area),
    ...webhookRoutes(area),
    ...securityRoutes(area),
    ...siteRoutes(area),
    ...dataRoutes(area),
    ...confirmRoutes(area),
    ...reviewRoutes(area),
  ];
}

/** The longest domain name. */
const clientCharsMax = 253;

export const siteEndpoints = {
  show: sessionPage('/account/sites', 'verified', { errors: ['store_unavailable'] }),
  revoke: sessionForm('/account/sites/revoke', 'verified', { errors: ['not_found'] }),
};

function siteRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, consents } = area;

  async function show(context: AccountRequest, query: Params): Promise<Reply> {
    const sites = await consents.list(context.session.accountId);
    const view = { ...(await area.viewOf(context, { query })), sites };
    return pageBuilder.show(context, (frame) => sitesPage(frame, view));
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

function dataRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, signon } = area;

  async function show(
    context: AccountRequest,
    change: ViewChange & { readonly status?: number },
    shown: Partial<OwnDataView> = {},
  ): Promise<Reply> {
    const own = { fresh: context.session.fresh, wordError: false };
    const view = { ...(await area.viewOf(context, change)), ...own, ...shown };
    return pageBuilder.show(context, (frame) => dataPage(frame, view), {
      status: change.status ?? 200,
    });
  }

  async function download(context: AccountRequest): Promise<Reply> {
    const copy = await signon.deletion.exportOf(context.session.accountId);
    if (!copy.ok) return area.refuse(context, 'data', copy);
    return {
      status: 200,
      headers: [
        jsonType,
        noStore,
        ['Content-Disposition', 'attachment; filename="account.json"'],
        ['X-Content-Type-Options', 'nosniff'],
        ['Content-Security-Policy', "default-src 'none'; sandbox"],
      ],
      body: `${JSON.stringify(copy.value, null, 2)}\n`,
    };
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

function reportsRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, ownReports } = area;

  async function show(context: AccountRequest, query: Params): Promise<Reply> {
    const { accountId, person } = context.session;
    const after = query.get('after');
    const { createdAt } = person.account;
    const found = await ownReports.page({ id: accountId, createdAt }, after);
    if (!found.ok) return area.refuse(context, 'reports', found);
    const isFirst = after === undefined;
    const categoryNames = ownReports.categoryNames(context.language);
    const shown = { ...found.value, categoryNames, isFirst };
    const view = { ...(await area.viewOf(context, { query })), ...shown };
    return pageBuilder.show(context, (frame) => reportsPage(frame, view));
  }

  async function takeBack(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const address = await ownReports.addressOf(accountId, id);
    if (address === undefined) return area.refuse(context, 'reports', fail('not_found'));
    if (form.get('sure') !== 'yes') {
      return pageBuilder.show(context, (frame) =>
        takeBackPage(frame, { csrf: context.csrf, id, address }),
      );
    }
    const done = await ownReports.retract(accountId, id);
    if (!done.ok) return area.refuse(context, 'reports', done);
    return area.back(context, 'reports', 'report_taken_back');
  }

  return [
    pageBuilder.page(reportsEndpoints.show, show),
    pageBuilder.form(reportsEndpoints.takeBack, takeBack),
  ];
}
