/** GET /admin/people, an account of it, and what may be changed of one: as the commands do it. */

import { isAccountId } from '../../access/accounts/records.ts';
import { fail, ok } from '../../core/result.ts';
import { plainAddress, plainPasted } from '../../core/text.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  changeForm,
  consoleChange,
  consoleScreen,
  type OperatorRequest,
  viewOf,
} from '../operator-request.route.ts';
import {
  type PeopleView,
  type PersonFacts,
  peoplePage,
  personActs,
  personPage,
  type ShownAccount,
} from './people.page.tsx';
import { type ShownNotices, type ShownSite, siteActs, sitesPage } from './sites.page.tsx';

export const peopleScreenEndpoints = {
  show: consoleScreen('/admin/people'),
  person: consoleScreen('/admin/people/:id'),
  change: consoleChange('people'),
};

export interface ConsolePeople {
  find(
    part: string,
    after: string | undefined,
    limit: number,
  ): Promise<{ readonly accounts: readonly ShownAccount[]; readonly next: string | undefined }>;
  invitations(): Promise<PeopleView['invitations']>;
  person(id: string): Promise<PersonFacts | undefined>;
}

const perPage = 50;

function quotasText({ quotas }: PersonFacts): string {
  if (quotas === undefined) return 'by trust';
  const { reads, writes } = quotas;
  const one = ({ perMinute, isSet }: typeof reads) => (isSet ? perMinute : `${perMinute} by trust`);
  return `checks ${one(reads)}, reports ${one(writes)}`;
}

export function peopleScreens(parts: ConsoleParts, people: ConsolePeople): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = peopleScreenEndpoints;

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const part = plainAddress(query.get('part') ?? '').slice(0, 320);
    const asked = query.get('after');
    const after = asked !== undefined && isAccountId(asked) ? asked : undefined;
    const found = await people.find(part, after, perPage);
    const invitations = await people.invitations();
    const shown = { part, invitations, isLater: after !== undefined };
    const view = { ...(await viewOf(parts, context, query)), ...found, ...shown };
    return pageBuilder.show(context, (frame) => peoplePage(frame, view));
  }

  async function showPerson(
    context: OperatorRequest,
    query: Params,
    id: string = context.request.param,
  ): Promise<Reply> {
    const person = isAccountId(id) ? await people.person(id) : undefined;
    if (person === undefined) return pageBuilder.problem(context, fail('unknown_account'));
    const view = { ...(await viewOf(parts, context, query)), person };
    return pageBuilder.show(context, (frame) => personPage(frame, view));
  }

  const again = (context: OperatorRequest, form: Params) => {
    const id = form.get('id');
    return id === undefined ? show(context, form) : showPerson(context, form, id);
  };

  const change = changeForm(parts, personActs, again, async (_, form, does) => {
    // These come from the list, and name an address.
    if (does === 'invite' || does === 'withdraw') return ok({});
    const id = form.get('id') ?? '';
    const person = isAccountId(id) ? await people.person(id) : undefined;
    if (person === undefined) return fail('unknown_account');
    // The page of a person changes nothing of another one.
    const keys =
      does === 'revoke' ? person.keys : does === 'revoke-site' ? person.siteKeys : undefined;
    if (keys?.some((key) => key.id === form.get('key')) === false) return fail('unknown_key');
    const before = does === 'quotas' ? quotasText(person) : undefined;
    return ok({ before, fields: { email: id }, back: `/admin/people/${id}` });
  });

  return [
    pageBuilder.page(at.show, show),
    pageBuilder.page(at.person, (context, query) => showPerson(context, query)),
    pageBuilder.form(at.change, change),
  ];
}

// GET /admin/sites and its change: sites that people sign in to, and blocking a domain.

export const siteScreenEndpoints = {
  show: consoleScreen('/admin/sites'),
  change: consoleChange('sites'),
};

export interface ConsoleSites {
  /** @param part of the domain; all when it is empty */
  page(asked: { part: string; skip: number; limit: number }): Promise<{
    readonly sites: readonly ShownSite[];
    readonly groups: readonly { readonly name: string; readonly members: number }[];
    readonly found: number;
    readonly countedAt: number;
    readonly isCut: boolean;
    readonly notices: readonly ShownNotices[];
  }>;
}

const pagesMax = 1_000;

export function siteScreens(parts: ConsoleParts, sites: ConsoleSites): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = siteScreenEndpoints;

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const part = plainPasted(query.get('part') ?? '')
      .toLowerCase()
      .slice(0, 253);
    const asked = Number(query.get('page') ?? '1');
    const page = Number.isInteger(asked) && asked > 0 && asked <= pagesMax ? asked : 1;
    const found = await sites.page({ part, skip: (page - 1) * perPage, limit: perPage });
    const next = found.found > page * perPage ? page + 1 : undefined;
    const view = { ...(await viewOf(parts, context, query)), ...found, part, next };
    return pageBuilder.show(context, (frame) => sitesPage(frame, view));
  }

  return [
    pageBuilder.page(at.show, show),
    pageBuilder.form(at.change, changeForm(parts, siteActs, show)),
  ];
}
