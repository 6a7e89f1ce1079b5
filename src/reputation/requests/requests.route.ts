/** Two forms about one address, for visitors: a report by hand, and a request for removal. */

import { type QuotaGuard, quotaKind } from '../../access/quota/quota.ts';
import type { CatchUpTo } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { statusOf } from '../../core/errors.ts';
import { type Failure, fail } from '../../core/result.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { formatIp, type IpWords } from '../../ip/address.ts';
import { readJudgedIp, textOfEmbedded } from '../../ip/embedded-ipv4.ts';
import { specialUse } from '../../ip/special.ts';
import { typedAddress } from '../../ip/typed-address.ts';
import { asksForAnother, type FormChallenges } from '../../web/components/challenge.tsx';
import type { Callers } from '../../web/guard/callers.ts';
import { sessionForm, sessionPage } from '../../web/guard/endpoint.ts';
import type { AnyPageBuilder } from '../../web/guard/page-builder.ts';
import type { AnyRequestContext, SessionLike } from '../../web/guard/request-context.ts';
import type { Check } from '../check/check.ts';
import { categoriesOf } from '../reports/categories.ts';
import { clientNetwork, type Report, readReport } from '../reports/report.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import {
  type AnonymousReports,
  isBetter,
  type Removals,
  readReason,
  standingOfAsker,
} from './queue.ts';
import { removalPage, reportPage } from './requests.page.tsx';

// GET and POST /report: an address is reported by hand. Of an account with a key it is a report, as by that
// key; of anybody else an anonymous report, with a challenge, that waits for the operator.

const reportFormEndpoints = {
  ask: sessionPage('/report', 'anyone', { errors: ['invalid_parameter'] }),
  send: sessionForm('/report', 'anyone', {
    handlerLimits: ['captchaVerify', 'captchaFree', 'tip'],
    errors: [
      'invalid_parameter',
      'quota_exceeded',
      'duplicate_report',
      'address_quota_exceeded',
      'capacity_exceeded',
      'unauthenticated',
    ],
  }),
};

/** The fields of a refused form that are shown again. */
interface Again {
  readonly categories?: readonly string[];
  readonly comment?: string;
  readonly failure?: Failure;
  readonly isChallengeWrong?: boolean;
  readonly isSent?: boolean;
}

function reportFormRoutes(options: RequestPageOptions): PlainRoute[] {
  const {
    pageBuilder,
    anonymousReports,
    formChallenges,
    callers,
    check,
    clock,
    geo,
    reports,
    allowDocumentation,
  } = options;
  const serverAddresses = new Set(options.serverAddresses);

  /** Returns the slot of a verified account with a key; a report without one is an anonymous report. */
  function slotIn(context: PersonRequest): number | undefined {
    return isVerifiedSender(context) ? options.slotOf(context.session!.accountId) : undefined;
  }

  function show(context: PersonRequest, ip: string, again: Again = {}) {
    const isAnonymous = slotIn(context) === undefined;
    const needsChallenge = isAnonymous && !isVerifiedSender(context) && again.isSent !== true;
    const challenge = needsChallenge
      ? formChallenges.make(context.request)
      : ('signed-in' as const);
    const account = isAnonymous ? (isVerifiedSender(context) ? 'keyless' : 'none') : 'keyed';
    const { failure, isChallengeWrong } = again;
    const bad = failure === undefined ? 200 : statusOf(failure.error);
    const data = { address: ip, csrf: context.csrf, account, challenge, ...again } as const;
    return pageBuilder.show(context, (frame) => reportPage(frame, data), {
      status: isChallengeWrong ? 422 : bad,
      failure,
      needs: { media: true, connect: true },
      headers: needsChallenge ? formChallenges.headers(context.request) : [],
    });
  }

  /** For an operator: what an anonymous report that waits says of the address. The form begins with it. */
  async function waitingFor(context: PersonRequest, ip: string): Promise<Again> {
    if (context.session === undefined) return {};
    if ((await pageBuilder.refusalOf(context, 'signed-in operator')) !== undefined) return {};
    const waiting = await anonymousReports.find(ip);
    if (waiting === undefined) return {};
    const { categories, comment } = waiting;
    return { categories: categoriesOf(categories).map(String), comment };
  }

  async function report(
    context: PersonRequest,
    slot: number,
    report: Report,
  ): Promise<Failure | undefined> {
    if (!options.quotaGuard.spend(slot, quotaKind.write, 1)) return fail('quota_exceeded');
    const { clientIp } = context.request;
    const account = context.session!.accountId;
    const network = clientNetwork({ geo, check, clock }, clientIp);
    const reporter = { account, slot, country: clientCountry(geo, clientIp), network };
    const saved = await reports.add(reporter, report);
    if (!saved.ok) return saved;
    await options.catchUpTo(saved.value.seq);
    return undefined;
  }

  async function send(context: PersonRequest, form: Params): Promise<Reply> {
    const asked = requestedAddress(form, allowDocumentation);
    if (asked === undefined) return pageBuilder.problem(context, noAddress);
    const { ip } = asked;
    const { clientIp } = context.request;
    const again = { categories: form.all('categories'), comment: form.get('comment') ?? '' };
    const refuse = (failure: Failure) => show(context, ip, { ...again, failure });
    if (asksForAnother(form)) return show(context, ip, again);
    const answer = isVerifiedSender(context)
      ? undefined
      : formChallenges.answerIn(context.request, form);
    if (answer !== undefined && 'waitSeconds' in answer) {
      return pageBuilder.problem(context, tooManyRequests(answer.waitSeconds));
    }
    const categories = again.categories.join(',');
    if (categories === '') return refuse(fail('invalid_parameter', undefined, 'categories'));
    const read = readReport(
      { ip, categories, comment: again.comment, timestamp: undefined },
      {
        now: clock.now(),
        allowDocumentation,
        ownAddresses: {
          has: (own) => own === textOfEmbedded(clientIp) || serverAddresses.has(own),
        },
      },
    );
    if (!read.ok) return refuse(read);
    const slot = slotIn(context);
    if (slot !== undefined) {
      const failure = await report(context, slot, read.value);
      return failure === undefined ? pageBuilder.go(context, `/ip/${ip}`) : refuse(failure);
    }
    if (answer !== undefined && (await answer.judge()) !== 'right') {
      return show(context, ip, { ...again, isChallengeWrong: true });
    }
    const waitSeconds = callers.takeOrWait('tip', context.request);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooManyRequests(waitSeconds));
    const { categories: mask, comment } = read.value;
    const standing = isVerifiedSender(context) ? 'signed_in' : 'anyone';
    const network = options.networkTag(clientIp);
    const done = await anonymousReports.add(
      ip,
      { categories: mask, comment },
      { standing, network },
    );
    return done.ok ? show(context, ip, { isSent: true }) : refuse(done);
  }

  return [
    pageBuilder.page(reportFormEndpoints.ask, async (context, query) => {
      const asked = requestedAddress(query, allowDocumentation);
      if (asked === undefined) return pageBuilder.go(context, lookUpInstead(query));
      return show(context, asked.ip, await waitingFor(context, asked.ip));
    }),
    pageBuilder.form(reportFormEndpoints.send, send, ['categories']),
  ];
}

// GET and POST /removal: who has an address asks the operator to take back what is said of it; signed in,
// or with a challenge. Of an address about which nothing is said there is nothing to ask.

const removalEndpoints = {
  ask: sessionPage('/removal', 'anyone', { errors: ['invalid_parameter'] }),
  send: sessionForm('/removal', 'anyone', {
    handlerLimits: ['captchaVerify', 'captchaFree', 'removal'],
    errors: ['invalid_parameter', 'capacity_exceeded'],
  }),
};

type Wrong = 'reason' | 'challenge' | 'full';

function removalRoutes(options: RequestPageOptions): PlainRoute[] {
  const {
    pageBuilder,
    removals,
    formChallenges,
    callers,
    check,
    clock,
    networkTag,
    allowDocumentation,
  } = options;

  function isListedOrReported({ family, words }: AskedAddress): boolean {
    const { score, reports, anonymousExit } = check.judge(family, words, clock.now());
    return score > 0 || reports > 0 || anonymousExit;
  }

  function askerIn(context: PersonRequest, { ip }: AskedAddress) {
    const clientIp = textOfEmbedded(context.request.clientIp);
    const origin = { fromAddress: clientIp === ip, signedIn: isVerifiedSender(context) };
    return { origin, from: { standing: standingOfAsker(origin), network: networkTag(clientIp) } };
  }

  async function show(context: PersonRequest, asked: AskedAddress, reason = '', wrong?: Wrong) {
    const there = await removals.find(asked.ip);
    const isFirst =
      there !== undefined && isBetter(askerIn(context, asked).from.standing, there.standing);
    const open = isFirst ? undefined : there;
    const isOver = open === undefined && !isListedOrReported(asked);
    const needsChallenge = open === undefined && !isOver && !isVerifiedSender(context);
    const challenge = needsChallenge
      ? formChallenges.make(context.request)
      : ('signed-in' as const);
    const data = { address: asked.ip, csrf: context.csrf, open, isOver, reason, wrong, challenge };
    return pageBuilder.show(context, (frame) => removalPage(frame, data), {
      status: wrong === undefined ? 200 : wrong === 'full' ? 503 : 422,
      needs: { media: true, connect: true },
      headers: needsChallenge ? formChallenges.headers(context.request) : [],
    });
  }

  async function send(context: PersonRequest, form: Params): Promise<Reply> {
    const asked = requestedAddress(form, allowDocumentation);
    if (asked === undefined) return pageBuilder.problem(context, noAddress);
    const typed = form.get('reason') ?? '';
    if (asksForAnother(form)) return show(context, asked, typed);
    const answer = isVerifiedSender(context)
      ? undefined
      : formChallenges.answerIn(context.request, form);
    if (answer !== undefined && 'waitSeconds' in answer) {
      return pageBuilder.problem(context, tooManyRequests(answer.waitSeconds));
    }
    const reason = readReason(typed);
    if (reason === undefined) return show(context, asked, typed, 'reason');
    if (answer !== undefined && (await answer.judge()) !== 'right') {
      return show(context, asked, reason, 'challenge');
    }
    const waitSeconds = callers.takeOrWait('removal', context.request);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooManyRequests(waitSeconds));
    if (!isListedOrReported(asked)) return show(context, asked, reason);
    const { origin, from } = askerIn(context, asked);
    const done = await removals.add(asked.ip, { reason, ...origin }, from);
    if (done.ok) return pageBuilder.go(context, `/removal?address=${asked.ip}`);
    const isFull = done.error === 'capacity_exceeded';
    return isFull ? show(context, asked, reason, 'full') : pageBuilder.problem(context, done);
  }

  return [
    pageBuilder.page(removalEndpoints.ask, (context, query) => {
      const asked = requestedAddress(query, allowDocumentation);
      return asked === undefined
        ? pageBuilder.go(context, lookUpInstead(query))
        : show(context, asked);
    }),
    pageBuilder.form(removalEndpoints.send, send),
  ];
}

export interface Requester extends SessionLike {
  readonly accountId: string;
}
export type PersonRequest = AnyRequestContext<Requester>;

export interface RequestNeeds {
  readonly pageBuilder: AnyPageBuilder<Requester>;
  readonly formChallenges: FormChallenges;
  readonly callers: Pick<Callers, 'takeOrWait'>;
  readonly check: Check;
  readonly clock: Clock;
  readonly geo: GeoReader;
  readonly reports: ReportStore;
  /** Returns the slot of an account's first key; undefined: it has none. */
  readonly slotOf: (accountId: string) => number | undefined;
  readonly quotaGuard: Pick<QuotaGuard, 'spend'>;
  readonly catchUpTo: CatchUpTo;
  readonly allowDocumentation: boolean;
  readonly serverAddresses: readonly string[];
}

interface RequestPageOptions extends RequestNeeds {
  readonly removals: Removals;
  readonly anonymousReports: AnonymousReports;
  /** Returns the tag of a client's network (queue.ts). */
  readonly networkTag: (clientIp: string) => Uint8Array;
}

interface AskedAddress extends IpWords {
  readonly ip: string;
}

export const noAddress = fail('invalid_parameter', undefined, 'address');

/** Reads an address that is public, or an example in the demo; undefined for any other. */
function requestedAddress(params: Params, allowDocumentation: boolean): AskedAddress | undefined {
  const asked = readJudgedIp(typedAddress(params.get('address') ?? ''));
  if (asked === undefined) return undefined;
  const { family, words } = asked;
  const use = specialUse(family, words);
  const isExample = allowDocumentation && use?.documentation === true;
  if (use !== undefined && !use.globallyReachable && !isExample) return undefined;
  return { ip: formatIp(family, words), ...asked };
}

/** Returns where a form without a usable address leads: to the look-up, which asks for one or says what is wrong. */
function lookUpInstead(params: Params): string {
  const typed = params.get('address') ?? params.get('ip') ?? '';
  return typed === '' ? '/ip' : `/ip?${new URLSearchParams({ address: typed })}`;
}

function tooManyRequests(retryAfterSeconds: number): Failure {
  return { ...fail('too_many_attempts'), retryAfterSeconds };
}

function isVerifiedSender({ session }: PersonRequest): boolean {
  return session?.verified === true && session.factorDue === undefined;
}

export const requestEndpoints = [
  removalEndpoints.ask,
  removalEndpoints.send,
  reportFormEndpoints.ask,
  reportFormEndpoints.send,
];

export function requestRoutes(options: RequestPageOptions): PlainRoute[] {
  return [...removalRoutes(options), ...reportFormRoutes(options)];
}
