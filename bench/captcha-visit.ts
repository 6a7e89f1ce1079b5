/** Visitors from client addresses of their own: one asks for a challenge and its picture, the other one does work. */

import { request } from 'node:http';

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function ask(port: string, path: string, client: string, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { 'X-Forwarded-For': client, 'Content-Type': 'application/json' };
    const options = { host: '127.0.0.1', port, path, method, headers, agent: false };
    request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode!, body: Buffer.concat(chunks) });
      });
    })
      .on('error', reject)
      .end(body);
  });
}

/** @param i which visitor */
export const addressOf = (i: number) => `198.${16 + ((i >> 8) & 3)}.${i & 255}.1`;

/** @returns status of the picture, or of the challenge when it was refused */
export async function visit(port: string, i: number): Promise<number> {
  const client = addressOf(i);
  const issued = await ask(port, '/captcha/new', client);
  if (issued.status !== 200) return issued.status;
  const { img } = JSON.parse(issued.body.toString()) as { img: string };
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
  return judged.status === 200 && judged.body.toString() !== '{"ok":true}' ? 0 : judged.status;
}
