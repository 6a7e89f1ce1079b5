<?php
/**
 * The CAPTCHA on the password form and on comments of visitors. The receipt is redeemed by this
 * server; nothing that a browser says is believed. Without an answer of the service nobody passes:
 * `define( 'PORTCULLIS_SIGN_IN_NO_CAPTCHA', true );` in wp-config.php is the way in meanwhile.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Captcha;
use Portcullis\Exception\PortcullisException;
use WP_Error;

defined( 'ABSPATH' ) || exit;

final class Captcha_Gate {

	/** After the password was looked at: then a wrong and a right one get the same answer. */
	private const AFTER_PASSWORD  = 40;
	private const TIMEOUT_SECONDS = 5.0;
	private const HANDLE          = 'portcullis-sign-in-captcha';

	public static function register(): void {
		add_action( 'login_form', array( self::class, 'render_on_login' ) );
		add_action( 'login_enqueue_scripts', array( self::class, 'add_script_on_login' ) );
		add_filter( 'authenticate', array( self::class, 'check_login' ), self::AFTER_PASSWORD );
		add_filter( 'comment_form_submit_field', array( self::class, 'add_to_comment_form' ) );
		add_filter( 'preprocess_comment', array( self::class, 'check_comment' ) );
	}

	private static function is_on( string $flag ): bool {
		$is_off = defined( 'PORTCULLIS_SIGN_IN_NO_CAPTCHA' ) && \PORTCULLIS_SIGN_IN_NO_CAPTCHA;
		return ! $is_off && Settings::flag( $flag ) && Settings::has_captcha();
	}

	private static function add_script(): void {
		wp_enqueue_script( self::HANDLE, Settings::secure_url() . '/captcha/widget.js', array(), null, true ); // phpcs:ignore WordPress.WP.EnqueuedResourceParameters.MissingVersion -- served with an ETag.
	}

	private static function element(): string {
		return '<div class="portcullis-captcha" data-sitekey="' . esc_attr( Settings::text( 'site_key' ) ) . '"></div>';
	}

	public static function add_script_on_login(): void {
		if ( self::is_on( 'captcha_login' ) ) {
			self::add_script();
		}
	}

	public static function render_on_login(): void {
		if ( self::is_on( 'captcha_login' ) ) {
			echo wp_kses( self::element(), array( 'div' => array( 'class' => true, 'data-*' => true ) ) );
		}
	}

	/**
	 * The form in the browser alone: programs have application passwords.
	 *
	 * @param mixed $user What was found so far.
	 * @return mixed
	 */
	public static function check_login( $user ) {
		// phpcs:ignore WordPress.Security.NonceVerification.Missing -- the sign-in form has none.
		$is_form = isset( $_POST['log'], $_POST['pwd'] ) && 'wp-login.php' === ( $GLOBALS['pagenow'] ?? '' );
		if ( ! $is_form || ! self::is_on( 'captcha_login' ) || self::is_solved() ) {
			return $user;
		}
		return new WP_Error( 'portcullis_sign_in_captcha', esc_html__( 'Please solve the CAPTCHA.', 'portcullis-sign-in' ) );
	}

	/** @param string $field The button of the form. */
	public static function add_to_comment_form( $field ): string {
		if ( is_user_logged_in() || ! self::is_on( 'captcha_comments' ) ) {
			return (string) $field;
		}
		self::add_script();
		return self::element() . $field;
	}

	/**
	 * @param array<string, mixed> $comment As it would be saved.
	 * @return array<string, mixed>
	 */
	public static function check_comment( $comment ) {
		// Comments come in by other ways too (pingbacks, other plugins), which have no form.
		$is_form = did_action( 'pre_comment_on_post' ) > 0;
		if ( $is_form && ! is_user_logged_in() && self::is_on( 'captcha_comments' ) && ! self::is_solved() ) {
			wp_die(
				esc_html__( 'Please go back and solve the CAPTCHA.', 'portcullis-sign-in' ),
				esc_html__( 'Comment not sent', 'portcullis-sign-in' ),
				array(
					'response'  => 403,
					'back_link' => true,
				)
			);
		}
		return $comment;
	}

	private static function is_solved(): bool {
		// phpcs:ignore WordPress.Security.NonceVerification.Missing -- a receipt is good once, like a nonce.
		$receipt = isset( $_POST[ Captcha::FIELD ] ) && is_string( $_POST[ Captcha::FIELD ] ) ? sanitize_text_field( wp_unslash( $_POST[ Captcha::FIELD ] ) ) : '';
		if ( '' === $receipt ) {
			return false;
		}
		try {
			$captcha = new Captcha( Settings::secure_url(), Settings::text( 'api_key' ), transport( self::TIMEOUT_SECONDS ), 0 );
			$result  = $captcha->verify( $receipt );
			return $result->ok && $result->siteKey === Settings::text( 'site_key' ); // phpcs:ignore WordPress.NamingConventions.ValidVariableName
		} catch ( PortcullisException ) {
			return false;
		}
	}
}
