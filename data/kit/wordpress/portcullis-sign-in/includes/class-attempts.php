<?php
/**
 * A visitor on the way to the sign-on service and back. State and PKCE verifier wait in a
 * transient whose name follows from the state and from a secret in an HttpOnly cookie: another
 * browser can't find it, and a wrong state costs the right one nothing. It is taken once.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\AuthorizationRequest;

defined( 'ABSPATH' ) || exit;

final class Attempts {

	private const PREFIX           = 'portcullis_sign_in_';
	private const LIFETIME_SECONDS = 600;

	/**
	 * @param AuthorizationRequest $request  What is sent out.
	 * @param array<string, mixed> $purpose  What to do when the visitor is back.
	 */
	public static function begin( AuthorizationRequest $request, array $purpose ): void {
		$secret = self::cookie() ?? rtrim( strtr( base64_encode( random_bytes( 32 ) ), '+/', '-_' ), '=' ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_encode -- text for a cookie.
		set_transient(
			self::name( $secret, $request->state ),
			array(
				'request' => $request->toArray(),
				'purpose' => $purpose,
			),
			self::LIFETIME_SECONDS
		);
		setcookie(
			self::cookie_name(),
			$secret,
			array(
				'expires'  => time() + self::LIFETIME_SECONDS,
				'path'     => '/',
				'secure'   => is_ssl(),
				'httponly' => true,
				'samesite' => 'Lax',
			)
		);
	}

	/**
	 * Null when this browser sent no such request, too long ago, or came back already. Of two
	 * requests at once one gets it: the one whose deletion found something to delete.
	 *
	 * @return array{request: mixed, purpose: array<string, mixed>}|null
	 */
	public static function claim( string $state ): ?array {
		$secret = self::cookie();
		if ( null === $secret || '' === $state ) {
			return null;
		}
		$name    = self::name( $secret, $state );
		$attempt = get_transient( $name );
		if ( ! is_array( $attempt ) || ! isset( $attempt['request'], $attempt['purpose'] ) || ! is_array( $attempt['purpose'] ) ) {
			return null;
		}
		return delete_transient( $name ) ? $attempt : null;
	}

	private static function name( string $secret, string $state ): string {
		return self::PREFIX . substr( hash( 'sha256', $secret . '|' . $state ), 0, 40 );
	}

	/** With https under a name that no sub-domain can set. */
	private static function cookie_name(): string {
		return ( is_ssl() ? '__Host-' : '' ) . 'portcullis_sign_in';
	}

	private static function cookie(): ?string {
		$name = self::cookie_name();
		$text = isset( $_COOKIE[ $name ] ) && is_string( $_COOKIE[ $name ] ) ? sanitize_text_field( wp_unslash( $_COOKIE[ $name ] ) ) : '';
		return 1 === preg_match( '/^[A-Za-z0-9_-]{43}$/D', $text ) ? $text : null;
	}
}
