/** Standard input, for commands that read a file from it. */

import { fstatSync } from 'node:fs';
import { OperatorError } from './errors.ts';

/** Node reads a directory as an input without a byte. @throws OperatorError for one */
export function standardInput(): NodeJS.ReadStream {
  if (fstatSync(0).isDirectory()) throw new OperatorError('standard input: is a directory');
  return process.stdin;
}
