/** /account/keys/named/*: keys with a name and scopes, by id only among the person's own. */

import { scopeNames } from '../../access/keys/key-scopes.ts';
import { isKeyName, namedKeyBounds, strangeIn } from '../../access/keys/named-keys.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { sessionForm } from '../../web/guard/session-endpoint.ts';
import type { AccountArea, AccountRequest } from './account-area.route.ts';
import {
  type NamedKeyFault,
  type NamedKeysView,
  offeredScopes,
  type RenameView,
  renamePage,
} from './pages/named-keys.page.tsx';

const backTo = '/account/keys';

export const namedKeyEndpoints = {
  create: sessionForm('/account/keys/named/create', 'confirmed', {
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
  remove: sessionForm('/account/keys/named/remove', 'confirmed', {
    backTo,
    errors: ['unknown_key'],
  }),
};

/** Typed text is shown again up to this length. */
const typedCharsMax = 1_000;

export interface KeysPage {
  show(
    context: AccountRequest,
    change: { readonly status?: number; readonly failed?: string },
    shown: Pick<NamedKeysView, 'typed'> & {
      readonly shown?: { readonly id: string; readonly text: string; readonly isOnce: true };
    },
  ): Promise<Reply>;
  /** Asks once more before a key goes. */
  ask(context: AccountRequest, action: string, id: string): Reply;
  wrongForm(context: AccountRequest): string;
}

export async function namedKeysOf(
  { namedKeys, noteKeyUses }: AccountArea,
  accountId: string,
): Promise<Pick<NamedKeysView, 'named' | 'isFull'>> {
  await noteKeyUses();
  const keys = await namedKeys.list(accountId);
  const named = keys.map(({ id, name, scopes, createdAt, use }) => {
    const lastUsedAt = use?.lastUsedAt ?? 0;
    return { id, name, scopes: scopeNames(scopes), createdAt, lastUsedAt };
  });
  return { named, isFull: named.length >= namedKeyBounds.perAccountMax };
}

export function namedKeyRoutes(area: AccountArea, page: KeysPage): PlainRoute[] {
  const { pageBuilder, namedKeys, signon } = area;

  async function create(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const tooOften = signon.changes.count(accountId);
    if (tooOften !== undefined) return area.refuse(context, 'keys', tooOften);
    const name = (form.get('name') ?? '').slice(0, typedCharsMax);
    const scopes = offeredScopes.filter((scope) => form.get(scope) === 'on');
    const changed = await area.change(context, 'api_key_made');
    const also = { check: () => area.stands(context), set: changed.set };
    const made = await namedKeys.add(accountId, { name, scopes }, also);
    if (!made.ok) {
      const isWrong = made.error === 'invalid_parameter';
      if (!isWrong && made.error !== 'conflict') return area.refuse(context, 'keys', made);
      const fault: NamedKeyFault = !isWrong
        ? await takenBy(accountId, name)
        : isKeyName(name)
          ? { kind: 'scopes' }
          : { kind: 'name', at: strangeIn(name) };
      const change = { status: isWrong ? 422 : 409, failed: page.wrongForm(context) };
      return page.show(context, change, { typed: { name, scopes, fault } });
    }
    await changed.done();
    await area.catchUp();
    const { id, text } = made.value;
    return page.show(context, {}, { shown: { id, text, isOnce: true } });
  }

  /** Tells the key that has the name. */
  async function takenBy(accountId: string, name: string): Promise<NamedKeyFault> {
    const by = (await namedKeys.list(accountId)).find((key) => key.name === name);
    return { kind: 'taken', by };
  }

  async function rename(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const key = (await namedKeys.list(accountId)).find((one) => one.id === id);
    const typed = form.get('name');
    const show = (view: Pick<RenameView, 'typed' | 'fault'>, status = 200) =>
      pageBuilder.show(
        context,
        (frame) => renamePage(frame, { csrf: context.csrf, id, name: key!.name, ...view }),
        { status },
      );
    if (key !== undefined && typed === undefined) return show({ typed: key.name });
    const done = await namedKeys.rename(accountId, id, typed ?? '');
    if (done.ok) return area.back(context, 'keys', 'key_renamed');
    const again = { typed: (typed ?? '').slice(0, typedCharsMax) };
    if (done.error === 'invalid_parameter' && key !== undefined) {
      return show({ ...again, fault: { kind: 'name', at: strangeIn(typed ?? '') } }, 422);
    }
    if (done.error === 'conflict') {
      return show({ ...again, fault: await takenBy(accountId, typed ?? '') }, 409);
    }
    return area.refuse(context, 'keys', done);
  }

  async function remove(context: AccountRequest, form: Params): Promise<Reply> {
    const { accountId } = context.session;
    const id = form.get('id') ?? '';
    const isOwn = (await namedKeys.list(accountId)).some((key) => key.id === id);
    if (isOwn && form.get('sure') !== 'yes') {
      return page.ask(context, '/account/keys/named/remove', id);
    }
    const changed = await area.change(context, 'api_key_revoked');
    const gone = await namedKeys.removeOwn(accountId, id, changed.set);
    if (!gone.ok) return area.refuse(context, 'keys', gone);
    await changed.done();
    await area.catchUp();
    return area.back(context, 'keys', 'key_revoked');
  }

  return [
    pageBuilder.form(namedKeyEndpoints.create, create),
    pageBuilder.form(namedKeyEndpoints.rename, rename),
    pageBuilder.form(namedKeyEndpoints.remove, remove),
  ];
}
