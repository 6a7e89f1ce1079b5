<?php
/**
 * A visitor on the way to the sign-on service and back. Anybody can begin one, so nothing of it is
 * stored: the state that travels along holds the time and the purpose, sealed with this site's salts
 * and a secret in an HttpOnly cookie, and the PKCE verifier follows from both. Another browser can't
 * open it, and a wrong state costs the right one nothing. A state that led somebody in is
 * remembered until it ends, so it does so once. One that has ended leads nobody in, but its purpose
 * can still be read for some days: the sign-in then begins anew by itself.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\AuthorizationRequest;

defined( 'ABSPATH' ) || exit;

final class Attempts {

	private const USED             = 'portcullis_sign_in_used_';
	/** As long as the service may take: a registration waits a day for the link of its mail. */
	private const LIFETIME_SECONDS = 86400;
	private const COOKIE_SECONDS   = 604800;
	private const SCOPES           = array( 'openid', 'profile', 'email' );
	/** The service takes 2,048 characters. */
	private const STATE_CHARS_MAX = 2000;

	/**
	 * What to send out; sets the cookie.
	 *
	 * @param array<string, mixed> $purpose  What to do when the visitor is back. Strings and numbers.
	 * @throws \Portcullis\Exception\PortcullisException Where the settings make no request.
	 */
	public static function begin( array $purpose ): AuthorizationRequest {
		$secret = self::cookie() ?? self::text_of( random_bytes( 32 ) );
		$until  = time() + self::LIFETIME_SECONDS;
		$state  = self::seal( $secret, $until, $purpose );
		if ( strlen( $state ) > self::STATE_CHARS_MAX ) {
			$state = self::seal( $secret, $until, array( 'redirect_to' => '' ) + $purpose );
		}
		$request = self::request( $secret, $state );
		setcookie(
			self::cookie_name(),
			$secret,
			array(
				'expires'  => time() + self::COOKIE_SECONDS,
				'path'     => '/',
				'secure'   => is_ssl(),
				'httponly' => true,
				'samesite' => 'Lax',
			)
		);
		return $request;
	}

	/**
	 * Null when this browser sent no such request, or was let in with it already. `is_over`: it was
	 * too long ago. Changes nothing: of two at once the service gives the code's person to one.
	 *
	 * @return array{request: AuthorizationRequest, purpose: array<string, mixed>, is_over: bool}|null
	 * @throws \Portcullis\Exception\PortcullisException Where the settings make no request.
	 */
	public static function find( string $state ): ?array {
		$secret = self::cookie();
		$found  = null === $secret ? null : self::open( $secret, $state );
		if ( null === $found || false !== get_transient( self::used_name( $state ) ) ) {
			return null;
		}
		return array(
			'request' => self::request( $secret, $state ),
			'purpose' => $found['purpose'],
			'is_over' => time() >= $found['until'],
		);
	}

	/** Call it once the service has named the person: who has no account there leaves no row. */
	public static function used( string $state ): void {
		set_transient( self::used_name( $state ), '1', self::LIFETIME_SECONDS );
	}

	private static function request( string $secret, string $state ): AuthorizationRequest {
		return AuthorizationRequest::fromArray(
			array(
				'base_url'      => Settings::text( 'base_url' ),
				'client_id'     => Settings::client_id(),
				'redirect_uri'  => Settings::redirect_uri(),
				'scopes'        => self::SCOPES,
				'state'         => $state,
				'code_verifier' => self::text_of( self::key( 'verifier|' . $state, $secret ) ),
			)
		);
	}

	/** @param array<string, mixed> $purpose */
	private static function seal( string $secret, int $until, array $purpose ): string {
		$nonce = random_bytes( SODIUM_CRYPTO_SECRETBOX_NONCEBYTES );
		$plain = (string) wp_json_encode(
			array(
				'until'   => $until,
				'purpose' => $purpose,
			),
			JSON_UNESCAPED_SLASHES
		);
		return self::text_of( $nonce . sodium_crypto_secretbox( $plain, $nonce, self::key( 'state', $secret ) ) );
	}

	/** @return array{until: int, purpose: array<string, mixed>}|null */
	private static function open( string $secret, string $state ): ?array {
		if ( 1 !== preg_match( '/^[A-Za-z0-9_-]{80,2000}$/D', $state ) ) {
			return null;
		}
		$bytes = (string) base64_decode( strtr( $state, '-_', '+/' ) ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_decode -- text of an address.
		// Another spelling of the same bytes would be another state of the same attempt.
		if ( self::text_of( $bytes ) !== $state ) {
			return null;
		}
		$nonce = substr( $bytes, 0, SODIUM_CRYPTO_SECRETBOX_NONCEBYTES );
		$plain = sodium_crypto_secretbox_open( substr( $bytes, SODIUM_CRYPTO_SECRETBOX_NONCEBYTES ), $nonce, self::key( 'state', $secret ) );
		$found = false === $plain ? null : json_decode( $plain, true );
		if ( ! is_array( $found ) || ! is_array( $found['purpose'] ?? null ) ) {
			return null;
		}
		return array(
			'until'   => (int) ( $found['until'] ?? 0 ),
			'purpose' => $found['purpose'],
		);
	}

	/** 32 bytes, of this site of a network, this browser and nothing else. */
	private static function key( string $use, string $secret ): string {
		return hash_hmac( 'sha256', 'portcullis_sign_in|' . get_current_blog_id() . '|' . $secret . '|' . $use, wp_salt( 'auth' ), true );
	}

	private static function used_name( string $state ): string {
		return self::USED . substr( hash( 'sha256', $state ), 0, 40 );
	}

	private static function text_of( string $bytes ): string {
		return rtrim( strtr( base64_encode( $bytes ), '+/', '-_' ), '=' ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions.obfuscation_base64_encode -- text for a cookie and an address.
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
