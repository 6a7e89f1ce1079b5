/** What a test wants of a result: its value, where anything else is a failure of the test, or its error. */

import assert from 'node:assert/strict';
import type { Result } from '../../../src/core/result.ts';

export function value<T>(result: Result<T>): T {
  assert.ok(result.ok, result.ok ? '' : `${result.error}: ${result.detail}`);
  return result.value;
}

export function errorOf(result: Result<unknown>): string {
  return result.ok ? 'none' : result.error;
}
