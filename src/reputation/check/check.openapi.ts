/**
 * The OpenAPI documentation of the checks: of one address, of many, of a network, and the page of
 * an address.
 */

import {
  answer,
  boolean,
  count,
  country,
  type Described,
  data,
  dateTime,
  flag,
  jsonMedia,
  list,
  media,
  nullable,
  object,
  query,
  ref,
  score,
  string,
} from '../../web/openapi.ts';
import { reportAges, voteKinds } from '../address/evidence.ts';
import { serviceNames } from '../lists/import/rows.ts';
import { categoryMax } from '../reports/categories.ts';
import { reportSchema } from '../reports/reports.openapi.ts';
import { blockBounds } from './block-check.ts';

/** Addresses in one bulk check. */
export const bulkAddressesMax = 10_000;
/** Reports in one verbose check. */
export const verboseReportsMax = 10_000;

const tag = 'IP API';
export const address = query('ipAddress', string, 'IPv4 or IPv6.', true);
const days = { type: 'integer', minimum: 1, maximum: 365 };
export const maxAge = query(
  'maxAgeInDays',
  days,
  'Count the reports of so many days, without what lists add.',
);

const summaryFields = {
  ipAddress: string,
  abuseConfidenceScore: score,
  countryCode: country,
  isp: string,
  isAnon: boolean,
  totalReports: count,
  malicious: boolean,
};

/** Every check gives them, behind the seven. */
const abuseIpDbFields = {
  isPublic: boolean,
  ipVersion: { enum: [4, 6] },
  isWhitelisted: boolean,
  usageType: { enum: [''] },
  domain: { type: 'null' },
  hostnames: { type: 'array', maxItems: 0 },
  isTor: boolean,
  numDistinctUsers: count,
  lastReportedAt: nullable(dateTime),
};

const why = object({
  decidedBy: nullable(string),
  fallsBelowAt: nullable(dateTime),
  lists: list(
    object({
      name: string,
      kind: { type: 'string', enum: ['bad', 'anon', 'good', 'own'] },
      service: nullable({ type: 'string', enum: serviceNames }),
      category: nullable({ type: 'integer', minimum: 1, maximum: categoryMax }),
      confidence: nullable(score),
      entry: string,
      since: dateTime,
      loadedAt: dateTime,
      endsAt: nullable(dateTime),
    }),
  ),
  reports: list(
    object({
      entry: string,
      score,
      ceiling: score,
      totalReports: count,
      numDistinctUsers: count,
      lastReportedAt: dateTime,
      parts: list(
        object({
          voice: { type: 'string', enum: voteKinds },
          age: { type: 'string', enum: reportAges },
          numDistinctUsers: count,
          score,
        }),
      ),
    }),
  ),
});
const detailed = {
  countryName: nullable(string),
  why,
  reports: { ...list(ref('Report')), maxItems: verboseReportsMax },
};

const bytesMedia = 'application/octet-stream';
const bytes = (most: number) => ({ type: 'string', format: 'binary', maxLength: most });

const SummaryFields = object(summaryFields);
const summary = object({
  ...summaryFields,
  isWhitelisted: boolean,
  firstReportedAt: nullable(dateTime),
  lastReportedAt: nullable(dateTime),
  why,
});

export const checkDocs: Described = {
  id: 'check',
  tag,
  summary: 'What is known of one address. Costs one read.',
  parameters: [
    address,
    maxAge,
    flag('verbose', 'The country’s name, why the score is what it is, and the reports too.'),
  ],
  answers: {
    200: answer(
      'Sixteen fields; the country’s name, `why` and the reports with `verbose`.',
      media(object({ data: { anyOf: [ref('CheckResult'), ref('CheckDetails')] } })),
    ),
  },
  schemas: {
    CheckResult: object({ ...summaryFields, ...abuseIpDbFields }),
    CheckDetails: object({ ...summaryFields, ...abuseIpDbFields, ...detailed }),
    Report: reportSchema,
  },
};

export const checkBulkDocs: Described = {
  id: 'checkBulk',
  tag,
  summary: `Up to ${bulkAddressesMax} addresses at once. Costs one read an address.`,
  parameters: [
    query('family', { type: 'integer', enum: [4, 6] }, 'Of a body of bytes, which needs it.'),
  ],
  requestBody: {
    required: true,
    content: {
      'text/plain': { schema: { type: 'string', description: 'One address a line.' } },
      [jsonMedia]: { schema: { ...list(string), minItems: 1, maxItems: bulkAddressesMax } },
      [bytesMedia]: {
        schema: {
          ...bytes(16 * bulkAddressesMax),
          description: '4 or 16 bytes an address, as `family` says, in network byte order.',
        },
      },
    },
  },
  answers: {
    200: answer(
      'In the order asked: an object to an array, objects in lines to lines, bytes to bytes.',
      {
        ...media(object({ data: list(ref('BulkCheckResult')) })),
        ...media(ref('BulkCheckResult'), 'application/x-ndjson'),
        ...media(
          {
            ...bytes(4 * bulkAddressesMax),
            description:
              '4 bytes an address: the score; flags (1 malicious, 2 isAnon, 4 isWhitelisted); the number of reports in two bytes, the higher first, at most 65,535.',
          },
          bytesMedia,
        ),
      },
    ),
  },
  schemas: {
    SummaryFields,
    BulkCheckResult: {
      anyOf: [ref('SummaryFields'), object({ ipAddress: string, error: string })],
    },
  },
};

export const checkBlockDocs: Described = {
  id: 'checkBlock',
  tag,
  summary: 'The reported addresses of a network. One read for each 1,000 entries.',
  parameters: [
    query(
      'network',
      string,
      `CIDR: IPv4 /${blockBounds.shortest[4]} to /32, IPv6 /${blockBounds.shortest[6]} to /128.`,
      true,
    ),
    maxAge,
  ],
  answers: { 200: answer('The network and its reported addresses.', data('Block')) },
  schemas: {
    Block: object({
      networkAddress: string,
      netmask: string,
      minAddress: string,
      maxAddress: string,
      numPossibleHosts: { type: 'integer', minimum: 1 },
      addressSpaceDesc: string,
      reportedAddress: list(
        object({
          ipAddress: string,
          numReports: count,
          mostRecentReport: dateTime,
          abuseConfidenceScore: score,
          countryCode: country,
        }),
      ),
    }),
  },
};

const worstEntry = object({ ipAddress: string, abuseConfidenceScore: score, totalReports: count });

export const systemDocs: Described = {
  id: 'showSystem',
  tag,
  summary: 'The networks of an autonomous system: a page, or JSON with `Accept: application/json`.',
  parameters: [{ name: 'number', in: 'path', required: true, schema: string }],
  answers: {
    200: answer('What is known of its addresses.', {
      ...data('SystemSummary'),
      ...media(string, 'text/html; charset=utf-8'),
    }),
    303: { description: 'An address, or another spelling: leads to the number.' },
  },
  refusals: { ...media(ref('Errors')), ...media(string, 'text/html; charset=utf-8') },
  schemas: {
    SystemSummary: object({
      asn: count,
      isp: string,
      ranges: count,
      entries: count,
      maliciousEntries: count,
      isPart: boolean,
      worst: list(worstEntry),
    }),
  },
};

export const addressPageDocs: Described = {
  id: 'showAddress',
  tag,
  summary: 'An address without a key: a page, or JSON with `Accept: application/json`.',
  parameters: [{ name: 'address', in: 'path', required: true, schema: string }],
  answers: {
    200: answer('What is known.', {
      ...data('AddressSummary'),
      ...media(string, 'text/html; charset=utf-8'),
    }),
  },
  refusals: { ...media(ref('Errors')), ...media(string, 'text/html; charset=utf-8') },
  schemas: { AddressSummary: summary },
};
