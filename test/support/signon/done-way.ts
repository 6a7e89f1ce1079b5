/** Where an answer leads after something was done: its mark without what signs it. */

import type { Answer } from '../server/server.ts';

/** `/account?done=saved`, of an answer whose mark is `saved.<ms>.<mac>`. */
export function doneWay({ headers }: Pick<Answer, 'headers'>): string | undefined {
  return unsigned(headers.location);
}

export function unsigned(href: string | undefined): string | undefined {
  return href?.replace(/([?&]done=[a-z_]+)\.\d{13}\.[\w-]{43}$/, '$1');
}
