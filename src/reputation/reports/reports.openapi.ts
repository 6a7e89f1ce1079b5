/** The OpenAPI documentation of reports: sent, sent in bulk, taken back, read. */

import {
  answer,
  count,
  country,
  type Described,
  data,
  dateTime,
  formOrJson,
  list,
  nullable,
  object,
  query,
  ref,
  type Schema,
  score,
  string,
} from '../../web/openapi.ts';
import { bulkRowsMax } from './bulk-reports.ts';
import { categoryMax } from './categories.ts';
import { commentCharactersMax, reportCategoriesMax } from './report.ts';
import { pageBounds } from './store/report-history.ts';

const tag = 'IP API';
const category = { type: 'integer', minimum: 1, maximum: categoryMax };

const reportFields = {
  type: 'object',
  properties: {
    ip: { type: 'string', description: 'A public address, not your own. Or `ipAddress`.' },
    ipAddress: string,
    categories: {
      description: 'Numbers separated by commas, one number, or an array.',
      anyOf: [string, category, { ...list(category), minItems: 1, maxItems: reportCategoriesMax }],
    },
    comment: {
      type: 'string',
      description: `Cut at ${commentCharactersMax} characters.`,
    },
    timestamp: { ...dateTime, description: 'Not in the future, not older than 365 days.' },
  },
  required: ['categories'],
};

export const reportSchema: Schema = object({
  reportedAt: dateTime,
  comment: string,
  categories: list({ type: 'integer', minimum: 1, maximum: categoryMax }),
  reporterId: count,
  reporterCountryCode: country,
  reporterCountryName: string,
});

export const reportDocs: Described = {
  id: 'report',
  tag,
  summary: 'Reports an address. Costs one write.',
  description:
    'The fields may also stand in the query. One account may report one address once in 15 minutes.',
  requestBody: formOrJson(reportFields, false),
  answers: { 200: answer('On disk, and in the score that is shown.', data('Reported')) },
  schemas: { Reported: object({ ipAddress: string, abuseConfidenceScore: score }) },
};

export const bulkReportDocs: Described = {
  id: 'bulkReport',
  tag,
  summary: `Up to ${bulkRowsMax} reports as CSV. Costs one write for each 100 rows.`,
  requestBody: {
    required: true,
    content: {
      'multipart/form-data': {
        schema: {
          type: 'object',
          properties: { key: string, csv: { type: 'string', contentMediaType: 'text/csv' } },
          required: ['csv'],
        },
      },
    },
  },
  answers: { 200: answer('Rows saved, and those that were not.', data('BulkReported')) },
  schemas: {
    BulkReported: object({
      savedReports: count,
      invalidReports: {
        ...list(
          object({ error: string, input: string, rowNumber: { type: 'integer', minimum: 1 } }),
        ),
        maxItems: bulkRowsMax,
      },
    }),
  },
};

export const clearAddressDocs: Described = {
  id: 'clearAddress',
  tag,
  summary: 'Takes back what your account reported of an address. Costs one write.',
  description: '`ipAddress` in the query or in the body.',
  requestBody: formOrJson({ type: 'object', properties: { ipAddress: string } }, false),
  answers: { 200: answer('Gone from disk and score.', data('Cleared')) },
  schemas: { Cleared: object({ numReportsDeleted: count }) },
};

const days = { type: 'integer', minimum: 1, maximum: 365 };

export const listReportsDocs: Described = {
  id: 'listReports',
  tag,
  summary: 'The reports of an address, newest first. Costs one read a page.',
  parameters: [
    query('ipAddress', string, 'IPv4 or IPv6.', true),
    query('maxAgeInDays', days, 'Count the reports of so many days.'),
    query('page', { type: 'integer', minimum: 1, maximum: pageBounds.pageMax }, 'From 1.'),
    query(
      'perPage',
      { type: 'integer', minimum: 1, maximum: pageBounds.perPageMax },
      'Reports on a page.',
    ),
  ],
  answers: { 200: answer('A page.', data('ReportPage')) },
  schemas: {
    Report: reportSchema,
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
  },
};
