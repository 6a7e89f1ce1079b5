/**
 * A web site that knows of Portcullis only what docs/CAPTCHA.md says: a form with the widget on
 * an origin of its own, the strictest policy that the docs allow, and a server that redeems what
 * the form brings, in the way of a library for reCAPTCHA.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CaptchaService } from './service.ts';

interface TestSite extends AsyncDisposable {
  /** A page with a form. Options as in `PageOptions`. */
  url(options?: PageOptions): string;
  /** What the service said of each form that was sent. */
  readonly verdicts: Record<string, unknown>[];
  /** The fields of each form that was sent. */
  readonly sent: Record<string, string>[];
}

export interface PageOptions {
  readonly language?: string;
  /** Forms, each with a widget. */
  readonly forms?: number;
  /** `data-response-field`. */
  readonly field?: string;
  readonly siteKey?: string;
  /** A page as it was written for another service, by name. */
  readonly other?: OtherPage;
}

/** What stands in place of form and script; `KEY` is the site key. */
const otherPages = {
  recaptcha: {
    query: '?hl=fr&onload=loaded',
    body: `<form method="post" action="/submit"><input name="name" value="Ada" aria-label="Name">
      <div class="g-recaptcha" data-sitekey="KEY" data-callback="app.solved"
        data-expired-callback="expired"></div><button>Send</button></form>`,
  },
  hcaptcha: {
    query: '',
    body: `<form method="post" action="/submit"><input name="name" value="Ada" aria-label="Name">
      <div class="h-captcha" data-sitekey="KEY" data-callback="app.solved"></div>
      <button>Send</button></form>`,
  },
  turnstile: {
    query: '',
    body: `<form method="post" action="/submit"><input name="name" value="Ada" aria-label="Name">
      <div class="cf-turnstile" data-sitekey="KEY" data-action="login" data-callback="app.solved"></div>
      <button>Send</button></form>`,
  },
  two: {
    query: '',
    body: `<form method="post" action="/submit" id="first">
      <div class="g-recaptcha" data-sitekey="KEY"></div><button>Send</button></form>
      <form method="post" action="/submit" id="second">
      <div class="g-recaptcha" data-sitekey="KEY"></div><button>Send</button></form>`,
  },
  explicit: {
    query: '?render=explicit&onload=loaded',
    body: `<div class="g-recaptcha" data-sitekey="KEY" id="idle"></div>
      <form method="post" action="/submit"><div id="place"></div><button>Send</button></form>`,
  },
  version3: { query: '?render=KEY', body: '<p>Nothing to solve in sight.</p>' },
  button: {
    query: '',
    body: `<form method="post" action="/submit"><input name="name" value="Ada" aria-label="Name">
      <button class="g-recaptcha" data-sitekey="KEY" data-action="join">Join</button></form>`,
  },
} as const;
export type OtherPage = keyof typeof otherPages;

/** The policy of the docs, and nothing else. */
function sitePolicy(service: string): string {
  return [
    "default-src 'none'",
    `script-src ${service}`,
    `connect-src ${service}`,
    `img-src ${service}`,
    `media-src ${service}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/** What a page for another service has of its own: no more than records of what was called. */
const ownScript = `
  window.heard = [];
  window.app = { solved: (token) => heard.push('solved ' + token.slice(0, 5)) };
  window.expired = () => heard.push('expired');
  window.loaded = () => heard.push('loaded');
  window.grecaptcha = { early: true };
  window.___grecaptcha_cfg = { fns: [() => heard.push('ready ' + typeof grecaptcha.render)] };
`;

function page(service: CaptchaService, query: URLSearchParams): string {
  const name = query.get('other') as OtherPage | null;
  if (name !== null) {
    const { query: asked, body } = otherPages[name];
    const [src, text] = [`${service.origin}/captcha/api.js${asked}`, body].map((one) =>
      one.replaceAll('KEY', service.siteKey),
    );
    return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>
      <script src="/own.js"></script><script src="${src}" async defer></script></head>
      <body><main><h1>Shop</h1>${text}</main></body></html>`;
  }
  const language = query.get('language') ?? 'en';
  const siteKey = query.get('siteKey') ?? service.siteKey;
  const field = query.get('field');
  const named = field === null ? '' : ` data-response-field="${field}"`;
  const forms = Array.from(
    { length: Number(query.get('forms') ?? 1) },
    (_, i) => `<form method="post" action="/submit" aria-label="Form ${i + 1}">
      <p><label>Name <input name="name" value="Ada"></label></p>
      <div class="portcullis-captcha" data-sitekey="${siteKey}"${named}></div>
      <p><button>Send</button></p>
    </form>`,
  );
  return `<!doctype html><html lang="${language}"><head><meta charset="utf-8"><title>Shop</title>
    <meta name="viewport" content="width=device-width">
    <script src="${service.origin}/captcha/widget.js" async></script></head>
    <body><main><h1>Shop</h1>${forms.join('\n')}</main></body></html>`;
}

export async function startSite(service: CaptchaService): Promise<TestSite> {
  const verdicts: Record<string, unknown>[] = [];
  const sent: Record<string, string>[] = [];

  async function redeem(fields: Record<string, string>): Promise<void> {
    const response =
      fields['portcullis-receipt'] ??
      fields['g-recaptcha-response'] ??
      fields['cf-turnstile-response'] ??
      '';
    const answer = await fetch(`${service.origin}/captcha/siteverify`, {
      method: 'POST',
      body: new URLSearchParams({ secret: service.apiKey, response }),
    });
    verdicts.push((await answer.json()) as Record<string, unknown>);
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://site.test');
    const headers = {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': sitePolicy(service.origin),
    };
    if (url.searchParams.has('other')) {
      // A page of its own scripts allows those too.
      const policy = headers['content-security-policy'];
      headers['content-security-policy'] = policy.replace('script-src', "script-src 'self'");
    }
    if (request.method === 'POST') {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const fields = Object.fromEntries(new URLSearchParams(body));
      sent.push(fields);
      await redeem(fields);
      response.writeHead(200, headers);
      response.end(
        '<!doctype html><html lang="en"><title>Sent</title><main><h1>Sent</h1></main></html>',
      );
    } else if (url.pathname === '/own.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' });
      response.end(ownScript);
    } else if (url.pathname === '/') {
      response.writeHead(200, headers);
      response.end(page(service, url.searchParams));
    } else {
      response.writeHead(204);
      response.end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Another host name as well as another port: no cookie or origin is shared.
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    url: (options = {}) =>
      `${origin}/?${new URLSearchParams(Object.entries(options).map(([k, v]) => [k, String(v)]))}`,
    verdicts,
    sent,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
