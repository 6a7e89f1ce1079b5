/** The mark: an arch with its portcullis half down. `data/static/favicon.svg` is the same drawing on a tile. */

import { type Html, html } from '../html.ts';

export function logo(): Html {
  return html`<svg class="logo" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true"
    focusable="false">
    <path class="logo-bars" fill="none" stroke="currentColor" stroke-width="2.4"
      d="M11.3 6v16.5M16 4v18.5M20.7 6v16.5M6 13h20M6 19h20" />
    <path class="logo-bars" fill="currentColor"
      d="M10.1 22h2.4l-1.2 4.4zM14.8 22h2.4L16 26.4zM19.5 22h2.4l-1.2 4.4z" />
    <path class="logo-arch" fill="currentColor" fill-rule="evenodd"
      d="M3 30V15a13 13 0 0 1 26 0v15h-4.5V15a8.5 8.5 0 0 0-17 0v15z" />
  </svg>`;
}
