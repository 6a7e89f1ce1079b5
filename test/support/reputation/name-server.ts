/** A small name server on loopback: UDP, answers from a table, and what it was asked. */

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import packet from 'dns-packet';

/** Records by `TYPE name`: the data of each. `SERVFAIL` in place of a table is that answer; `silence` is none. */
export type Zone = Record<string, readonly (string | Buffer)[] | 'SERVFAIL' | 'silence'>;

const servfail = 2;
const nxdomain = 3;

export async function startNameServer(zone: Zone, ttl = 600) {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (bytes, from) => {
    const query = packet.decode(bytes) as unknown as {
      id: number;
      questions: { name: string; type: string }[];
    };
    const [question] = query.questions;
    const key = `${question!.type} ${question!.name.toLowerCase()}`;
    asked.push(key);
    const found = zone[key];
    if (found === 'silence') return;
    const rcode = found === 'SERVFAIL' ? servfail : found === undefined ? nxdomain : 0;
    const { name, type } = question!;
    const answers = Array.isArray(found) ? found.map((data) => ({ name, type, ttl, data })) : [];
    const { id, questions } = query;
    const flags = 0x8180 | rcode;
    socket.send(
      packet.encode({ type: 'response', id, flags, questions, answers } as never),
      from.port,
      from.address,
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  return {
    address: `127.0.0.1:${port}`,
    zone,
    asked,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}
