/** Numbers and tables that the documentation speaks of, from the tables that the code works by. */

import { pointRules } from '../../access/points.ts';
import { newAddressQuota, readQuota, writeQuota } from '../../access/trust.ts';
import { receiptLifeMs } from '../../captcha/receipts.ts';
import { type ClientLimit, type ClientLimitName, captchaBounds } from '../../config.ts';
import type { Substitutions } from '../../pages/docs/library.ts';
import { categoryNames } from '../../reputation/categories.ts';
import { maliciousScore } from '../../reputation/score.ts';
import { stateCharsMax } from '../../signon/authorize.ts';
import { codeLifeMs } from '../../signon/codes.ts';
import { bulkRowsMax } from '../bulk-rows.ts';
import { bulkAddressesMax } from '../check-bulk.ts';

/** What is limited, in words. */
const limitWords: Readonly<Record<ClientLimitName, string>> = {
  anonymousApi: 'questions without a key',
  ipPage: 'pages of addresses',
  feeds: 'feeds',
  exchange: 'exchanges of a code',
  signIn: 'attempts to sign in',
  register: 'registrations',
  avatar: 'pictures of a profile sent',
  authorize: 'pages that lead to the consent for a site',
  consent: 'what follows there, the sign-in aside',
  captchaNew: 'new challenges',
  captchaVerify: 'answers to challenges; a wrong one counts three times',
  captchaImage: 'pictures of challenges',
  captchaAudio: 'sounds of challenges',
};

export function factsOf(options: {
  baseUrl: string;
  secureUrl: string;
  limits: Readonly<Record<ClientLimitName, ClientLimit>>;
}): Substitutions {
  const { accepted, corroborated, retracted } = pointRules;
  const numbers = {
    reads_per_minute: readQuota(0),
    writes_per_minute: writeQuota(0),
    new_addresses_day: newAddressQuota(writeQuota(0)),
    new_addresses_day_max: newAddressQuota(writeQuota(100)),
    malicious_score: maliciousScore,
    code_seconds: codeLifeMs / 1_000,
    challenge_seconds: captchaBounds.lifetimeMs / 1_000,
    receipt_seconds: receiptLifeMs / 1_000,
    state_characters: stateCharsMax,
    bulk_addresses: bulkAddressesMax,
    bulk_rows: bulkRowsMax,
    points_accepted: accepted.points,
    points_accepted_day: accepted.perDayMax,
    points_corroborated: corroborated.points,
    points_corroborated_day: corroborated.perDayMax,
    points_retracted: retracted,
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
    client_limits: tableOf(
      ['What', 'Requests', 'In'],
      (Object.keys(limitWords) as ClientLimitName[]).map((name) => {
        const { max, windowMs } = options.limits[name];
        return [limitWords[name], max.toLocaleString('en'), timeWords(windowMs)];
      }),
    ),
  };
}

function timeWords(ms: number): string {
  if (ms === 60_000) return 'a minute';
  return ms === 3_600_000 ? 'an hour' : `${ms / 1_000} seconds`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
