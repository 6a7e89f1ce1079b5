/** GET /admin/people, an account of it, and what may be changed of one: as the commands do it. */

import type { ListedAccount } from '../../access/accounts/directory.ts';
import { fail } from '../../core/result.ts';
import { plainAddress } from '../../core/text.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type AskedChange,
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  type OperatorRequest,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { peoplePage } from './people.page.tsx';
import { type PersonFacts, personPage } from './person.page.tsx';

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
  ): Promise<{ readonly accounts: readonly ListedAccount[]; readonly next: string | undefined }>;
  person(id: string): Promise<PersonFacts | undefined>;
}

const perPage = 50;
/** 12 random bytes, as accounts have them. */
const idShape = /^[A-Za-z0-9_-]{16}$/;

interface Ordered extends Pick<AskedChange, 'act' | 'before'> {
  /** Besides the account. */
  readonly fields?: Readonly<Record<string, string | undefined>>;
}

function quotasText({ quotas }: PersonFacts): string {
  if (quotas === undefined) return 'by trust';
  const { reads, writes } = quotas;
  const one = ({ perMinute, isSet }: typeof reads) => (isSet ? perMinute : `${perMinute} by trust`);
  return `checks ${one(reads)}, reports ${one(writes)}`;
}

/** Undefined: no such change. */
function orderOf(person: PersonFacts, form: Params): Ordered | undefined {
  const key = form.get('key') ?? '';
  switch (form.get('do')) {
    case 'disable':
      return { act: 'account disable' };
    case 'enable':
      return { act: 'account enable' };
    case 'operator':
    case 'member':
      return { act: 'account set-role', fields: { role: form.get('do') } };
    case 'plan':
      return { act: 'account set-plan', fields: { plan: form.get('plan') } };
    case 'quotas': {
      const fields = { readPerMinute: form.get('reads'), writePerMinute: form.get('writes') };
      return { act: 'account set-quotas', before: quotasText(person), fields };
    }
    case 'end-sessions':
      return { act: 'account end-sessions' };
    case 'send-reset':
      return { act: 'account send-reset' };
    // The page of a person changes nothing of another one.
    case 'revoke':
      if (!person.keys.some(({ id }) => id === key)) return undefined;
      return { act: 'key revoke', fields: { id: key } };
    case 'revoke-site':
      if (!person.siteKeys.some(({ id }) => id === key)) return undefined;
      return { act: 'sitekey revoke', fields: { id: key } };
    default:
      return undefined;
  }
}

export function peopleScreens(parts: ConsoleParts, people: ConsolePeople): PlainRoute[] {
  const { pageBuilder } = parts;
  const at = peopleScreenEndpoints;

  async function show(context: OperatorRequest, query: Params): Promise<Reply> {
    const part = plainAddress(query.get('part') ?? '').slice(0, 320);
    const asked = query.get('after');
    const after = asked !== undefined && idShape.test(asked) ? asked : undefined;
    const found = await people.find(part, after, perPage);
    const view = { ...viewOf(parts, context, query), ...found, part };
    return pageBuilder.show(context, (frame) => peoplePage(frame, view));
  }

  async function showPerson(context: OperatorRequest, query: Params): Promise<Reply> {
    const { param } = context.request;
    const person = idShape.test(param) ? await people.person(param) : undefined;
    if (person === undefined) return pageBuilder.problem(context, fail('unknown_account'));
    const view = { ...viewOf(parts, context, query), person };
    return pageBuilder.show(context, (frame) => personPage(frame, view));
  }

  async function change(context: OperatorRequest, form: Params): Promise<Reply> {
    const id = form.get('id') ?? '';
    const person = idShape.test(id) ? await people.person(id) : undefined;
    if (person === undefined) return pageBuilder.problem(context, fail('unknown_account'));
    const order = orderOf(person, form);
    if (order === undefined) {
      if (!form.get('key')) return noSuchChange(parts, context);
      return pageBuilder.problem(context, fail('unknown_key'));
    }
    const { act, before, fields } = order;
    const asked = { section: 'people', act, before, back: `/admin/people/${id}` } as const;
    return perform(parts, context, { ...asked, fields: { email: id, ...fields } });
  }

  return [
    pageBuilder.page(at.show, show),
    pageBuilder.page(at.person, showPerson),
    pageBuilder.form(at.change, change),
  ];
}
