<?php
/**
 * Reports an address after repeated failures to sign in with a password. Sends the address and a
 * count: no user names. Once for an address in a quarter of an hour, and few in all.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Exception\PortcullisException;
use Portcullis\IpReputation;
use WP_Error;

defined( 'ABSPATH' ) || exit;

final class Failure_Reports {

	private const FAILURES_MIN        = 5;
	private const WINDOW_SECONDS      = 900;
	private const REPORTS_MAX         = 20;
	private const REPORTS_SECONDS     = 600;
	private const TIMEOUT_SECONDS     = 2.0;
	private const BRUTE_FORCE         = 18;
	private const WEB_APP_ATTACK      = 21;
	/** In the data of an error of ours: the password behind it was wrong. */
	const GUESS = 'portcullis_sign_in_guess';
	/** Only these speak of guessing; a missing CAPTCHA, say, does not. */
	private const GUESSES = array( 'incorrect_password', 'invalid_username', 'invalid_email' );

	public static function register(): void {
		add_action( 'wp_login_failed', array( self::class, 'count' ), 10, 2 );
	}

	/**
	 * Whether a wrong name or password is behind what came of a sign-in.
	 *
	 * @param mixed $outcome Of `authenticate`.
	 */
	public static function is_guess( $outcome ): bool {
		if ( ! $outcome instanceof WP_Error ) {
			return false;
		}
		$data = $outcome->get_error_data();
		return in_array( $outcome->get_error_code(), self::GUESSES, true ) || ( is_array( $data ) && true === ( $data[ self::GUESS ] ?? false ) );
	}

	/**
	 * @param string        $username Not used: it may be a password in the wrong field.
	 * @param WP_Error|null $error    Why it failed.
	 */
	public static function count( $username, $error = null ): void {
		$address = Address_Gate::client_address();
		if ( ! Settings::flag( 'report_failures' ) || ! Settings::has_api() || ! Address_Gate::is_public( $address ) ) {
			return;
		}
		if ( ! self::is_guess( $error ) ) {
			return;
		}
		$name     = 'portcullis_sign_in_fails_' . substr( hash( 'sha256', $address ), 0, 32 );
		$failures = (int) get_transient( $name ) + 1;
		set_transient( $name, $failures, self::WINDOW_SECONDS );
		// Once at the threshold; the counter lives on while the failures go on.
		if ( self::FAILURES_MIN === $failures && self::may_report() ) {
			self::report( $address, $failures );
		}
	}

	private static function may_report(): bool {
		$name = 'portcullis_sign_in_reports';
		$sent = (int) get_transient( $name );
		if ( $sent >= self::REPORTS_MAX ) {
			return false;
		}
		set_transient( $name, $sent + 1, self::REPORTS_SECONDS );
		return true;
	}

	private static function report( string $address, int $failures ): void {
		try {
			$reputation = new IpReputation( Settings::secure_url(), Settings::text( 'api_key' ), transport( self::TIMEOUT_SECONDS ), 0 );
			$reputation->report( $address, array( self::BRUTE_FORCE, self::WEB_APP_ATTACK ), "WordPress: $failures failed sign-ins" );
		} catch ( PortcullisException ) {
			return; // Whoever signs in must not feel that a report went nowhere.
		}
	}
}
