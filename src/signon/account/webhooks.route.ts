/**
 * /account/webhooks: the addresses that get an event when a watched address or network is listed, and its
 * delivery.
 */

import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { frameText } from '../words.ts';
import type { AccountArea, AccountRequest, ViewChange } from './account.route.ts';
import { type WebhooksView, webhooksPage } from './webhooks.page.tsx';

export const webhookEndpoints = {
  show: sessionPage('/account/webhooks', 'verified', { errors: ['store_unavailable'] }),
  create: sessionForm('/account/webhooks/create', 'confirmed', {
    backTo: '/account/webhooks',
    errors: ['invalid_parameter', 'too_many_attempts', 'capacity_exceeded', 'unknown_account'],
  }),
  test: sessionForm('/account/webhooks/test', 'verified', {
    errors: ['not_found', 'too_many_attempts'],
  }),
  remove: sessionForm('/account/webhooks/remove', 'verified', { errors: ['not_found'] }),
};

/** Typed text is shown again up to this length. */
const typedCharsMax = 2_000;

export function webhookRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, webhooks, signon } = area;

  async function show(
    context: AccountRequest,
    change: ViewChange = {},
    shown: Pick<WebhooksView, 'secret' | 'typed'> = {},
  ): Promise<Reply> {
    const { accountId, fresh } = context.session;
    const hooks = await webhooks.list(accountId);
    const isFull = hooks.length >= webhooks.perAccountMax;
    return area.show(context, change, webhooksPage, { fresh, hooks, isFull, ...shown });
  }

  async function create(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const typed = {
      url: (form.get('url') ?? '').trim().slice(0, typedCharsMax),
      watches: (form.get('watches') ?? '').slice(0, typedCharsMax),
      threshold: (form.get('threshold') ?? '').slice(0, 10),
    };
    const wanted = {
      url: typed.url,
      threshold: /^\d{1,3}$/.test(typed.threshold) ? Number(typed.threshold) : 0,
      watches: typed.watches.split(/[\s,]+/).filter((text) => text !== ''),
    };
    const made = await signon.changes.makeOwn(
      context,
      'webhook_made',
      (also) => webhooks.create(accountId, wanted, also),
      // Its host was looked up.
      ({ parameter, detail }) => parameter === 'url' && detail !== undefined,
    );
    if (made.ok) return show(context, {}, { secret: made.value.secret });
    const text = frameText(context.frame);
    const held = await webhooks.list(accountId);
    if (made.error === 'capacity_exceeded' && held.length >= webhooks.perAccountMax) {
      return show(context, { status: 409, failed: text.automation.webhooks.full });
    }
    if (made.error !== 'invalid_parameter') return area.refuse(context, 'webhooks', made);
    const failed = text.account.failed.form;
    return show(context, { status: 422, failed }, { typed: { ...typed, fault: made.parameter } });
  }

  async function test(context: AccountRequest, form: Params): Promise<Reply> {
    const done = await webhooks.test(context.session.accountId, form.get('id') ?? '');
    if (!done.ok) return area.refuse(context, 'webhooks', done);
    return area.back(context, 'webhooks', 'webhook_tested');
  }

  async function remove(context: AccountRequest, form: Params): Promise<Reply> {
    const changed = await area.change(context, 'webhook_removed');
    const { accountId } = context.session;
    const done = await webhooks.remove(accountId, form.get('id') ?? '', changed.set);
    if (!done.ok) return area.refuse(context, 'webhooks', done);
    await changed.done();
    return area.back(context, 'webhooks', 'webhook_removed');
  }

  return [
    pageBuilder.page(webhookEndpoints.show, (context, query) => show(context, { query })),
    pageBuilder.form(webhookEndpoints.create, create),
    pageBuilder.form(webhookEndpoints.test, test),
    pageBuilder.form(webhookEndpoints.remove, remove),
  ];
}
