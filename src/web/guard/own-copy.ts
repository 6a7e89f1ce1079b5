/** A finished page that is changed for one reader: asked for whole, and kept by nobody. */

import { conditionHeaders } from '../../http/answer/negotiate.ts';
import type { Reply, Request } from '../../http/request/message.ts';

/** They ask for a part, a copy or an encoding of the page that everybody gets. */
const conditions: readonly string[] = [...conditionHeaders, 'accept-encoding', 'range', 'if-range'];
/** They speak of that page. */
export const replacedHeaders = ['cache-control', 'etag', 'last-modified', 'accept-ranges', 'age'];

export function unconditional(request: Request): Request {
  const headers = Object.entries(request.headers).filter(([name]) => !conditions.includes(name));
  return { ...request, headers: Object.fromEntries(headers) };
}

export function isHtml({ headers }: Reply): boolean {
  return headers.some(
    ([name, value]) => name.toLowerCase() === 'content-type' && value.startsWith('text/html'),
  );
}

export function textOf({ body }: Reply): string | undefined {
  if (body === undefined || typeof body === 'string') return body;
  return Buffer.concat(body instanceof Uint8Array ? [body] : body).toString('utf8');
}
