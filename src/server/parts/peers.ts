/** With others on one database: challenges of all nodes, and the listener where they are asked for. */

import { deriveKey } from '../../access/keys/master-key.ts';
import type { Challenges } from '../../captcha/challenge/challenge.ts';
import { readEndpoint } from '../../doors/dns/endpoint.ts';
import type { Membership } from '../../store/nodes/nodes.ts';
import { openInternalListener } from '../peers/internal-listener.ts';
import { peerChallenges } from '../peers/peer-challenges.ts';
import { internalKeyPurpose } from '../peers/signed.ts';
import type { Opening } from './dependencies.ts';

export async function openPeers(
  { config, clock, log, masterKey, closers }: Opening,
  own: Challenges,
  member: Membership | undefined,
): Promise<Challenges> {
  if (member === undefined) return own;
  const key = deriveKey(masterKey, internalKeyPurpose);
  const { address: host, port } = readEndpoint(config.internalListen)!;
  const { id: node, urlOf } = member;
  const listener = await openInternalListener({
    ...{ host, port, node, key, clock, log, challenges: own },
  });
  closers.add(listener.close);
  await member.announce(listener.url);
  const challenges = peerChallenges({ own, node, key, clock, log, urlOf });
  closers.add(challenges.close);
  return challenges;
}
