/** Numbers and tables that the documentation speaks of, from the tables that the code works by. */

import { newAddressQuota, pointRules, readQuota, writeQuota } from '../../access/quota/points.ts';
import { receiptLifeMs } from '../../captcha/receipt/receipts.ts';
import { type ClientLimitName, captchaBrowserLimits } from '../../config/limits.ts';
import { captchaBounds } from '../../config.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { bulkAddressesMax } from '../../reputation/check/check.openapi.ts';
import { maliciousScore } from '../../reputation/check/score.ts';
import { bulkRowsMax } from '../../reputation/reports/bulk/bulk-rows.ts';
import { categoryNames } from '../../reputation/reports/categories.ts';
import { chosenInFormPerDay, delayMinutesMax, promptPerDay } from '../../signon/people/pacing.ts';
import { stateCharsMax } from '../../signon/sites/authorize.ts';
import { codeLifeMs } from '../../signon/sites/codes.ts';
import { costText, type Endpoint } from '../../web/guard/endpoint.ts';
import { publishedLimits } from '../limits.ts';
import type { Substitutions } from './library.ts';

/** The table of limits names each one in these words. */
const limitWords: Readonly<Record<ClientLimitName, string>> = {
  answers: 'answers in all, those to a good API key aside',
  answersNear: 'the same of an IPv4 /24 or IPv6 /48',
  probes: 'questions about the health of the service',
  ipPage: 'pages of addresses',
  systemNear: 'pages of autonomous systems, of an IPv4 /24 or IPv6 /48',
  feeds: 'feeds',
  decisions:
    'look-ups by one key of a bouncer, those of mail servers too; beyond it every address counts as unknown',
  decisionsWhole: 'whole lists for one key of a bouncer',
  decisionsStream: 'changes of the list, and metrics, for one key of a bouncer',
  agentLogin: 'log-ins of agents with a wrong password',
  agentCalls: 'log-ins, heartbeats and questions of one key of an agent',
  exchange: 'exchanges of a code',
  signIn: 'attempts to sign in',
  signInNear: 'attempts to sign in by password of an IPv4 /24 or IPv6 /48',
  signInOwner: 'attempts to sign in to an account on a browser that it knows',
  recover: 'requests for a link to a new password',
  deadLink: 'uses of mailed links that do not work',
  mailedLink: 'uses of one mailed link that works, wherever it is opened',
  ownMail: 'mails that one account asks for to confirm an address',
  passkey: 'steps of a sign-in by passkey',
  passkeyRegister: 'steps of a registration by passkey',
  register: 'registrations',
  console: 'pages and changes of the console for operators',
  removal: 'requests to take back what is said of an address',
  tip: 'reports of an address by hand without an API key',
  avatar: 'pictures of a profile sent',
  authorize: 'pages that lead to the consent for a site',
  consent: 'what follows there, the sign-in aside',
  captchaNew: 'new challenges',
  captchaVerify: 'answers to challenges; a wrong one counts three times',
  captchaImage: 'pictures of challenges',
  captchaAudio: 'sounds of challenges',
  captchaFree: 'all of these four by browsers within their own share',
};

export function factsOf(options: {
  baseUrl: string;
  secureUrl: string;
  endpoints: readonly Endpoint[];
}): Substitutions {
  const { accepted, confirmed, retracted } = pointRules;
  const numbers = {
    reads_per_minute: readQuota(0),
    writes_per_minute: writeQuota(0),
    new_addresses_day: newAddressQuota(writeQuota(0)),
    new_addresses_day_max: newAddressQuota(writeQuota(100)),
    malicious_score: maliciousScore,
    code_seconds: codeLifeMs / 1_000,
    captcha_browser_new: captchaBrowserLimits.captchaNew.max,
    captcha_browser_images: captchaBrowserLimits.captchaImage.max,
    captcha_browser_sounds: captchaBrowserLimits.captchaAudio.max,
    captcha_browser_answers: captchaBrowserLimits.captchaVerify.max,
    challenge_seconds: captchaBounds.lifetimeMs / 1_000,
    receipt_seconds: receiptLifeMs / 1_000,
    state_characters: stateCharsMax,
    bulk_addresses: bulkAddressesMax,
    bulk_rows: bulkRowsMax,
    points_accepted: accepted.points,
    points_accepted_day: accepted.perDayMax,
    points_confirmed: confirmed.points / 2,
    points_confirmed_day: confirmed.perDayMax,
    points_retracted: retracted,
    registrations_prompt_day: promptPerDay,
    registrations_in_form_day: chosenInFormPerDay,
    registration_delay_minutes: delayMinutesMax,
  };
  const grouped = Object.entries(numbers).map(([name, n]) => [name, n.toLocaleString('en')]);
  return {
    base_url: options.baseUrl,
    secure_url: options.secureUrl,
    ...Object.fromEntries(grouped),
    category_table: tableOf(
      ['Number', 'Category'],
      categoryNames.map((name, i) => [String(i + 1), name]),
    ),
    key_costs: tableOf(
      ['What', 'Costs'],
      options.endpoints.flatMap((declared) => {
        const cost = costText(declared);
        return cost === undefined ? [] : [[`\`${declared.method} ${declared.path}\``, cost]];
      }),
    ),
    client_limits: tableOf(
      ['What', 'Requests', 'In', 'Where'],
      publishedLimits(options.endpoints).map(({ name, max, windowMs, endpoints }) => [
        limitWords[name],
        max.toLocaleString('en'),
        timeWords(windowMs),
        endpoints?.map((line) => `\`${line}\``).join(', ') ?? 'everywhere',
      ]),
    ),
  };
}

function timeWords(ms: number): string {
  if (ms === minuteMs) return 'a minute';
  return ms === hourMs ? 'an hour' : `${ms / 1_000} seconds`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
