/** /account/webhooks: the addresses that get an event when a watched address or network is listed, and its delivery. */

import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { frameText } from '../words/words.ts';
import { type WebhooksView, webhooksPage } from './pages/webhooks.page.ts';
import type { OwnVisit, Space, ViewChange } from './space.route.ts';

export const webhookEndpoints = {
  show: deskPage('/account/webhooks', 'verified', { errors: ['store_unavailable'] }),
  create: deskForm('/account/webhooks/create', 'confirmed', {
    backTo: '/account/webhooks',
    errors: ['invalid_parameter', 'too_many_attempts', 'capacity_exceeded', 'unknown_account'],
  }),
  test: deskForm('/account/webhooks/test', 'verified', {
    errors: ['not_found', 'too_many_attempts'],
  }),
  remove: deskForm('/account/webhooks/remove', 'verified', { errors: ['not_found'] }),
};

/** Typed text is shown again up to this length. */
const typedCharsMax = 2_000;

export function webhookRoutes(space: Space): PlainRoute[] {
  const { desk, webhooks, signon } = space;

  async function show(
    visit: OwnVisit,
    change: ViewChange & { readonly status?: number } = {},
    shown: Pick<WebhooksView, 'secret' | 'typed'> = {},
  ): Promise<Reply> {
    const { accountId, fresh } = visit.session;
    const hooks = await webhooks.list(accountId);
    const isFull = hooks.length >= webhooks.perAccountMax;
    const view = { ...(await space.viewOf(visit, change)), fresh, hooks, isFull, ...shown };
    const status = change.status ?? 200;
    return desk.show(visit, (frame) => webhooksPage(frame, view), { status });
  }

  async function create(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const tooOften = signon.changes.count(accountId);
    if (tooOften !== undefined) return space.refuse(visit, 'webhooks', tooOften);
    const typed = {
      url: (form.get('url') ?? '').trim().slice(0, typedCharsMax),
      watches: (form.get('watches') ?? '').slice(0, typedCharsMax),
      threshold: (form.get('threshold') ?? '').slice(0, 10),
    };
    const told = await space.change(visit, 'webhook_made');
    const wanted = {
      url: typed.url,
      threshold: /^\d{1,3}$/.test(typed.threshold) ? Number(typed.threshold) : 0,
      watches: typed.watches.split(/[\s,]+/).filter((text) => text !== ''),
    };
    const also = { check: () => space.stands(visit), set: told.set };
    const made = await webhooks.create(accountId, wanted, also);
    if (made.ok) {
      await told.done();
      return show(visit, {}, { secret: made.value.secret });
    }
    if (made.error !== 'invalid_parameter') return space.refuse(visit, 'webhooks', made);
    const failed = frameText(visit.frame).account.failed.form;
    return show(visit, { status: 422, failed }, { typed: { ...typed, fault: made.parameter } });
  }

  async function test(visit: OwnVisit, form: Params): Promise<Reply> {
    const done = await webhooks.test(visit.session.accountId, form.get('id') ?? '');
    if (!done.ok) return space.refuse(visit, 'webhooks', done);
    return space.back(visit, 'webhooks', 'webhook_tested');
  }

  async function remove(visit: OwnVisit, form: Params): Promise<Reply> {
    const told = await space.change(visit, 'webhook_removed');
    const { accountId } = visit.session;
    const done = await webhooks.remove(accountId, form.get('id') ?? '', told.set);
    if (!done.ok) return space.refuse(visit, 'webhooks', done);
    await told.done();
    return space.back(visit, 'webhooks', 'webhook_removed');
  }

  return [
    desk.page(webhookEndpoints.show, (visit, query) => show(visit, { query })),
    desk.form(webhookEndpoints.create, create),
    desk.form(webhookEndpoints.test, test),
    desk.form(webhookEndpoints.remove, remove),
  ];
}
