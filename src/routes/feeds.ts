/**
 * The blocklists and what changed in them, from buffers that are ready. No request builds,
 * compresses or reads the store; what isn't there ahead is refused.
 */

import { type Failure, fail, ok, type Result } from '../core/result.ts';
import type { EncodedFile } from '../feeds/build/build.ts';
import type { Changes } from '../feeds/build/history.ts';
import { type Feed, feeds, readChoice, variantName } from '../feeds/catalog.ts';
import type { FeedPublisher, Published } from '../feeds/publish.ts';
import type { Header, Reply, Request } from '../http/message.ts';
import { type Encoded, negotiate, negotiatedHeaders } from '../http/negotiate.ts';
import { parseQuery } from '../http/query.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Callers } from './callers.ts';
import { apiErrorBody, detailOf, jsonType, noStore, statusOf } from './problem.ts';

export interface FeedRoutesOptions {
  readonly publisher: Pick<FeedPublisher, 'current' | 'first'>;
  readonly callers: Pick<Callers, 'take'>;
}

/** A new list is there once a minute at most. */
const cacheControl = 'public, max-age=60';
/** At the start, a request waits so long for the first build. */
const firstWaitMs = 5_000;
const retrySeconds = '10';
const cors = { allowHeaders: ['If-None-Match', 'If-Modified-Since', 'Range', 'If-Range'] };
const exposed: Header = [
  'Access-Control-Expose-Headers',
  'ETag, Last-Modified, Content-Range, X-Feed-Version, Retry-After',
];
const textType: Header = ['Content-Type', 'text/plain; charset=utf-8'];

export function feedRoutes(options: FeedRoutesOptions): PlainRoute[] {
  const { publisher, callers } = options;

  function route(
    path: string,
    read: (request: Request, published: Published) => Reply,
  ): PlainRoute {
    async function handle(request: Request): Promise<Reply> {
      const waitSeconds = callers.take('feeds', request);
      if (waitSeconds > 0) {
        return refuse(request, fail('client_limit_exceeded'), [
          ['Retry-After', String(waitSeconds)],
        ]);
      }
      const published = publisher.current() ?? (await publisher.first(firstWaitMs));
      if (published !== undefined) return read(request, published);
      const failure = fail('overloaded', 'The feeds are being built; please come back soon.');
      return refuse(request, failure, [['Retry-After', retrySeconds]]);
    }
    return { kind: 'plain', method: 'GET', path, headers: negotiatedHeaders, cors, handle };
  }

  return [
    ...feeds.map((feed) =>
      route(`/feeds/${feed.name}`, (request, published) => feedReply(feed, request, published)),
    ),
    route('/feeds/changes.json', (request, { changes }) => changesReply(request, changes)),
    {
      kind: 'plain',
      method: 'GET',
      path: '/feeds/*',
      cors,
      handle: (request) => {
        const names = [...feeds.map(({ name }) => name), 'changes.json'].join(', ');
        return refuse(request, fail('not_found', `There is no such feed. There are: ${names}.`));
      },
    },
  ];
}

function feedReply(feed: Feed, request: Request, published: Published): Reply {
  const query = parseQuery(request.query);
  if (!query.ok) return refuse(request, query);
  const choice = readChoice(feed, query.value);
  if (!choice.ok) return refuse(request, choice);
  const file = published.files.get(variantName(feed, choice.value));
  if (file === undefined) throw new Error(`${feed.name} has a variant that is not built`);
  const isVersioned = feed.kind === 'records' || feed.content === 'blocklist';
  return negotiate(request, {
    type: file.type,
    cacheControl,
    changedAtMs: file.changedAtMs,
    identity: encodedOf(file.identity),
    ...(file.gzip === undefined ? {} : { gzip: encodedOf(file.gzip) }),
    ...(file.brotli === undefined ? {} : { brotli: encodedOf(file.brotli) }),
    headers: isVersioned ? [exposed, versionHeader(published.changes)] : [exposed],
    ranges: true,
  });
}

function encodedOf({ parts, etag }: EncodedFile): Encoded {
  return { body: parts, etag };
}

/** The version of the list now: also of a feed that last changed in an earlier one. */
function versionHeader({ version }: Changes): Header {
  return ['X-Feed-Version', String(version)];
}

function changesReply(request: Request, changes: Changes): Reply {
  const since = readSince(request.query, changes);
  if (!since.ok) return refuse(request, since);
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
    cacheControl,
    identity: { body, etag },
    headers: [exposed, versionHeader(changes)],
  });
}

function readSince(raw: string, { version }: Changes): Result<number> {
  const query = parseQuery(raw);
  if (!query.ok) return query;
  const stranger = query.value.names.find((name) => name !== 'since');
  if (stranger !== undefined) {
    return fail('invalid_parameter', 'changes.json takes since, nothing else.', stranger);
  }
  const text = query.value.get('since');
  if (text === undefined || !/^\d{1,15}$/.test(text)) {
    return fail(
      'invalid_parameter',
      'The since parameter must be a version: the number in X-Feed-Version or in the head of a feed.',
      'since',
    );
  }
  if (Number(text) > version) {
    return fail(
      'invalid_parameter',
      `The since parameter is later than the newest version, ${version}: read the whole feed again.`,
      'since',
    );
  }
  return ok(Number(text));
}

/** Readers of feeds are scripts: a line of text, or the API's shape for .json. */
function refuse(request: Request, failure: Failure, headers: readonly Header[] = []): Reply {
  const status = statusOf(failure.error);
  const detail = failure.detail ?? detailOf(failure.error);
  const isJson = request.path.endsWith('.json');
  return {
    status,
    headers: [isJson ? jsonType : textType, noStore, exposed, ...headers],
    body: isJson ? apiErrorBody(status, detail, failure.parameter) : `${detail}\n`,
  };
}
