/**
 * One http(s) download: few redirects, never from https to http, a bound on every wait and on
 * the whole. The body is handed on as it comes; nothing is buffered here.
 */

import { OperatorError } from '../../../core/errors.ts';
import { escapeControls } from './bad-line.ts';

export interface DownloadOptions {
  readonly signal: AbortSignal | undefined;
  /** Bound on the wait for an answer and for each next piece. */
  readonly timeoutMs: number;
  readonly deadlineMs: number;
}

export interface Download {
  readonly label: string;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Undefined when the server doesn't say, or says it of a packed body that arrives unpacked. */
  readonly totalBytes: number | undefined;
  close(): Promise<void>;
}

const redirectsMax = 5;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The address without user, query and fragment: those may hold a secret. */
export function urlLabel(url: URL): string {
  return escapeControls(`${url.origin}${url.pathname}`);
}

/** Throws `OperatorError` for what the server answered; network errors as `fetch` throws them. */
export async function startDownload(url: URL, options: DownloadOptions): Promise<Download> {
  const label = urlLabel(url);
  const guard = createGuard(label, options);
  try {
    const response = await followRedirects(url, label, guard);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new OperatorError(`${label}: the server answered ${response.status}, not 200`);
    }
    return {
      label,
      chunks: bodyChunks(response, guard),
      totalBytes: lengthOf(response),
      async close() {
        guard.end();
        // A body that is being read is locked, and its reader lets it go.
        if (!response.bodyUsed) await response.body?.cancel();
      },
    };
  } catch (error) {
    guard.end();
    throw guard.failure() ?? error;
  }
}

/** Waits with a bound: when one is over, the signal fires and `failure` says which. */
interface Guard {
  readonly signal: AbortSignal;
  wait<T>(step: Promise<T>): Promise<T>;
  failure(): OperatorError | undefined;
  end(): void;
}

function createGuard(label: string, { signal, timeoutMs, deadlineMs }: DownloadOptions): Guard {
  const controller = new AbortController();
  let failure: OperatorError | undefined;
  function expire(message: string): void {
    failure ??= new OperatorError(`${label}: ${message}`);
    controller.abort(failure);
  }
  const deadline = setTimeout(() => expire('the download took too long'), deadlineMs);
  // While a download runs its socket keeps the process alive; a forgotten one must not.
  deadline.unref();
  return {
    signal: signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]),
    async wait(step) {
      // Only the server's time counts: between two waits the reader may take as long as it needs.
      const timer = setTimeout(() => expire(`no data for ${timeoutMs} ms`), timeoutMs);
      try {
        return await step;
      } finally {
        clearTimeout(timer);
      }
    },
    failure: () => failure,
    end: () => clearTimeout(deadline),
  };
}

async function followRedirects(start: URL, label: string, guard: Guard): Promise<Response> {
  let url = start;
  for (let redirects = 0; ; redirects++) {
    if (url.username !== '' || url.password !== '') {
      throw new OperatorError(`${label}: an address with a user name is not read`);
    }
    const response = await guard.wait(
      fetch(url, {
        redirect: 'manual',
        signal: guard.signal,
        headers: { accept: '*/*', 'user-agent': 'portcullis' },
      }),
    );
    const location = response.headers.get('location');
    if (!redirectStatuses.has(response.status) || location === null) return response;
    await response.body?.cancel();
    if (redirects === redirectsMax) {
      throw new OperatorError(`${label}: more than ${redirectsMax} redirects`);
    }
    url = redirectTarget(location, url, label);
  }
}

function redirectTarget(location: string, from: URL, label: string): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  if (target === undefined || (target.protocol !== 'http:' && target.protocol !== 'https:')) {
    throw new OperatorError(`${label}: redirects to something that is not http(s)`);
  }
  if (from.protocol === 'https:' && target.protocol === 'http:') {
    throw new OperatorError(`${label}: redirects from https to plain http`);
  }
  return target;
}

/** `content-length`, unless fetch unpacks the body: then bytes as sent are never seen here. */
function lengthOf(response: Response): number | undefined {
  const encoding = response.headers.get('content-encoding') ?? 'identity';
  const length = response.headers.get('content-length');
  if (encoding !== 'identity' || length === null || !/^\d{1,15}$/.test(length)) return undefined;
  return Number(length);
}

async function* bodyChunks(
  response: Response,
  guard: Guard,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = response.body?.getReader();
  if (reader === undefined) return guard.end();
  let done = false;
  try {
    while (!done) {
      const step = await guard.wait(reader.read());
      done = step.done;
      if (step.value !== undefined) yield step.value;
    }
  } catch (error) {
    throw guard.failure() ?? error;
  } finally {
    guard.end();
    // Rejects when the body has failed already; there is nothing left to let go then.
    if (!done) await reader.cancel().catch(() => {});
  }
}
