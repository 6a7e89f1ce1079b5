/**
 * Counts the reports of one stretch of time: all, and by category, country, network, list and
 * score band.
 */

import type { Reader, Writer } from '../../storage/codec.ts';
import { createTopTable, type TopTable } from './top-table.ts';

/**
 * Names that a bucket keeps of each kind. Categories, countries and bands never fill theirs, and no more
 * lists than that are known at a time: their counts are exact. Networks are many.
 */
const sizes = { category: 24, country: 256, network: 64, list: 256, band: 4 } as const;

export type ReportTrait = keyof typeof sizes;
export const reportTraits = Object.keys(sizes) as readonly ReportTrait[];

/** The facts of a report that are counted. */
export interface ReportFacts {
  readonly categories: readonly string[];
  readonly country: string;
  readonly network: string;
  readonly lists: readonly string[];
  readonly band: string;
}

export interface Bucket {
  /** Lengths of its period since 1970; 0 when it was never used. */
  number: number;
  reports: number;
  readonly tables: Readonly<Record<ReportTrait, TopTable>>;
}

const pageVersion = 1;

/** @param networks how many of them are kept by name */
export function createBucket(networks: number = sizes.network): Bucket {
  const table = (trait: ReportTrait) => createTopTable(sizes[trait]);
  return {
    number: 0,
    reports: 0,
    tables: {
      category: table('category'),
      country: table('country'),
      network: createTopTable(networks),
      list: table('list'),
      band: table('band'),
    },
  };
}

export function beginBucket(bucket: Bucket, number: number): void {
  bucket.number = number;
  bucket.reports = 0;
  for (const trait of reportTraits) bucket.tables[trait].clear();
}

export function countInto(bucket: Bucket, facts: ReportFacts): void {
  const { category, country, network, list, band } = bucket.tables;
  bucket.reports++;
  for (const name of facts.categories) category.add(name);
  country.add(facts.country);
  network.add(facts.network);
  for (const name of facts.lists) list.add(name);
  band.add(facts.band);
}

export function encodeBucket(out: Writer, bucket: Bucket): void {
  out.u8(pageVersion).varint(bucket.number).varint(bucket.reports);
  for (const trait of reportTraits) bucket.tables[trait].encode(out);
}

export function loadBucket(input: Reader, bucket: Bucket): void {
  if (input.u8() !== pageVersion) input.reject();
  bucket.number = input.varint();
  bucket.reports = input.varint();
  for (const trait of reportTraits) bucket.tables[trait].load(input);
}
