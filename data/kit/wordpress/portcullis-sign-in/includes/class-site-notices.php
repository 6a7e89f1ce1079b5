<?php
/**
 * Takes the notices of the service: a visitor signed out everywhere, changed a value, took the consent back, or
 * deleted the account. The document that names the path is served at the site's root; a WordPress in a folder
 * needs that file there.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Exception\InvalidNotice;
use Portcullis\Exception\PortcullisException;
use Portcullis\Notice;
use Portcullis\Notices;
use WP_REST_Request;
use WP_REST_Response;
use WP_User;

defined( 'ABSPATH' ) || exit;

final class Site_Notices {

	/** When the person deleted the account of the service, as user meta. */
	const DELETED = 'portcullis_sign_in_deleted';
	/** When a value changed that the site may see. */
	const CHANGED = 'portcullis_sign_in_changed';

	private const ROUTE_SPACE     = 'portcullis-sign-in/v1';
	private const ROUTE           = '/notices';
	private const KEYS            = 'portcullis_sign_in_keys';
	private const KEYS_ASKED      = 'portcullis_sign_in_keys_asked';
	private const TAKEN           = 'portcullis_sign_in_n_';
	private const TIMEOUT_SECONDS = 3.0;

	public static function register(): void {
		add_action( 'init', array( self::class, 'serve_document' ), 0 );
		add_action( 'rest_api_init', array( self::class, 'register_route' ) );
		add_action( 'admin_notices', array( self::class, 'show_changed' ) );
		add_action( 'edit_user_profile', array( self::class, 'show_deleted' ) );
	}

	public static function register_route(): void {
		register_rest_route(
			self::ROUTE_SPACE,
			self::ROUTE,
			array(
				'methods'             => 'POST',
				'callback'            => array( self::class, 'take' ),
				// The signature is the permission.
				'permission_callback' => '__return_true',
			)
		);
	}

	/** Answers the service's question where notices go. */
	public static function serve_document(): void {
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- compared with one text, and nothing else.
		$path = isset( $_SERVER['REQUEST_URI'] ) ? strtok( wp_unslash( (string) $_SERVER['REQUEST_URI'] ), '?' ) : '';
		if ( Notices::DOCUMENT_PATH !== $path || ! Settings::is_ready() ) {
			return;
		}
		$parts = wp_parse_url( rest_url( self::ROUTE_SPACE . self::ROUTE ) );
		$query = isset( $parts['query'] ) ? '?' . $parts['query'] : '';
		wp_send_json( array( 'notices' => ( $parts['path'] ?? '/' ) . $query ) );
	}

	public static function take( WP_REST_Request $request ): WP_REST_Response {
		if ( ! Settings::is_ready() ) {
			return new WP_REST_Response( null, 404 );
		}
		try {
			$notice = self::read( (string) $request->get_body() );
		} catch ( InvalidNotice $invalid ) {
			// A 400 drops the notice for good; the key may only not be here yet.
			if ( $invalid->isUnknownKey ) { // phpcs:ignore WordPress.NamingConventions.ValidVariableName -- name of the SDK.
				return new WP_REST_Response( null, 503 );
			}
			return new WP_REST_Response( array( 'err' => 'invalid_request' ), 400 );
		} catch ( PortcullisException ) {
			return new WP_REST_Response( null, 503 );
		}
		$seen = self::TAKEN . substr( hash( 'sha256', $notice->id ), 0, 40 );
		if ( false === get_transient( $seen ) ) {
			$user = Members::known_as( $notice->serviceId ); // phpcs:ignore WordPress.NamingConventions.ValidVariableName -- name of the SDK.
			if ( null !== $user ) {
				self::act( $notice, $user );
			}
			set_transient( $seen, 1, Notices::REMEMBER_SECONDS );
		}
		return new WP_REST_Response( null, 202 );
	}

	private static function read( string $body ): Notice {
		$notices = new Notices( Settings::text( 'base_url' ), Settings::client_id(), transport( self::TIMEOUT_SECONDS ) );
		$kept    = get_transient( self::KEYS );
		$is_kept = is_array( $kept ) && ( $kept['of'] ?? null ) === Settings::text( 'base_url' ) && is_array( $kept['keys'] ?? null );
		try {
			return $notices->read( $body, $is_kept ? $kept['keys'] : array() );
		} catch ( InvalidNotice $invalid ) {
			// Anybody can name a key: the service is asked once a minute.
			if ( ! $invalid->isUnknownKey || false !== get_transient( self::KEYS_ASKED ) ) { // phpcs:ignore WordPress.NamingConventions.ValidVariableName
				throw $invalid;
			}
			set_transient( self::KEYS_ASKED, 1, MINUTE_IN_SECONDS );
			$keys = $notices->fetchKeys();
			set_transient(
				self::KEYS,
				array(
					'of'   => Settings::text( 'base_url' ),
					'keys' => $keys,
				),
				HOUR_IN_SECONDS
			);
			return $notices->read( $body, $keys );
		}
	}

	private static function act( Notice $notice, WP_User $user ): void {
		if ( Notice::CHANGED === $notice->kind ) {
			update_user_meta( $user->ID, self::CHANGED, time() );
			return;
		}
		if ( Notice::OTHER === $notice->kind ) {
			return;
		}
		self::end_sessions( $user->ID, $notice->happenedAt ); // phpcs:ignore WordPress.NamingConventions.ValidVariableName
		if ( Notice::DELETED !== $notice->kind ) {
			return;
		}
		// The id never comes again. What the person wrote here is the site's to decide about.
		Members::unlink( $user->ID );
		update_user_meta( $user->ID, self::DELETED, time() );
		/**
		 * For a site that deletes the accounts of people who deleted theirs.
		 *
		 * @param int $user_id Who was linked until now.
		 */
		do_action( 'portcullis_sign_in_account_deleted', $user->ID );
	}

	/** A notice may come days late: whoever signed in since then alone stays signed in. */
	private static function end_sessions( int $user_id, int $happened_at ): void {
		$tokens = \WP_Session_Tokens::get_instance( $user_id );
		foreach ( $tokens->get_all() as $session ) {
			if ( (int) ( $session['login'] ?? 0 ) <= $happened_at ) {
				$tokens->destroy_all();
				return;
			}
		}
	}

	/** The values come with a sign-in alone, which asks the visitor where it has to. */
	public static function show_changed(): void {
		$user_id = get_current_user_id();
		if ( 0 === $user_id || '' === (string) get_user_meta( $user_id, self::CHANGED, true ) || ! Members::is_linked( $user_id ) ) {
			return;
		}
		printf(
			'<div class="notice notice-info"><p>%1$s <a href="%2$s">%3$s</a></p></div>',
			esc_html__( 'Your details at Portcullis have changed.', 'portcullis-sign-in' ),
			esc_url( add_query_arg( 'action', Sign_In::START, admin_url( 'admin-post.php' ) ) ),
			esc_html__( 'Take them over', 'portcullis-sign-in' )
		);
	}

	public static function show_deleted( WP_User $user ): void {
		$at = (int) get_user_meta( $user->ID, self::DELETED, true );
		if ( 0 === $at ) {
			return;
		}
		printf(
			'<h2>%1$s</h2><p>%2$s</p>',
			esc_html__( 'Portcullis', 'portcullis-sign-in' ),
			/* translators: %s: a date. */
			esc_html( sprintf( __( 'This person deleted their Portcullis account on %s.', 'portcullis-sign-in' ), wp_date( 'Y-m-d', $at ) ) )
		);
	}
}
