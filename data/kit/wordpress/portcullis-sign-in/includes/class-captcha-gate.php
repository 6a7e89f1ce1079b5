<?php
/**
 * The CAPTCHA on the password form, on registration, on lost passwords, on WooCommerce's forms of
 * the same kinds and on comments of visitors. The receipt is redeemed by this server; nothing that a
 * browser says is believed. While the service is away or refuses a key, the password form alone
 * lets people pass, with a notice, and their passwords are still checked; a bad receipt passes
 * nowhere. `define( 'PORTCULLIS_SIGN_IN_NO_CAPTCHA', true );` in wp-config.php switches all of it off.
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
	/** How long the outcome of a look at the service holds for forms without a receipt. */
	private const LOOK            = 'portcullis_sign_in_look';
	private const LOOK_SECONDS    = 30;

	/** @var array<string, string> What came of receipts in this request: each is good once. */
	private static array $outcomes = array();

	public static function register(): void {
		add_action( 'login_form', array( self::class, 'render_on_login' ) );
		add_filter( 'login_form_middle', array( self::class, 'add_to_login_form' ) );
		add_action( 'register_form', array( self::class, 'render_on_register' ) );
		add_action( 'lostpassword_form', array( self::class, 'render_on_lost_password' ) );
		add_action( 'woocommerce_login_form', array( self::class, 'render_on_login' ) );
		add_action( 'woocommerce_register_form', array( self::class, 'render_on_register' ) );
		add_action( 'woocommerce_lostpassword_form', array( self::class, 'render_on_lost_password' ) );
		add_filter( 'authenticate', array( self::class, 'check_login' ), self::AFTER_PASSWORD );
		add_filter( 'registration_errors', array( self::class, 'check_registration' ) );
		add_action( 'lostpassword_post', array( self::class, 'check_lost_password' ) );
		add_filter( 'woocommerce_process_registration_errors', array( self::class, 'check_shop_registration' ) );
		add_filter( 'comment_form_submit_field', array( self::class, 'add_to_comment_form' ) );
		add_filter( 'preprocess_comment', array( self::class, 'check_comment' ) );
	}

	private static function is_on( string $flag ): bool {
		$is_off = defined( 'PORTCULLIS_SIGN_IN_NO_CAPTCHA' ) && \PORTCULLIS_SIGN_IN_NO_CAPTCHA;
		return ! $is_off && Settings::flag( $flag ) && Settings::has_captcha();
	}

	/** The element, with its script and style in the page's foot; an empty text when it is off. */
	private static function element( string $flag ): string {
		if ( ! self::is_on( $flag ) ) {
			return '';
		}
		wp_enqueue_script( self::HANDLE, Settings::secure_url() . '/captcha/widget.js', array(), null, true ); // phpcs:ignore WordPress.WP.EnqueuedResourceParameters.MissingVersion -- served with an ETag.
		wp_enqueue_style( self::HANDLE, plugins_url( 'assets/captcha.css', PLUGIN_FILE ), array(), VERSION );
		return '<div class="portcullis-captcha" data-sitekey="' . esc_attr( Settings::text( 'site_key' ) ) . '"></div>';
	}

	private static function render( string $flag ): void {
		echo wp_kses( self::element( $flag ), array( 'div' => array( 'class' => true, 'data-*' => true ) ) );
	}

	public static function render_on_login(): void {
		self::render( 'captcha_login' );
	}

	public static function render_on_register(): void {
		self::render( 'captcha_register' );
	}

	public static function render_on_lost_password(): void {
		self::render( 'captcha_lost_password' );
	}

	/**
	 * Of wp_login_form(), which themes and blocks put into pages.
	 *
	 * @param string $content Between the fields and the button.
	 */
	public static function add_to_login_form( $content ): string {
		return $content . self::element( 'captcha_login' );
	}

	/** Whether a form of a page was sent that has these fields; other ways in are programs' own. */
	private static function is_form( string ...$fields ): bool {
		foreach ( $fields as $field ) {
			// phpcs:ignore WordPress.Security.NonceVerification.Missing -- the sign-in form has none.
			if ( ! isset( $_POST[ $field ] ) ) {
				return false;
			}
		}
		return true;
	}

	/** As the page says itself: by its address it has other names, such as wp-login.php/%0Ax.php. */
	private static function is_login_page(): bool {
		return did_action( 'login_init' ) > 0;
	}

	/** WooCommerce takes the nonce of its form from the query too, and by another name. */
	private static function is_shop_login(): bool {
		// phpcs:disable WordPress.Security.NonceVerification.Missing, WordPress.Security.NonceVerification.Recommended -- which form it is.
		if ( ! self::is_form( 'username', 'password' ) ) {
			return false;
		}
		$other = isset( $_REQUEST['_wpnonce'] ) && is_string( $_REQUEST['_wpnonce'] ) ? sanitize_text_field( wp_unslash( $_REQUEST['_wpnonce'] ) ) : '';
		return isset( $_REQUEST['woocommerce-login-nonce'] ) || isset( $_POST['woocommerce-login-nonce'] )
			|| ( isset( $_POST['login'] ) && false !== wp_verify_nonce( $other, 'woocommerce-login' ) );
		// phpcs:enable
	}

	private static function refusal( bool $is_guess = false ): WP_Error {
		return new WP_Error(
			'portcullis_sign_in_captcha',
			esc_html__( 'Please solve the CAPTCHA.', 'portcullis-sign-in' ),
			array( Failure_Reports::GUESS => $is_guess )
		);
	}

	/**
	 * The form in the browser alone: programs have application passwords.
	 *
	 * @param mixed $user What was found so far.
	 * @return mixed
	 */
	public static function check_login( $user ) {
		$is_form = ( self::is_login_page() && self::is_form( 'log', 'pwd' ) ) || self::is_shop_login();
		if ( ! $is_form || ! self::is_on( 'captcha_login' ) ) {
			return $user;
		}
		$outcome = self::outcome( 'captcha_login' );
		if ( 'solved' === $outcome ) {
			return $user;
		}
		if ( 'unsolved' !== $outcome ) {
			Connection::remember( $outcome );
			return $user;
		}
		// Told to the reports alone: the page says the same for a right and a wrong password.
		return self::refusal( Failure_Reports::is_guess( $user ) );
	}

	/**
	 * @param mixed $errors What is wrong so far.
	 * @return mixed
	 */
	public static function check_registration( $errors ) {
		$is_form = self::is_login_page() && self::is_form( 'user_login', 'user_email' );
		if ( $is_form && is_wp_error( $errors ) && ! self::passes( 'captcha_register' ) ) {
			$errors->add( 'portcullis_sign_in_captcha', esc_html__( 'Please solve the CAPTCHA.', 'portcullis-sign-in' ) );
		}
		return $errors;
	}

	/**
	 * WooCommerce asks for it with the form of its own page alone.
	 *
	 * @param mixed $errors What is wrong so far.
	 * @return mixed
	 */
	public static function check_shop_registration( $errors ) {
		if ( is_wp_error( $errors ) && ! self::passes( 'captcha_register' ) ) {
			$errors->add( 'portcullis_sign_in_captcha', esc_html__( 'Please solve the CAPTCHA.', 'portcullis-sign-in' ) );
		}
		return $errors;
	}

	/** @param mixed $errors What is wrong so far; what is added to it ends the request for a link. */
	public static function check_lost_password( $errors ): void {
		$is_form = ( self::is_login_page() && self::is_form( 'user_login' ) ) || self::is_form( 'wc_reset_password', 'user_login' );
		if ( $is_form && is_wp_error( $errors ) && ! self::passes( 'captcha_lost_password' ) ) {
			$errors->add( 'portcullis_sign_in_captcha', esc_html__( 'Please solve the CAPTCHA.', 'portcullis-sign-in' ) );
		}
	}

	/** @param string $field The button of the form. */
	public static function add_to_comment_form( $field ): string {
		return ( is_user_logged_in() ? '' : self::element( 'captcha_comments' ) ) . $field;
	}

	/**
	 * @param array<string, mixed> $comment As it would be saved.
	 * @return array<string, mixed>
	 */
	public static function check_comment( $comment ) {
		// Comments come in by other ways too (pingbacks, other plugins), which have no form.
		$is_form = did_action( 'pre_comment_on_post' ) > 0;
		if ( $is_form && ! is_user_logged_in() && ! self::passes( 'captcha_comments' ) ) {
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

	/** Without an answer of the service nobody passes: nobody is locked out here. */
	private static function passes( string $flag ): bool {
		return ! self::is_on( $flag ) || 'solved' === self::outcome( $flag );
	}

	/** `solved`, `unsolved`, or what is wrong with the service (`Connection`). */
	private static function outcome( string $flag ): string {
		// phpcs:ignore WordPress.Security.NonceVerification.Missing -- a receipt is good once, like a nonce.
		$receipt = isset( $_POST[ Captcha::FIELD ] ) && is_string( $_POST[ Captcha::FIELD ] ) ? sanitize_text_field( wp_unslash( $_POST[ Captcha::FIELD ] ) ) : '';
		if ( ! isset( self::$outcomes[ $receipt ] ) ) {
			self::$outcomes[ $receipt ] = '' === $receipt ? self::look() : self::redeem( $receipt, $flag );
		}
		return self::$outcomes[ $receipt ];
	}

	private static function redeem( string $receipt, string $flag ): string {
		try {
			$captcha = new Captcha( Settings::secure_url(), Settings::text( 'api_key' ), transport( self::TIMEOUT_SECONDS ), 0 );
			$result  = $captcha->verify( $receipt, Settings::text( 'site_key' ) );
			Connection::forget();
			$is_ours = $result->ok && $result->siteKey === Settings::text( 'site_key' ); // phpcs:ignore WordPress.NamingConventions.ValidVariableName
			return $is_ours && self::is_enough( (string) $result->level, $flag ) ? 'solved' : 'unsolved';
		} catch ( PortcullisException $exception ) {
			return Connection::fault_of( $exception ) ?? 'unsolved';
		}
	}

	/** The site key sets the least level; a site may look at the level of each form beside that, to log it or to refuse. */
	private static function is_enough( string $level, string $flag ): bool {
		/**
		 * Filters whether a solved CAPTCHA is enough.
		 *
		 * @param bool   $is_enough Whether it is.
		 * @param string $level     What the visitor passed: `none`, `silent`, `easy` or `hard`.
		 * @param string $form      `login`, `register`, `lost_password` or `comments`.
		 */
		return (bool) apply_filters( 'portcullis_sign_in_captcha_level', true, $level, substr( $flag, strlen( 'captcha_' ) ) );
	}

	/** A form without a receipt may come from somebody to whom the service could show nothing. */
	private static function look(): string {
		$kept = get_transient( self::LOOK );
		if ( ! is_string( $kept ) ) {
			$kept = Connection::fault( Settings::secure_url(), Settings::text( 'api_key' ), Settings::text( 'site_key' ) ) ?? 'unsolved';
			set_transient( self::LOOK, $kept, self::LOOK_SECONDS );
		}
		return $kept;
	}

	/** After a change of the settings. */
	public static function look_again(): void {
		delete_transient( self::LOOK );
	}
}
