/** /account/keys/named/*: keys with a name and scopes, by id only among the person's own. */

import { scopeNames } from '../../access/keys/key-scopes.ts';
import { namedKeyBounds } from '../../access/keys/named-keys.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { deskForm } from '../../web/guard/desk-endpoint.ts';
import {
  type NamedKeysView,
  offeredScopes,
  type RenameView,
  renamePage,
} from './pages/named-keys.page.ts';
import type { OwnVisit, Space } from './space.route.ts';

const backTo = '/account/keys';

export const namedKeyEndpoints = {
  create: deskForm('/account/keys/named/create', 'confirmed', {
    backTo,
    errors: [
      ...(['too_many_attempts', 'conflict', 'unknown_account'] as const),
      ...(['capacity_exceeded', 'invalid_parameter'] as const),
    ],
  }),
  rename: deskForm('/account/keys/named/rename', 'confirmed', {
    backTo,
    errors: ['conflict', 'invalid_parameter', 'unknown_key'],
  }),
  remove: deskForm('/account/keys/named/remove', 'confirmed', {
    backTo,
    errors: ['unknown_key'],
  }),
};

/** Typed text is shown again up to this length. */
const typedCharsMax = 1_000;

export interface KeysPage {
  show(
    visit: OwnVisit,
    change: { readonly status?: number; readonly failed?: string },
    shown: Pick<NamedKeysView, 'typed'> & {
      readonly shown?: { readonly id: string; readonly text: string; readonly isOnce: true };
    },
  ): Promise<Reply>;
  /** Asks once more before a key goes. */
  ask(visit: OwnVisit, action: string, id: string): Reply;
  wrongForm(visit: OwnVisit): string;
}

export async function namedKeysOf(
  { namedKeys, noteKeyUses }: Space,
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

export function namedKeyRoutes(space: Space, page: KeysPage): PlainRoute[] {
  const { desk, namedKeys, signon } = space;

  async function create(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const tooOften = signon.changes.count(accountId);
    if (tooOften !== undefined) return space.refuse(visit, 'keys', tooOften);
    const name = (form.get('name') ?? '').slice(0, typedCharsMax);
    const scopes = offeredScopes.filter((scope) => form.get(scope) === 'on');
    const told = await space.change(visit, 'api_key_made');
    const also = { check: () => space.stands(visit), set: told.set };
    const made = await namedKeys.add(accountId, { name, scopes }, also);
    if (!made.ok) {
      const isWrong = made.error === 'invalid_parameter';
      if (!isWrong && made.error !== 'conflict') return space.refuse(visit, 'keys', made);
      const fault = !isWrong ? 'taken' : scopes.length === 0 ? 'scopes' : 'name';
      const change = { status: isWrong ? 422 : 409, failed: page.wrongForm(visit) };
      return page.show(visit, change, { typed: { name, scopes, fault } });
    }
    await told.done();
    await space.catchUp();
    const { id, text } = made.value;
    return page.show(visit, {}, { shown: { id, text, isOnce: true } });
  }

  async function rename(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const id = form.get('id') ?? '';
    const key = (await namedKeys.list(accountId)).find((one) => one.id === id);
    const typed = form.get('name');
    const show = (view: Pick<RenameView, 'typed' | 'fault'>, status = 200) =>
      desk.show(
        visit,
        (frame) => renamePage(frame, { csrf: visit.csrf, id, name: key!.name, ...view }),
        { status },
      );
    if (key !== undefined && typed === undefined) return show({ typed: key.name });
    const done = await namedKeys.rename(accountId, id, typed ?? '');
    if (done.ok) return space.back(visit, 'keys', 'key_renamed');
    const again = { typed: (typed ?? '').slice(0, typedCharsMax) };
    if (done.error === 'invalid_parameter' && key !== undefined) {
      return show({ ...again, fault: 'name' }, 422);
    }
    if (done.error === 'conflict') return show({ ...again, fault: 'taken' }, 409);
    return space.refuse(visit, 'keys', done);
  }

  async function remove(visit: OwnVisit, form: Params): Promise<Reply> {
    const { accountId } = visit.session;
    const id = form.get('id') ?? '';
    const isOwn = (await namedKeys.list(accountId)).some((key) => key.id === id);
    if (isOwn && form.get('sure') !== 'yes') {
      return page.ask(visit, '/account/keys/named/remove', id);
    }
    const told = await space.change(visit, 'api_key_revoked');
    const gone = await namedKeys.removeOwn(accountId, id, told.set);
    if (!gone.ok) return space.refuse(visit, 'keys', gone);
    await told.done();
    await space.catchUp();
    return space.back(visit, 'keys', 'key_revoked');
  }

  return [
    desk.form(namedKeyEndpoints.create, create),
    desk.form(namedKeyEndpoints.rename, rename),
    desk.form(namedKeyEndpoints.remove, remove),
  ];
}
