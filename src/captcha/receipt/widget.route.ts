/**
 * The scripts that put the challenge into another site's form: GET /captcha/widget.js, and GET
 * /captcha/api.js for pages written for reCAPTCHA, hCaptcha or Turnstile, which holds the first.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { conditionHeaders, negotiate } from '../../http/answer/negotiate.ts';
import type { Header } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { encodeAsset } from '../../web/assets.ts';
import { type Endpoint, openFile } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';

/** Found from the compiled file: dist/src/captcha/receipt/. */
const widgetFolder = fileURLToPath(new URL('../../../../data/widget', import.meta.url));

/** The path stays while the content may change: an hour, then asked again by its ETag. */
const cacheControl = 'public, max-age=3600';

/** Other sites load it, also those that isolate themselves (COEP). */
const headers: readonly Header[] = [['Cross-Origin-Resource-Policy', 'cross-origin']];

/**
 * Without indents and lines of comment. Line by line, so it is exact as long as no string goes
 * over a line's end and every comment has its lines to itself; the script is written that way.
 */
export function servedLines(source: string): string {
  const lines = source.split('\n').map((line) => line.trim());
  const code = lines.filter((line) => line !== '' && !/^(\/\/|\/\*.*\*\/$)/.test(line));
  return `${code.join('\n')}\n`;
}

export const widgetEndpoint = openFile('/captcha/widget.js', {
  headers: ['accept-encoding', ...conditionHeaders],
  cors: { allowHeaders: [] },
});

/** Its query is for the script itself, which reads its own address. */
export const namesEndpoint = openFile('/captcha/api.js', {
  headers: ['accept-encoding', ...conditionHeaders],
  cors: { allowHeaders: [] },
});

export function captchaWidgetRoutes(guard: Guard): PlainRoute[] {
  const [widget = '', names = ''] = ['widget.js', 'names.js'].map((name) =>
    servedLines(readFileSync(`${widgetFolder}/${name}`, 'utf8')),
  );
  function script(declared: Endpoint, name: string, text: string): PlainRoute {
    const asset = encodeAsset(name, Buffer.from(text), cacheControl);
    return guard.open(declared, (request) => {
      const reply = negotiate(request, asset);
      return { ...reply, headers: [...reply.headers, ...headers] };
    });
  }
  return [
    script(widgetEndpoint, 'widget.js', widget),
    script(namesEndpoint, 'api.js', widget + names),
  ];
}
