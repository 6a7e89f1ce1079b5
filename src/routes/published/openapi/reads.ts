/** The IP API's reads: check, check-bulk, reports, blacklist, check-block, and the address page. */

import { confidenceMin } from '../../../reputation/blacklist.ts';
import { categoryMax } from '../../../reputation/categories.ts';
import { blacklistBounds } from '../../blacklist.ts';
import { blockBounds } from '../../check-block.ts';
import { bulkAddressesMax } from '../../check-bulk.ts';
import { verboseReportsMax } from '../../check-details.ts';
import { pageBounds } from '../../reports.ts';
import {
  type Area,
  answer,
  boolean,
  count,
  country,
  dateTime,
  families,
  flag,
  jsonMedia,
  list,
  media,
  nullable,
  object,
  operation,
  query,
  quotaHeaders,
  ref,
  score,
  string,
} from './parts.ts';

const tag = 'IP API';
const data = (name: string) => media(object({ data: ref(name) }));
const address = query('ipAddress', string, 'IPv4 or IPv6.', true);
const days = { type: 'integer', minimum: 1, maximum: 365 };
const maxAge = query('maxAgeInDays', days, 'Count the reports of so many days.');
const version = query('ipVersion', { enum: [4, 6] }, 'One family alone.');

const seven = {
  ipAddress: string,
  abuseConfidenceScore: score,
  countryCode: country,
  isp: string,
  isAnon: boolean,
  totalReports: count,
  malicious: boolean,
};

const more = {
  isPublic: boolean,
  ipVersion: { enum: [4, 6] },
  isWhitelisted: boolean,
  usageType: { type: 'null' },
  domain: { type: 'null' },
  hostnames: { type: 'array', maxItems: 0 },
  isTor: boolean,
  numDistinctUsers: count,
  lastReportedAt: nullable(dateTime),
  countryName: nullable(string),
  reports: { ...list(ref('Report')), maxItems: verboseReportsMax },
};

const schemas = {
  Errors: object({
    errors: {
      ...list(
        object(
          {
            detail: string,
            status: { type: 'integer', minimum: 400, maximum: 599 },
            source: object({ parameter: string }),
          },
          { optional: ['source'] },
        ),
      ),
      minItems: 1,
    },
  }),
  CheckResult: object(seven),
  /** The wider fields come with `verbose`, all of them or none. */
  CheckDetails: object({ ...seven, ...more }),
  Report: object({
    reportedAt: dateTime,
    comment: string,
    categories: list({ type: 'integer', minimum: 1, maximum: categoryMax }),
    reporterId: count,
    reporterCountryCode: country,
    reporterCountryName: nullable(string),
  }),
  ReportPage: object({
    total: count,
    page: { type: 'integer', minimum: 1 },
    count,
    perPage: { type: 'integer', minimum: 1, maximum: pageBounds.perPageMax },
    lastPage: { type: 'integer', minimum: 1 },
    nextPageUrl: nullable({ type: 'string', format: 'uri' }),
    previousPageUrl: nullable({ type: 'string', format: 'uri' }),
    results: list(ref('Report')),
  }),
  BulkCheckResult: {
    anyOf: [ref('CheckResult'), object({ ipAddress: string, error: string })],
  },
  Blacklist: object({
    meta: object({ generatedAt: dateTime }),
    data: list(
      object({
        ipAddress: string,
        countryCode: country,
        abuseConfidenceScore: score,
        lastReportedAt: nullable(dateTime),
      }),
    ),
  }),
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
  AddressSummary: object({
    ...seven,
    isWhitelisted: boolean,
    firstReportedAt: nullable(dateTime),
    lastReportedAt: nullable(dateTime),
  }),
};

const read = { tag, family: families.api, key: true } as const;

export const reads: Area = {
  schemas,
  paths: {
    '/api/v2/check': {
      get: operation({
        ...read,
        id: 'check',
        summary: 'What is known of one address. Costs one read.',
        parameters: [address, maxAge, flag('verbose', 'The wider set of fields.')],
        answers: {
          200: answer(
            'Seven fields; more of them with `verbose`.',
            media(object({ data: { anyOf: [ref('CheckResult'), ref('CheckDetails')] } })),
            quotaHeaders,
          ),
        },
        refusals: [401, 422],
      }),
    },
    '/api/v2/check-bulk': {
      post: operation({
        ...read,
        id: 'checkBulk',
        summary: `Up to ${bulkAddressesMax} addresses at once. Costs one read an address.`,
        body: {
          required: true,
          content: {
            'text/plain': { schema: { type: 'string', description: 'One address a line.' } },
            [jsonMedia]: { schema: { ...list(string), minItems: 1, maxItems: bulkAddressesMax } },
          },
        },
        answers: {
          200: answer(
            'In the order asked: an object to an array, objects in lines to lines.',
            {
              ...media(object({ data: list(ref('BulkCheckResult')) })),
              ...media(ref('BulkCheckResult'), 'application/x-ndjson'),
            },
            quotaHeaders,
          ),
        },
        refusals: [401, 422],
      }),
    },
    '/api/v2/reports': {
      get: operation({
        ...read,
        id: 'listReports',
        summary: 'The reports of an address, newest first. Costs one read a page.',
        parameters: [
          address,
          maxAge,
          query('page', { type: 'integer', minimum: 1, maximum: pageBounds.pageMax }, 'From 1.'),
          query(
            'perPage',
            { type: 'integer', minimum: 1, maximum: pageBounds.perPageMax },
            'Reports on a page.',
          ),
        ],
        answers: { 200: answer('A page.', data('ReportPage'), quotaHeaders) },
        refusals: [401, 422],
      }),
    },
    '/api/v2/blacklist': {
      get: operation({
        ...read,
        id: 'blacklist',
        summary: 'Addresses and networks with a high score. One read for each 1,000 rows.',
        parameters: [
          query(
            'confidenceMinimum',
            { type: 'integer', minimum: confidenceMin, maximum: 100 },
            'Least score.',
          ),
          query(
            'limit',
            { type: 'integer', minimum: 1 },
            `Rows; ${blacklistBounds.limitMax} at most.`,
          ),
          query('onlyCountries', string, 'Two-letter codes, separated by commas.'),
          query('exceptCountries', string, 'All but these; not with onlyCountries.'),
          version,
          flag('plaintext', 'One address or network a line, as `Accept: text/plain` asks for.'),
        ],
        answers: {
          200: answer(
            'Highest score first.',
            { ...media(ref('Blacklist')), ...media(string, 'text/plain; charset=utf-8') },
            quotaHeaders,
          ),
        },
        refusals: [401, 422],
      }),
    },
    '/api/v2/check-block': {
      get: operation({
        ...read,
        id: 'checkBlock',
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
        answers: {
          200: answer('The network and its reported addresses.', data('Block'), quotaHeaders),
          402: answer('The network is too large.', families.api.content, quotaHeaders),
        },
        refusals: [401, 422],
      }),
    },
    '/ip/{address}': {
      get: operation({
        tag,
        family: {
          content: { ...families.api.content, ...media(string, 'text/html; charset=utf-8') },
        },
        id: 'showAddress',
        summary: 'An address without a key: a page, or JSON with `Accept: application/json`.',
        parameters: [{ name: 'address', in: 'path', required: true, schema: string }],
        answers: {
          200: answer('What is known.', {
            ...data('AddressSummary'),
            ...media(string, 'text/html; charset=utf-8'),
          }),
        },
        refusals: [422],
      }),
    },
  },
};
