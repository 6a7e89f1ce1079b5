<?php
/**
 * On a person's own profile page: link the account with Portcullis, or end the link. The only way
 * for accounts that may manage the site.
 *
 * @package PortcullisSignIn
 */

namespace PortcullisSignIn;

use WP_User;

defined( 'ABSPATH' ) || exit;

final class Profile_Section {

	public static function register(): void {
		add_action( 'show_user_profile', array( self::class, 'render' ) );
	}

	public static function render( WP_User $user ): void {
		if ( ! Settings::is_ready() || get_current_user_id() !== $user->ID ) {
			return;
		}
		$is_linked = Members::is_linked( $user->ID );
		$action    = $is_linked ? Sign_In::UNLINK : Sign_In::LINK;
		$url       = wp_nonce_url( add_query_arg( 'action', $action, admin_url( 'admin-post.php' ) ), $action );
		?>
		<h2 id="portcullis-sign-in"><?php esc_html_e( 'Portcullis', 'portcullis-sign-in' ); ?></h2>
		<table class="form-table" role="presentation">
			<tr>
				<th scope="row"><?php esc_html_e( 'Sign in with Portcullis', 'portcullis-sign-in' ); ?></th>
				<td>
					<p>
						<?php
						if ( $is_linked ) {
							esc_html_e( 'This account is linked.', 'portcullis-sign-in' );
						} else {
							esc_html_e( 'This account is not linked.', 'portcullis-sign-in' );
						}
						?>
					</p>
					<p>
						<a class="button" href="<?php echo esc_url( $url ); ?>">
							<?php
							if ( $is_linked ) {
								esc_html_e( 'End the link', 'portcullis-sign-in' );
							} else {
								esc_html_e( 'Link it', 'portcullis-sign-in' );
							}
							?>
						</a>
					</p>
				</td>
			</tr>
		</table>
		<?php
	}
}
