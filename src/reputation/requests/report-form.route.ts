/**
 * GET and POST /report: an address is reported by hand. Of an account with a key it is a report, as by that
 * key; of anybody else a anonymous report, with a challenge, that waits for the operator.
 */

import { statusOf } from '../../core/errors.ts';
import { type Failure, fail } from '../../core/result.ts';
import { clientCountry } from '../../geo/reader.ts';
import type { Reply } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { textBehind } from '../../ip/behind.ts';
import { asksForAnother } from '../../web/guard/form-challenges.ts';
import { sessionForm, sessionPage } from '../../web/guard/session-endpoint.ts';
import { type Report, readReport } from '../reports/report.ts';
import { clientNetwork } from '../votes/client-network.ts';
import {
  addressIn,
  isVerified,
  noAddress,
  type PersonRequest,
  type RequestPageOptions,
  tooMany,
} from './asked.route.ts';
import { reportPage } from './report-form.page.tsx';

export const reportFormEndpoints = {
  ask: sessionPage('/report', 'anyone', { errors: ['invalid_parameter'] }),
  send: sessionForm('/report', 'anyone', {
    handlerLimits: ['captchaVerify', 'captchaFree', 'tip'],
    errors: [
      ...(['invalid_parameter', 'quota_exceeded', 'duplicate_report'] as const),
      ...(['address_quota_exceeded', 'capacity_exceeded', 'unauthenticated'] as const),
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

export function reportFormRoutes(options: RequestPageOptions): PlainRoute[] {
  const {
    pageBuilder,
    anonymousReports,
    challenges,
    callers,
    check,
    clock,
    geo,
    reports,
    allowDocumentation,
  } = options;
  const serverAddresses = new Set(options.serverAddresses);

  /**
   * Returns the slot of a verified account with a key; a report without one is an anonymous
   * report.
   */
  function slotIn(context: PersonRequest): number | undefined {
    return isVerified(context) ? options.slotOf(context.session!.accountId) : undefined;
  }

  function show(context: PersonRequest, ip: string, again: Again = {}) {
    const isAnonymous = slotIn(context) === undefined;
    const needsChallenge = isAnonymous && !isVerified(context) && again.isSent !== true;
    const challenge = needsChallenge ? challenges.make(context.request) : ('signed-in' as const);
    const account = isAnonymous ? (isVerified(context) ? 'keyless' : 'none') : 'keyed';
    const { failure, isChallengeWrong } = again;
    const bad = failure === undefined ? 200 : statusOf(failure.error);
    const data = { address: ip, csrf: context.csrf, account, challenge, ...again } as const;
    return pageBuilder.show(context, (frame) => reportPage(frame, data), {
      status: isChallengeWrong ? 422 : bad,
      failure,
      needs: { media: true, connect: true },
      headers: needsChallenge ? challenges.headers(context.request) : [],
    });
  }

  async function report(
    context: PersonRequest,
    slot: number,
    said: Report,
  ): Promise<Failure | undefined> {
    if (!options.spend(slot)) return fail('quota_exceeded');
    const { clientIp } = context.request;
    const account = context.session!.accountId;
    const network = clientNetwork({ geo, check, clock }, clientIp);
    const reporter = { account, slot, country: clientCountry(geo, clientIp), network };
    const saved = await reports.add(reporter, said);
    if (!saved.ok) return saved;
    await options.catchUpTo(saved.value.seq);
    return undefined;
  }

  async function send(context: PersonRequest, form: Params): Promise<Reply> {
    const asked = addressIn(form, allowDocumentation);
    if (asked === undefined) return pageBuilder.problem(context, noAddress);
    const { ip } = asked;
    const { clientIp } = context.request;
    const again = { categories: form.all('categories'), comment: form.get('comment') ?? '' };
    const refuse = (failure: Failure) => show(context, ip, { ...again, failure });
    if (asksForAnother(form)) return show(context, ip, again);
    const answer = isVerified(context) ? undefined : challenges.answerIn(context.request, form);
    if (answer !== undefined && 'waitSeconds' in answer) {
      return pageBuilder.problem(context, tooMany(answer.waitSeconds));
    }
    const categories = again.categories.join(',');
    if (categories === '') return refuse(fail('invalid_parameter', undefined, 'categories'));
    const said = readReport(
      { ip, categories, comment: again.comment, timestamp: undefined },
      {
        now: clock.now(),
        allowDocumentation,
        ownAddresses: { has: (own) => own === textBehind(clientIp) || serverAddresses.has(own) },
      },
    );
    if (!said.ok) return refuse(said);
    const slot = slotIn(context);
    if (slot !== undefined) {
      const failure = await report(context, slot, said.value);
      return failure === undefined ? pageBuilder.go(context, `/ip/${ip}`) : refuse(failure);
    }
    if (answer !== undefined && (await answer.judge()) !== 'right') {
      return show(context, ip, { ...again, isChallengeWrong: true });
    }
    const waitSeconds = callers.take('tip', context.request);
    if (waitSeconds > 0) return pageBuilder.problem(context, tooMany(waitSeconds));
    const { categories: mask, comment } = said.value;
    const standing = isVerified(context) ? 'signed_in' : 'anyone';
    const network = options.networkMark(clientIp);
    const done = await anonymousReports.add(
      ip,
      { categories: mask, comment },
      { standing, network },
    );
    return done.ok ? show(context, ip, { isSent: true }) : refuse(done);
  }

  return [
    pageBuilder.page(reportFormEndpoints.ask, (context, query) => {
      const asked = addressIn(query, allowDocumentation);
      return asked === undefined
        ? pageBuilder.problem(context, noAddress)
        : show(context, asked.ip);
    }),
    pageBuilder.form(reportFormEndpoints.send, send, ['categories']),
  ];
}
