/** Visitors from client addresses of their own: one asks for a challenge and its picture, the other one does work. */

import { fetchFrom } from '../test/support/server/server.ts';

function ask(port: string, path: string, client: string, body?: string) {
  const headers = { 'X-Forwarded-For': client, 'Content-Type': 'application/json' };
  const options = body === undefined ? { headers } : { method: 'POST', headers, body };
  return fetchFrom(Number(port), path, options);
}

/** @param i which visitor */
export const addressOf = (i: number) => `198.${16 + ((i >> 8) & 3)}.${i & 255}.1`;

/** @returns status of the picture, or of the challenge when it was refused */
export async function visit(port: string, i: number): Promise<number> {
  const client = addressOf(i);
  const issued = await ask(port, '/captcha/new', client);
  if (issued.status !== 200) return issued.status;
  const { img } = issued.json() as { img: string };
  return (await ask(port, img, client)).status;
}

/**
 * Asks what there is to do, and brings a solution that was made ahead: a browser's work is none of the server's.
 * @returns the status, 0 if the solution was not taken
 */
export async function visitSilently(port: string, i: number, work: string): Promise<number> {
  const client = addressOf(i);
  const started = await ask(port, '/captcha/start', client);
  if (started.status !== 200) return started.status;
  const judged = await ask(port, '/captcha/work', client, JSON.stringify({ work, sitekey: '' }));
  return judged.status === 200 && judged.body !== '{"ok":true}' ? 0 : judged.status;
}
