/**
 * Every error code of the service lives here once. The mapping of a code to a status and
 * a body is one exhaustive switch in `routes/problem.ts`; docs/ERRORS.md lists both.
 */

export type ErrorCode =
  | 'not_found'
  | 'method_not_allowed'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'bad_request'
  | 'unauthenticated'
  | 'quota_exceeded'
  | 'client_limit_exceeded'
  | 'invalid_parameter'
  | 'store_unavailable'
  | 'deadline_exceeded'
  | 'internal'
  | 'snapshot_unusable'
  | 'snapshot_not_written';

/** A failure that ends the process or a command, with one line for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}
