<?php
/**
 * Every way in which signing in can end without success: a status, and a sentence that tells the
 * visitor what to do. Nothing that came from outside is in it.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

defined( 'ABSPATH' ) || exit;

final class Refusal {

	/** @return array{int, string} */
	private static function text( string $code ): array {
		return match ( $code ) {
			'state' => array( 400, __( 'This way back was not begun in this browser, was used already, or took too long. Please start again.', 'portcullis-sign-in' ) ),
			'code' => array( 400, __( 'The sign-on service does not know the code that came back, or it was meant for another site. Please start again.', 'portcullis-sign-in' ) ),
			'refused' => array( 400, __( 'The sign-on service refused the request of this site.', 'portcullis-sign-in' ) ),
			'service' => array( 502, __( 'The sign-on service did not answer as it should. Please try again in a minute.', 'portcullis-sign-in' ) ),
			'settings' => array( 503, __( 'Signing in with Portcullis is not set up on this site.', 'portcullis-sign-in' ) ),
			'address' => array( 403, __( 'Signing in from your network address is not allowed: it is known for abuse.', 'portcullis-sign-in' ) ),
			'registration_closed' => array( 403, __( 'You have no account on this site, and it does not take new ones.', 'portcullis-sign-in' ) ),
			'unsafe_role' => array( 403, __( 'No account was made: this site would give new accounts the rights of an administrator.', 'portcullis-sign-in' ) ),
			'email_needed' => array( 403, __( 'This site needs a verified email address for a new account. Please sign in again and agree to share it.', 'portcullis-sign-in' ) ),
			'email_taken' => array( 403, __( 'An account of this site has your email address already. Sign in to it with its password, then link it on your profile page.', 'portcullis-sign-in' ) ),
			'not_member' => array( 403, __( 'Your account is not a member of this site.', 'portcullis-sign-in' ) ),
			'account' => array( 403, __( 'This account may not sign in at the moment.', 'portcullis-sign-in' ) ),
			'link_other_user' => array( 403, __( 'You are not signed in as the person who wanted to link an account. Please start again from your profile page.', 'portcullis-sign-in' ) ),
			'link_taken' => array( 409, __( 'That Portcullis account is linked to another account of this site.', 'portcullis-sign-in' ) ),
			default => array( 500, __( 'The account could not be made.', 'portcullis-sign-in' ) ),
		};
	}

	/** Ends the request. */
	public static function show( string $code ): never {
		list( $status, $text ) = self::text( $code );
		wp_die(
			esc_html( $text ),
			esc_html__( 'Signing in did not work', 'portcullis-sign-in' ),
			array(
				'response'  => (int) $status,
				'code'      => 'portcullis_sign_in_' . esc_attr( $code ),
				'link_url'  => esc_url( is_user_logged_in() ? admin_url( 'profile.php' ) : wp_login_url() ),
				'link_text' => is_user_logged_in() ? esc_html__( 'Back to your profile', 'portcullis-sign-in' ) : esc_html__( 'Back to the sign-in page', 'portcullis-sign-in' ),
			)
		);
		exit;
	}
}
