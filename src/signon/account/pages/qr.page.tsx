/** A QR code as inline SVG: one path, dark on light in both colour schemes, as readers expect it. */

import { create } from 'qrcode';
import type { Html } from '../../../web/html.ts';

/** The border that readers need, in modules. */
const quiet = 4;

/** @param label what a screen reader says of it */
export function qrCode(content: string, label: string): Html {
  const { modules } = create(content, { errorCorrectionLevel: 'M' });
  const { size } = modules;
  let path = '';
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (modules.get(y, x)) path += `M${x + quiet} ${y + quiet}h1v1h-1z`;
    }
  }
  const side = size + 2 * quiet;
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${side} ${side}`}
      width="220"
      height="220"
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect class="qr-ground" width={side} height={side} />
      <path class="qr-modules" d={path} />
    </svg>
  );
}
