/** /account/keys: API keys and site keys of the person, by id only among their own. */

import { forbiddenCharacterIn, isKeyName, namedKeyBounds } from '../../access/keys/api-keys.ts';
import { keyScopeNames } from '../../access/keys/key-format.ts';
import {
  hostsMax,
  type LeastLevel,
  leastLevels,
  normaliseHost,
} from '../../access/keys/site-keys.ts';
import { quotaKind } from '../../access/quota/quota.ts';
import { fail } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import { frameText } from '../words.ts';
import type { AccountArea, AccountRequest, ViewChange } from './account.route.ts';
import {
  type KeysView,
  keysPage,
  type NamedKeyFault,
  offeredScopes,
  type QuotaStanding,
  type RenameView,
  renamePage,
} from './keys.page.tsx';

const hostsCharsMax = hostsMax * 260;
const hostCharsShown = 80;
/** A typed name is shown again up to this length. */
const typedCharsMax = 1_000;

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
  createNamed: sessionForm('/account/keys/named/create', 'confirmed', {
    backTo,
    errors: [
      ...(['too_many_attempts', 'conflict', 'unknown_account'] as const),
      ...(['capacity_exceeded', 'invalid_parameter'] as const),
    ],
  }),
  rename: sessionForm('/account/keys/named/rename', 'confirmed', {
    backTo,
    errors: ['conflict', 'invalid_parameter', 'unknown_key'],
  }),
  removeNamed: sessionForm('/account/keys/named/remove', 'confirmed', {
    backTo,
    errors: ['unknown_key'],
  }),
  createSiteKey: sessionForm('/account/site-keys/create', 'verified', {
    backTo: '/account/keys',
    errors: ['invalid_parameter', 'conflict', 'unknown_account'],
  }),
  levelSiteKey: sessionForm('/account/site-keys/level', 'verified', {
    backTo: '/account/keys',
    errors: ['invalid_parameter', 'unknown_key'],
  }),
  revokeSiteKey: sessionForm('/account/site-keys/revoke', 'verified', {
    backTo: '/account/keys',
    errors: ['unknown_key'],
  }),
};

function levelIn(form: Params): LeastLevel | undefined {
  return leastLevels.find((level) => level === form.get('level'));
}

export function keyRoutes(area: AccountArea): PlainRoute[] {
  const { pageBuilder, apiKeys, siteKeys, usage, quotaGuard, signon } = area;

  function standingOf(accountId: string): QuotaStanding | undefined {
    const known = area.standingOf(accountId);
    if (known === undefined) return undefined;
    const { slot, trust, vouched } = known;
    // A cost of 0 only reads the quota.
    quotaGuard.spend(slot, quotaKind.read, 0);
    const { limit: readPerMinute, remaining: readsLeft } = quotaGuard.quotas;
    quotaGuard.spend(slot, quotaKind.write, 0);
    const { limit: writePerMinute, remaining: writesLeft } = quotaGuard.quotas;
    return { trust, vouched, readPerMinute, readsLeft, writePerMinute, writesLeft };
  }

  async function show(
    context: AccountRequest,
    change: ViewChange = {},
    shown: Partial<
      Pick<KeysView, 'shown' | 'typed' | 'wantedScope' | 'typedHosts' | 'hostsError'>
    > = {},
  ): Promise<Reply> {
    const { accountId, fresh } = context.session;
    const slot = area.standingOf(accountId)?.slot;
    await area.noteKeyUses();
    const keys = await apiKeys.list(accountId);
    const named = keys
      .filter(({ name }) => name !== '')
      .map(({ use, scopes, ...key }) => {
        return { ...key, scopes: keyScopeNames(scopes), lastUsedAt: use?.lastUsedAt ?? 0 };
      });
    return area.show<KeysView>(context, change, keysPage, {
      fresh,
      keys: keys.filter(({ name }) => name === ''),
      named,
      isFull: named.length >= namedKeyBounds.perAccountMax,
      standing: standingOf(accountId),
      usage: slot === undefined ? [] : usage.of(slot),
      usageSince: usage.since,
      siteKeys: await siteKeys.ofAccount(accountId),
      hostsError: undefined,
      ...shown,
    });
  }

  async function create(context: AccountRequest): Promise<Reply> {
    const made = await signon.changes.makeOwn(context, 'api_key_made', (also) =>
      apiKeys.create(context.session.accountId, {}, also),
    );
    if (!made.ok && made.error === 'conflict') {
      return show(context, { status: 409, failed: frameText(context.frame).account.keys.two });
    }
    if (!made.ok) return area.refuse(context, 'keys', made);
    await area.catchUp();
    return show(context, {}, { shown: made.value });
  }

  async function reveal(context: AccountRequest, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const text = await apiKeys.reveal(context.session.accountId, id);
    if (!text.ok) return area.refuse(context, 'keys', text);
    return show(context, {}, { shown: { id, text: text.value } });
  }

  /** Asks before an act that ends a key. */
  function ask(context: AccountRequest, action: string, id: string): Reply {
    const { text, ...words } = frameText(context.frame).account.keys.sure;
    return area.ask(context, 'keys', action, id, { ...words, text: text(id) });
  }

  async function createNamed(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const name = (form.get('name') ?? '').slice(0, typedCharsMax);
    const scopes = offeredScopes.filter((scope) => form.get(scope) === 'on');
    const made = await signon.changes.makeOwn(context, 'api_key_made', (also) =>
      apiKeys.create(accountId, { name, scopes }, also),
    );
    if (!made.ok) {
      if (made.error === 'capacity_exceeded' && (await hasMostNamed(accountId))) {
        const failed = frameText(context.frame).automation.namedKeys.full;
        return show(context, { status: 409, failed });
      }
      const isWrong = made.error === 'invalid_parameter';
      if (!isWrong && made.error !== 'conflict') return area.refuse(context, 'keys', made);
      const fault: NamedKeyFault = !isWrong
        ? await nameTaken(accountId, name)
        : isKeyName(name)
          ? { kind: 'scopes' }
          : { kind: 'name', at: forbiddenCharacterIn(name) };
      const change = {
        status: isWrong ? 422 : 409,
        failed: frameText(context.frame).account.failed.form,
      };
      return show(context, change, { typed: { name, scopes, fault } });
    }
    await area.catchUp();
    const { id, text } = made.value;
    return show(context, {}, { shown: { id, text, isOnce: true } });
  }

  async function hasMostNamed(accountId: string): Promise<boolean> {
    const named = (await apiKeys.list(accountId)).filter(({ name }) => name !== '');
    return named.length >= namedKeyBounds.perAccountMax;
  }

  async function nameTaken(accountId: string, name: string): Promise<NamedKeyFault> {
    const by = (await apiKeys.list(accountId)).find((key) => key.name === name);
    return { kind: 'taken', by };
  }

  async function rename(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const key = (await apiKeys.list(accountId)).find((one) => one.id === id && one.name !== '');
    const typed = form.get('name');
    const ask = (view: Pick<RenameView, 'typed' | 'fault'>, status = 200) =>
      pageBuilder.show(
        context,
        (frame) => renamePage(frame, { csrf: context.csrf, id, name: key!.name, ...view }),
        { status },
      );
    if (key !== undefined && typed === undefined) return ask({ typed: key.name });
    const done = await apiKeys.rename(accountId, id, typed ?? '');
    if (done.ok) return area.back(context, 'keys', 'key_renamed');
    const again = { typed: (typed ?? '').slice(0, typedCharsMax) };
    if (done.error === 'invalid_parameter' && key !== undefined) {
      return ask({ ...again, fault: { kind: 'name', at: forbiddenCharacterIn(typed ?? '') } }, 422);
    }
    if (done.error === 'conflict') {
      return ask({ ...again, fault: await nameTaken(accountId, typed ?? '') }, 409);
    }
    return area.refuse(context, 'keys', done);
  }

  function revoking(action: string) {
    return async (context: AccountRequest, form: Params): Promise<Reply> => {
      const { accountId } = context.session;
      const id = form.get('id') ?? '';
      const isOwn = (await apiKeys.list(accountId)).some((key) => key.id === id);
      if (isOwn && form.get('sure') !== 'yes') return ask(context, action, id);
      const changed = await area.change(context, 'api_key_revoked');
      const gone = await apiKeys.revokeOwn(accountId, id, changed.set);
      if (!gone.ok) return area.refuse(context, 'keys', gone);
      await changed.done();
      await area.catchUp();
      return area.back(context, 'keys', 'key_revoked');
    };
  }

  async function createSiteKey(context: AccountRequest, form: Params): Promise<Reply> {
    const typedHosts = (form.get('hosts') ?? '').slice(0, hostsCharsMax + 1);
    const hosts = typedHosts.split(/[\s,]+/).filter((host) => host !== '');
    const tooLong = typedHosts.length > hostsCharsMax;
    const made = tooLong
      ? fail('invalid_parameter')
      : await siteKeys.create(context.session.accountId, hosts, {
          least: levelIn(form) ?? 'silent',
        });
    if (made.ok) return area.back(context, 'keys', 'site_key_made');
    const { failed: text, keys } = frameText(context.frame).account;
    if (made.error === 'conflict') return show(context, { status: 409, failed: keys.siteFull });
    if (made.error !== 'invalid_parameter') return area.refuse(context, 'keys', made);
    const at = hosts.findIndex((host) => normaliseHost(host) === undefined);
    const hostsError = { position: at + 1, host: hosts[at]?.slice(0, hostCharsShown) ?? '' };
    return show(context, { status: 422, failed: text.form }, { typedHosts, hostsError });
  }

  async function levelSiteKey(context: AccountRequest, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const least = levelIn(form);
    if (least === undefined) return area.refuse(context, 'keys', fail('invalid_parameter'));
    const isOwn = (await siteKeys.find(id))?.account === context.session.accountId;
    const set = isOwn ? await siteKeys.set(id, { least }) : fail('unknown_key');
    return set.ok
      ? area.back(context, 'keys', 'site_key_changed')
      : area.refuse(context, 'keys', set);
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

  return [
    pageBuilder.page(keyEndpoints.show, (context, query) => {
      const wantedScope = offeredScopes.find((scope) => scope === query.get('scope'));
      return show(context, { query }, { wantedScope });
    }),
    pageBuilder.form(keyEndpoints.create, create),
    pageBuilder.form(keyEndpoints.reveal, reveal),
    pageBuilder.form(keyEndpoints.revoke, revoking('/account/keys/revoke')),
    pageBuilder.form(keyEndpoints.createNamed, createNamed),
    pageBuilder.form(keyEndpoints.rename, rename),
    pageBuilder.form(keyEndpoints.removeNamed, revoking('/account/keys/named/remove')),
    pageBuilder.form(keyEndpoints.createSiteKey, createSiteKey),
    pageBuilder.form(keyEndpoints.levelSiteKey, levelSiteKey),
    pageBuilder.form(keyEndpoints.revokeSiteKey, revokeSiteKey),
  ];
}
