/**
 * Every error code of the service lives here once. The mapping of a code to a status and
 * a body is one exhaustive switch in `routes/problem.ts`; docs/ERRORS.md lists both.
 */

export type ErrorCode =
  // of the request
  | 'not_found'
  | 'method_not_allowed'
  | 'body_too_large'
  | 'body_timeout'
  | 'unsupported_media_type'
  | 'bad_request'
  | 'body_timeout'
  | 'unauthenticated'
  | 'forbidden'
  | 'quota_exceeded'
  | 'address_quota_exceeded'
  | 'duplicate_report'
  | 'client_limit_exceeded'
  | 'invalid_parameter'
  | 'invalid_prefix'
  | 'prefix_host_bits'
  | 'invalid_range'
  // of a sign-on request; the last eight as RFC 6749 and OpenID Connect name them on the wire
  | 'invalid_client_id'
  | 'invalid_redirect_uri'
  | 'unknown_transaction'
  | 'invalid_request'
  | 'invalid_scope'
  | 'unsupported_response_type'
  | 'invalid_grant'
  | 'access_denied'
  | 'login_required'
  | 'consent_required'
  | 'temporarily_unavailable'
  | 'network_too_large'
  | 'form_expired'
  | 'sign_in_refused'
  | 'too_many_attempts'
  | 'invalid_link'
  | 'invalid_code'
  | 'weak_password'
  | 'picture_not_still'
  | 'reauthentication_required'
  // of what is there
  | 'unknown_account'
  | 'unknown_key'
  | 'conflict'
  | 'geo_source_unusable'
  | 'snapshot_unusable'
  | 'snapshot_not_written'
  // of the service
  | 'capacity_exceeded'
  | 'store_unavailable'
  | 'deadline_exceeded'
  | 'overloaded'
  | 'internal';

/** A failure that ends the process or a command, with one line for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}
