/** Counters of queries to the DNS block list, by outcome. */

import { type Counters, createCounters } from '../counters.ts';

const outcomes = [
  'listed',
  'unlisted',
  'no_data',
  'refused_zone',
  'refused_client',
  'refused_key',
  'refused_quota',
  'refused_type',
  'malformed',
  'dropped',
  'truncated',
  'rate_limited',
  'failed',
] as const;

export type DnsOutcome = (typeof outcomes)[number];
export type DnsCounters = Counters<DnsOutcome>;

export const createDnsCounters = (buffer?: SharedArrayBuffer): DnsCounters =>
  createCounters(outcomes, buffer);
