/**
 * The OpenAPI documentation of the blacklist and of the feeds that are JSON. The others are text
 * for firewalls.
 */

import {
  answer,
  boolean,
  conditionFailed,
  count,
  country,
  type Described,
  dateTime,
  flag,
  type JsonMembers,
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
import { maliciousScore } from '../check/score.ts';
import { blacklistBounds, confidenceMin } from './blacklist.ts';
import { type Feed, scoreTiers } from './catalog.ts';

export const blacklistDocs: Described = {
  id: 'blacklist',
  tag: 'IP API',
  summary: 'Addresses and networks with a high score. One read for each 1,000 rows.',
  parameters: [
    query(
      'confidenceMinimum',
      { type: 'integer', minimum: confidenceMin, maximum: 100 },
      `Least score. Left out, or 100: what is malicious, from ${maliciousScore}.`,
    ),
    query('limit', { type: 'integer', minimum: 1 }, `Rows; ${blacklistBounds.limitMax} at most.`),
    query(
      'onlyCountries',
      string,
      'Two-letter codes, separated by commas; also repeated, or as `onlyCountries[]`.',
    ),
    query('exceptCountries', string, 'All but these; not with onlyCountries.'),
    query('ipVersion', { enum: ['4', '6', '4,6'] }, 'One family alone.'),
    flag('plaintext', 'One address or network a line, as `Accept: text/plain` asks for.'),
  ],
  answers: {
    200: answer('Highest score first.', {
      ...media(ref('Blacklist')),
      ...media(string, 'text/plain; charset=utf-8'),
    }),
  },
  schemas: {
    Blacklist: object({
      meta: object({ generatedAt: dateTime, confidenceMinimum: score }),
      data: list(
        object({
          ipAddress: string,
          countryCode: country,
          abuseConfidenceScore: score,
          lastReportedAt: dateTime,
        }),
      ),
    }),
  },
};

const tag = 'Feeds';
const header = (schema: JsonMembers) => ({ required: true, schema });
const headers = { ETag: header(string), 'X-Feed-Version': header({ type: 'integer' }) };
const range = { 'Content-Range': header(string) };
const unchanged = { description: 'Nothing has changed.', headers };

const parameters = [
  query('ipVersion', { enum: [4, 6] }, 'One family alone.'),
  query('minimumScore', { enum: [...scoreTiers] }, 'Least score.'),
  query(
    'mark',
    string,
    'Of a screen of /connect, which it tells of this request; changes no answer.',
  ),
];

const Blocklist = object({
  meta: object({
    generatedAt: dateTime,
    version: count,
    count,
    minimumScore: { enum: [...scoreTiers] },
  }),
  data: list(
    object({
      ipAddress: string,
      abuseConfidenceScore: score,
      countryCode: country,
      isp: string,
      isAnon: boolean,
      totalReports: count,
      lastReportedAt: nullable(dateTime),
    }),
  ),
});

export function feedDocs({ name, title }: Pick<Feed, 'name' | 'title'>): Described {
  return {
    id: `feed_${name.replace(/\W/g, '_')}`,
    tag,
    summary: `${title}, highest score first.`,
    parameters,
    answers: {
      200: answer('The list.', media(ref('Blocklist')), headers),
      206: answer('The range that was asked for.', { [jsonMedia]: {} }, { ...headers, ...range }),
      304: unchanged,
      412: conditionFailed(headers),
      416: answer('The range lies outside.', { 'text/plain; charset=utf-8': {} }, range),
    },
    schemas: { Blocklist },
  };
}

export const feedChangesDocs: Described = {
  id: 'feedChanges',
  tag,
  summary: 'What was added and removed since a version, or that the whole must be read.',
  parameters: [query('since', count, 'A version: `X-Feed-Version`.', true)],
  answers: {
    200: answer('The changes.', media(ref('FeedChanges')), headers),
    304: unchanged,
    412: conditionFailed(headers),
  },
  schemas: {
    FeedChanges: object({
      version: count,
      since: count,
      reload: boolean,
      added: list(string),
      removed: list(string),
    }),
  },
};
