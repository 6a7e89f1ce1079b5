/**
 * Port 0: any free port. The library shares a port among threads only when it was asked for by
 * number, so the number is found first. Somebody may take it before the server listens there;
 * then another one is tried.
 */

import { createServer } from 'node:net';
import { OperatorError } from '../core/errors.ts';
import { claimPort, type PortClaim } from './port-claim.ts';
import type { HttpServer } from './server.ts';

const attemptsMax = 16;

/** The claim lasts as long as the server listens. */
export async function listenAnywhere(
  server: Pick<HttpServer, 'listen'>,
  host: string,
): Promise<{ port: number; claim: PortClaim }> {
  let failure: unknown;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = await freePort(host);
    let claim: PortClaim | undefined;
    try {
      claim = await claimPort(host, port);
      await server.listen(host, port);
      return { port, claim };
    } catch (error) {
      await claim?.release();
      if (!(error instanceof OperatorError)) throw error;
      failure = error;
    }
  }
  throw failure;
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(new OperatorError(`cannot listen: ${error.message}`)));
    probe.listen({ host, port: 0, exclusive: true }, () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
