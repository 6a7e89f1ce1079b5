/** Operations on accounts: make, list, show, change, disable and delete them. */

import * as v from 'valibot';
import type { AccountInfo } from '../../access/account-names.ts';
import { createDirectory, type ListedAccount } from '../../access/accounts/directory.ts';
import { activeOperators } from '../../access/accounts/operators.ts';
import { createSiteKeys } from '../../access/keys/site-keys.ts';
import { roles } from '../../access/roles.ts';
import { dateIn, dateText } from '../../core/names/date-text.ts';
import { createOperator } from '../../signon/people/operator.ts';
import { plans } from '../../signon/people/profile/profile.ts';
import { createProfiles } from '../../signon/people/profile/profile-store.ts';
import { openPeople } from '../../signon/people.ts';
import { createFactorReset } from '../../signon/proofs/factors/factor-reset.ts';
import { createSessions } from '../../signon/sessions/sessions.ts';
import { withDeletion } from '../deletion.ts';
import { sendResetLink, withNotices } from '../mailing.ts';
import { withNewPasswords } from '../new-passwords.ts';
import { defineOperation, type OperationCall } from '../operation.ts';
import { retract } from '../retraction.ts';
import { accountName, noInput, perMinute, shortText, textOf, typedDate } from '../schema.ts';
import { expect, type StoreTools, standingOf } from '../workspace.ts';

/** Accounts read in one go. */
const listedAtOnce = 500;
/** Longer than any password that is taken. */
const passwordCharsMax = 4_096;

const oneAccount = v.strictObject({ email: accountName });
const ofAccount = { args: ['email'], person: 'email' } as const;

const sessionsOf = (tools: StoreTools) =>
  createSessions({ ...tools, people: openPeople(tools.store) });
const shown = <T extends AccountInfo>(info: T) => ({
  ...info,
  createdAt: dateText(info.createdAt),
});
const listed = (one: ListedAccount) => ({ ...one, createdAt: dateText(one.createdAt) });

/** A change may take the last operator away; then it says so, and how there is one again. */
async function sayingWhoIsLeft<T>(
  { store }: Pick<StoreTools, 'store'>,
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

export const createAccount = defineOperation({
  name: 'account create',
  input: v.strictObject({
    email: accountName,
    /** For the sign-in; without one none is set. */
    password: v.optional(textOf(passwordCharsMax)),
    standing: v.optional(v.picklist(['newcomer', 'member', 'staff'])),
  }),
  audit: { ...ofAccount, options: ['standing'] },
  async run(w, { email, password, standing }) {
    const vouched = standing === 'newcomer' ? 'none' : (standing ?? standingOf(w.config));
    if (password === undefined) return shown(expect(await w.accounts.create(email, vouched)));
    return withNewPasswords(w, async (newPasswords) => {
      // Judged before there is an account: a weak one makes none.
      expect(await newPasswords.accept(password, email));
      const info = expect(await w.accounts.create(email, vouched));
      expect(await createOperator(w).setFirstPassword(info.id, password, newPasswords));
      return shown(info);
    });
  },
});

export const listAccounts = defineOperation({
  name: 'account list',
  input: v.strictObject({ part: v.optional(shortText, '') }),
  async run(w, { part }) {
    const directory = createDirectory(w);
    const all: ListedAccount[] = [];
    for (let after: string | undefined; ; ) {
      const page = await directory.list({ part, after, limit: listedAtOnce });
      all.push(...page.accounts);
      after = page.next;
      if (after === undefined) break;
    }
    return all.sort((a, b) => a.createdAt - b.createdAt).map(listed);
  },
});

export const showAccount = defineOperation({
  name: 'account show',
  input: oneAccount,
  async run(w, { email }) {
    const account = expect(await w.accounts.find(email));
    const { id } = account;
    const siteKeys = (await createSiteKeys(w).ofAccount(id)).map((key) => key.id);
    const plan = (await createProfiles(w).load(id))?.plan ?? 'free';
    const sessions = (await sessionsOf(w).list(id)).length;
    const standing = await w.accounts.vouchedOf(id);
    return shown({ ...account, standing, plan, sessions, siteKeys });
  },
});

export const listUnconfirmed = defineOperation({
  name: 'account unconfirmed',
  input: noInput,
  audit: {},
  run: async ({ accounts }) => (await accounts.unconfirmed()).map(shown),
});

export const setRole = defineOperation({
  name: 'account set-role',
  input: v.strictObject({ email: accountName, role: v.picklist(roles) }),
  audit: { args: ['email', 'role'], person: 'email' },
  run: (w, { email, role }, call) =>
    sayingWhoIsLeft(w, call, async () =>
      listed(expect(await createDirectory(w).setRole(email, role))),
    ),
});

export const disableAccount = defineOperation({
  name: 'account disable',
  input: v.strictObject({
    email: accountName,
    /** Takes its reports back too. */
    abuse: v.optional(v.boolean(), false),
    /** Takes back the reports with this date or a later one. */
    since: v.optional(typedDate),
  }),
  audit: { ...ofAccount, options: ['since'] },
  async run(w, { email, abuse, since }, call) {
    const changed = await sayingWhoIsLeft(w, call, async () =>
      expect(await w.accounts.setDisabled(email, true)),
    );
    const isAbuse = abuse || since !== undefined;
    const from = since === undefined ? 0 : dateIn(since)!;
    // A report under way carries nothing any more, and is found by another round.
    const gone = isAbuse ? await retract(w, changed.id, from, false) : undefined;
    return { account: shown(changed), gone };
  },
});

export const enableAccount = defineOperation({
  name: 'account enable',
  input: oneAccount,
  audit: ofAccount,
  run: async (w, { email }) => shown(expect(await w.accounts.setDisabled(email, false))),
});

export const vouchAccount = defineOperation({
  name: 'account vouch',
  input: v.strictObject({ email: accountName, standing: v.picklist(['staff', 'member', 'none']) }),
  audit: { ...ofAccount, options: ['standing'] },
  run: async (w, { email, standing }) => shown(expect(await w.accounts.vouch(email, standing))),
});

export const setPlan = defineOperation({
  name: 'account set-plan',
  input: v.strictObject({ email: accountName, plan: v.picklist(plans) }),
  audit: { args: ['email', 'plan'], person: 'email' },
  async run(w, { email, plan }) {
    const set = expect(await createOperator(w).setPlan(email, plan));
    return { email: set.email, plan: set.plan };
  },
});

export const verifyIdentity = defineOperation({
  name: 'account verify-identity',
  input: oneAccount,
  audit: ofAccount,
  async run(w, { email }) {
    const done = expect(await createOperator(w).verifyIdentity(email));
    return { email: done.email, birthdate: done.birthdate, ageVerified: true };
  },
});

export const resetFactor = defineOperation({
  name: 'account reset-factor',
  input: oneAccount,
  audit: ofAccount,
  async run(w, { email }) {
    const { value, sent: told } = await withNotices(w, async (notices) =>
      expect(await createFactorReset({ ...w, notices }).resetFactor(email)),
    );
    return { ...value, told };
  },
});

export const sendReset = defineOperation({
  name: 'account send-reset',
  input: oneAccount,
  audit: ofAccount,
  async run(w, { email }) {
    const { id, email: address } = expect(await w.accounts.find(email));
    const { sent: told } = expect(await sendResetLink(w, id));
    return { email: address, told };
  },
});

export const setQuotas = defineOperation({
  name: 'account set-quotas',
  input: v.strictObject({
    email: accountName,
    readPerMinute: v.optional(perMinute),
    writePerMinute: v.optional(perMinute),
  }),
  audit: { ...ofAccount, options: ['readPerMinute', 'writePerMinute'] },
  async run(w, { email, ...quotas }) {
    const { readPerMinute, writePerMinute } = quotas;
    const set = expect(await w.accounts.setQuotas(email, { readPerMinute, writePerMinute }));
    return { email: set.email, readPerMinute, writePerMinute };
  },
});

export const endSessions = defineOperation({
  name: 'account end-sessions',
  input: oneAccount,
  audit: ofAccount,
  async run(w, { email }) {
    const { id, email: address } = expect(await w.accounts.find(email));
    expect(await sessionsOf(w).endAll(id));
    return { email: address };
  },
});

export const deleteAccount = defineOperation({
  name: 'account delete',
  input: oneAccount,
  audit: ofAccount,
  async run(w, { email }, call) {
    const found = expect(await w.accounts.find(email));
    await sayingWhoIsLeft(w, call, () =>
      withDeletion(w, async (deletion) => expect(await deletion.delete(found.id))),
    );
    return shown(found);
  },
});

export const exportAccount = defineOperation({
  name: 'account export',
  input: oneAccount,
  audit: ofAccount,
  async run(w, { email }) {
    const found = expect(await w.accounts.find(email));
    return withDeletion(w, async (deletion) => expect(await deletion.exportOf(found.id)));
  },
});
