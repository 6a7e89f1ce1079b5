/** The stored rows of the operator's ranges: rules of the allowlist and manual entries. */

import { bareRecord, record, text, time, u8 } from '../../storage/record.ts';

export interface AllowRow {
  /** Milliseconds since 1970. */
  readonly addedAt: number;
  readonly reason: string;
}

export const allowRow = bareRecord<AllowRow>({ addedAt: time, reason: text });

export interface OwnTerms {
  /** 1 to 100. */
  readonly score: number;
  /** Number of a report's category; 0: none. */
  readonly category: number;
  readonly note: string;
  /** Milliseconds since 1970, whole seconds; 0: it does not end. */
  readonly endsAt: number;
}

export interface OwnRow extends OwnTerms {
  /** Milliseconds since 1970, whole seconds. */
  readonly setAt: number;
}

export const ownEntryRow = record<OwnRow>(1, {
  score: u8,
  category: u8,
  setAt: time,
  endsAt: time,
  note: text,
});
