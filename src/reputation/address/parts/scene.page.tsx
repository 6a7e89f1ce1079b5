/** The data of an address's page and the tools to render it. */

import type { Html } from '../../../web/html.ts';
import type { Format } from '../../../web/layout/format.ts';
import type { Catalogue } from '../../words.ts';
import type { Evidence } from '../evidence/evidence.ts';
import type { CurveDay } from '../evidence/score-curve.ts';
import type { KnownName } from '../known-names.ts';
import type { Survey } from '../survey.ts';
import type { AddressCell } from './grid.page.tsx';

export interface IpPageComment {
  /** As reported; the page masks and escapes it. */
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
  /** Names, in the reader's language. */
  readonly categories: readonly string[];
}

/** The reason for the ceiling of reports; `ceiling`: the highest score that they may give. */
export type ScoreReason =
  | { readonly by: 'list' | 'own' | 'full' | 'knownGood' }
  | { readonly by: 'newcomers' | 'some' | 'earned' | 'held'; readonly ceiling: number };

export interface IpPageData {
  /** Canonical text. */
  readonly address: string;
  /** Whole number, 0 to 100; 0 when allowlisted. */
  readonly score: number;
  /** ISO 3166 code in upper case; `ZZ` when unknown. */
  readonly countryCode: string;
  /** Empty when unknown. */
  readonly provider: string;
  readonly anonymousExit: boolean;
  readonly allowlisted: boolean;
  /** Registry entry of special use (RFC 6890), such as `Private-Use`. */
  readonly special?: { readonly name: string; readonly rfc: string } | undefined;
  /** Something is known of it: a report, a list, a rule. */
  readonly observed: boolean;
  /** The covering entry that made the score, e.g. `203.0.113.0/24`; undefined when it is the address itself, or none. */
  readonly scorePrefix?: string | undefined;
  /** Why it goes no further; undefined when nobody reported it, or an operator's rule decides. */
  readonly why?: ScoreReason | undefined;
  readonly evidence: Evidence;
  /** Owner of its network, if that scans or crawls openly. */
  readonly knownAs?: KnownName | undefined;
  /** Survey of the network around it; undefined: nothing is known there. */
  readonly around?:
    | (Pick<Survey, 'worst'> & {
        readonly network: string;
        /** The 256 addresses of an IPv4 /24. */
        readonly cells?: readonly AddressCell[] | undefined;
      })
    | undefined;
  /** By accounts, in the last 365 days. */
  readonly reports: number;
  readonly distinctReporters: number;
  /** Reports that imported lists add to the number of reports. */
  readonly listReports: number;
  /** Epoch ms: when the newest of these lists was loaded. */
  readonly listedAt?: number | undefined;
  /** Epoch ms. */
  readonly firstReportedAt?: number | undefined;
  readonly lastReportedAt?: number | undefined;
  /** One entry per UTC day, oldest first, 90 of them; `day` is its midnight in epoch ms. */
  readonly reportsPerDay: readonly { readonly day: number; readonly count: number }[];
  /** The score at the end of each of these days, as far as it is known; undefined: nothing to show. */
  readonly scorePerDay?: readonly CurveDay[] | undefined;
  /** Most frequent first; names in the reader's language. */
  readonly categories: readonly { readonly name: string; readonly count: number }[];
  /** Newest first. */
  readonly comments: readonly IpPageComment[];
  /**
   * Number of the newest reports behind chart, categories and comments, when there are more
   * reports.
   */
  readonly latestReports?: number | undefined;
  /** A page on which one reports this address. */
  readonly reportHref?: string | undefined;
  /** A page on which its holder asks the operator to take back what is said. */
  readonly removalHref?: string | undefined;
  /** Address of the API for reports, in the command that is shown. */
  readonly reportUrl?: string | undefined;
  /** Whom to credit for provider names, as their licence asks. */
  readonly attribution?:
    | { readonly name: string; readonly href: string; readonly licence: string }
    | undefined;
  /** Epoch ms; ages are counted from here. */
  readonly now: number;
}

export interface AddressScene {
  readonly data: IpPageData;
  readonly text: Catalogue;
  readonly format: Format;
}

/** The address with places to break a long one. */
export function breakableAddress(address: string): Html {
  return address.split(/(?<=:)/).map((part) => (
    <>
      {part}
      <wbr />
    </>
  ));
}
