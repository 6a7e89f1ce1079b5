/** Accounts and reports as the operators' console shows and changes them: by what the commands use. */

import { createDirectory } from '../../../access/accounts/directory.ts';
import { quotasInForce } from '../../../access/accounts/fold.ts';
import { createKeyRecords } from '../../../access/keys/key-records.ts';
import { plainScopes, scopeNames } from '../../../access/keys/key-scopes.ts';
import { type KeyUse, readKeyUse } from '../../../access/keys/key-use.ts';
import type { MasterKey } from '../../../access/keys/master-key.ts';
import { waitingFacts } from '../../../access/slots.ts';
import type { ConsolePeople } from '../../../console/people/people.route.ts';
import type { ConsoleReports } from '../../../console/reputation/reports.route.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok } from '../../../core/result.ts';
import { createTurns } from '../../../core/work/turns.ts';
import { formatIp, parseIp } from '../../../ip/address.ts';
import { lookBehind } from '../../../ip/behind.ts';
import { typedAddress } from '../../../ip/typed.ts';
import { categoriesOf } from '../../../reputation/reports/categories.ts';
import type { OwnReports } from '../../../reputation/reports/store/own-reports.ts';
import type { StoredReport } from '../../../reputation/reports/store/report-rows.ts';
import { createReportStore } from '../../../reputation/reports/store/report-store.ts';
import { retractReport, takeBackReports } from '../../../reputation/voices/taking-back.ts';
import { createOperator } from '../../../signon/people/operator.ts';
import { plans } from '../../../signon/people/profile/profile.ts';
import type { Store } from '../../../store/store.ts';
import type { State } from '../../state.ts';
import type { SignonParts } from '../signon.ts';

export interface ConsolePeopleParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly masterKey: MasterKey;
  readonly state: Pick<State, 'access'>;
  /** By the account's index. */
  readonly ownReports: { readonly ofAccount: OwnReports['page'] };
  readonly signon: Pick<
    SignonParts,
    'accounts' | 'profiles' | 'ownKeys' | 'namedKeys' | 'siteKeys' | 'signon'
  >;
}

/** In whole points, 0 to 100; undefined before the first key. */
function roundedTrust({ access }: Pick<State, 'access'>, id: string): number | undefined {
  const trust = access.standingOf(id)?.trust;
  return trust === undefined ? undefined : Math.round(trust);
}

function usedAt(use: KeyUse | undefined): { lastUsedAt: number | undefined } {
  return { lastUsedAt: use?.lastUsedAt || undefined };
}

export function consolePeople(parts: ConsolePeopleParts): ConsolePeople {
  const { store, state, signon } = parts;
  const { accounts, profiles, ownKeys, namedKeys: named, siteKeys } = signon;
  const { sessions, recovery } = signon.signon;
  const directory = createDirectory({ store, accounts });
  const records = createKeyRecords(parts);
  const operator = createOperator({ ...parts, accounts, profiles });

  /** Before the first key: what an operator set already, if anything. */
  async function quotasOf(id: string) {
    const known = state.access.quotasOf(id);
    if (known !== undefined) return known;
    const waiting = await waitingFacts(store, id);
    return waiting && quotasInForce(waiting);
  }

  async function keysOf(id: string) {
    const own = await ownKeys.list(id);
    const plain = own.map(async ({ id: keyId, createdAt }) => {
      const use = await readKeyUse(store, keyId);
      return { id: keyId, name: '', createdAt, scopes: scopeNames(plainScopes), ...usedAt(use) };
    });
    const others = (await named.list(id)).map(({ id: keyId, name, createdAt, scopes, use }) => {
      return { id: keyId, name, createdAt, scopes: scopeNames(scopes), ...usedAt(use) };
    });
    return [...(await Promise.all(plain)), ...others];
  }

  return {
    find: (part, after, limit) => directory.list({ part, after, limit }),
    async person(id) {
      const found = await directory.find(id);
      if (found === undefined) return undefined;
      const [profile, open, keys, siteKeysOfIt, quotas] = await Promise.all([
        profiles.load(id),
        sessions.list(id),
        keysOf(id),
        siteKeys.ofAccount(id),
        quotasOf(id),
      ]);
      const facts = { trust: roundedTrust(state, id), plan: profile?.plan ?? 'free', quotas };
      return { ...found, ...facts, plans, sessions: open.length, keys, siteKeys: siteKeysOfIt };
    },
    async setDisabled(id, disabled) {
      const found = await directory.find(id);
      if (disabled && found?.role === 'operator') {
        return fail('conflict', `${found.email} is an operator: take the role away first`);
      }
      return accounts.setDisabled(id, disabled);
    },
    setRole: (id, role) => directory.setRole(id, role, { keepsOne: true }),
    async setPlan(id, wanted) {
      const plan = plans.find((one) => one === wanted);
      return plan === undefined ? fail('invalid_parameter') : operator.setPlan(id, plan);
    },
    setQuotas: (id, quotas) => accounts.setQuotas(id, quotas),
    endSessions: (id) => sessions.endAll(id),
    sendReset: (id) => recovery.sendByOperator(id),
    async revokeKey(id, keyId) {
      const key = await records.find(keyId);
      return key?.record.account === id ? accounts.revokeKey(keyId) : fail('unknown_key');
    },
    async revokeSiteKey(id, keyId) {
      const key = await siteKeys.find(keyId);
      return key?.account === id ? siteKeys.revoke(keyId) : fail('unknown_key');
    },
  };
}

export function consoleReports(parts: ConsolePeopleParts): ConsoleReports {
  const { store, state, signon } = parts;
  const reports = createReportStore(parts);
  const directory = createDirectory({ store, accounts: signon.accounts });

  const shown = (address: string, report: StoredReport) => {
    const { id, account, reportedAt, comment } = report;
    return {
      id,
      address,
      account,
      reportedAt,
      comment,
      categories: categoriesOf(report.categories),
    };
  };

  return {
    async ofAddress(text, limit) {
      const words = new Uint32Array(4);
      const family = lookBehind(parseIp(typedAddress(text), words), words);
      if (family === 0) return undefined;
      const found = await reports.list(family, words, 0, limit);
      return found.map((report) => shown(formatIp(family, words), report));
    },
    async ofReporter(name, after) {
      const named = await signon.accounts.find(name);
      const found = named.ok ? await directory.find(named.value.id) : undefined;
      if (found === undefined) return fail('unknown_account');
      const { id, email, standing } = found;
      const page = await parts.ownReports.ofAccount(found, after);
      if (!page.ok) return page;
      const trust = roundedTrust(state, id);
      return ok({
        reporter: { id, email, trust, standing },
        reports: page.value.reports.map((one) => shown(formatIp(one.family, one.words), one)),
        next: page.value.next,
      });
    },
    retract: (id) => retractReport(reports, id),
    retractAll: (account) =>
      takeBackReports({ store, reports, account, since: 0, penalty: true, pace: createTurns() }),
  };
}
