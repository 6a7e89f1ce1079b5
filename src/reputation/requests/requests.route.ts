/**
 * GET and POST /removal: who has an address asks the operator to take back what is said of it; signed in,
 * or with a challenge. GET and POST /report: an account reports an address by hand, as its key would.
 */

import type { Clock } from '../../core/clock.ts';
import { type Failure, fail } from '../../core/result.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { specialUse } from '../../ip/special.ts';
import { statusOf } from '../../web/errors.ts';
import type { Callers } from '../../web/guard/callers.ts';
import type { AnyDesk } from '../../web/guard/desk.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import type { FormChallenges } from '../../web/guard/form-challenges.ts';
import type { AnyVisit, SessionLike } from '../../web/guard/visit.ts';
import type { Check } from '../check/check.ts';
import { readReport } from '../reports/report.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import { clientNetwork } from '../voices/client-network.ts';
import { type Removals, readReason } from './removals.ts';
import { removalPage, reportPage } from './requests.page.ts';

interface Person extends SessionLike {
  readonly accountId: string;
}
type PersonVisit = AnyVisit<Person>;

export const requestEndpoints = {
  askRemoval: deskPage('/removal', 'anyone', { errors: ['invalid_parameter'] }),
  removal: deskForm('/removal', 'anyone', {
    handlerLimits: ['captchaVerify', 'captchaFree', 'removal'],
    errors: ['invalid_parameter', 'capacity_exceeded'],
  }),
  askReport: deskPage('/report', 'verified', { errors: ['invalid_parameter'] }),
  report: deskForm('/report', 'verified', {
    errors: [
      ...(['invalid_parameter', 'quota_exceeded', 'duplicate_report'] as const),
      ...(['address_quota_exceeded', 'capacity_exceeded', 'unauthenticated'] as const),
    ],
  }),
};

export interface RequestPageOptions {
  readonly desk: AnyDesk<Person>;
  readonly removals: Removals;
  readonly challenges: FormChallenges;
  readonly callers: Pick<Callers, 'take'>;
  readonly check: Check;
  readonly clock: Clock;
  readonly geo: GeoReader;
  readonly reports: ReportStore;
  /** Of an account's first key; undefined: it has none. */
  readonly slotOf: (accountId: string) => number | undefined;
  /** Takes one report from what the account may write. */
  readonly spend: (slot: number) => boolean;
  readonly catchUpTo: (seq: bigint) => Promise<void>;
  readonly allowDocumentation: boolean;
  readonly serverAddresses: readonly string[];
}

interface Asked {
  readonly ip: string;
  readonly family: 4 | 6;
  readonly words: Uint32Array;
}

const noAddress = fail('invalid_parameter', undefined, 'address');

/** What others can reach, and in the demo examples: of nothing else anything is said. */
function addressIn(params: Params, allowDocumentation: boolean): Asked | undefined {
  const words = new Uint32Array(4);
  const family = parseIp((params.get('address') ?? '').trim(), words);
  if (family === 0) return undefined;
  const use = specialUse(family, words);
  const isExample = allowDocumentation && use?.documentation === true;
  if (use !== undefined && !use.globallyReachable && !isExample) return undefined;
  return { ip: formatIp(family, words), family, words };
}

export function requestRoutes(options: RequestPageOptions): PlainRoute[] {
  return [...removalRoutes(options), ...reportRoutes(options)];
}

function tooMany(retryAfterSeconds: number): Failure {
  return { ...fail('too_many_attempts'), retryAfterSeconds };
}

function removalRoutes(options: RequestPageOptions): PlainRoute[] {
  const { desk, removals, challenges, callers, allowDocumentation } = options;

  const isPerson = ({ session }: PersonVisit) => session?.verified === true;

  async function show(
    visit: PersonVisit,
    ip: string,
    reason = '',
    wrong?: 'reason' | 'challenge' | 'full',
  ) {
    const open = await removals.find(ip);
    const needsChallenge = open === undefined && !isPerson(visit);
    const challenge = needsChallenge ? challenges.make(visit.request) : ('signed-in' as const);
    const data = { address: ip, csrf: visit.csrf, open, reason, wrong, challenge };
    return desk.show(visit, (frame) => removalPage(frame, data), {
      status: wrong === undefined ? 200 : wrong === 'full' ? 503 : 422,
      needs: { media: true },
      headers: needsChallenge ? challenges.headers(visit.request) : [],
    });
  }

  async function send(visit: PersonVisit, form: Params): Promise<Reply> {
    const asked = addressIn(form, allowDocumentation);
    if (asked === undefined) return desk.problem(visit, noAddress);
    const typed = form.get('reason') ?? '';
    const signedIn = isPerson(visit);
    const answer = signedIn ? undefined : challenges.answerIn(visit.request, form);
    if (answer !== undefined && 'waitSeconds' in answer) {
      return desk.problem(visit, tooMany(answer.waitSeconds));
    }
    const reason = readReason(typed);
    if (reason === undefined) return show(visit, asked.ip, typed, 'reason');
    if (answer !== undefined && (await answer.judge()) !== 'right') {
      return show(visit, asked.ip, reason, 'challenge');
    }
    const waitSeconds = callers.take('removal', visit.request);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    const fromAddress = visit.request.clientIp === asked.ip;
    const done = await removals.add(asked.ip, { reason, fromAddress, signedIn });
    if (done.ok) return desk.go(visit, `/removal?address=${asked.ip}`);
    const isFull = done.error === 'capacity_exceeded';
    return isFull ? show(visit, asked.ip, reason, 'full') : desk.problem(visit, done);
  }

  return [
    desk.page(requestEndpoints.askRemoval, (visit, query) => {
      const asked = addressIn(query, allowDocumentation);
      return asked === undefined ? desk.problem(visit, noAddress) : show(visit, asked.ip);
    }),
    desk.form(requestEndpoints.removal, send),
  ];
}

function reportRoutes(options: RequestPageOptions): PlainRoute[] {
  const { desk, check, clock, geo, reports, slotOf, allowDocumentation } = options;
  const serverAddresses = new Set(options.serverAddresses);

  function show(
    visit: PersonVisit & { session: Person },
    ip: string,
    comment = '',
    failure?: Failure,
  ) {
    const hasKey = slotOf(visit.session.accountId) !== undefined;
    const data = { address: ip, csrf: visit.csrf, hasKey, comment, failure };
    const status = failure === undefined ? 200 : statusOf(failure.error);
    return desk.show(visit, (frame) => reportPage(frame, data), { status, failure });
  }

  async function send(visit: PersonVisit & { session: Person }, form: Params): Promise<Reply> {
    const asked = addressIn(form, allowDocumentation);
    if (asked === undefined) return desk.problem(visit, noAddress);
    const { accountId } = visit.session;
    const { clientIp } = visit.request;
    const comment = form.get('comment') ?? '';
    const categories = form.all('categories').join(',');
    const refuse = (failure: Failure) => show(visit, asked.ip, comment, failure);
    if (categories === '') return refuse(fail('invalid_parameter', undefined, 'categories'));
    const report = readReport(
      { ip: asked.ip, categories, comment, timestamp: undefined },
      {
        now: clock.now(),
        allowDocumentation,
        ownAddresses: { has: (ip) => ip === clientIp || serverAddresses.has(ip) },
      },
    );
    if (!report.ok) return refuse(report);
    const slot = slotOf(accountId);
    if (slot === undefined) return show(visit, asked.ip, comment);
    if (!options.spend(slot)) return refuse(fail('quota_exceeded'));
    const network = clientNetwork({ geo, check, clock }, clientIp);
    const reporter = { account: accountId, slot, country: clientCountry(geo, clientIp), network };
    const saved = await reports.add(reporter, report.value);
    if (!saved.ok) return refuse(saved);
    await options.catchUpTo(saved.value.seq);
    return desk.go(visit, `/ip/${asked.ip}`);
  }

  return [
    desk.page(requestEndpoints.askReport, (visit, query) => {
      const asked = addressIn(query, allowDocumentation);
      return asked === undefined ? desk.problem(visit, noAddress) : show(visit, asked.ip);
    }),
    desk.form(requestEndpoints.report, send, ['categories']),
  ];
}
