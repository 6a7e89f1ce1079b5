<?php
/**
 * Which account of the site belongs to a profile. Known by service_id; by email only when it is
 * verified and the account has no say over the site; made anew only when the site takes
 * registrations, and never with the rights of an administrator.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use Portcullis\Profile;
use WP_Error;
use WP_User;

defined( 'ABSPATH' ) || exit;

final class Members {

	const META = 'portcullis_sign_in_id';

	/** Whoever has one of these runs the site. */
	private const ADMIN_CAPS = array(
		'manage_options',
		'create_users',
		'edit_users',
		'promote_users',
		'delete_users',
		'install_plugins',
		'activate_plugins',
		'update_plugins',
		'edit_plugins',
		'install_themes',
		'switch_themes',
		'edit_themes',
		'edit_files',
		'update_core',
		'import',
		'manage_woocommerce',
	);

	/** Whoever has one of these can hurt others: such an account is linked by its owner alone. */
	private const TRUSTED_CAPS = array( 'list_users', 'unfiltered_html', 'unfiltered_upload', 'edit_others_posts', 'delete_others_posts', 'moderate_comments', 'publish_posts' );

	private const LOGIN_TRIES_MAX = 20;

	/** The account to sign in to, or an error whose code is one of Refusal's. */
	public static function find_or_create( Profile $profile ): WP_User|WP_Error {
		if ( null === $profile->serviceId ) { // phpcs:ignore WordPress.NamingConventions.ValidVariableName -- name of the SDK.
			return new WP_Error( 'service' );
		}
		$linked = self::linked_to( self::identity( $profile ) );
		if ( is_wp_error( $linked ) ) {
			return $linked;
		}
		$user = $linked ?? self::by_email( $profile ) ?? self::create( $profile );
		if ( $user instanceof WP_User && is_multisite() && ! is_user_member_of_blog( $user->ID ) ) {
			return new WP_Error( 'not_member' );
		}
		return $user;
	}

	/** For somebody who is signed in and asked for it. */
	public static function link( int $user_id, Profile $profile ): bool|WP_Error {
		if ( null === $profile->serviceId ) { // phpcs:ignore WordPress.NamingConventions.ValidVariableName
			return new WP_Error( 'service' );
		}
		$identity = self::identity( $profile );
		$linked   = self::linked_to( $identity );
		if ( is_wp_error( $linked ) ) {
			return $linked;
		}
		if ( null !== $linked && $linked->ID !== $user_id ) {
			return new WP_Error( 'link_taken' );
		}
		update_user_meta( $user_id, self::META, $identity );
		return self::keep_only_link( $user_id, $identity );
	}

	public static function unlink( int $user_id ): void {
		delete_user_meta( $user_id, self::META );
	}

	public static function is_linked( int $user_id ): bool {
		return '' !== (string) get_user_meta( $user_id, self::META, true );
	}

	/** The one account that is linked to this id; null for none. */
	public static function known_as( string $service_id ): ?WP_User {
		$user = self::linked_to( self::identity_of( $service_id ) );
		return $user instanceof WP_User ? $user : null;
	}

	/** Takes over what the visitor shares now, after a notice that it changed. */
	public static function refresh( WP_User $user, Profile $profile ): void {
		$changed = array( 'ID' => $user->ID );
		// phpcs:disable WordPress.NamingConventions.ValidVariableName -- names of the SDK.
		if ( null !== $profile->givenName || null !== $profile->familyName || null !== $profile->nickname ) {
			$changed['first_name']   = sanitize_text_field( $profile->givenName ?? '' );
			$changed['last_name']    = sanitize_text_field( $profile->familyName ?? '' );
			$changed['display_name'] = self::display_name( $profile );
		}
		$email = $profile->emailVerified ? (string) $profile->email : '';
		// phpcs:enable
		$is_free = is_email( $email ) && false === get_user_by( 'email', $email );
		// The mailbox of who runs the site is changed by its owner alone.
		if ( $is_free && ! self::is_trusted( $user ) ) {
			$changed['user_email'] = $email;
		}
		if ( count( $changed ) > 1 ) {
			wp_update_user( $changed );
		}
		delete_user_meta( $user->ID, Site_Notices::CHANGED );
	}

	/** The id is the service's own: of another service the same text is another person. */
	private static function identity_of( string $service_id ): string {
		return Settings::text( 'base_url' ) . ' ' . $service_id;
	}

	private static function identity( Profile $profile ): string {
		return self::identity_of( (string) $profile->serviceId ); // phpcs:ignore WordPress.NamingConventions.ValidVariableName
	}

	/** Null for nobody. Two of them are nobody's: that must not be decided by chance. */
	private static function linked_to( string $identity ): WP_User|WP_Error|null {
		$users = get_users(
			array(
				'blog_id'    => 0,
				'meta_key'   => self::META, // phpcs:ignore WordPress.DB.SlowDBQuery.slow_db_query_meta_key -- once for each sign-in.
				'meta_value' => $identity, // phpcs:ignore WordPress.DB.SlowDBQuery.slow_db_query_meta_value
				'number'     => 3,
			)
		);
		// The database may compare without regard to capitals; ids differ by them.
		$exact = array_values(
			array_filter( $users, static fn ( WP_User $user ): bool => get_user_meta( $user->ID, self::META, true ) === $identity )
		);
		return count( $exact ) > 1 ? new WP_Error( 'link_taken' ) : ( $exact[0] ?? null );
	}

	/** Of two requests that linked two accounts at once, both give way. */
	private static function keep_only_link( int $user_id, string $identity ): bool|WP_Error {
		$linked = self::linked_to( $identity );
		if ( $linked instanceof WP_User && $linked->ID === $user_id ) {
			return true;
		}
		delete_user_meta( $user_id, self::META, $identity );
		return new WP_Error( 'link_taken' );
	}

	private static function by_email( Profile $profile ): WP_User|WP_Error|null {
		if ( null === $profile->email || ! $profile->emailVerified ) { // phpcs:ignore WordPress.NamingConventions.ValidVariableName
			return null;
		}
		$user = get_user_by( 'email', $profile->email );
		if ( false === $user ) {
			return null;
		}
		$is_same = self::is_same_address( $user->user_email, $profile->email );
		if ( ! $is_same || ! Settings::flag( 'link_by_email' ) || self::is_trusted( $user ) || self::is_linked( $user->ID ) ) {
			return new WP_Error( 'email_taken' );
		}
		$identity = self::identity( $profile );
		update_user_meta( $user->ID, self::META, $identity );
		$kept = self::keep_only_link( $user->ID, $identity );
		if ( is_wp_error( $kept ) ) {
			return $kept;
		}
		// Whoever made the account may not be whom the address belongs to: they are signed out.
		\WP_Session_Tokens::get_instance( $user->ID )->destroy_all();
		return $user;
	}

	/**
	 * The database may take letters with accents for plain ones: it finds the owner of one mailbox by
	 * the address of another. Bytes decide, but for capitals of ASCII.
	 */
	private static function is_same_address( string $ours, string $theirs ): bool {
		$lower = static fn ( string $text ): string => strtr( $text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz' );
		return $lower( $ours ) === $lower( $theirs );
	}

	private static function is_trusted( WP_User $user ): bool {
		if ( is_super_admin( $user->ID ) ) {
			return true;
		}
		foreach ( array_merge( self::ADMIN_CAPS, self::TRUSTED_CAPS ) as $capability ) {
			if ( user_can( $user, $capability ) ) {
				return true;
			}
		}
		return false;
	}

	private static function create( Profile $profile ): WP_User|WP_Error {
		if ( is_multisite() || ! get_option( 'users_can_register' ) ) {
			return new WP_Error( 'registration_closed' );
		}
		$role = (string) get_option( 'default_role' );
		if ( ! self::is_safe_role( $role ) ) {
			return new WP_Error( 'unsafe_role' );
		}
		if ( null === $profile->email || ! $profile->emailVerified || ! is_email( $profile->email ) ) { // phpcs:ignore WordPress.NamingConventions.ValidVariableName
			return new WP_Error( 'email_needed' );
		}
		$user_id = wp_insert_user(
			array(
				'user_login'   => self::free_login( $profile ),
				'user_email'   => $profile->email,
				'user_pass'    => wp_generate_password( 64, true, true ),
				'first_name'   => sanitize_text_field( $profile->givenName ?? '' ), // phpcs:ignore WordPress.NamingConventions.ValidVariableName
				'last_name'    => sanitize_text_field( $profile->familyName ?? '' ), // phpcs:ignore WordPress.NamingConventions.ValidVariableName
				'display_name' => self::display_name( $profile ),
				'role'         => $role,
			)
		);
		if ( is_wp_error( $user_id ) ) {
			return new WP_Error( 'creation' );
		}
		$identity = self::identity( $profile );
		update_user_meta( $user_id, self::META, $identity );
		$kept = self::keep_only_link( $user_id, $identity );
		return is_wp_error( $kept ) ? $kept : get_user_by( 'id', $user_id );
	}

	private static function is_safe_role( string $name ): bool {
		$role = get_role( $name );
		if ( null === $role || 'administrator' === $name ) {
			return false;
		}
		foreach ( self::ADMIN_CAPS as $capability ) {
			if ( $role->has_cap( $capability ) ) {
				return false;
			}
		}
		return true;
	}

	private static function display_name( Profile $profile ): string {
		$full = trim( sanitize_text_field( ( $profile->givenName ?? '' ) . ' ' . ( $profile->familyName ?? '' ) ) ); // phpcs:ignore WordPress.NamingConventions.ValidVariableName
		return sanitize_text_field( $profile->nickname ?? '' ) ?: ( $full ?: __( 'Member', 'portcullis-sign-in' ) );
	}

	/** From the nickname, never from the email address: login names are public. */
	private static function free_login( Profile $profile ): string {
		$stem = substr( sanitize_user( $profile->nickname ?? $profile->givenName ?? '', true ), 0, 40 ); // phpcs:ignore WordPress.NamingConventions.ValidVariableName
		for ( $try = 1; '' !== $stem && $try <= self::LOGIN_TRIES_MAX; $try++ ) {
			$login = 1 === $try ? $stem : $stem . $try;
			if ( ! username_exists( $login ) ) {
				return $login;
			}
		}
		return 'member_' . bin2hex( random_bytes( 8 ) );
	}
}
