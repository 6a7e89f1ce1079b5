/**
 * Addresses of the pages that mails link to. They begin with BASE_URL and never with what a
 * request's Host header said.
 */

export interface PageLinks {
  verify(token: string): string;
  reset(token: string): string;
  confirmEmail(token: string): string;
  signIn(token: string): string;
  /** The page on which a person asks for recovery. */
  readonly recover: string;
  /** The page with the sessions and the password of the account. */
  readonly security: string;
}

/** @param baseUrl scheme, host and port alone, from the configuration */
export function pageLinks(baseUrl: string): PageLinks {
  const to = (path: string, token: string) =>
    `${baseUrl}${path}?token=${encodeURIComponent(token)}`;
  return {
    verify: (token) => to('/verify', token),
    reset: (token) => to('/reset', token),
    confirmEmail: (token) => to('/account/email/confirm', token),
    signIn: (token) => to('/signin/link', token),
    recover: `${baseUrl}/recover`,
    security: `${baseUrl}/account/security`,
  };
}
