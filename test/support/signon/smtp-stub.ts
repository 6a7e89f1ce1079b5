/**
 * As much SMTP as a delivery needs, on a port of its own: keeps every line that it was told, and
 * takes everything but the first mails that it shall refuse.
 */

import { createServer, type Socket } from 'node:net';

export interface SmtpStub extends AsyncDisposable {
  /** For SMTP_URL. */
  readonly url: string;
  /** Each line of the clients, in order, the mails' own included. */
  readonly said: readonly string[];
}

/** @param refuseFirst how many mails get a "try later" before the first one is taken */
export async function startSmtp(refuseFirst = 0): Promise<SmtpStub> {
  const said: string[] = [];
  const sockets = new Set<Socket>();
  let refusals = refuseFirst;
  const server = createServer((socket) => {
    sockets.add(socket);
    let inData = false;
    let pending = '';
    socket.on('error', () => {});
    socket.write('220 test\r\n');
    socket.on('data', (chunk) => {
      const lines = (pending + String(chunk)).split('\r\n');
      pending = lines.pop() ?? '';
      for (const line of lines) {
        said.push(line);
        if (inData && line !== '.') continue;
        inData = line === 'DATA';
        if (line.startsWith('MAIL') && refusals-- > 0) socket.write('451 try later\r\n');
        else if (line === 'STARTTLS') socket.write('502 there is no TLS\r\n');
        else socket.write(inData ? '354 go\r\n' : '250 ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `smtp://127.0.0.1:${port}`,
    said,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
