/** The thread that has the library of passkeys: calls one of its functions, whose parts are plain data. */

import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import type { PasskeyCall } from './passkey-ceremonies.ts';

const functions = {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} as const;

export default function call({ name, options }: PasskeyCall): Promise<unknown> {
  return (functions[name] as (options: unknown) => Promise<unknown>)(options);
}
