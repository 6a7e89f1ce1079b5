/** A request for each documented operation. */

import type { Contract } from './contract.ts';
import type { StalledTarget } from './stalled.ts';

const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const token = 'a'.repeat(48);

/** A request for each operation but preflights, that gets as far as its handler. */
export function targetsOf(contract: Contract): (StalledTarget & { readonly template: string })[] {
  const names = new Set(contract.documented.map((text) => text.replace(/ \d+$/, '')));
  return [...names]
    .map((name) => name.split(' ') as [string, string])
    .filter(([method]) => method !== 'OPTIONS' && method !== 'HEAD')
    .map(([method, template]) => ({
      method,
      template,
      path: template
        .replace('{address}', '8.8.8.8')
        // Without it the answer comes from memory, beside all queues.
        .replace(/check$/, 'check?ipAddress=8.8.8.8&verbose')
        .replace(/(img.*)\{file\}/, `$1${token}.gif`)
        .replace('{file}', `${token}.wav`),
      headers: method === 'GET' ? {} : form,
    }));
}
