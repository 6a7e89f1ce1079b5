/** /account/data: the copy of everything, and the deletion, both after a fresh proof of identity. */

import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { dataPage, deletedPage, type OwnDataView } from '../../pages/account/data.ts';
import { frameText } from '../../pages/layout.ts';
import { jsonType, noStore } from '../problem.ts';
import type { OwnVisit, Space, ViewChange } from './space.ts';

const wordCharsMax = 40;

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
    const gone = await signon.erasures.begin(session.accountId);
    if (!gone.ok) return space.refuse(visit, 'data', gone);
    await space.settle();
    return desk.signedOut(visit, '/goodbye');
  }

  return [
    desk.page('/account/data', 'verified', (visit, query) => show(visit, { query })),
    desk.form('/account/export', 'verified', space.freshly('data', download)),
    desk.form('/account/delete', 'verified', space.freshly('data', remove)),
    desk.page('/goodbye', 'anyone', (visit) => desk.show(visit, deletedPage)),
  ];
}
