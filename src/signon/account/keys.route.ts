/** /account/keys: API keys and site keys of the person, by id only among their own. */

import { hostsMax, normaliseHost } from '../../access/keys/site-keys.ts';
import { quotaKind } from '../../access/quota/quota.ts';
import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import { frameText } from '../words/words.ts';
import type { AccountArea, AccountRequest, ViewChange } from './account-area.route.ts';
import { type KeysPage, namedKeyRoutes, namedKeysOf } from './named-keys.route.ts';
import { type KeysView, keysPage, type QuotaStanding, surePage } from './pages/keys.page.tsx';
import { offeredScopes } from './pages/named-keys.page.tsx';

const hostsCharsMax = hostsMax * 260;
const hostCharsShown = 80;

const backTo = '/account/keys';

export const keyEndpoints = {
  show: sessionPage('/account/keys', 'verified', { errors: ['store_unavailable'] }),
  create: sessionForm('/account/keys/create', 'confirmed', {
    backTo,
    errors: ['too_many_attempts', 'conflict', 'unknown_account', 'capacity_exceeded'],
  }),
  reveal: sessionForm('/account/keys/reveal', 'confirmed', {
    backTo,
    errors: ['unknown_account', 'unknown_key'],
  }),
  revoke: sessionForm('/account/keys/revoke', 'confirmed', {
    backTo,
    errors: ['unknown_account', 'unknown_key'],
  }),
  createSiteKey: sessionForm('/account/site-keys/create', 'verified', {
    backTo: '/account/keys',
    errors: ['invalid_parameter', 'conflict', 'unknown_account'],
  }),
  revokeSiteKey: sessionForm('/account/site-keys/revoke', 'verified', {
    backTo: '/account/keys',
    errors: ['unknown_key'],
  }),
};

export function keyRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, ownKeys, siteKeys, usage, gate, signon } = area;

  function standingOf(accountId: string): QuotaStanding | undefined {
    const known = area.standingOf(accountId);
    if (known === undefined) return undefined;
    const { slot, trust } = known;
    // A cost of 0 only reads the quota.
    gate.spend(slot, quotaKind.read, 0);
    const { limit: readPerMinute, remaining: readsLeft } = gate.quotas;
    gate.spend(slot, quotaKind.write, 0);
    const { limit: writePerMinute, remaining: writesLeft } = gate.quotas;
    return { trust, readPerMinute, readsLeft, writePerMinute, writesLeft };
  }

  async function show(
    context: AccountRequest,
    change: ViewChange & { readonly status?: number } = {},
    shown: Partial<
      Pick<KeysView, 'shown' | 'typed' | 'wantedScope' | 'typedHosts' | 'hostsError'>
    > = {},
  ): Promise<Reply> {
    const { accountId, fresh } = context.session;
    const slot = area.standingOf(accountId)?.slot;
    const view: KeysView = {
      ...(await area.viewOf(context, change)),
      fresh,
      keys: await ownKeys.list(accountId),
      ...(await namedKeysOf(area, accountId)),
      standing: standingOf(accountId),
      usage: slot === undefined ? [] : usage.of(slot),
      usageSince: usage.since,
      siteKeys: await siteKeys.ofAccount(accountId),
      hostsError: undefined,
      ...shown,
    };
    return pageBuilder.show(context, (frame) => keysPage(frame, view), {
      status: change.status ?? 200,
    });
  }

  async function create(context: AccountRequest): Promise<Reply> {
    const tooOften = signon.changes.count(context.session.accountId);
    if (tooOften !== undefined) return area.refuse(context, 'keys', tooOften);
    const changed = await area.change(context, 'api_key_made');
    const also = { check: () => area.stands(context), set: changed.set };
    const made = await ownKeys.create(context.session.accountId, also);
    if (!made.ok && made.error === 'conflict') {
      return show(context, { status: 409, failed: frameText(context.frame).account.keys.two });
    }
    if (!made.ok) return area.refuse(context, 'keys', made);
    await changed.done();
    await area.catchUp();
    return show(context, {}, { shown: made.value });
  }

  async function reveal(context: AccountRequest, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const text = await ownKeys.reveal(context.session.accountId, id);
    if (!text.ok) return area.refuse(context, 'keys', text);
    return show(context, {}, { shown: { id, text: text.value } });
  }

  /** Asks before an act that ends a key. */
  function ask(context: AccountRequest, action: string, id: string): Reply {
    return pageBuilder.show(context, (frame) =>
      surePage(frame, { csrf: context.csrf, action, id }),
    );
  }

  async function revoke(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const isOwn = (await ownKeys.list(accountId)).some((key) => key.id === id);
    if (isOwn && form.get('sure') !== 'yes') return ask(context, '/account/keys/revoke', id);
    const changed = await area.change(context, 'api_key_revoked');
    const gone = await ownKeys.revoke(accountId, id, changed.set);
    if (!gone.ok) return area.refuse(context, 'keys', gone);
    await changed.done();
    await area.catchUp();
    return area.back(context, 'keys', 'key_revoked');
  }

  async function createSiteKey(context: AccountRequest, form: Params): Promise<Reply> {
    const typedHosts = (form.get('hosts') ?? '').slice(0, hostsCharsMax + 1);
    const hosts = typedHosts.split(/[\s,]+/).filter((host) => host !== '');
    const tooLong = typedHosts.length > hostsCharsMax;
    const made = tooLong
      ? fail('invalid_parameter')
      : await siteKeys.create(context.session.accountId, hosts);
    if (made.ok) return area.back(context, 'keys', 'site_key_made');
    const text = frameText(context.frame).account.failed;
    if (made.error === 'conflict') return show(context, { status: 409, failed: text.conflict });
    if (made.error !== 'invalid_parameter') return area.refuse(context, 'keys', made);
    const place = hosts.findIndex((host) => normaliseHost(host) === undefined);
    const hostsError = { place: place + 1, host: hosts[place]?.slice(0, hostCharsShown) ?? '' };
    return show(context, { status: 422, failed: text.form }, { typedHosts, hostsError });
  }

  async function revokeSiteKey(context: AccountRequest, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const found = await siteKeys.find(id);
    const isOwn = found?.account === context.session.accountId;
    if (isOwn && form.get('sure') !== 'yes') return ask(context, '/account/site-keys/revoke', id);
    const gone = isOwn ? await siteKeys.revoke(id) : fail('unknown_key');
    if (!gone.ok) return area.refuse(context, 'keys', gone);
    return area.back(context, 'keys', 'site_key_revoked');
  }

  const page: KeysPage = {
    show,
    ask,
    wrongForm: (context) => frameText(context.frame).account.failed.form,
  };
  return [
    ...namedKeyRoutes(area, page),
    pageBuilder.page(keyEndpoints.show, (context, query) => {
      const wantedScope = offeredScopes.find((scope) => scope === query.get('scope'));
      return show(context, { query }, { wantedScope });
    }),
    pageBuilder.form(keyEndpoints.create, create),
    pageBuilder.form(keyEndpoints.reveal, reveal),
    pageBuilder.form(keyEndpoints.revoke, revoke),
    pageBuilder.form(keyEndpoints.createSiteKey, createSiteKey),
    pageBuilder.form(keyEndpoints.revokeSiteKey, revokeSiteKey),
  ];
}
