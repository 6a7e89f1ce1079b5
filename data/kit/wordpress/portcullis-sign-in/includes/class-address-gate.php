<?php
/**
 * Refuses to sign in from addresses with a malicious score. An answer is kept for ten minutes;
 * when there is none, the visitor may sign in: a service that is away must not lock the site.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Exception\PortcullisException;
use Portcullis\IpReputation;
use WP_Error;

defined( 'ABSPATH' ) || exit;

final class Address_Gate {

	/** After the password was looked at: then a wrong and a right one get the same answer. */
	private const AFTER_PASSWORD    = 41;
	private const KEEP_SECONDS      = 600;
	private const KEEP_FAIL_SECONDS = 30;
	private const TIMEOUT_SECONDS   = 2.0;

	public static function register(): void {
		add_filter( 'authenticate', array( self::class, 'check_login' ), self::AFTER_PASSWORD );
	}

	/** Canonical text of the visitor's address, or an empty one. */
	public static function client_address(): string {
		$remote = isset( $_SERVER['REMOTE_ADDR'] ) && is_string( $_SERVER['REMOTE_ADDR'] ) ? sanitize_text_field( wp_unslash( $_SERVER['REMOTE_ADDR'] ) ) : '';
		/**
		 * For sites whose proxies the settings can't describe.
		 *
		 * @param string $address Of the connection, or what the proxies of the settings say of it.
		 */
		$address = apply_filters( 'portcullis_sign_in_client_address', Proxies::address( $remote ) );
		$packed  = is_string( $address ) && filter_var( $address, FILTER_VALIDATE_IP ) ? inet_pton( $address ) : false;
		return false === $packed ? '' : (string) inet_ntop( $packed );
	}

	/** Private and reserved ranges say nothing about anybody. */
	public static function is_public( string $address ): bool {
		return false !== filter_var( $address, FILTER_VALIDATE_IP, FILTER_FLAG_NO_PRIV_RANGE | FILTER_FLAG_NO_RES_RANGE );
	}

	public static function is_blocked(): bool {
		$address = self::client_address();
		if ( ! Settings::flag( 'check_address' ) || ! Settings::has_api() || ! self::is_public( $address ) ) {
			return false;
		}
		$name = 'portcullis_sign_in_ip_' . substr( hash( 'sha256', $address ), 0, 32 );
		$kept = get_transient( $name );
		if ( 'bad' === $kept || 'good' === $kept ) {
			return 'bad' === $kept;
		}
		try {
			$reputation = new IpReputation( Settings::secure_url(), Settings::text( 'api_key' ), transport( self::TIMEOUT_SECONDS ), 0 );
			$verdict    = $reputation->check( $address )->malicious ? 'bad' : 'good';
			$seconds    = self::KEEP_SECONDS;
		} catch ( PortcullisException ) {
			$verdict = 'good';
			$seconds = self::KEEP_FAIL_SECONDS;
		}
		set_transient( $name, $verdict, $seconds );
		return 'bad' === $verdict;
	}

	/**
	 * @param mixed $user What was found so far.
	 * @return mixed
	 */
	public static function check_login( $user ) {
		// Nobody tried anything: the sign-in page was opened.
		$is_attempt = $user instanceof \WP_User || ( is_wp_error( $user ) && ! in_array( $user->get_error_code(), array( 'empty_username', 'empty_password' ), true ) );
		if ( ! $is_attempt || ! self::is_blocked() ) {
			return $user;
		}
		return new WP_Error(
			'portcullis_sign_in_address',
			esc_html__( 'Signing in from your network address is not allowed: it is known for abuse.', 'portcullis-sign-in' ),
			array( Failure_Reports::GUESS => Failure_Reports::is_guess( $user ) )
		);
	}
}
