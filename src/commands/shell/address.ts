/** An address or an account as an argument of a command. */

import { OperatorError } from '../../core/errors.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { typedAddress } from '../../ip/typed.ts';

/** @returns its canonical text */
export function canonicalAddress(text: string): string {
  const words = new Uint32Array(4);
  const family = parseIp(typedAddress(text), words);
  if (family === 0) throw new OperatorError(`'${text.slice(0, 50)}' is not an address`);
  return formatIp(family, words);
}

/** What `--help` says of an account's argument; access/account-names.ts reads it. */
export const accountArgument = 'mail address of the account, or its id';
