/** Who has the places of the zone over TCP. */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { it } from 'node:test';
import { createConnections, listenTcp } from '../../../src/integrations/dnsbl/module.ts';

const limits = { idleMs: 60_000, connections: 6, perClient: 3 };

/** A listener, and sockets from anywhere: the loopback has one IPv6 address alone. */
async function open() {
  const connections = createConnections();
  const server = await listenTcp({
    endpoint: { family: 4, address: '127.0.0.1', port: 0 },
    responder: { respond: () => 0 },
    connections,
    limits,
    inIndexRead: (work) => work(),
  });
  server.unref();
  function visit(remoteAddress: string) {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
      isOpen: true,
      destroy(): void {
        if (!socket.isOpen) return;
        socket.isOpen = false;
        socket.emit('close');
      },
    });
    server.emit('connection', socket);
    return socket;
  }
  return { connections, server, visit };
}

it('an IPv6 /64 is one client: its addresses leave the other places to others', async () => {
  const { connections, server, visit } = await open();
  const isLetIn = (address: string) => visit(address).isOpen;
  const first = visit('2a10:0:0:1::1');
  assert.ok(first.isOpen && isLetIn('2a10:0:0:1::2') && isLetIn('2a10:0:0:1:ffff::3%eth0'));
  assert.ok(!isLetIn('2a10:0:0:1::4'), 'a fourth of the /64');
  assert.ok(isLetIn('2a10:0:0:2::1') && isLetIn('45.10.0.1') && isLetIn('45.10.0.2'));
  assert.ok(!isLetIn('45.10.0.3'), 'a seventh of all');
  first.destroy();
  assert.ok(isLetIn('2a10:0:0:1::4'), 'the place of one that ended');
  for (const socket of connections.open) socket.destroy();
  assert.equal(connections.byClient.size, 0);
  assert.ok(!isLetIn('') && !isLetIn('unix'));
  assert.equal(connections.open.size, 0);
  server.close();
});
