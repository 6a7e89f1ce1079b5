/**
 * Seals messages between nodes under a key derived from the master key: the database learns nobody's
 * address.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Tellings, Told } from '../../store/nodes/tellings.ts';

export const tellingsKeyPurpose = 'told 1';
const cipherName = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export function sealedTellings(tellings: Tellings, key: Uint8Array): Tellings {
  function opened(told: Told): Told {
    const { bytes } = told;
    if (bytes === undefined || bytes.length < nonceBytes + tagBytes) {
      return { ...told, bytes: undefined };
    }
    const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    try {
      const start = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
      return { ...told, bytes: Buffer.concat([start, decipher.final()]) };
    } catch {
      return { ...told, bytes: undefined };
    }
  }

  return {
    tell(seq, bytes) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(cipherName, key, nonce);
      const body = [cipher.update(bytes), cipher.final()];
      return tellings.tell(seq, Buffer.concat([nonce, ...body, cipher.getAuthTag()]));
    },
    async hear(heardUpTo) {
      const { told, nodes } = await tellings.hear(heardUpTo);
      return { told: told.map(opened), nodes };
    },
  };
}
