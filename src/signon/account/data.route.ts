/** /account/data: the copy of everything, and the deletion, both after a fresh proof of identity. */

import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { frameText } from '../words/words.ts';
import type { AccountArea, AccountRequest, ViewChange } from './account-area.route.ts';
import { dataPage, deletedPage, type OwnDataView } from './pages/data.page.tsx';

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
