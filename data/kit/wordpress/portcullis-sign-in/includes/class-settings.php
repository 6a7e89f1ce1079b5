<?php
/**
 * The plugin's settings: one option, read with defaults, so that a missing or damaged entry is
 * never an error. What the site is to the sign-on service follows from its own address.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

defined( 'ABSPATH' ) || exit;

final class Settings {

	const OPTION = 'portcullis_sign_in_settings';

	/** The server that this archive was downloaded from; the form begins with it. */
	const SUGGESTED_URL = '';

	private const DEFAULTS = array(
		'base_url'              => '',
		'secure_url'            => '',
		'api_key'               => '',
		'site_key'              => '',
		'link_by_email'         => false,
		'captcha_login'         => false,
		'captcha_comments'      => false,
		'captcha_register'      => false,
		'captcha_lost_password' => false,
		'check_address'         => false,
		'report_failures'       => false,
		'proxies'               => '',
		'proxy_header'          => 'X-Forwarded-For',
	);

	/** Names of those that are on or off. */
	const FLAGS = array( 'link_by_email', ...self::CAPTCHA_FLAGS, ...self::ADDRESS_FLAGS );

	/** These need the service, its API key and a site key. */
	const CAPTCHA_FLAGS = array( 'captcha_login', 'captcha_register', 'captcha_lost_password', 'captcha_comments' );
	/** These need the service and its API key. */
	const ADDRESS_FLAGS = array( 'check_address', 'report_failures' );

	/** @return array<string, string|bool> */
	public static function all(): array {
		$stored = get_option( self::OPTION );
		$known  = is_array( $stored ) ? array_intersect_key( $stored, self::DEFAULTS ) : array();
		return array_merge( self::DEFAULTS, $known );
	}

	public static function text( string $name ): string {
		$value = self::all()[ $name ];
		return is_string( $value ) ? $value : '';
	}

	public static function flag( string $name ): bool {
		return true === self::all()[ $name ];
	}

	/** The address of the reputation service; usually that of the sign-on service. */
	public static function secure_url(): string {
		$own = self::text( 'secure_url' );
		return '' === $own ? self::text( 'base_url' ) : $own;
	}

	/** The domain of the site is its client id: nothing has to be registered anywhere. */
	public static function client_id(): string {
		$host = wp_parse_url( self::redirect_uri(), PHP_URL_HOST );
		/**
		 * For a site that wants to be known by a parent of its own domain.
		 *
		 * @param string $client_id The host of the redirect address.
		 */
		return (string) apply_filters( 'portcullis_sign_in_client_id', strtolower( (string) $host ) );
	}

	public static function redirect_uri(): string {
		return admin_url( 'admin-post.php?action=portcullis_sign_in_callback' );
	}

	/** Signing in can be offered. */
	public static function is_ready(): bool {
		return '' !== self::text( 'base_url' );
	}

	/** The API can be asked. */
	public static function has_api(): bool {
		return '' !== self::secure_url() && '' !== self::text( 'api_key' );
	}

	/** The CAPTCHA can be shown and its receipts redeemed. */
	public static function has_captcha(): bool {
		return self::has_api() && '' !== self::text( 'site_key' );
	}
}
