/**
 * GET and POST /report: an address is reported by hand. Of an account with a key it is a report, as by that
 * key; of anybody else a tip, with a challenge, that waits for the operator.
 */

import { type Failure, fail } from '../../core/result.ts';
import { clientCountry } from '../../geo/reader.ts';
import type { Reply } from '../../http/message.ts';
import type { Params } from '../../http/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { textBehind } from '../../ip/behind.ts';
import { statusOf } from '../../web/errors.ts';
import { deskForm, deskPage } from '../../web/guard/desk-endpoint.ts';
import { asksForAnother } from '../../web/guard/form-challenges.ts';
import { type Report, readReport } from '../reports/report.ts';
import { clientNetwork } from '../voices/client-network.ts';
import {
  addressIn,
  isVerified,
  noAddress,
  type PersonVisit,
  type RequestPageOptions,
  tooMany,
} from './asked.route.ts';
import { reportPage } from './report-form.page.ts';

export const reportFormEndpoints = {
  ask: deskPage('/report', 'anyone', { errors: ['invalid_parameter'] }),
  send: deskForm('/report', 'anyone', {
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
  const { desk, tips, challenges, callers, check, clock, geo, reports, allowDocumentation } =
    options;
  const serverAddresses = new Set(options.serverAddresses);

  /**
   * Returns the slot of a verified account with a key; a report without one is an anonymous
   * report.
   */
  function slotIn(visit: PersonVisit): number | undefined {
    return isVerified(visit) ? options.slotOf(visit.session!.accountId) : undefined;
  }

  function show(visit: PersonVisit, ip: string, again: Again = {}) {
    const isTip = slotIn(visit) === undefined;
    const needsChallenge = isTip && !isVerified(visit) && again.isSent !== true;
    const challenge = needsChallenge ? challenges.make(visit.request) : ('signed-in' as const);
    const account = isTip ? (isVerified(visit) ? 'keyless' : 'none') : 'keyed';
    const { failure, isChallengeWrong } = again;
    const bad = failure === undefined ? 200 : statusOf(failure.error);
    const data = { address: ip, csrf: visit.csrf, account, challenge, ...again } as const;
    return desk.show(visit, (frame) => reportPage(frame, data), {
      status: isChallengeWrong ? 422 : bad,
      failure,
      needs: { media: true, connect: true },
      headers: needsChallenge ? challenges.headers(visit.request) : [],
    });
  }

  async function report(
    visit: PersonVisit,
    slot: number,
    said: Report,
  ): Promise<Failure | undefined> {
    if (!options.spend(slot)) return fail('quota_exceeded');
    const { clientIp } = visit.request;
    const account = visit.session!.accountId;
    const network = clientNetwork({ geo, check, clock }, clientIp);
    const reporter = { account, slot, country: clientCountry(geo, clientIp), network };
    const saved = await reports.add(reporter, said);
    if (!saved.ok) return saved;
    await options.catchUpTo(saved.value.seq);
    return undefined;
  }

  async function send(visit: PersonVisit, form: Params): Promise<Reply> {
    const asked = addressIn(form, allowDocumentation);
    if (asked === undefined) return desk.problem(visit, noAddress);
    const { ip } = asked;
    const { clientIp } = visit.request;
    const again = { categories: form.all('categories'), comment: form.get('comment') ?? '' };
    const refuse = (failure: Failure) => show(visit, ip, { ...again, failure });
    if (asksForAnother(form)) return show(visit, ip, again);
    const answer = isVerified(visit) ? undefined : challenges.answerIn(visit.request, form);
    if (answer !== undefined && 'waitSeconds' in answer) {
      return desk.problem(visit, tooMany(answer.waitSeconds));
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
    const slot = slotIn(visit);
    if (slot !== undefined) {
      const failure = await report(visit, slot, said.value);
      return failure === undefined ? desk.go(visit, `/ip/${ip}`) : refuse(failure);
    }
    if (answer !== undefined && (await answer.judge()) !== 'right') {
      return show(visit, ip, { ...again, isChallengeWrong: true });
    }
    const waitSeconds = callers.take('tip', visit.request);
    if (waitSeconds > 0) return desk.problem(visit, tooMany(waitSeconds));
    const { categories: mask, comment } = said.value;
    const standing = isVerified(visit) ? 'signed_in' : 'anyone';
    const network = options.networkMark(clientIp);
    const done = await tips.add(ip, { categories: mask, comment }, { standing, network });
    return done.ok ? show(visit, ip, { isSent: true }) : refuse(done);
  }

  return [
    desk.page(reportFormEndpoints.ask, (visit, query) => {
      const asked = addressIn(query, allowDocumentation);
      return asked === undefined ? desk.problem(visit, noAddress) : show(visit, asked.ip);
    }),
    desk.form(reportFormEndpoints.send, send, ['categories']),
  ];
}
