<?php
/**
 * Out to the sign-on service and back, on admin-post.php: begins an attempt, and ends it with a
 * signed-in visitor, a linked account, or a refusal.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Client;
use Portcullis\Exception\AuthorizationRefused;
use Portcullis\Exception\ClientMismatch;
use Portcullis\Exception\InvalidCallback;
use Portcullis\Exception\InvalidGrant;
use Portcullis\Exception\PortcullisException;
use Portcullis\Exception\StateMismatch;
use Portcullis\Profile;
use WP_User;

defined( 'ABSPATH' ) || exit;

final class Sign_In {

	const START    = 'portcullis_sign_in_start';
	const LINK     = 'portcullis_sign_in_link';
	const UNLINK   = 'portcullis_sign_in_unlink';
	const CALLBACK = 'portcullis_sign_in_callback';
	/** Told on the sign-in page. */
	const DENIED = 'portcullis_sign_in_denied';

	public static function register(): void {
		foreach ( array( 'admin_post_nopriv_', 'admin_post_' ) as $prefix ) {
			add_action( $prefix . self::START, array( self::class, 'start' ) );
			add_action( $prefix . self::CALLBACK, array( self::class, 'finish' ) );
		}
		add_action( 'admin_post_' . self::LINK, array( self::class, 'start_link' ) );
		add_action( 'admin_post_' . self::UNLINK, array( self::class, 'unlink' ) );
	}

	/** Changes nothing of anybody's, so it needs no nonce: pages that are cached could not have one. */
	public static function start(): never {
		// phpcs:ignore WordPress.Security.NonceVerification.Recommended
		$wanted = isset( $_GET['redirect_to'] ) && is_string( $_GET['redirect_to'] ) ? sanitize_url( wp_unslash( $_GET['redirect_to'] ) ) : '';
		self::leave(
			array(
				'intent'      => 'sign_in',
				'redirect_to' => wp_validate_redirect( $wanted, '' ),
			)
		);
	}

	public static function start_link(): never {
		check_admin_referer( self::LINK );
		self::leave(
			array(
				'intent'  => 'link',
				'user_id' => get_current_user_id(),
			)
		);
	}

	public static function unlink(): never {
		check_admin_referer( self::UNLINK );
		Members::unlink( get_current_user_id() );
		wp_safe_redirect( admin_url( 'profile.php' ) );
		exit;
	}

	/** @param array<string, mixed> $purpose */
	private static function leave( array $purpose ): never {
		nocache_headers();
		if ( ! Settings::is_ready() ) {
			Refusal::show( 'settings' );
		}
		try {
			$request = Attempts::begin( $purpose );
		} catch ( PortcullisException ) {
			Refusal::show( 'settings' );
		}
		// The service is another host by nature; its address is the administrator's setting.
		wp_redirect( $request->url(), 303, 'Portcullis Sign In' ); // phpcs:ignore WordPress.Security.SafeRedirect.wp_redirect_wp_redirect
		exit;
	}

	/** The state is what a nonce would be: bound to this browser, and good once. */
	public static function finish(): never {
		nocache_headers();
		header( 'Referrer-Policy: no-referrer' );
		$query = self::query();
		$state = $query['state'] ?? '';
		try {
			$attempt = Attempts::find( $state );
			if ( null === $attempt ) {
				Refusal::show( 'state' );
			}
			$code = $attempt['request']->verify( $query );
			if ( $attempt['is_over'] ) {
				self::begin_anew( $attempt['purpose'] );
			}
			$profile = ( new Client( Settings::text( 'base_url' ), transport() ) )->exchange( $code, $attempt['request'] );
		} catch ( AuthorizationRefused $refused ) {
			self::told_no( $refused, $attempt['purpose'] );
		} catch ( StateMismatch ) {
			Refusal::show( 'state' );
		} catch ( InvalidGrant | InvalidCallback | ClientMismatch ) {
			Refusal::show( 'code' );
		} catch ( PortcullisException ) {
			Refusal::show( 'service' );
		}
		Attempts::used( $state );
		if ( 'link' === $attempt['purpose']['intent'] ) {
			self::finish_link( $profile, (int) $attempt['purpose']['user_id'] );
		}
		self::finish_sign_in( $profile, (string) ( $attempt['purpose']['redirect_to'] ?? '' ) );
	}

	/**
	 * The visitor took longer than the state lasts. Once: a site whose clock is wrong must not send
	 * them round for ever.
	 *
	 * @param array<string, mixed> $purpose
	 */
	private static function begin_anew( array $purpose ): never {
		if ( isset( $purpose['again'] ) ) {
			Refusal::show( 'state' );
		}
		self::leave( $purpose + array( 'again' => 1 ) );
	}

	/** @return array<string, string> */
	private static function query(): array {
		$query = array();
		foreach ( array( 'state', 'iss', 'code', 'error', 'error_description' ) as $name ) {
			// phpcs:ignore WordPress.Security.NonceVerification.Recommended
			if ( isset( $_GET[ $name ] ) && is_string( $_GET[ $name ] ) ) {
				$query[ $name ] = sanitize_text_field( wp_unslash( $_GET[ $name ] ) ); // phpcs:ignore WordPress.Security.NonceVerification.Recommended
			}
		}
		return $query;
	}

	/** @param array<string, mixed> $purpose */
	private static function told_no( AuthorizationRefused $refused, array $purpose ): never {
		if ( 'access_denied' !== $refused->error && 'login_required' !== $refused->error ) {
			Refusal::show( 'temporarily_unavailable' === $refused->error ? 'service' : 'refused' );
		}
		$back = 'link' === $purpose['intent'] ? admin_url( 'profile.php' ) : wp_login_url();
		wp_safe_redirect( add_query_arg( self::DENIED, '1', $back ) );
		exit;
	}

	private static function finish_link( Profile $profile, int $user_id ): never {
		if ( 0 === $user_id || get_current_user_id() !== $user_id ) {
			Refusal::show( 'link_other_user' );
		}
		$linked = Members::link( $user_id, $profile );
		if ( is_wp_error( $linked ) ) {
			Refusal::show( (string) $linked->get_error_code() );
		}
		wp_safe_redirect( admin_url( 'profile.php#portcullis-sign-in' ) );
		exit;
	}

	private static function finish_sign_in( Profile $profile, string $redirect_to ): never {
		if ( Address_Gate::is_blocked() ) {
			Refusal::show( 'address' );
		}
		$user = Members::find_or_create( $profile );
		if ( is_wp_error( $user ) ) {
			Refusal::show( (string) $user->get_error_code() );
		}
		if ( '' !== (string) get_user_meta( $user->ID, Site_Notices::CHANGED, true ) ) {
			Members::refresh( $user, $profile );
		}
		// Where other plugins say that an account may not sign in.
		$allowed = apply_filters( 'wp_authenticate_user', $user, '' ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals.NonPrefixedHooknameFound -- a hook of WordPress.
		if ( ! $allowed instanceof WP_User ) {
			Refusal::show( 'account' );
		}
		wp_set_current_user( $user->ID );
		wp_set_auth_cookie( $user->ID, false );
		do_action( 'wp_login', $user->user_login, $user ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals.NonPrefixedHooknameFound
		$target = '' !== $redirect_to ? $redirect_to : ( $user->has_cap( 'edit_posts' ) ? admin_url() : admin_url( 'profile.php' ) );
		$target = apply_filters( 'login_redirect', $target, $redirect_to, $user ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals.NonPrefixedHooknameFound
		wp_safe_redirect( is_string( $target ) ? $target : admin_url( 'profile.php' ) );
		exit;
	}
}
