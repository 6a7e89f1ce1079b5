<?php
/**
 * Whether the service answers and takes the key: asked before the settings turn anything on, and
 * remembered when it failed at the sign-in form, for a notice to whoever manages the site.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Captcha;
use Portcullis\Exception\AuthenticationFailed;
use Portcullis\Exception\ConfigurationError;
use Portcullis\Exception\PortcullisException;
use Portcullis\Exception\QuotaExceeded;
use Portcullis\Exception\ServiceException;
use Portcullis\Exception\ServiceUnavailable;
use Portcullis\Exception\TransportException;
use Portcullis\Exception\UnexpectedResponse;

defined( 'ABSPATH' ) || exit;

final class Connection {

	const AWAY     = 'away';
	const KEY      = 'key';
	const SITE_KEY = 'site_key';
	const OTHER    = 'other';
	const MISSING  = 'missing';

	private const TIMEOUT_SECONDS = 5.0;
	private const NOTICE          = 'portcullis_sign_in_passed';
	private const NOTICE_SECONDS  = 86400;

	public static function register(): void {
		add_action( 'admin_notices', array( self::class, 'show_notice' ) );
	}

	/**
	 * What is wrong, or null. Costs one read of the quota.
	 *
	 * @param string $secure_url Of the reputation service.
	 * @param string $api_key    Of the account that the site key belongs to.
	 * @param string $site_key   Of the CAPTCHA; empty when it is off.
	 */
	public static function fault( string $secure_url, string $api_key, string $site_key ): ?string {
		if ( '' === $secure_url || '' === $api_key ) {
			return self::MISSING;
		}
		try {
			$captcha = new Captcha( $secure_url, $api_key, transport( self::TIMEOUT_SECONDS ), 0 );
			$fault   = $captcha->siteKeyFault( $site_key, (string) wp_parse_url( wp_login_url(), PHP_URL_HOST ) );
			return '' === $site_key || null === $fault ? null : self::SITE_KEY;
		} catch ( PortcullisException $exception ) {
			return $exception instanceof QuotaExceeded ? null : ( self::fault_of( $exception ) ?? self::OTHER );
		}
	}

	/** Null for what a visitor can cause: that lets nobody pass. */
	public static function fault_of( PortcullisException $exception ): ?string {
		return match ( true ) {
			$exception instanceof AuthenticationFailed, $exception instanceof ConfigurationError => self::KEY,
			$exception instanceof TransportException, $exception instanceof ServiceUnavailable => self::AWAY,
			$exception instanceof UnexpectedResponse => $exception->status >= 500 ? self::AWAY : self::OTHER,
			default => null,
		};
	}

	/** The sign-in form let somebody try a password without the CAPTCHA. */
	public static function remember( string $fault ): void {
		set_transient(
			self::NOTICE,
			array(
				'fault' => $fault,
				'time'  => time(),
			),
			self::NOTICE_SECONDS
		);
	}

	public static function forget(): void {
		delete_transient( self::NOTICE );
	}

	public static function words( string $fault ): string {
		return match ( $fault ) {
			self::KEY => __( 'The service refuses the API key.', 'portcullis-sign-in' ),
			self::SITE_KEY => __( 'The site key is not one of the account of the API key, or not for this site.', 'portcullis-sign-in' ),
			self::MISSING => __( 'The address of the service and an API key are needed.', 'portcullis-sign-in' ),
			self::OTHER => __( 'Something else than the service answers at its address.', 'portcullis-sign-in' ),
			default => __( 'The service does not answer.', 'portcullis-sign-in' ),
		};
	}

	public static function show_notice(): void {
		$kept = current_user_can( 'manage_options' ) ? get_transient( self::NOTICE ) : false;
		if ( ! is_array( $kept ) || ! isset( $kept['fault'], $kept['time'] ) ) {
			return;
		}
		printf(
			'<div class="notice notice-warning"><p><strong>%1$s</strong> %2$s %3$s (%4$s)</p></div>',
			esc_html__( 'Portcullis Sign In', 'portcullis-sign-in' ),
			esc_html( self::words( (string) $kept['fault'] ) ),
			esc_html__( 'The sign-in form takes passwords without the CAPTCHA meanwhile; other forms refuse.', 'portcullis-sign-in' ),
			esc_html( wp_date( 'Y-m-d H:i', (int) $kept['time'] ) )
		);
	}
}
