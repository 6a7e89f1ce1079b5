/** Questions to the gate that see each documented status, of the demo's addresses. */

import type { Tried } from './bouncers.ts';

const get = (query: string, status: number, headers: Record<string, string> = {}): Tried => {
  const from = { 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Uri': '/a', ...headers };
  return { path: `/gate/check?${query}`, status, headers: from };
};
const page = { Accept: 'text/html', 'X-Forwarded-Method': 'GET' };

export const gateTries: readonly Tried[] = [
  get('', 200, { 'X-Forwarded-For': '8.8.8.8' }),
  get('block=off', 302, page),
  get('block=off&mode=nginx', 401, page),
  get('block=off', 403),
  get('', 403),
  get('', 403, page),
  get('block=x', 422),
];
