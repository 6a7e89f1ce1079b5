/**
 * GET /feeds: the page of the feeds. It is the same for everybody who reads one language, so it is
 * rendered once after each publication and kept, for a minute: it says how long ago each feed changed.
 */

import { createHash } from 'node:crypto';
import { clientLimits } from '../../config/limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { Language } from '../../core/language.ts';
import { minuteMs } from '../../core/time.ts';
import { providerAttribution } from '../../geo/sources.ts';
import { conditionHeaders, negotiate, type Representation } from '../../http/answer/negotiate.ts';
import type { Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { openPage } from '../../web/guard/endpoint.ts';
import { type Guard, movedTo } from '../../web/guard/guard.ts';
import { languageOf, type PageTools, pageRequestHeaders } from '../../web/page-tools.ts';
import { feeds, variantName } from './feed-definitions.ts';
import { type FeedFigures, type FeedLabel, feedsPage } from './feeds.page.tsx';
import type { FeedPublisher, PublishedFeeds } from './publish.ts';

/** Before the first build, a request for the page waits for it this long. */
const firstWaitMs = 1_000;

interface FeedsPageOptions {
  readonly guard: Guard;
  readonly publisher: Pick<FeedPublisher, 'current' | 'first'>;
  readonly tools: PageTools;
  readonly clock: Clock;
  readonly feedsUrl: string;
  readonly licence: string;
}

export const feedsPageEndpoint = openPage('/feeds', {
  headers: [...pageRequestHeaders, ...conditionHeaders],
});
export const feedsSlashEndpoint = openPage('/feeds/');

export function feedsPageRoutes(options: FeedsPageOptions): PlainRoute[] {
  const { guard, publisher, tools, clock, feedsUrl, licence } = options;
  let shown: PublishedFeeds | undefined;
  let minute = 0;
  /** One for each language, of `shown` and `minute`. */
  const kept = new Map<Language, Representation>();

  function render(language: Language): Representation {
    const body = Buffer.from(
      feedsPage(tools.frame(language), {
        feedsUrl,
        feeds: figuresOf(shown),
        licence,
        attribution: providerAttribution,
        requestsPerMinute: clientLimits.feeds.max,
        nowMs: clock.now(),
        ready: shown !== undefined,
      }),
    );
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const headers = tools.headers(language);
    return {
      type: 'text/html; charset=utf-8',
      cacheControl: shown === undefined ? 'no-store' : 'public, max-age=60',
      identity: { body, etag },
      headers: headers.filter(([name]) => name.toLowerCase() !== 'content-type'),
    };
  }

  async function handle(request: Request) {
    const published = publisher.current() ?? (await publisher.first(firstWaitMs));
    const now = Math.floor(clock.now() / minuteMs);
    if (published !== shown || now !== minute) {
      [shown, minute] = [published, now];
      kept.clear();
    }
    const language = languageOf(request);
    const page = kept.get(language) ?? render(language);
    kept.set(language, page);
    return negotiate(request, page);
  }

  return [
    guard.open(feedsPageEndpoint, handle),
    guard.open(feedsSlashEndpoint, () => movedTo('/feeds')),
  ];
}

function figuresOf(published: PublishedFeeds | undefined): FeedFigures[] {
  const whole = { scoreMin: 75, family: undefined, aggregated: false } as const;
  const listed = feeds.map((feed) => {
    const file = published?.files.get(variantName(feed, whole));
    const now = file && {
      entries: file.entries,
      bytes: file.identity.bytes,
      gzipBytes: file.gzip?.bytes,
      changedAtMs: file.changedAtMs,
    };
    return { name: feed.name as FeedLabel, now };
  });
  return [...listed, { name: 'changes.json', now: undefined }];
}
