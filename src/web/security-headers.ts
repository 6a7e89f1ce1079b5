/**
 * Response headers of every HTML page. The policy starts from nothing; a page that needs more says
 * which. Inline style attributes and inline scripts without the nonce are blocked everywhere.
 */

export interface SecurityNeeds {
  /** Random per response, base64 or base64url; allows `<script nonce>` and `<style nonce>`. */
  readonly nonce?: string | undefined;
  /**
   * `'self'` unless a form's answer redirects to another site: Chromium applies `form-action` to
   * the whole redirect chain, so sign-in and consent leave it out.
   */
  readonly formAction?: 'self' | 'unrestricted';
  /** Scripts of the page may call this host. */
  readonly connect?: boolean;
  /** The page plays audio from this host. */
  readonly media?: boolean;
  /** Origins of images besides this host, e.g. `https://gravatar.com`. */
  readonly imageOrigins?: readonly string[];
  /**
   * The page stays in touch with the window that opened it: it may stand on the way of a sign-in that a
   * site began in a window of its own. It can't be framed all the same.
   */
  readonly keepsOpener?: boolean | undefined;
  /** The page is served over https: browsers shall not come back over http. */
  readonly https?: boolean;
}

const sourceText = /^[A-Za-z0-9+/=_:.-]+$/;

function checkSource(value: string): string {
  // A space or semicolon would add sources or directives of the writer's choice.
  if (!sourceText.test(value)) throw new TypeError('not a Content-Security-Policy source');
  return value;
}

export function contentSecurityPolicy(needs: SecurityNeeds = {}): string {
  const nonce = needs.nonce === undefined ? '' : ` 'nonce-${checkSource(needs.nonce)}'`;
  const images = (needs.imageOrigins ?? []).map((origin) => ` ${checkSource(origin)}`).join('');
  const directives = [
    "default-src 'none'",
    `style-src 'self'${nonce}`,
    `script-src 'self'${nonce}`,
    "font-src 'self'",
    `img-src 'self'${images}`,
    "manifest-src 'self'",
    needs.connect ? "connect-src 'self'" : '',
    needs.media ? "media-src 'self'" : '',
    needs.formAction === 'unrestricted' ? '' : "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return directives.filter((directive) => directive !== '').join('; ');
}

/** Every header of an HTML page apart from caching; names in lower case. */
export function pageHeaders(language: string, needs: SecurityNeeds = {}): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-language': language,
    vary: 'Accept-Language',
    'content-security-policy': contentSecurityPolicy(needs),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    // `no-referrer` would turn the Origin of our own forms into null.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': needs.keepsOpener ? 'unsafe-none' : 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(needs.https ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
}
