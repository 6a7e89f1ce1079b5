/** The client of a request as pages and sign-on see it. */

import type { Language } from '../core/language.ts';

/**
 * Coarse facts, as the request states them, that help an owner to recognise a session; nothing identifies a
 * device.
 */
export interface Visitor {
  /** The name of the client, see `networksOf` in ip/networks.ts: IPv4 or an IPv6 /64. */
  readonly client: string;
  /** The name of the IPv4 /24 or IPv6 /48 around it, see there. */
  readonly neighbourhood?: string | undefined;
  /** The country of the client's address, `ZZ` when unknown. */
  readonly country: string;
  /** The header as it came; only `agentName` of it is kept. */
  readonly userAgent: string;
  /** The browser cookie (see `newToken`), if it came. */
  readonly browser?: string | undefined;
  /** The id of the browser, also before a sign-in; it follows from a cookie that this browser alone has. */
  readonly browserId?: string | undefined;
  /** The cookie of a browser that asked for a mailed link to sign in, if it came. */
  readonly asked?: string | undefined;
  /** The cookie of a trusted browser, if it came. */
  readonly trusted?: string | undefined;
  readonly language: Language;
}
