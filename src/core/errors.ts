/** Every error code of the service lives here once. `web/errors.ts` gives each its status and its words. */

export type ErrorCode =
  // of the request
  | 'not_found'
  | 'method_not_allowed'
  | 'bad_request'
  | 'body_too_large'
  | 'body_timeout'
  | 'length_required'
  | 'unsupported_media_type'
  | 'invalid_parameter'
  | 'invalid_prefix'
  | 'prefix_host_bits'
  | 'invalid_range'
  | 'network_too_large'
  // of who asks, and how often
  | 'unauthenticated'
  | 'wrong_scope'
  | 'forbidden'
  | 'registration_closed'
  | 'quota_exceeded'
  | 'address_quota_exceeded'
  | 'duplicate_report'
  | 'client_limit_exceeded'
  // of a sign-on request; most as RFC 6749 and OpenID Connect name them on the wire
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
  // of a person’s own pages
  | 'form_expired'
  | 'foreign_form'
  | 'cookies_required'
  | 'sign_in_refused'
  | 'too_many_attempts'
  | 'invalid_link'
  | 'invalid_code'
  | 'weak_password'
  | 'picture_not_still'
  | 'reauthentication_required'
  | 'factor_required'
  | 'review_required'
  | 'too_many_sites'
  // of what is there
  | 'unknown_account'
  | 'unknown_key'
  | 'conflict'
  // of the service
  | 'capacity_exceeded'
  | 'store_unavailable'
  | 'deadline_exceeded'
  | 'overloaded'
  | 'geo_source_unusable'
  | 'snapshot_unusable'
  | 'snapshot_not_written'
  | 'internal';

/** A failure that ends the process or a command, with one line for the operator. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}
