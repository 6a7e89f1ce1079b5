/** GET /admin/people, an account of it, and what may be changed of one: as the commands do it. */

import type { ListedAccount } from '../../access/accounts/directory.ts';
import { plainAddress } from '../../core/names/pasted-text.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import {
  type ConsoleParts,
  consoleChange,
  consoleScreen,
  noSuchChange,
  type OperatorRequest,
  perform,
  viewOf,
} from '../operator-request.route.ts';
import { peoplePage } from './people.page.ts';
import { type PersonFacts, personPage } from './person.page.ts';

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
  /** `conflict` for an operator: the role goes first, and never that of the last one. */
  setDisabled(id: string, disabled: boolean): Promise<Result<unknown>>;
  /** `conflict` when nobody but this operator could come in. */
  setRole(id: string, role: 'operator' | 'member'): Promise<Result<unknown>>;
  setPlan(id: string, plan: string): Promise<Result<unknown>>;
  /** Undefined leaves one as it is, 0 gives it back to trust. */
  setQuotas(
    id: string,
    quotas: { readonly readPerMinute?: number; readonly writePerMinute?: number },
  ): Promise<Result<unknown>>;
  endSessions(id: string): Promise<Result<unknown>>;
  /** A link for a new password, by mail to its owner; `conflict`, `client_limit_exceeded`. */
  sendReset(id: string): Promise<Result<unknown>>;
  /** `unknown_key` for one that is not the account's. */
  revokeKey(id: string, keyId: string): Promise<Result<unknown>>;
  /** The same of a site key. */
  revokeSiteKey(id: string, keyId: string): Promise<Result<unknown>>;
}

const perPage = 50;
/** 12 random bytes, as accounts have them. */
const idShape = /^[A-Za-z0-9_-]{16}$/;
const keyIdShape = /^[A-Za-z0-9_-]{1,64}$/;

interface Ordered {
  readonly command: string;
  readonly before?: string;
  readonly after: string;
  run(): Promise<Result<unknown>>;
}

/** A whole number of a form's field; undefined when it is empty, NaN for anything else. */
function numberIn(form: Params, name: string): number | undefined {
  const text = (form.get(name) ?? '').trim();
  if (text === '') return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

function quotasText({ quotas }: PersonFacts): string {
  if (quotas === undefined) return 'by trust';
  const { reads, writes } = quotas;
  const one = ({ perMinute, isSet }: typeof reads) => (isSet ? perMinute : `${perMinute} by trust`);
  return `checks ${one(reads)}, reports ${one(writes)}`;
}

/** Undefined: no such change. */
function orderOf(people: ConsolePeople, person: PersonFacts, form: Params): Ordered | undefined {
  const { id } = person;
  switch (form.get('do')) {
    case 'disable':
    case 'enable': {
      const disabled = form.get('do') === 'disable';
      return {
        command: `account ${disabled ? 'disable' : 'enable'} ${id}`,
        before: person.state,
        after: disabled ? 'disabled' : 'enabled',
        run: () => people.setDisabled(id, disabled),
      };
    }
    case 'operator':
    case 'member': {
      const role = form.get('do') as 'operator' | 'member';
      return {
        command: `account set-role ${id} ${role}`,
        before: person.role,
        after: role,
        run: () => people.setRole(id, role),
      };
    }
    case 'plan': {
      const plan = (form.get('plan') ?? '').slice(0, 20);
      return {
        command: `account set-plan ${id} ${plan}`,
        before: person.plan,
        after: plan,
        run: () => people.setPlan(id, plan),
      };
    }
    case 'quotas': {
      const [reads, writes] = [numberIn(form, 'reads'), numberIn(form, 'writes')];
      const said = `checks ${reads ?? 'as before'}, reports ${writes ?? 'as before'}`;
      return {
        command: `account set-quotas ${id}`,
        before: quotasText(person),
        after: said,
        async run() {
          if (Number.isNaN(reads) || Number.isNaN(writes)) return fail('invalid_parameter');
          return people.setQuotas(id, {
            ...(reads === undefined ? {} : { readPerMinute: reads }),
            ...(writes === undefined ? {} : { writePerMinute: writes }),
          });
        },
      };
    }
    case 'end-sessions':
      return {
        command: `account end-sessions ${id}`,
        before: `${person.sessions} sessions`,
        after: 'none',
        run: () => people.endSessions(id),
      };
    case 'send-reset':
      return {
        command: `account send-reset ${id}`,
        after: 'mailed',
        run: () => people.sendReset(id),
      };
    case 'revoke': {
      const key = form.get('key') ?? '';
      if (!keyIdShape.test(key)) return undefined;
      const run = () => people.revokeKey(id, key);
      return { command: `key revoke ${key}`, before: 'active', after: 'revoked', run };
    }
    case 'revoke-site': {
      const key = form.get('key') ?? '';
      if (!keyIdShape.test(key)) return undefined;
      const run = () => people.revokeSiteKey(id, key);
      return { command: `sitekey revoke ${key}`, before: 'active', after: 'revoked', run };
    }
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
    const order = orderOf(people, person, form);
    if (order === undefined) return noSuchChange(parts, context);
    const { command, before = '', after, run } = order;
    const asked = { section: 'people', command, before, back: `/admin/people/${id}` } as const;
    return perform(parts, context, asked, async () => {
      const done = await run();
      return done.ok ? ok(after) : done;
    });
  }

  return [
    pageBuilder.page(at.show, show),
    pageBuilder.page(at.person, showPerson),
    pageBuilder.form(at.change, change),
  ];
}
