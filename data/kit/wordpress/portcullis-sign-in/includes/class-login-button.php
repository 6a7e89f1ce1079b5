<?php
/**
 * The button on the forms for signing in and registering.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

defined( 'ABSPATH' ) || exit;

final class Login_Button {

	public static function register(): void {
		add_action( 'login_form', array( self::class, 'render' ) );
		add_action( 'register_form', array( self::class, 'render' ) );
		add_action( 'login_enqueue_scripts', array( self::class, 'add_style' ) );
		add_filter( 'login_message', array( self::class, 'add_notice' ) );
	}

	public static function add_style(): void {
		wp_enqueue_style( 'portcullis-sign-in', plugins_url( 'assets/button.css', PLUGIN_FILE ), array(), VERSION );
	}

	public static function render(): void {
		// In the window that opens over the editor the service can't be shown: it refuses frames.
		if ( ! Settings::is_ready() || isset( $_REQUEST['interim-login'] ) ) { // phpcs:ignore WordPress.Security.NonceVerification.Recommended
			return;
		}
		// phpcs:ignore WordPress.Security.NonceVerification.Recommended
		$wanted = isset( $_REQUEST['redirect_to'] ) && is_string( $_REQUEST['redirect_to'] ) ? sanitize_url( wp_unslash( $_REQUEST['redirect_to'] ) ) : '';
		$query  = array( 'action' => Sign_In::START );
		if ( '' !== $wanted ) {
			$query['redirect_to'] = rawurlencode( $wanted );
		}
		printf(
			'<p class="portcullis-sign-in"><a class="portcullis-sign-in-button" href="%1$s"><img src="%2$s" width="20" height="20" alt=""> <span>%3$s</span></a></p>',
			esc_url( add_query_arg( $query, admin_url( 'admin-post.php' ) ) ),
			esc_url( plugins_url( 'assets/mark.svg', PLUGIN_FILE ) ),
			esc_html__( 'Sign in with Portcullis', 'portcullis-sign-in' )
		);
	}

	/** @param string $message What stands above the form already. */
	public static function add_notice( $message ): string {
		if ( isset( $_GET[ Sign_In::DENIED ] ) ) { // phpcs:ignore WordPress.Security.NonceVerification.Recommended
			$message .= '<p class="message">' . esc_html__( 'You did not agree to sign in with Portcullis. Nothing was shared.', 'portcullis-sign-in' ) . '</p>';
		}
		return (string) $message;
	}
}
