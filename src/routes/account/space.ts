/**
 * A person's own space, as all its routes need it: what they are made of, the profile of the
 * visitor, and the ways back to a page. Every route here is for verified accounts; the desk sends
 * others away.
 */

import type { Gate } from '../../access/gate.ts';
import type { OwnKeys } from '../../access/own-keys.ts';
import type { SiteKeys } from '../../access/site-keys.ts';
import type { Usage } from '../../access/usage.ts';
import type { Clock } from '../../core/clock.ts';
import { type Failure, fail } from '../../core/result.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import {
  type AccountSection,
  type AccountView,
  isDoneName,
  sectionPaths,
} from '../../pages/account/parts.ts';
import { frameText } from '../../pages/layout.ts';
import { failureText } from '../../pages/signon/failure.ts';
import type { Avatars } from '../../signon/avatars.ts';
import type { Consents } from '../../signon/consents.ts';
import type { Signon } from '../../signon/open.ts';
import type { Profiles } from '../../signon/profile-store.ts';
import type { Session } from '../../signon/sessions.ts';
import type { Desk } from '../signon/desk.ts';
import type { Visit } from '../signon/visit.ts';

/** Of an account, as the journal tells of it. */
export interface AccountStanding {
  readonly slot: number;
  /** 0 to 100. */
  readonly trust: number;
}

export interface SpaceOptions {
  readonly desk: Desk;
  readonly clock: Clock;
  readonly signon: Signon;
  readonly profiles: Profiles;
  readonly avatars: Avatars;
  readonly consents: Consents;
  readonly ownKeys: OwnKeys;
  readonly siteKeys: SiteKeys;
  readonly usage: Usage;
  readonly gate: Gate;
  /** Undefined while the journal has not told of the account yet. */
  readonly standingOf: (accountId: string) => AccountStanding | undefined;
  /** Resolves when what was committed before is in memory: a revoked key is refused from then on. */
  readonly settle: () => Promise<void>;
}

export type OwnVisit = Visit & { readonly session: Session };

export interface ViewChange {
  readonly query?: Params;
  readonly failure?: Failure;
  /** In place of the failure's own words. */
  readonly failed?: string;
}

/** Where a person shows once more that it is them, and comes back. */
export function confirmPath(section: AccountSection): string {
  return `/account/confirm?return=${encodeURIComponent(sectionPaths[section])}`;
}

export function donePath(section: AccountSection, done: NonNullable<AccountView['done']>): string {
  return `${sectionPaths[section]}?done=${done}`;
}

export function createSpace(options: SpaceOptions) {
  const { desk, clock, profiles } = options;

  /** An account from before there were profiles gets one now. */
  async function profileOf({ accountId, email }: Session) {
    const profile = await profiles.load(accountId);
    if (profile !== undefined) return profile;
    const made = await profiles.ensure(accountId, email);
    return made.ok ? made.value : undefined;
  }

  async function viewOf(visit: OwnVisit, change: ViewChange = {}): Promise<AccountView> {
    const text = frameText(visit.frame).account;
    const done = change.query?.get('done');
    const { failure } = change;
    return {
      csrf: visit.csrf,
      liquidGlass: (await profileOf(visit.session))?.liquidGlass ?? false,
      now: clock.now(),
      done: isDoneName(text, done) ? done : undefined,
      failed: change.failed ?? (failure && failureText(visit.language, failure)),
    };
  }

  /** A failure that no field is to blame for; one for want of a fresh proof leads to giving it. */
  function refuse(visit: OwnVisit, section: AccountSection, failure: Failure): Reply {
    if (failure.error === 'reauthentication_required') return desk.go(visit, confirmPath(section));
    return desk.problem(visit, failure);
  }

  /** For what only the person may do or see: whoever finds an open screen must not. */
  function freshly(
    section: AccountSection,
    work: (visit: OwnVisit, form: Params) => Promise<Reply>,
  ) {
    return async (visit: OwnVisit, form: Params): Promise<Reply> =>
      visit.session.fresh
        ? work(visit, form)
        : refuse(visit, section, fail('reauthentication_required'));
  }

  /** After a change: back to the page, which says what was done. */
  function back(visit: OwnVisit, section: AccountSection, done: NonNullable<AccountView['done']>) {
    return desk.go(visit, donePath(section, done));
  }

  return { ...options, profileOf, viewOf, refuse, freshly, back };
}

export type Space = ReturnType<typeof createSpace>;
