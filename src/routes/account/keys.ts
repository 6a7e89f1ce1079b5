/** /account/keys: API keys and site keys of the person, by id only among their own. */

import { quotaKind } from '../../access/quota.ts';
import { hostsMax } from '../../access/site-keys.ts';
import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { type KeysView, keysPage, type Standing } from '../../pages/account/keys.ts';
import { frameText } from '../../pages/layout.ts';
import type { OwnVisit, Space, ViewChange } from './space.ts';

const hostsCharsMax = hostsMax * 260;

export function keyRoutes(space: Space): PlainRoute[] {
  const { desk, ownKeys, siteKeys, usage, gate } = space;

  function standingOf(accountId: string): Standing | undefined {
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
    shown: Partial<Pick<KeysView, 'shown' | 'typedHosts' | 'hostsError'>> = {},
  ): Promise<Reply> {
    const { accountId, fresh } = visit.session;
    const slot = space.standingOf(accountId)?.slot;
    const view: KeysView = {
      ...(await space.viewOf(visit, change)),
      fresh,
      keys: await ownKeys.list(accountId),
      standing: standingOf(accountId),
      usage: slot === undefined ? [] : usage.of(slot),
      usageSince: usage.since,
      siteKeys: await siteKeys.ofAccount(accountId),
      hostsError: false,
      ...shown,
    };
    return desk.show(visit, (frame) => keysPage(frame, view), { status: change.status ?? 200 });
  }

  const create = space.freshly('keys', async (visit) => {
    const made = await ownKeys.create(visit.session.accountId);
    if (!made.ok && made.error === 'conflict') {
      return show(visit, { status: 409, failed: frameText(visit.frame).account.keys.two });
    }
    if (!made.ok) return space.refuse(visit, 'keys', made);
    await space.settle();
    return show(visit, {}, { shown: made.value });
  });

  const reveal = space.freshly('keys', async (visit, form) => {
    const id = form.get('id') ?? '';
    const text = await ownKeys.reveal(visit.session.accountId, id);
    if (!text.ok) return space.refuse(visit, 'keys', text);
    return show(visit, {}, { shown: { id, text: text.value } });
  });

  const revoke = space.freshly('keys', async (visit, form) => {
    const gone = await ownKeys.revoke(visit.session.accountId, form.get('id') ?? '');
    if (!gone.ok) return space.refuse(visit, 'keys', gone);
    await space.settle();
    return space.back(visit, 'keys', 'key_revoked');
  });

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
    const gone = isOwn ? await siteKeys.revoke(id) : fail('unknown_key');
    if (!gone.ok) return space.refuse(visit, 'keys', gone);
    return space.back(visit, 'keys', 'site_key_revoked');
  }

  return [
    desk.page('/account/keys', 'verified', (visit, query) => show(visit, { query })),
    desk.form('/account/keys/create', 'verified', create),
    desk.form('/account/keys/reveal', 'verified', reveal),
    desk.form('/account/keys/revoke', 'verified', revoke),
    desk.form('/account/site-keys/create', 'verified', createSiteKey),
    desk.form('/account/site-keys/revoke', 'verified', revokeSiteKey),
  ];
}
