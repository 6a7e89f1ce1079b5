/** The feeds that are JSON. The others are text for firewalls: the manifest lists all of them. */

import { feeds, scoreTiers } from '../../../feeds/catalog.ts';
import {
  type Area,
  answer,
  boolean,
  count,
  country,
  dateTime,
  families,
  type JsonObject,
  jsonMedia,
  list,
  media,
  nullable,
  object,
  operation,
  query,
  ref,
  score,
  string,
} from './parts.ts';

const tag = 'Feeds';
const header = (schema: JsonObject) => ({ required: true, schema });
const headers = { ETag: header(string), 'X-Feed-Version': header({ type: 'integer' }) };
const range = { 'Content-Range': header(string) };
const unchanged = { description: 'Nothing has changed.', headers };

const parameters = [
  query('ipVersion', { enum: [4, 6] }, 'One family alone.'),
  query('minimumScore', { enum: [...scoreTiers] }, 'Least score.'),
];

const recordFeeds = feeds.filter(({ type }) => type === jsonMedia);

function recordFeed({ name, title }: { name: string; title: string }) {
  const get = operation({
    tag,
    id: `feed_${name.replace(/\W/g, '_')}`,
    family: families.api,
    summary: `${title}, highest score first.`,
    parameters,
    answers: {
      200: answer('The list.', media(ref('Blocklist')), headers),
      206: answer('The range that was asked for.', { [jsonMedia]: {} }, { ...headers, ...range }),
      304: unchanged,
      416: answer('The range lies outside.', { 'text/plain; charset=utf-8': {} }, range),
    },
    refusals: [422],
  });
  return [`/feeds/${name}`, { get }] as const;
}

export const jsonFeeds: Area = {
  schemas: {
    Blocklist: object({
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
    }),
    FeedChanges: object({
      version: count,
      since: count,
      reload: boolean,
      added: list(string),
      removed: list(string),
    }),
  },
  cors: [...recordFeeds.map(({ name }) => `/feeds/${name}`), '/feeds/changes.json'],
  paths: {
    ...Object.fromEntries(recordFeeds.map(recordFeed)),
    '/feeds/changes.json': {
      get: operation({
        tag,
        id: 'feedChanges',
        family: families.api,
        summary: 'What was added and removed since a version, or that the whole must be read.',
        parameters: [query('since', count, 'A version: `X-Feed-Version`.', true)],
        answers: {
          200: answer('The changes.', media(ref('FeedChanges')), headers),
          304: unchanged,
        },
        refusals: [422],
      }),
    },
  },
};
