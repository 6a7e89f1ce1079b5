/** /account/keys: API keys and site keys of the person, by id only among their own. */

import { hostsMax } from '../../access/keys/site-keys.ts';
import { quotaKind } from '../../access/quota/quota.ts';
import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { frameText } from '../words/words.ts';
import { type KeysPage, namedKeyRoutes, namedKeysOf } from './named-keys.route.ts';
import { type KeysView, keysPage, type QuotaStanding, surePage } from './pages/keys.page.ts';
import { offeredScopes } from './pages/named-keys.page.ts';
import type { OwnVisit, Space, ViewChange } from './space.route.ts';

const hostsCharsMax = hostsMax * 260;

const backTo = '/account/keys';

export const keyEndpoints = {
  show: deskPage('/account/keys', 'verified', { errors: ['store_unavailable'] }),
  create: deskForm('/account/keys/create', 'confirmed', {
    backTo,
    errors: ['too_many_attempts', 'conflict', 'unknown_account', 'capacity_exceeded'],
  }),
  reveal: deskForm('/account/keys/reveal', 'confirmed', {
    backTo,
    errors: ['unknown_account', 'unknown_key'],
  }),
  revoke: deskForm('/account/keys/revoke', 'confirmed', {
    backTo,
    errors: ['unknown_account', 'unknown_key'],
  }),
  createSiteKey: deskForm('/account/site-keys/create', 'verified', {
    backTo: '/account/keys',
    errors: ['invalid_parameter', 'conflict', 'unknown_account'],
  }),
  revokeSiteKey: deskForm('/account/site-keys/revoke', 'verified', {
    backTo: '/account/keys',
    errors: ['unknown_key'],
  }),
};

export function keyRoutes(space: Space): PlainRoute[] {
  const { desk, ownKeys, siteKeys, usage, gate, signon } = space;

  function standingOf(accountId: string): QuotaStanding | undefined {
    const known = space.standingOf(accountId);
    if (known === undefined) return undefined;
    const { slot, trust } = known;
    // A cost of nothing only looks.
    gate.spend(slot, quotaKind.read, 0);
    const { limit: readPerMinute, remaining: readsLeft } = gate.quotas;
    gate.spend(slot, quotaKind.write, 0);
    const { limit: writePerMinute, remaining: writesLeft } = gate.quotas;
    return { trust, readPerMinute, readsLeft, writePerMinute, writesLeft };
  }

  async function show(
    visit: OwnVisit,
    change: ViewChange & { readonly status?: number } = {},
    shown: Partial<
      Pick<KeysView, 'shown' | 'typed' | 'wantedScope' | 'typedHosts' | 'hostsError'>
    > = {},
  ): Promise<Reply> {
    const { accountId, fresh } = visit.session;
    const slot = space.standingOf(accountId)?.slot;
    const view: KeysView = {
      ...(await space.viewOf(visit, change)),
      fresh,
      keys: await ownKeys.list(accountId),
      ...(await namedKeysOf(space, accountId)),
      standing: standingOf(accountId),
      usage: slot === undefined ? [] : usage.of(slot),
      usageSince: usage.since,
      siteKeys: await siteKeys.ofAccount(accountId),
      hostsError: false,
      ...shown,
    };
    return desk.show(visit, (frame) => keysPage(frame, view), { status: change.status ?? 200 });
  }

  async function create(visit: OwnVisit): Promise<Reply> {
    const tooOften = signon.changes.count(visit.session.accountId);
    if (tooOften !== undefined) return space.refuse(visit, 'keys', tooOften);
    const told = await space.change(visit, 'api_key_made');
    const also = { check: () => space.stands(visit), set: told.set };
    const made = await ownKeys.create(visit.session.accountId, also);
    if (!made.ok && made.error === 'conflict') {
      return show(visit, { status: 409, failed: frameText(visit.frame).account.keys.two });
    }
    if (!made.ok) return space.refuse(visit, 'keys', made);
    await told.done();
    await space.catchUp();
    return show(visit, {}, { shown: made.value });
  }

  async function reveal(visit: OwnVisit, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const text = await ownKeys.reveal(visit.session.accountId, id);
    if (!text.ok) return space.refuse(visit, 'keys', text);
    return show(visit, {}, { shown: { id, text: text.value } });
  }

  /** Asks before an act that ends a key. */
  function ask(visit: OwnVisit, action: string, id: string): Reply {
    return desk.show(visit, (frame) => surePage(frame, { csrf: visit.csrf, action, id }));
  }

  async function revoke(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const id = form.get('id') ?? '';
    const isOwn = (await ownKeys.list(accountId)).some((key) => key.id === id);
    if (isOwn && form.get('sure') !== 'yes') return ask(visit, '/account/keys/revoke', id);
    const told = await space.change(visit, 'api_key_revoked');
    const gone = await ownKeys.revoke(accountId, id, told.set);
    if (!gone.ok) return space.refuse(visit, 'keys', gone);
    await told.done();
    await space.catchUp();
    return space.back(visit, 'keys', 'key_revoked');
  }

  async function createSiteKey(visit: OwnVisit, form: Params): Promise<Reply> {
    const typedHosts = (form.get('hosts') ?? '').slice(0, hostsCharsMax + 1);
    const hosts = typedHosts.split(/[\s,]+/).filter((host) => host !== '');
    const tooLong = typedHosts.length > hostsCharsMax;
    const made = tooLong
      ? fail('invalid_parameter')
      : await siteKeys.create(visit.session.accountId, hosts);
    if (made.ok) return space.back(visit, 'keys', 'site_key_made');
    const text = frameText(visit.frame).account.failed;
    if (made.error === 'conflict') return show(visit, { status: 409, failed: text.conflict });
    if (made.error !== 'invalid_parameter') return space.refuse(visit, 'keys', made);
    return show(visit, { status: 422, failed: text.form }, { typedHosts, hostsError: true });
  }

  async function revokeSiteKey(visit: OwnVisit, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const found = await siteKeys.find(id);
    const isOwn = found?.account === visit.session.accountId;
    if (isOwn && form.get('sure') !== 'yes') return ask(visit, '/account/site-keys/revoke', id);
    const gone = isOwn ? await siteKeys.revoke(id) : fail('unknown_key');
    if (!gone.ok) return space.refuse(visit, 'keys', gone);
    return space.back(visit, 'keys', 'site_key_revoked');
  }

  const page: KeysPage = {
    show,
    ask,
    wrongForm: (visit) => frameText(visit.frame).account.failed.form,
  };
  return [
    ...namedKeyRoutes(space, page),
    desk.page(keyEndpoints.show, (visit, query) => {
      const wantedScope = offeredScopes.find((scope) => scope === query.get('scope'));
      return show(visit, { query }, { wantedScope });
    }),
    desk.form(keyEndpoints.create, create),
    desk.form(keyEndpoints.reveal, reveal),
    desk.form(keyEndpoints.revoke, revoke),
    desk.form(keyEndpoints.createSiteKey, createSiteKey),
    desk.form(keyEndpoints.revokeSiteKey, revokeSiteKey),
  ];
}
