/** /account/data: the copy of everything, and the deletion, both after a fresh proof of identity. */

import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { frameText } from '../words/words.ts';
import { dataPage, deletedPage, type OwnDataView } from './pages/data.page.ts';
import type { OwnVisit, Space, ViewChange } from './space.route.ts';

const wordCharsMax = 40;

const backTo = '/account/data';

export const dataEndpoints = {
  show: deskPage('/account/data', 'verified', { errors: ['store_unavailable'] }),
  download: deskForm('/account/export', 'confirmed', { backTo, errors: ['unknown_account'] }),
  remove: deskForm('/account/delete', 'confirmed', {
    backTo,
    errors: ['invalid_parameter', 'unknown_account', 'conflict'],
  }),
  gone: deskPage('/goodbye', 'anyone'),
};

export function dataRoutes(space: Space): PlainRoute[] {
  const { desk, signon } = space;

  async function show(
    visit: OwnVisit,
    change: ViewChange & { readonly status?: number },
    shown: Partial<OwnDataView> = {},
  ): Promise<Reply> {
    const own = { fresh: visit.session.fresh, wordError: false };
    const view = { ...(await space.viewOf(visit, change)), ...own, ...shown };
    return desk.show(visit, (frame) => dataPage(frame, view), { status: change.status ?? 200 });
  }

  async function download(visit: OwnVisit): Promise<Reply> {
    const copy = await signon.deletion.exportOf(visit.session.accountId);
    if (!copy.ok) return space.refuse(visit, 'data', copy);
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

  async function remove(visit: OwnVisit, form: Params): Promise<Reply> {
    const { session } = visit;
    const text = frameText(visit.frame).account;
    const typedWord = (form.get('confirm') ?? '').slice(0, wordCharsMax);
    if (typedWord.trim().toLowerCase() !== text.data.deleteWord) {
      const shown = { typedWord, wordError: true };
      return show(visit, { status: 422, failed: text.failed.form }, shown);
    }
    const gone = await signon.erasures.begin(session.accountId, { keepsOne: true });
    if (!gone.ok && gone.error === 'conflict') {
      return show(visit, { status: 409, failed: text.data.lastOperator }, { typedWord });
    }
    if (!gone.ok) return space.refuse(visit, 'data', gone);
    await space.catchUp();
    return desk.signedOut(visit, '/goodbye');
  }

  return [
    desk.page(dataEndpoints.show, (visit, query) => show(visit, { query })),
    desk.form(dataEndpoints.download, download),
    desk.form(dataEndpoints.remove, remove),
    desk.page(dataEndpoints.gone, (visit) => desk.show(visit, deletedPage)),
  ];
}
