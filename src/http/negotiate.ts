/**
 * Content negotiation for bodies that are ready in several encodings: Accept-Encoding (RFC 9110,
 * 12.5.3) and If-None-Match (13.1.2). Nothing is compressed here.
 */

import { firstHeader, type Header, type Reply, type Request } from './message.ts';

export interface Encoded {
  readonly body: Uint8Array;
  /** Strong and quoted; one for each encoding. */
  readonly etag: string;
}

export interface Representation {
  readonly type: string;
  readonly cacheControl: string;
  readonly identity: Encoded;
  readonly gzip?: Encoded;
  readonly brotli?: Encoded;
}

const headerLengthMax = 512;

/** The route must read `accept-encoding` and `if-none-match`. */
export function negotiate(request: Request, resource: Representation): Reply {
  const varies = resource.gzip !== undefined || resource.brotli !== undefined;
  const accepted = acceptedEncodings(firstHeader(request, 'accept-encoding'));
  const [encoding, chosen] =
    resource.brotli !== undefined && accepted.has('br')
      ? (['br', resource.brotli] as const)
      : resource.gzip !== undefined && accepted.has('gzip')
        ? (['gzip', resource.gzip] as const)
        : ([undefined, resource.identity] as const);
  const headers: Header[] = [
    ['ETag', chosen.etag],
    ['Cache-Control', resource.cacheControl],
  ];
  if (varies) headers.push(['Vary', 'Accept-Encoding']);
  if (matchesEtag(request.headers['if-none-match'] ?? [], chosen.etag))
    return { status: 304, headers };
  headers.push(['Content-Type', resource.type]);
  if (encoding !== undefined) headers.push(['Content-Encoding', encoding]);
  return { status: 200, headers, body: chosen.body };
}

/** Codings with a weight above 0. Bounded: a header too long to be meant counts as absent. */
function acceptedEncodings(header: string | undefined): ReadonlySet<string> {
  if (header === undefined || header.length > headerLengthMax) return new Set();
  const accepted = new Set<string>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const refused = parameters.some((p) => /^q=0(\.0{0,3})?$/.test(p));
    if (!refused) accepted.add(name);
  }
  return accepted;
}

/** Weak comparison, as If-None-Match asks for; `*` matches anything. */
function matchesEtag(lines: readonly string[], etag: string): boolean {
  const text = lines.join(',');
  if (text.length > 4 * headerLengthMax) return false;
  return text.split(',').some((part) => {
    const candidate = part.trim().replace(/^W\//, '');
    return candidate === '*' || candidate === etag;
  });
}
