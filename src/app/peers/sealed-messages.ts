/**
 * Seals messages between nodes under a key derived from the master key: the database learns nobody's
 * address.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { NodeMessage, NodeMessages } from '../../storage/nodes/node-messages.ts';

export const messageKeyPurpose = 'told 1';
const cipherName = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export function sealedMessages(nodeMessages: NodeMessages, key: Uint8Array): NodeMessages {
  function opened(messages: NodeMessage): NodeMessage {
    const { bytes } = messages;
    if (bytes === undefined || bytes.length < nonceBytes + tagBytes) {
      return { ...messages, bytes: undefined };
    }
    const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const start = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
      return { ...messages, bytes: Buffer.concat([start, decipher.final()]) };
    } catch {
      return { ...messages, bytes: undefined };
    }
  }

  return {
    send(seq, bytes) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(cipherName, key, nonce);
      const body = [cipher.update(bytes), cipher.final()];
      return nodeMessages.send(seq, Buffer.concat([nonce, ...body, cipher.getAuthTag()]));
    },
    async receive(receivedUpTo) {
      const { messages, nodes } = await nodeMessages.receive(receivedUpTo);
      return { messages: messages.map(opened), nodes };
    },
  };
}
