/**
 * A passkey authenticator in software: an EC P-256 key, CBOR by hand, attestation `none`. What it
 * answers is what a browser would send as JSON; the signatures are real.
 */

import { createECDH, createHash, createPrivateKey, sign } from 'node:crypto';
import type { Random } from '../../../src/core/random.ts';

export interface Faults {
  /** In place of the origin that it is used on. */
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  /** Neither PIN nor finger was asked for. */
  readonly unverified?: boolean;
  readonly userHandle?: string;
  /** A bit of the signature is wrong. */
  readonly badSignature?: boolean;
}

export interface Authenticator {
  readonly id: string;
  create(options: { challenge: string; user: { id: string } }, faults?: Faults): object;
  get(options: { challenge: string }, faults?: Faults): object;
  /** What it says it was used; a copy of it begins here. */
  counter: number;
}

const userPresent = 1;
const userVerified = 4;
const attestedData = 64;

/** @param aaguid of what it says it is; zeros: it says nothing */
export function createAuthenticator(
  random: Random,
  origin: string,
  aaguid = '0'.repeat(32),
): Authenticator {
  const ecdh = createECDH('prime256v1');
  ecdh.setPrivateKey(random.bytes(32));
  const point = ecdh.getPublicKey();
  const [x, y] = [point.subarray(1, 33), point.subarray(33, 65)];
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
  const key = createPrivateKey({
    format: 'jwk',
    key: { kty: 'EC', crv: 'P-256', x: text(x), y: text(y), d: text(ecdh.getPrivateKey()) },
  });
  const credentialId = Buffer.from(random.bytes(32));
  let userHandle = '';

  function clientData(type: string, challenge: string, faults: Faults): Buffer {
    const data = {
      type: faults.type ?? type,
      challenge: faults.challenge ?? challenge,
      origin: faults.origin ?? origin,
      crossOrigin: false,
    };
    return Buffer.from(JSON.stringify(data));
  }

  function authenticatorData(flags: number, faults: Faults, rest = Buffer.alloc(0)): Buffer {
    const rpId = faults.rpId ?? new URL(origin).hostname;
    const head = Buffer.alloc(37);
    sha256(Buffer.from(rpId)).copy(head);
    head[32] = flags | userPresent | (faults.unverified ? 0 : userVerified);
    head.writeUInt32BE(authenticator.counter, 33);
    return Buffer.concat([head, rest]);
  }

  const authenticator: Authenticator = {
    id: text(credentialId),
    counter: 0,
    create({ challenge, user }, faults = {}) {
      userHandle = user.id;
      const cose = cborMap([
        [cborInteger(1), cborInteger(2)],
        [cborInteger(3), cborInteger(-7)],
        [cborInteger(-1), cborInteger(1)],
        [cborInteger(-2), cborBytes(x)],
        [cborInteger(-3), cborBytes(y)],
      ]);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const attested = Buffer.concat([Buffer.from(aaguid, 'hex'), length, credentialId, cose]);
      const attestationObject = cborMap([
        [cborText('fmt'), cborText('none')],
        [cborText('attStmt'), cborMap([])],
        [cborText('authData'), cborBytes(authenticatorData(attestedData, faults, attested))],
      ]);
      return credential({
        clientDataJSON: text(clientData('webauthn.create', challenge, faults)),
        attestationObject: text(attestationObject),
        transports: ['internal'],
      });
    },
    get({ challenge }, faults = {}) {
      authenticator.counter++;
      const data = authenticatorData(0, faults);
      const client = clientData('webauthn.get', challenge, faults);
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), key);
      if (faults.badSignature) signature[signature.length - 1]! ^= 1;
      return credential({
        clientDataJSON: text(client),
        authenticatorData: text(data),
        signature: text(signature),
        userHandle: faults.userHandle ?? userHandle,
      });
    },
  };

  function credential(response: object): object {
    const id = authenticator.id;
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  return authenticator;
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Major type and a length or number below 65,536. */
function cborHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.of((major << 5) | value);
  if (value < 256) return Buffer.of((major << 5) | 24, value);
  return Buffer.of((major << 5) | 25, value >> 8, value & 255);
}

const cborInteger = (value: number) => (value < 0 ? cborHead(1, -1 - value) : cborHead(0, value));
const cborBytes = (bytes: Uint8Array) => Buffer.concat([cborHead(2, bytes.length), bytes]);
const cborText = (text: string) =>
  Buffer.concat([cborHead(3, Buffer.byteLength(text)), Buffer.from(text)]);
const cborMap = (entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([cborHead(5, entries.length), ...entries.flat()]);
