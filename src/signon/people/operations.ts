/** Operations on accounts: make, list, show, change, disable and delete them; who signed in. */

import * as v from 'valibot';
import {
  type Accounts,
  createDirectory,
  type ListedAccount,
} from '../../access/accounts/accounts.ts';
import { type AccountInfo, activeOperators, roles } from '../../access/accounts/records.ts';
import { perMinute } from '../../access/keys/operations.ts';
import { createSiteKeys } from '../../access/keys/site-keys.ts';
import type { Voucher } from '../../access/quota/points.ts';
import type { Config } from '../../config.ts';
import {
  expect,
  type OperationCall,
  type OperationTools,
  operationsOn,
  refuse,
} from '../../contracts/operation.ts';
import {
  account,
  argument,
  choice,
  flag,
  lastDays,
  shortText,
  sinceDays,
  textOf,
  typedDate,
} from '../../contracts/operation-parameters.ts';
import { operatorsClient } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { dateIn, dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import { languages } from '../../core/language.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { columnsOr, counted } from '../../core/text-table.ts';
import { commitOnce, retryOnConflict } from '../../storage/change.ts';
import type { Store } from '../../storage/store.ts';
import { sendInvitation, sendResetLink, withNotices } from '../mail/command-mails.ts';
import type { Notices } from '../mail/notices.ts';
import { credentialsRow, isVerified, openPeople, versionChecks } from '../people.ts';
import { loadFactor } from '../proofs/factor-rows.ts';
import {
  createBreachedPasswords,
  createNewPasswords,
  type NewPasswords,
  openPasswordStrength,
} from '../proofs/new-password.ts';
import { createPasswords } from '../proofs/passwords.ts';
import { createSecurityLog } from '../sessions/security-log.ts';
import { createSessions } from '../sessions/sessions.ts';
import { readSignIns } from '../sessions/sign-in-log.ts';
import { signedOutNews } from '../sites/site-news.ts';
import type { Deletion } from './deletion.ts';
import { type Invitations, listInvitations, withdrawInvitation } from './invitations.ts';
import { type Plan, type Profile, plans } from './profile/profile.ts';
import { createProfiles, type Profiles } from './profile/profile-store.ts';
import type { ResetLinks } from './recovery.ts';
import { hasReviewable } from './review.ts';

interface AccountTools extends OperationTools {
  readonly accounts: Accounts;
  readonly profiles: Profiles;
  /** Takes back what an account reported since a time. */
  readonly retract: (
    account: string,
    since: number,
    penalty: boolean,
  ) => Promise<{ readonly reports: number; readonly addresses: number }>;
  readonly withDeletion: <T>(run: (deletion: Deletion) => Promise<T>) => Promise<T>;
  /** Sends a link for a new password by the running server's mailer; undefined without a server. */
  readonly sendReset?: ResetLinks['sendByOperator'];
  /** Invites by the running server's mailer and limits; undefined without a server. */
  readonly invite?: Invitations['invite'];
}

const operation = operationsOn<AccountTools>();

/** Accounts read in one go. */
const listedAtOnce = 500;
/** Longer than any password that is taken. */
const passwordCharsMax = 4_096;

const oneAccount = { email: account };

const sessionsOf = (tools: OperationTools) =>
  createSessions({ ...tools, people: openPeople(tools.store) });
/** Returns the standing of new accounts by REPUTATION: on a private service all machines are the operator's own. */
export function standingOf({ reputation }: Pick<Config, 'reputation'>): Voucher {
  return reputation === 'private' ? 'staff' : 'member';
}

const shown = <T extends AccountInfo>(info: T) => ({
  ...info,
  createdAt: dateText(info.createdAt),
});
const listed = (one: ListedAccount) => ({ ...one, createdAt: dateText(one.createdAt) });

/** A change may take the last operator away; then it says so, and how there is one again. */
async function warnIfNoOperatorLeft<T>(
  { store }: Pick<OperationTools, 'store'>,
  call: OperationCall,
  run: () => Promise<T>,
): Promise<T> {
  const before = await activeOperators(store);
  const done = await run();
  if (before.length > 0 && (await activeOperators(store)).length === 0) {
    call.note(
      'done, but no operator is left who can sign in; ' +
        'portcullis account set-role <email> operator makes one',
    );
  }
  return done;
}

export const createAccount = operation({
  name: 'account create',
  purpose: 'make an account; its mail address counts as verified',
  parameters: {
    email: { ...account, help: 'its mail address' },
    password: {
      schema: v.optional(textOf(passwordCharsMax)),
      help: 'read a password for the sign-in from the first line of input',
      inputFlag: 'password-stdin',
    },
    standing: {
      schema: v.optional(choice(['newcomer', 'member', 'staff'])),
      value: 'standing',
      help: 'whose word its reports are (default: member; staff on a private server)',
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { email, password, standing }) {
    const vouched = standing === 'newcomer' ? 'none' : (standing ?? standingOf(tools.config));
    if (password === undefined) return shown(expect(await tools.accounts.create(email, vouched)));
    return withNewPasswords(tools, async (newPasswords) => {
      // Judged before there is an account: a weak one makes none.
      expect(await newPasswords.accept(password, email));
      const info = expect(await tools.accounts.create(email, vouched));
      expect(await createOperator(tools).setFirstPassword(info.id, password, newPasswords));
      return shown(info);
    });
  },
  lines: (made) => [`account ${made.email} made (id ${made.id})`],
});

export const listAccounts = operation({
  name: 'account list',
  purpose: 'all accounts with state, role, standing and how many keys each has',
  parameters: {
    part: {
      schema: v.optional(shortText, ''),
      value: 'part',
      help: 'only those with this part in the mail address',
      isArgument: true,
    },
  },
  async run(tools, { part }) {
    const directory = createDirectory(tools);
    const all: ListedAccount[] = [];
    for (let after: string | undefined; ; ) {
      const page = await directory.list({ part, after, limit: listedAtOnce });
      all.push(...page.accounts);
      after = page.next;
      if (after === undefined) break;
    }
    return all.sort((a, b) => a.createdAt - b.createdAt).map(listed);
  },
  lines: (all) =>
    columnsOr(
      'there is no such account',
      ['email', 'state', 'role', 'standing', 'keys', 'made', 'id'],
      all.map((one) => [
        one.email,
        one.state,
        one.role,
        one.standing,
        String(one.keys),
        one.createdAt,
        one.id,
      ]),
    ),
});

export const showAccount = operation({
  name: 'account show',
  purpose: 'state, age, keys, plan and sessions of an account',
  parameters: { email: { ...account, help: 'email of the account, or its id' } },
  async run(tools, { email }) {
    const found = expect(await tools.accounts.find(email));
    const { id } = found;
    const siteKeys = (await createSiteKeys(tools).ofAccount(id)).map((key) => key.id);
    const plan = (await createProfiles(tools).load(id))?.plan ?? 'free';
    const sessions = (await sessionsOf(tools).list(id)).length;
    const standing = await tools.accounts.vouchedOf(id);
    return shown({ ...found, standing, plan, sessions, siteKeys });
  },
  lines: (one) => [
    `${one.email}  ${stateOf(one)}  since ${one.createdAt}  id ${one.id}  keys ${one.keys.length}  site keys ${one.siteKeys.length}  standing ${one.standing}  plan ${one.plan}  sessions ${one.sessions}`,
  ],
});

function stateOf({
  disabled,
  pendingUntil,
}: Pick<AccountInfo, 'disabled' | 'pendingUntil'>): string {
  if (disabled) return 'disabled';
  return pendingUntil === 0 ? 'active' : 'unverified';
}

export const setRole = operation({
  name: 'account set-role',
  purpose: 'who may use the console: operator or member; holds from the next request on',
  parameters: {
    email: account,
    role: argument(choice(roles), 'role', 'operator: may use the console'),
  },
  audit: 'required',
  before: async (tools, { email }) => (await listedAccount(tools, email))?.role ?? '',
  run: (tools, { email, role }, call) =>
    warnIfNoOperatorLeft(tools, call, async () =>
      listed(
        expect(
          await createDirectory(tools).setRole(email, role, {
            keepsOne: call.isOnConsole === true,
          }),
        ),
      ),
    ),
  outcome: (set) => set.role,
  lines: (set) => [`account ${set.email} has the role ${set.role}`],
});

async function listedAccount(
  tools: AccountTools,
  email: string,
): Promise<ListedAccount | undefined> {
  const found = await tools.accounts.find(email);
  return found.ok ? createDirectory(tools).find(found.value.id) : undefined;
}

export const disableAccount = operation({
  name: 'account disable',
  purpose: 'refuse sign-in, sessions and keys of an account from the next request on',
  parameters: {
    email: account,
    abuse: {
      schema: flag,
      help: 'take back what it reported, its votes and what it alone confirmed',
    },
    since: {
      schema: v.optional(typedDate),
      value: 'date',
      help: 'as --abuse, for reports with this date or a later one',
      kept: true,
    },
  },
  audit: 'required',
  before: async (tools, { email }) => (await listedAccount(tools, email))?.state ?? '',
  async run(tools, { email, abuse, since }, call) {
    const one = call.isOnConsole ? await listedAccount(tools, email) : undefined;
    if (one?.role === 'operator') {
      refuse(fail('conflict', `${one.email} is an operator: take the role away first`));
    }
    const changed = await warnIfNoOperatorLeft(tools, call, async () =>
      expect(
        await tools.accounts.setDisabled(email, true, (id) => [
          signedOutNews(id, tools.clock.now()),
        ]),
      ),
    );
    const isAbuse = abuse || since !== undefined;
    const from = since === undefined ? 0 : dateIn(since)!;
    // A report under way carries nothing any more, and is found by another round.
    const gone = isAbuse ? await tools.retract(changed.id, from, false) : undefined;
    return { account: shown(changed), gone };
  },
  outcome: () => 'disabled',
  lines({ account: { email }, gone }) {
    const reports =
      gone === undefined
        ? 'its reports stay (--abuse takes them back)'
        : `retracted ${counted(gone.reports, 'report')} of ${counted(gone.addresses, 'address', 'addresses')}`;
    return [`account ${email} is disabled; ${reports}`];
  },
  json: ({ account: changed }) => changed,
});

export const enableAccount = operation({
  name: 'account enable',
  purpose: 'let a disabled account work again; what was taken back stays away',
  parameters: oneAccount,
  audit: 'required',
  before: async (tools, { email }) => (await listedAccount(tools, email))?.state ?? '',
  run: async (tools, { email }) => shown(expect(await tools.accounts.setDisabled(email, false))),
  outcome: () => 'enabled',
  lines: ({ email }) => [`account ${email} is enabled`],
});

export const vouchAccount = operation({
  name: 'account vouch',
  purpose: 'say whose word an account has: how far its reports may move a score',
  parameters: {
    email: account,
    standing: {
      schema: choice(['staff', 'member', 'none']),
      flags: {
        staff: 'one report may block an address',
        member: 'two members may, or one with lists or others',
        none: 'what it earns by its record',
      },
      kept: true,
    },
  },
  audit: 'required',
  async run(tools, { email, standing }) {
    const { id } = expect(await tools.accounts.find(email));
    const before = await tools.accounts.vouchedOf(id);
    return { ...shown(expect(await tools.accounts.vouch(email, standing))), before };
  },
  undo: ({ id, before }) => ({
    operation: 'account vouch',
    input: { email: id, standing: before },
  }),
  json: ({ before: _, ...account }) => account,
  lines: ({ email }, { standing }) => [
    `standing of account ${email}: ${standing === 'none' ? 'what it earns by its record' : standing}`,
  ],
});

export const setPlan = operation({
  name: 'account set-plan',
  purpose: 'the plan that sites see in the scope subscription',
  parameters: {
    email: account,
    plan: argument(choice(plans), 'plan', 'what the person has'),
  },
  audit: 'required',
  async before(tools, { email }) {
    const found = await tools.accounts.find(email);
    return found.ok ? ((await tools.profiles.load(found.value.id))?.plan ?? 'free') : '';
  },
  async run(tools, { email, plan }) {
    const set = expect(await createOperator(tools).setPlan(email, plan));
    return { email: set.email, plan: set.plan };
  },
  outcome: ({ plan }) => plan,
  lines: ({ email, plan }) => [`account ${email} has the plan ${plan}`],
});

export const verifyIdentity = operation({
  name: 'account verify-identity',
  purpose: 'say that a proof of the birth date was seen: sites see age_verified',
  parameters: oneAccount,
  audit: 'required',
  async run(tools, { email }) {
    const done = expect(await createOperator(tools).verifyIdentity(email));
    return { email: done.email, birthdate: done.birthdate, ageVerified: true };
  },
  lines: ({ email, birthdate }) => [`account ${email}: birth date ${birthdate} is verified`],
});

export const resetFactor = operation({
  name: 'account reset-factor',
  purpose:
    'switch off the second factor of somebody who lost it, or who has one that a thief set up',
  parameters: oneAccount,
  audit: 'required',
  async run(tools, { email }) {
    const { value, sent } = await withNotices(tools, async (notices) =>
      expect(await createOperator(tools).resetFactor(email, notices)),
    );
    return { ...value, sent };
  },
  lines({ email, sent }) {
    const end = sent ? 'a mail tells the owner' : 'the mail to the owner could not be sent';
    return [`account ${email}: the second factor is off, all sessions ended; ${end}`];
  },
});

export const sendReset = operation({
  name: 'account send-reset',
  purpose: 'mail the owner a link for a new password; nobody else sees it',
  parameters: oneAccount,
  audit: 'required',
  async run(tools, { email }) {
    const { id, email: address } = expect(await tools.accounts.find(email));
    const { sent } = expect(await sendResetLink(tools, id));
    return { email: address, sent };
  },
  outcome: ({ sent }) => (sent ? 'mailed' : 'not mailed'),
  lines: ({ email, sent }) => [
    `account ${email}: the mail with a link for a new password ${sent ? 'is on its way' : 'could not be sent'}`,
  ],
});

const shownInvitation = <T extends { readonly until: number }>(one: T) => ({
  ...one,
  until: dateText(one.until),
});

export const inviteAccount = operation({
  name: 'account invite',
  purpose: 'mail a link with which its reader makes an account; works when registration is closed',
  parameters: {
    email: {
      ...account,
      help: 'mail address that the account is for, and no other',
      control: { maxLength: 254, autocomplete: 'off' },
    },
    language: {
      schema: v.optional(choice(languages), 'en'),
      value: 'code',
      help: 'of the mail and of the account',
    },
  },
  audit: 'required',
  async run(tools, { email, language }) {
    const { invitation, sent } = expect(await sendInvitation(tools, email, language));
    return { ...shownInvitation(invitation), sent };
  },
  outcome: ({ sent }) => (sent ? 'mailed' : 'not mailed'),
  lines: ({ email, until, sent }) => [
    sent
      ? `${email} is invited: the link works until ${until}`
      : `${email} is invited, but the mail could not be sent: invite it again`,
  ],
});

export const listInvited = operation({
  name: 'account invitations',
  purpose: 'addresses that are invited and have not answered',
  parameters: {},
  run: async (tools) => (await listInvitations(tools.store)).map(shownInvitation),
  lines: (all) =>
    columnsOr(
      'nobody is invited',
      ['email', 'until', 'id'],
      all.map(({ email, until, id }) => [email, until, id]),
    ),
});

export const withdraw = operation({
  name: 'account withdraw',
  purpose: 'take an invitation back: its links open nothing any more',
  parameters: oneAccount,
  audit: 'required',
  run: async (tools, { email }) =>
    expect(await withdrawInvitation(tools.store, openPeople(tools.store), email)),
  outcome: () => 'withdrawn',
  lines: ({ email }) => [`the invitation of ${email} is withdrawn`],
});

export const setQuotas = operation({
  name: 'account set-quotas',
  purpose: 'quotas of an account by hand; 0 gives one back to trust',
  parameters: {
    email: account,
    readPerMinute: {
      schema: v.optional(perMinute),
      value: 'n',
      help: 'checks a minute',
      kept: true,
      control: { inputMode: 'numeric', maxLength: 9 },
    },
    writePerMinute: {
      schema: v.optional(perMinute),
      value: 'n',
      help: 'reports a minute',
      kept: true,
      control: { inputMode: 'numeric', maxLength: 9 },
    },
  },
  audit: 'required',
  async run(tools, { email, ...quotas }) {
    const { readPerMinute, writePerMinute } = quotas;
    if (readPerMinute === undefined && writePerMinute === undefined) {
      throw new OperatorError('say --read-per-minute, --write-per-minute or both');
    }
    const set = expect(await tools.accounts.setQuotas(email, { readPerMinute, writePerMinute }));
    return { email: set.email, readPerMinute, writePerMinute };
  },
  outcome: ({ readPerMinute = 'as before', writePerMinute = 'as before' }) =>
    `checks ${readPerMinute}, reports ${writePerMinute}`,
  lines: ({ email }) => [`the quotas of account ${email} are set`],
});

export const endSessions = operation({
  name: 'account end-sessions',
  purpose: 'sign an account out everywhere',
  parameters: oneAccount,
  audit: 'required',
  async before(tools, { email }) {
    const found = await tools.accounts.find(email);
    return found.ok
      ? counted((await sessionsOf(tools).list(found.value.id)).length, 'session')
      : '';
  },
  async run(tools, { email }) {
    const { id, email: address } = expect(await tools.accounts.find(email));
    expect(await sessionsOf(tools).endAll(id));
    return { email: address };
  },
  outcome: () => 'none',
  lines: ({ email }) => [`account ${email} is signed out everywhere`],
});

export const deleteAccount = operation({
  name: 'account delete',
  purpose: 'remove an account and all that is kept of the person; reports stay, nameless',
  parameters: oneAccount,
  audit: 'required',
  async run(tools, { email }, call) {
    const found = expect(await tools.accounts.find(email));
    await warnIfNoOperatorLeft(tools, call, () =>
      tools.withDeletion(async (deletion) => expect(await deletion.delete(found.id))),
    );
    return shown(found);
  },
  lines: ({ email }) => [
    `account ${email} is deleted; with an embedded store, compact clears the file too`,
  ],
});

export const exportAccount = operation({
  name: 'account export',
  purpose: 'all that is kept of a person, as JSON, without secrets',
  parameters: oneAccount,
  audit: 'required',
  async run(tools, { email }) {
    const found = expect(await tools.accounts.find(email));
    return tools.withDeletion(async (deletion) => expect(await deletion.exportOf(found.id)));
  },
  lines: (data) => [JSON.stringify(data, null, 2)],
});

/** Runs with what judges and hashes a first password, as those that people choose; its thread ends afterwards. */
export async function withNewPasswords<T>(
  options: {
    config: Config;
    random: Random;
    /** Without one no range source is asked: for a password that was drawn, not chosen. */
    log?: Log;
  },
  run: (newPasswords: NewPasswords) => Promise<T>,
): Promise<T> {
  const strength = openPasswordStrength();
  try {
    const { log, config } = options;
    const { siteName } = config;
    const service = [
      new URL(config.baseUrl).hostname,
      ...(siteName === undefined ? [] : [siteName]),
    ];
    const { pwnedRangeUrl: rangeUrl } = config;
    const breached = rangeUrl && log ? createBreachedPasswords({ rangeUrl, log }) : undefined;
    return await run(
      createNewPasswords({ passwords: createPasswords(options), strength, service, breached }),
    );
  } finally {
    await strength.close();
  }
}

export const readSignInLog = operationsOn<OperationTools>()({
  name: 'log sign-ins',
  purpose: 'sign-ins, failures, lock-outs and refusals with their addresses, 30 days',
  parameters: lastDays,
  async run(tools, { days }) {
    const entries = [];
    for await (const entry of readSignIns(tools.store, sinceDays(tools.clock.now(), days))) {
      entries.push({ ...entry, at: dateText(entry.at) });
    }
    return entries;
  },
  lines: (entries) =>
    columnsOr(
      'nobody has signed in yet',
      ['when', 'event', 'address', 'account', 'path', 'status'],
      entries.map(({ at, event, address, account, path, status }) => [
        at,
        event,
        address,
        account || '-',
        path,
        String(status),
      ]),
    ),
});

// The changes that only the operator of the service may make of a person: a first password, the plan, that
// a proof of the birth date was seen, and that the second factor is off.

export function createOperator(options: {
  store: Store;
  clock: Clock;
  random: Random;
  accounts: Pick<Accounts, 'find'>;
  profiles: Pick<Profiles, 'update'>;
}) {
  const { store, clock, accounts, profiles } = options;
  const people = openPeople(store);
  const securityLog = createSecurityLog(options);

  async function change(
    email: string,
    to: (profile: Profile) => Result<Profile>,
  ): Promise<Result<Profile>> {
    const found = await accounts.find(email);
    return found.ok ? profiles.update(found.value.id, to) : found;
  }

  return {
    /** Sets the password of an account without one; `conflict` when it has one. It is judged as any other. */
    async setFirstPassword(
      accountId: string,
      password: string,
      newPasswords: Pick<NewPasswords, 'accept'>,
    ): Promise<Result<void>> {
      const first = await people.byId(accountId);
      if (first === undefined) return fail('unknown_account');
      const phc = await newPasswords.accept(password, first.account.email);
      if (!phc.ok) return phc;
      return retryOnConflict<void>(async () => {
        const person = await people.byId(accountId);
        if (person === undefined) return fail('unknown_account');
        const { credentials } = person;
        if (credentials.passwordHash !== '') {
          return fail('conflict', `${person.account.email} has a password already`);
        }
        const changed = {
          ...credentials,
          passwordHash: phc.value,
          passwordChangedAt: clock.now(),
          epoch: credentials.epoch + 1,
        };
        return commitOnce(store, {
          check: versionChecks(person),
          set: [credentialsRow(person, changed), signedOutNews(accountId, clock.now())],
        });
      });
    },
    setPlan: (email: string, plan: Plan): Promise<Result<Profile>> =>
      change(email, (profile) => ok({ ...profile, plan })),
    /** `conflict` without a birth date: there is nothing that was proved. */
    verifyIdentity: (email: string): Promise<Result<Profile>> =>
      change(email, (profile) =>
        profile.birthdate === ''
          ? fail('conflict', `${profile.email} has given no birth date that could be proved`)
          : ok({ ...profile, ageVerified: true }),
      ),
    /**
     * Switches a second factor off: for a person who lost it, or whose account was taken over by somebody who set
     * one up, which a new password by mail does not undo. All sessions end, known browsers are forgotten, and the
     * review of passkeys, keys and sites is due at the next sign-in: the operator can't know which of them are the
     * owner's. A mail and the security log record it. `unknown_account`, `invalid_parameter`; `conflict`: there is
     * no second factor.
     */
    async resetFactor(
      email: string,
      notices: Pick<Notices, 'about'>,
    ): Promise<Result<{ email: string }>> {
      const account = await accounts.find(email);
      if (!account.ok) return account;
      return retryOnConflict<{ email: string }>(async () => {
        const person = await people.byId(account.value.id);
        if (person === undefined) return fail('unknown_account');
        const { key, version, factor } = await loadFactor(store, person.id);
        if (factor === undefined || factor.enabledAt === 0) {
          return fail('conflict', `${person.account.email} has no second factor`);
        }
        const { credentials } = person;
        const isDue = credentials.reviewSince !== 0 || (await hasReviewable(store, person));
        const changed = {
          ...credentials,
          epoch: credentials.epoch + 1,
          factors: credentials.factors + 1,
          browsers: [],
          reviewSince: isDue ? clock.now() : 0,
        };
        const logged = await securityLog.entry(person.id, 'factor_reset', operatorsClient);
        const notice = isVerified(person) && notices.about(person, 'factor_reset', operatorsClient);
        const mails = notice ? notice.set : [];
        const done = await commitOnce(store, {
          check: [...versionChecks(person), { key, version }, ...logged.check],
          set: [
            credentialsRow(person, changed),
            signedOutNews(person.id, clock.now()),
            ...mails,
            ...logged.set,
          ],
          del: [key, ...logged.del],
        });
        if (done === 'conflict' || !done.ok) return done;
        if (notice) notice.send();
        return ok({ email: person.account.email });
      });
    },
  };
}
