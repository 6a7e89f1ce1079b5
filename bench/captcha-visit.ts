/** One visitor who asks for a challenge and its picture, from a client address of their own. */

import { request } from 'node:http';

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function get(port: string, path: string, client: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Forwarded-For': client };
    request({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode!, body: Buffer.concat(chunks) });
      });
    })
      .on('error', reject)
      .end();
  });
}

/** @param i which visitor @returns status of the picture, or of the challenge when it was refused */
export async function visit(port: string, i: number): Promise<number> {
  const client = `198.${16 + ((i >> 8) & 3)}.${i & 255}.1`;
  const issued = await get(port, '/captcha/new', client);
  if (issued.status !== 200) return issued.status;
  const { img } = JSON.parse(issued.body.toString()) as { img: string };
  return (await get(port, img, client)).status;
}
