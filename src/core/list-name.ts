/** Names of lists, by where they come from. */

import { basename } from 'node:path';

const nameMax = 64;
export const listNameShape = /^[\w.:@+-]{1,64}$/;

/** Makes `ipsum.txt` of `https://host/path/ipsum.txt.gz?key=…` and of `/tmp/ipsum.txt`. */
export function listNameOf(from: string): string {
  const path = URL.canParse(from) ? new URL(from).pathname : from;
  const name = basename(path)
    .replace(/\.gz$/i, '')
    .replace(/[^\w.:@+-]/g, '-');
  return name.slice(0, nameMax) || 'list';
}
