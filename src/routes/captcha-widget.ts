/** GET /captcha/widget.js: the script that puts the challenge into another site's form. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Header } from '../http/message.ts';
import { negotiate } from '../http/negotiate.ts';
import type { PlainRoute } from '../http/router.ts';
import { encodeAsset } from '../pages/assets.ts';

/** Found from the compiled file: dist/src/routes/. */
const widgetFolder = fileURLToPath(new URL('../../../data/widget', import.meta.url));

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

export function captchaWidgetRoutes(): PlainRoute[] {
  const body = Buffer.from(servedLines(readFileSync(`${widgetFolder}/widget.js`, 'utf8')));
  const widget = encodeAsset('widget.js', body, cacheControl);
  return [
    {
      kind: 'plain',
      method: 'GET',
      path: '/captcha/widget.js',
      headers: ['accept-encoding', 'if-none-match'],
      cors: { allowHeaders: [] },
      handle(request) {
        const reply = negotiate(request, widget);
        return { ...reply, headers: [...reply.headers, ...headers] };
      },
    },
  ];
}
