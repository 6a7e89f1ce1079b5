/**
 * One http(s) download: few redirects, never from https to http, a bound on every wait and on
 * the whole. The body is handed on as it comes; nothing is buffered here.
 */

import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { parseHttpDate } from '../../../core/dates.ts';
import { OperatorError } from '../../../core/errors.ts';
import { dayMs } from '../../../core/time.ts';
import { formatIp, readIp } from '../../../ip/address.ts';
import { readJudgedIp, textOfEmbedded } from '../../../ip/embedded-ipv4.ts';
import { isPublic } from '../../../ip/special.ts';
import { escapeControls } from './rows.ts';

/** The validators of a server's answer (RFC 9110, 8.8), sent with the next request. Empty: it sent none. */
export interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

interface DownloadOptions {
  readonly signal: AbortSignal | undefined;
  /** Bound on the wait for an answer and for each next piece. */
  readonly timeoutMs: number;
  readonly deadlineMs: number;
  /** Absent: any host may be asked. */
  readonly destinations?: Destinations | undefined;
  /** Validators of the rows that are here already: the server may say that they are unchanged. */
  readonly known?: Validators | undefined;
  /** Headers for the host of the address alone. */
  readonly credentials?: Readonly<Record<string, string>> | undefined;
  /** More headers of the request to an address. */
  readonly headersFor?: ((url: URL) => Readonly<Record<string, string>>) | undefined;
}

export interface Download {
  /** Path or address for messages: no query, no control characters. */
  readonly label: string;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Size as stored or sent, packed when it is packed; undefined when unknown. */
  readonly totalBytes: number | undefined;
  /** It is as `known` says, and there are no chunks. */
  readonly isUnchanged: boolean;
  readonly validators: Validators;
  /** Lets go of a list that will not be iterated. */
  close(): Promise<void>;
}

const redirectsMax = 5;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** A longer one is not sent back: the list is read again. */
const validatorCharsMax = 300;

/** The address without user, query and fragment: those may hold a secret. */
export function urlLabel(url: URL): string {
  return escapeControls(`${url.origin}${url.pathname}`);
}

/** Throws `OperatorError` for what the server answered; network errors as Node throws them. */
export async function startDownload(url: URL, options: DownloadOptions): Promise<Download> {
  const label = urlLabel(url);
  const guard = createGuard(label, options);
  try {
    const response = await followRedirects(url, label, guard, options);
    const isUnchanged = response.statusCode === 304 && options.known !== undefined;
    if (response.statusCode !== 200 && !isUnchanged) {
      response.destroy();
      const message = `${label}: the server answered ${response.statusCode}, not 200`;
      const asked = response.headers['retry-after'];
      const waitMs = retryAfterMs(response.statusCode!, asked, Date.now());
      throw waitMs > 0 ? new BusyServerError(message, waitMs) : new OperatorError(message);
    }
    refusePacked(response, label);
    return {
      label,
      chunks: bodyChunks(response, guard),
      totalBytes: lengthOf(response),
      isUnchanged,
      validators: validatorsOf(response),
      async close() {
        guard.end();
        response.destroy();
      },
    };
  } catch (error) {
    guard.end();
    throw guard.failure() ?? error;
  }
}

type Guard = ReturnType<typeof createGuard>;

/** Limits each wait: after it the signal fires, and `failure` says which limit was reached. */
function createGuard(label: string, { signal, timeoutMs, deadlineMs }: DownloadOptions) {
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
    async wait<T>(step: Promise<T>): Promise<T> {
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

async function followRedirects(
  start: URL,
  label: string,
  guard: Guard,
  options: DownloadOptions,
): Promise<IncomingMessage> {
  let url = start;
  for (let redirects = 0; ; redirects++) {
    if (url.username !== '' || url.password !== '') {
      throw new OperatorError(`${label}: an address with a user name is not read`);
    }
    await options.destinations?.admit(url);
    const credentials = takesCredentials(start, url) ? options.credentials : undefined;
    const response = await guard.wait(answerOf(url, guard.signal, { ...options, credentials }));
    const { location } = response.headers;
    if (!redirectStatuses.has(response.statusCode!) || location === undefined) return response;
    response.destroy();
    if (redirects === redirectsMax) {
      throw new OperatorError(`${label}: more than ${redirectsMax} redirects`);
    }
    url = redirectTarget(location, url, label);
  }
}

/** A connection of its own: its address is the one that was looked up for it. */
function answerOf(
  url: URL,
  signal: AbortSignal,
  { destinations, known, credentials, headersFor }: DownloadOptions,
): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = {
    accept: '*/*',
    'user-agent': 'portcullis',
    // A file that is packed already gains nothing, and gzip inside gzip is not read.
    'accept-encoding': url.pathname.endsWith('.gz') ? 'identity' : 'gzip',
    ...credentials,
    ...headersFor?.(url),
    ...(known?.etag ? { 'if-none-match': known.etag } : {}),
    ...(known?.lastModified ? { 'if-modified-since': known.lastModified } : {}),
  };
  const lookup = destinations === undefined ? {} : { lookup: destinations.lookup };
  return new Promise((resolve, reject) => {
    request(url, { agent: false, signal, headers, ...lookup })
      .on('response', (response) => {
        // A reader gets the error from the stream; without a reader it needs no handling.
        response.on('error', () => {});
        resolve(response);
      })
      .on('error', reject)
      .end();
  });
}

/** A redirect may lead to another host, or port, which must not learn what this one asks for. */
export function takesCredentials(start: URL, url: URL): boolean {
  if (start.origin === url.origin) return true;
  const isSafer = start.protocol === 'http:' && url.protocol === 'https:';
  return isSafer && start.hostname === url.hostname && start.port + url.port === '';
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

/**
 * Refuses a content coding other than gzip, which is recognised by its bytes and unpacked later,
 * within the bound on size.
 */
function refusePacked(response: IncomingMessage, label: string): void {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (/^(identity|(x-)?gzip)$/i.test(encoding)) return;
  response.destroy();
  throw new OperatorError(`${label}: comes in an encoding that is not read; gzip is`);
}

function validatorsOf({ headers }: IncomingMessage): Validators {
  const kept = (text = '') => (text.length <= validatorCharsMax ? text : '');
  return { etag: kept(headers.etag), lastModified: kept(headers['last-modified']) };
}

function lengthOf({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length'] ?? '';
  return /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

async function* bodyChunks(
  response: IncomingMessage,
  guard: Guard,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    for (;;) {
      const step = await guard.wait(reader.next());
      if (step.done) return;
      yield step.value;
    }
  } catch (error) {
    throw guard.failure() ?? error;
  } finally {
    guard.end();
    response.destroy();
  }
}

// The wait that a busy list server asks for: `Retry-After` of 429 and 503 (RFC 9110, 10.2.3).

/** A longer wait counts as this one, a day. */
export const retryAfterMsMax = dayMs;

/** An answer that says when to come back. */
export class BusyServerError extends OperatorError {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/**
 * Milliseconds to wait, at most a day; 0 where the server does not say, or says the past.
 * @param text the header: whole seconds, or a date in any of its forms
 */
export function retryAfterMs(status: number, text: string | undefined, now: number): number {
  if ((status !== 429 && status !== 503) || text === undefined) return 0;
  const value = text.trim();
  const waitMs = /^\d{1,15}$/.test(value)
    ? Number(value) * 1_000
    : (parseHttpDate(value, () => now) ?? now) - now;
  return Math.min(retryAfterMsMax, Math.max(0, waitMs));
}

// The hosts that a subscribed list may come from: public addresses alone, unless the operator allows
// others. A server that fetches any address would read what only its own network may (SSRF).
//
// Invariant: the address that is connected to is the address that was judged. A name is looked up
// once for a connection; if one of its addresses is refused, all of it is.

export type Resolve = (
  host: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Returns true for an address that can be a peer on the public Internet; a text with a zone is none. */
function isPublicText(address: string): boolean {
  const ip = readIp(address);
  return ip !== undefined && isPublic(ip.family, ip.words);
}

function refused(host: string): OperatorError {
  return new OperatorError(
    `${host} is, or leads to, a private address. To allow it, set SOURCE_ALLOW_PRIVATE=on`,
  );
}

export type Destinations = ReturnType<typeof openDestinations>;

/** A list would come from a peer, and be our own word come back. */
export class PeerHostError extends OperatorError {}

/** Returns a host in one spelling: without port, last dot and `www.`; an address as this server writes it. */
export function plainHost({ hostname }: URL): string {
  const name = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
  const ip = readJudgedIp(name);
  return ip === undefined ? name.replace(/^www\./, '') : formatIp(ip.family, ip.words);
}

const isLiteral = (host: string): boolean => readIp(host) !== undefined;

/** Returns the first of the hosts that is the other one: by its name, or by the address that one of the two is. */
export async function sameHost(
  host: string,
  others: readonly string[],
  resolve: Resolve = systemLookup as Resolve,
): Promise<string | undefined> {
  const leadsTo = (name: string, address: string) =>
    new Promise<boolean>((done) => {
      resolve(name, { all: true }, (error, found) =>
        done(error === null && found.some((one) => textOfEmbedded(one.address) === address)),
      );
    });
  for (const other of others) {
    if (other === host) return other;
    if (isLiteral(host) === isLiteral(other)) continue;
    const [name, address] = isLiteral(host) ? [other, host] : [host, other];
    if (await leadsTo(name, address)) return other;
  }
  return undefined;
}

/** Decides which hosts may be asked; each redirect is checked again. */
export function openDestinations(options: {
  allowPrivate: boolean;
  /** Hosts of peers, as `plainHost` writes them: a list of theirs holds our own word come back. */
  peerHosts?: readonly string[];
  /** Absent: as the system does it. */
  resolve?: Resolve;
}) {
  const { allowPrivate, peerHosts = [], resolve = systemLookup as Resolve } = options;

  /** Rejects with an OperatorError for an address that may not be asked. */
  async function admit(url: URL): Promise<void> {
    // The parser of URLs has made one spelling of all forms: 0x7f.1 is 127.0.0.1 here.
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const isAddress = readIp(host) !== undefined;
    if (isAddress && !allowPrivate && !isPublicText(host)) throw refused(host);
    if (peerHosts.length === 0) return;
    const peer = await sameHost(plainHost(url), peerHosts, resolve);
    if (peer === undefined) return;
    throw new PeerHostError(
      `${host} is the peer ${peer}: its list would be our own word come back. Remove the peer first`,
    );
  }

  /** Resolves names to addresses that may be asked; the connection goes to one of these. */
  const lookup: LookupFunction = (host, asked, done) => {
    resolve(host, { all: true }, (error, addresses) => {
      if (error !== null) return done(error, '', 0);
      const isRefused = addresses.some(({ address }) => !isPublicText(address));
      if (isRefused && !allowPrivate) return done(refused(host), '', 0);
      const [first] = addresses;
      if (first === undefined) {
        return done(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 0);
      }
      if (asked.all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };

  return { admit, lookup };
}

/** Returns the fault of an address to subscribe to, if any; a name that can't be looked up now is fine. */
export async function sourceFault(
  url: URL,
  destinations: Destinations,
): Promise<string | undefined> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return 'a source is an http(s) address';
  }
  if (url.username !== '' || url.password !== '') {
    return 'an address with a user name or a password is not read';
  }
  try {
    await destinations.admit(url);
    const host = url.hostname;
    if (host.startsWith('[')) return undefined;
    await new Promise<void>((resolve, reject) => {
      destinations.lookup(host, { all: true }, (error) =>
        error instanceof OperatorError ? reject(error) : resolve(),
      );
    });
    return undefined;
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
}
