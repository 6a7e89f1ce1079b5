/** What OpenAPI says of the open figures. */

import { scoreBands } from '../../core/names/score-band.ts';
import {
  answer,
  count,
  country,
  type Described,
  dateTime,
  list,
  media,
  nullable,
  object,
  ref,
  string,
} from '../../web/openapi.ts';
import { categoryMax } from '../reports/categories.ts';

const period = object({
  from: dateTime,
  stepSeconds: count,
  reports: count,
  series: list(count),
  categories: list(
    object({
      category: { type: 'integer', minimum: 1, maximum: categoryMax },
      name: string,
      reports: count,
    }),
  ),
  countries: list(object({ countryCode: country, reports: count })),
});

export const statsDocs: Described = {
  id: 'stats',
  tag: 'IP API',
  summary: 'Entries by band and reports over time, by category and country; without a key.',
  answers: { 200: answer('At most ten seconds old.', media(ref('Stats'))) },
  schemas: {
    Stats: object({
      data: object({
        generatedAt: dateTime,
        entries: nullable(
          object({
            countedAt: dateTime,
            total: count,
            ...Object.fromEntries(scoreBands.map((band) => [band, count])),
          }),
        ),
        reports: object({ total: count, since: nullable(dateTime) }),
        last24Hours: period,
        last7Days: period,
        last90Days: period,
      }),
    }),
  },
};
