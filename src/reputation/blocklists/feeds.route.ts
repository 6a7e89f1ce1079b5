/**
 * The blocklists and what changed in them, from buffers that are ready. No request builds,
 * compresses or reads the store; what isn't there ahead is refused.
 */

import * as v from 'valibot';
import type { NoteMark } from '../../access/marks.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { about, count, country, dateTime, digits, queryReader, score } from '../../core/schema.ts';
import { type EncodedBody, negotiate, negotiatedHeaders } from '../../http/answer/negotiate.ts';
import type { Header, Request } from '../../http/request/message.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { parseIp } from '../../ip/address.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult } from '../../web/guard/guard.ts';
import {
  answer,
  conditionFailed,
  type EndpointDocs,
  type JsonMembers,
  jsonAnswer,
  jsonMedia,
} from '../../web/openapi.ts';
import { jsonType } from '../../web/shape.ts';
import type { EncodedFile } from './builder/build.ts';
import type { Changes } from './builder/history.ts';
import {
  type Feed,
  feedParameters,
  feeds,
  readChoice,
  scoreTiers,
  variantName,
} from './feed-definitions.ts';
import type { FeedPublisher, PublishedFeeds } from './publish.ts';

export interface FeedRoutesOptions {
  readonly publisher: Pick<FeedPublisher, 'current' | 'first'>;
  readonly guard: Guard;
  readonly noteMark: NoteMark;
}

/** A new list is there once a minute at most. */
export const feedCacheControl = 'public, max-age=60';
/** Before the first build, a request waits for it this long. */
const firstWaitMs = 5_000;
const retrySeconds = 10;
export const feedCors = {
  allowHeaders: ['If-None-Match', 'If-Modified-Since', 'Range', 'If-Range'],
  exposeHeaders: ['ETag', 'Last-Modified', 'Content-Range', 'X-Feed-Version', 'Retry-After'],
};
export const feedExposed: Header = [
  'Access-Control-Expose-Headers',
  feedCors.exposeHeaders.join(', '),
];

const tag = 'Feeds';
const header = (schema: v.GenericSchema): JsonMembers => ({ required: true, schema });
const headers = {
  ETag: header(v.string()),
  'X-Feed-Version': header(v.pipe(v.number(), v.integer())),
};
const range = { 'Content-Range': header(v.string()) };
const unchanged = { description: 'Nothing has changed.', headers };

const Blocklist = v.strictObject({
  meta: v.strictObject({
    generatedAt: dateTime,
    version: count,
    count,
    minimumScore: v.picklist(scoreTiers),
  }),
  data: v.array(
    v.strictObject({
      ipAddress: v.string(),
      abuseConfidenceScore: score,
      countryCode: country,
      isp: v.string(),
      isAnon: v.boolean(),
      totalReports: count,
      lastReportedAt: v.nullable(dateTime),
    }),
  ),
});

function feedDocs({ name, title }: Pick<Feed, 'name' | 'title'>): EndpointDocs {
  return {
    id: `feed_${name.replace(/\W/g, '_')}`,
    tag,
    summary: `${title}, highest score first.`,
    query: feedParameters,
    answers: {
      200: jsonAnswer('The list.', Blocklist, headers),
      206: answer('The range that was asked for.', { [jsonMedia]: {} }, { ...headers, ...range }),
      304: unchanged,
      412: conditionFailed(headers),
      416: answer('The range lies outside.', { 'text/plain; charset=utf-8': {} }, range),
    },
    schemas: { Blocklist },
  };
}

const sinceDetail =
  'The since parameter must be a version: the number in X-Feed-Version or in the head of a feed.';
const changesParameters = {
  since: about(digits(/^\d{1,15}$/, sinceDetail, 0), 'A version: `X-Feed-Version`.'),
};
const FeedChanges = v.strictObject({
  version: count,
  since: count,
  reload: v.boolean(),
  added: v.array(v.string()),
  removed: v.array(v.string()),
});
const feedChangesDocs: EndpointDocs = {
  id: 'feedChanges',
  tag,
  summary: 'What was added and removed since a version, or that the whole must be read.',
  query: changesParameters,
  answers: {
    200: jsonAnswer('The changes.', FeedChanges, headers),
    304: unchanged,
    412: conditionFailed(headers),
  },
  schemas: { FeedChanges },
};

/** One for each feed. Readers of feeds are scripts: a line of text, or the API's shape for .json. */
function feedEndpoint(path: string, docs: Endpoint['docs']): Endpoint {
  return {
    method: 'GET',
    path,
    who: 'anyone',
    shape: path.endsWith('.json') ? 'api' : 'text',
    thread: 'any',
    limits: ['feeds'],
    headers: negotiatedHeaders,
    cors: feedCors,
    errors: ['invalid_parameter', 'overloaded'],
    docs,
  };
}

const feedEndpointOf = new Map(
  feeds.map((feed) => {
    const docs = feed.type === jsonType[1] ? feedDocs(feed) : 'text';
    return [feed.name as string, feedEndpoint(`/feeds/${feed.name}`, docs)];
  }),
);
const changesEndpoint = feedEndpoint('/feeds/changes.json', feedChangesDocs);
export const feedEndpoints: readonly Endpoint[] = [...feedEndpointOf.values(), changesEndpoint];

export function feedRoutes({ publisher, guard, noteMark }: FeedRoutesOptions): PlainRoute[] {
  function route(
    declared: Endpoint,
    read: (request: Request, published: PublishedFeeds) => HandlerResult,
  ): PlainRoute {
    const open = guard.open(declared, async (request) => {
      const published = publisher.current() ?? (await publisher.first(firstWaitMs));
      if (published !== undefined) return read(request, published);
      const failure = fail('overloaded', 'The feeds are being built; please come back soon.');
      return { ...failure, retryAfterSeconds: retrySeconds };
    });
    return {
      ...open,
      async handle(request, caller) {
        const reply = await open.handle(request, caller);
        if (reply.status === 429) {
          const query = parseQuery(request.query);
          if (query.ok) spotIn(query.value, request, noteMark, 'quota');
        }
        return reply;
      },
    };
  }

  return [
    ...feeds.map((feed) =>
      route(feedEndpointOf.get(feed.name)!, (request, published) =>
        feedReply(feed, request, published, noteMark),
      ),
    ),
    route(changesEndpoint, (request, { changes }) => changesReply(request, changes)),
  ];
}

const words = new Uint32Array(4);

function spotIn(params: Params, { clientIp }: Request, noteMark: NoteMark, note: string): void {
  const mark = params.get('mark');
  if (mark !== undefined) noteMark(mark, { family: parseIp(clientIp, words), words }, note);
}

function feedReply(
  feed: Feed,
  request: Request,
  published: PublishedFeeds,
  noteMark: NoteMark,
): HandlerResult {
  const query = parseQuery(request.query);
  if (!query.ok) return query;
  const choice = readChoice(feed, query.value);
  const note = choice.ok ? '' : `query ${choice.parameter ?? ''}`;
  spotIn(query.value, request, noteMark, note);
  if (!choice.ok) return choice;
  const file = published.files.get(variantName(feed, choice.value));
  if (file === undefined) throw new Error(`${feed.name} has a variant that is not built`);
  const isVersioned = feed.kind === 'records' || feed.content === 'blocklist';
  return negotiate(request, {
    type: file.type,
    cacheControl: feedCacheControl,
    changedAtMs: file.changedAtMs,
    identity: encodedOf(file.identity),
    ...(file.gzip === undefined ? {} : { gzip: encodedOf(file.gzip) }),
    ...(file.brotli === undefined ? {} : { brotli: encodedOf(file.brotli) }),
    headers: isVersioned ? [feedExposed, versionHeader(published.changes)] : [feedExposed],
    ranges: true,
  });
}

function encodedOf({ parts, etag }: EncodedFile): EncodedBody {
  return { body: parts, etag };
}

/** The version of the list now: also of a feed that last changed in an earlier one. */
function versionHeader({ version }: Changes): Header {
  return ['X-Feed-Version', String(version)];
}

function changesReply(request: Request, changes: Changes): HandlerResult {
  const since = readSince(request.query, changes);
  if (!since.ok) return since;
  const at = changes.since.indexOf(since.value);
  const start = `{"version":${changes.version},"since":${since.value},"reload":${at < 0}`;
  const body =
    at < 0
      ? [Buffer.from(`${start},"added":[],"removed":[]}\n`)]
      : [
          Buffer.from(`${start},"added":[`),
          changes.added.subarray(0, changes.addedBytes[at]),
          Buffer.from('],"removed":['),
          changes.removed.subarray(0, changes.removedBytes[at]),
          Buffer.from(']}\n'),
        ];
  const etag = `"${changes.version}-${since.value}${at < 0 ? '-reload' : ''}"`;
  return negotiate(request, {
    type: 'application/json',
    cacheControl: feedCacheControl,
    identity: { body, etag },
    headers: [feedExposed, versionHeader(changes)],
  });
}

const readParameters = queryReader(changesParameters);

function readSince(raw: string, { version }: Changes): Result<number> {
  const query = parseQuery(raw);
  if (!query.ok) return query;
  const unexpected = query.value.names.find((name) => name !== 'since');
  if (unexpected !== undefined) {
    return fail('invalid_parameter', 'changes.json takes since, nothing else.', unexpected);
  }
  const asked = readParameters(query.value);
  if (!asked.ok) return asked;
  const { since } = asked.value;
  if (since > version) {
    return fail(
      'invalid_parameter',
      `The since parameter is later than the newest version, ${version}: read the whole feed again.`,
      'since',
    );
  }
  return ok(since);
}
