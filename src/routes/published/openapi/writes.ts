/** The IP API's writes: report, bulk-report, clear-address. */

import { categoryMax } from '../../../reputation/categories.ts';
import { commentCharactersMax, reportCategoriesMax } from '../../../reputation/report.ts';
import { bulkRowsMax } from '../../bulk-rows.ts';
import {
  type Area,
  answer,
  count,
  dateTime,
  families,
  formOrJson,
  list,
  media,
  object,
  operation,
  quotaHeaders,
  ref,
  score,
  string,
} from './parts.ts';

const write = { tag: 'IP API', family: families.api, key: true } as const;
const data = (name: string) => media(object({ data: ref(name) }));
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

export const writes: Area = {
  schemas: {
    Reported: object({ ipAddress: string, abuseConfidenceScore: score }),
    BulkReported: object({
      savedReports: count,
      invalidReports: {
        ...list(
          object({ error: string, input: string, rowNumber: { type: 'integer', minimum: 1 } }),
        ),
        maxItems: bulkRowsMax,
      },
    }),
    Cleared: object({ numReportsDeleted: count }),
  },
  paths: {
    '/api/v2/report': {
      post: operation({
        ...write,
        id: 'report',
        summary: 'Reports an address. Costs one write.',
        description:
          'The fields may also stand in the query. One account may report one address once in 15 minutes.',
        body: formOrJson(reportFields, false),
        answers: {
          200: answer('On disk, and in the score that is shown.', data('Reported'), quotaHeaders),
        },
        refusals: [401, 415, 422],
      }),
    },
    '/api/v2/bulk-report': {
      post: operation({
        ...write,
        id: 'bulkReport',
        streams: true,
        summary: `Up to ${bulkRowsMax} reports as CSV. Costs one write for each 100 rows.`,
        body: {
          required: true,
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                properties: {
                  key: string,
                  csv: { type: 'string', contentMediaType: 'text/csv' },
                },
                required: ['csv'],
              },
            },
          },
        },
        answers: {
          200: answer('Rows saved, and those that were not.', data('BulkReported'), quotaHeaders),
        },
        refusals: [401, 415, 422],
      }),
    },
    '/api/v2/clear-address': {
      delete: operation({
        ...write,
        id: 'clearAddress',
        summary: 'Takes back what your account reported of an address. Costs one write.',
        description: '`ipAddress` in the query or in the body.',
        body: formOrJson({ type: 'object', properties: { ipAddress: string } }, false),
        answers: { 200: answer('Gone from disk and score.', data('Cleared'), quotaHeaders) },
        refusals: [401, 415, 422],
      }),
    },
  },
};
